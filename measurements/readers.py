"""Compares this package's file readers with other libraries, on small cases and on real files.

Each case in --cases is a folder with a file and ``check.json``, which lists regular expressions
that the text must match, and expressions that it must not match. A reader passes a case if all of
these conditions hold. The comparison favours this package in two ways: the cases were written to
find faults of its readers, and the expressions describe lines in this package's format.

With --folder, the files of ``measurements.real_files`` are read, too. The output shows the share of
the second reader's words that a library loses, the files in which it joins separate words, and its
processor time.

Libraries that are not installed are left out, as are formats that a library does not read.
"""

import io
import json
import re
import time
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import click

from conflictscore.retrieval.reading.by_ending import read_file
from measurements.real_files import LIST, RealFile, faults_of, lost_words, second_text

_ENDINGS = (".pdf", ".docx", ".html", ".md")


def _ours(content: bytes, ending: str) -> str:
    documents, _ = read_file(content, ending, f"a{ending}")
    return "\n".join(document.text for document in documents)


def _markitdown(content: bytes, ending: str) -> str:
    converter = import_module("markitdown").MarkItDown()
    return str(converter.convert_stream(io.BytesIO(content), file_extension=ending).text_content)


def _docling(content: bytes, ending: str) -> str:
    models = import_module("docling.datamodel.base_models")
    stream = models.DocumentStream(name=f"a{ending}", stream=io.BytesIO(content))
    converter = import_module("docling.document_converter").DocumentConverter()
    return str(converter.convert(stream).document.export_to_markdown())


def _pymupdf4llm(content: bytes, _: str) -> str:
    document = import_module("pymupdf").open(stream=content, filetype="pdf")
    return str(import_module("pymupdf4llm").to_markdown(document))


def _resiliparse(content: bytes, _: str) -> str:
    encoding = import_module("resiliparse.parse.encoding")
    html = encoding.bytes_to_str(content, encoding.detect_encoding(content))
    return str(import_module("resiliparse.extract.html2text").extract_plain_text(html))


def _html_to_markdown(content: bytes, _: str) -> str:
    converted = import_module("html_to_markdown").convert(content.decode("utf-8", "replace"))
    return str(getattr(converted, "content", converted))


def _docx2python(content: bytes, _: str) -> str:
    with import_module("docx2python").docx2python(io.BytesIO(content)) as document:
        return str(document.text)


def _mammoth(content: bytes, _: str) -> str:
    return str(import_module("mammoth").extract_raw_text(io.BytesIO(content)).value)


_READERS: dict[str, tuple[Callable[[bytes, str], str], Sequence[str]]] = {
    "ours": (_ours, _ENDINGS),
    "markitdown": (_markitdown, (".pdf", ".docx", ".html")),
    "docling": (_docling, (".docx", ".html", ".md")),
    "pymupdf4llm": (_pymupdf4llm, (".pdf",)),
    "resiliparse": (_resiliparse, (".html",)),
    "html-to-markdown": (_html_to_markdown, (".html",)),
    "docx2python": (_docx2python, (".docx",)),
    "mammoth": (_mammoth, (".docx",)),
}


@click.command(help=__doc__)
@click.option("--cases", type=click.Path(exists=True, path_type=Path), required=True)
@click.option("--folder", type=click.Path(exists=True, path_type=Path))
@click.option("--reader", "names", multiple=True, default=tuple(_READERS), show_default=True)
@click.option(
    "--most", default=40, show_default=True, help="Maximum number of real files for each ending."
)
def main(cases: Path, folder: Path | None, names: Sequence[str], most: int) -> None:
    """See the module."""
    for name in names:
        reader, endings = _READERS[name]
        if not _is_installed(reader):
            click.echo(f"{name}: not installed")
            continue
        for ending in endings:
            checks = [*_checks(cases, ending)]
            right = [kind for kind, file, check in checks if _holds(reader, ending, file, check)]
            line = f"{name:<17} {ending:<6} {len(right):2} of {len(checks):2} cases"
            if wrong := [kind for kind, _, _ in checks if kind not in right]:
                line += f" (not {', '.join(wrong)})"
            click.echo(line)
            if folder:
                click.echo(f"{'':<24} {_on_real_files(reader, ending, folder, most)}")


def _is_installed(reader: Callable[[bytes, str], str]) -> bool:
    try:
        reader(b"", ".html")
    except ImportError:
        return False
    except Exception:  # noqa: BLE001 - the library complains about the empty file
        return True
    return True


def _checks(cases: Path, ending: str) -> Iterator[tuple[str, Path, dict[str, Any]]]:
    """Yield the cases with a single file of this ending: their name, file and checks."""
    for description in sorted(cases.glob("*/check.json")):
        for check in json.loads(description.read_text("utf-8")):
            file = description.parent / check["file"]
            if check["door"] == "docs" and file.suffix == ending:
                yield description.parent.name, file, check


def _holds(
    reader: Callable[[bytes, str], str], ending: str, file: Path, check: dict[str, Any]
) -> bool:
    try:
        text = reader(file.read_bytes(), ending)
    except Exception:  # noqa: BLE001 - a file that is refused is right only if that is expected
        return bool(check.get("note") and not check["must"])
    text = unicodedata.normalize("NFKC", text) if check.get("nfkc") else text
    return all(re.search(part, text) for part in check["must"]) and not any(
        re.search(part, text) for part in check["must_not"]
    )


def _on_real_files(
    reader: Callable[[bytes, str], str], ending: str, folder: Path, most: int
) -> str:
    files = [RealFile(*line.split(" ", 2)) for line in LIST.read_text("utf-8").splitlines()]
    counts: Counter[str] = Counter()
    seconds = 0.0
    for file in [file for file in files if file.ending == ending][:most]:
        content = file.content(folder)
        begun = time.process_time()
        try:
            text = reader(content, ending)
        except Exception:  # noqa: BLE001 - counted
            counts["refused"] += 1
            continue
        finally:
            seconds += time.process_time() - begun
        second = second_text(content, ending)
        lost, words = lost_words(text, second)
        counts.update(read=1, lost=lost, words=words, glued="glued" in faults_of(text, second))
    share = 100 * counts["lost"] / max(1, counts["words"])
    return (
        f"{counts['read']} real files read, {counts['refused']} refused,"
        f" {share:.2f} % of words lost, {counts['glued']} files with glued words, {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
