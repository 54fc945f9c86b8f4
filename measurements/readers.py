"""Compares this package's file readers with other libraries, on small cases and on real files.

Each case in --cases is a folder with a file and ``check.json``, which lists regular expressions
that the text must match, and expressions that it must not match. A reader passes a case if all of
these conditions hold. The comparison favours this package in two ways: the cases were written to
find faults of its readers, and the expressions describe lines in this package's format.

With --folder, a sample of the files that ``measurements.real_files`` has fetched into that folder
is read, too, and compared with the words that a person sees (``measurements.visible_words``). The
output shows for each reader:

- kept: the share of the visible words that the text has
- added: the share of the text's words that are not visible, without marks of pictures and the
  addresses of links; such words are hidden in the file, or come from the reader, such as the
  numbers of lists and repeated merged cells
- glued: files in which a word of the text is two adjacent visible words
- picture: files with a picture of which neither the text nor a note says anything
- seconds of processor time for all files

Only files with visible words are compared, and only tables whose first row is as wide as the
others. A file that a reader refuses counts as read without any of its words. Libraries that are not
installed are left out, as are formats that a library does not read.
"""

import csv
import io
import json
import random
import re
import time
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import click

from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import NoteKind
from measurements.real_files import (
    ENDINGS,
    LIST,
    RealFile,
    faults_of,
    picture,
    with_text_column,
)
from measurements.visible_words import FAILURES, MARK, Visible, viewer, without_marks, words_of

_NOTED = "[picture: as a note says]"
_PICTURE_NOTES = (NoteKind.NOT_IN_WORDS, NoteKind.PAGES_WITHOUT_TEXT)


def _ours(content: bytes, ending: str) -> str:
    if ending == ".csv":
        content = with_text_column(content, fullest=True)
    documents, notes = read_file(content, ending, f"a{ending}")
    texts = [document.text for document in documents]
    if ending == ".csv":  # a row's other fields are metadata
        texts += documents[0].metadata  # the names of the fields, which are the header
        fields = [(document.title, *document.metadata.values()) for document in documents]
        texts += [" ".join(map(str, each)) for each in fields]
    texts += [_NOTED for note in notes if note.kind in _PICTURE_NOTES]
    return "\n".join(texts)


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
    "ours": (_ours, ENDINGS),
    "markitdown": (_markitdown, (".pdf", ".docx", ".html", ".csv")),
    "docling": (_docling, (".docx", ".html", ".md", ".csv")),
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
    "--most", default=25, show_default=True, help="Number of real files drawn for each ending."
)
@click.option(
    "--largest", default=150_000, show_default=True, help="Maximum size of a real file, in bytes."
)
@click.option("--seed", default=7, show_default=True)
@click.option("--ending", "endings", multiple=True, default=ENDINGS, show_default=True)
def main(
    cases: Path,
    folder: Path | None,
    names: Sequence[str],
    most: int,
    largest: int,
    seed: int,
    endings: Sequence[str],
) -> None:
    """See the module."""
    drawn = _drawn(folder, largest, seed, endings) if folder else []
    samples = _samples(drawn, folder, most) if folder else {}
    for ending, sample in samples.items():
        click.echo(f"{ending}: {len(sample)} real files with {_word_count(sample):,} visible words")
    for name in names:
        reader, readable = _READERS[name]
        if not _is_installed(reader):
            click.echo(f"{name}: not installed")
            continue
        for ending in filter(endings.__contains__, readable):
            checks = [*_checks(cases, ending)]
            right = [kind for kind, file, check in checks if _holds(reader, ending, file, check)]
            line = f"{name:<17} {ending:<6} {len(right):2} of {len(checks):2} cases"
            if wrong := [kind for kind, _, _ in checks if kind not in right]:
                line += f" (not {', '.join(wrong)})"
            click.echo(line)
            if ending in samples:
                click.echo(f"{'':<24} {_on_real_files(reader, ending, samples[ending])}")


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


class _Shown(NamedTuple):
    """A real file's content, what is visible in it, and the location of its first picture."""

    content: bytes
    visible: Visible
    picture: str


def _drawn(folder: Path, largest: int, seed: int, endings: Sequence[str]) -> list[RealFile]:
    """Return the files in the folder with these endings, up to a size, in an order by seed."""
    files = [RealFile(*line.split(" ", 2)) for line in LIST.read_text("utf-8").splitlines()]
    random.Random(seed).shuffle(files)  # noqa: S311 - a sample
    return [
        file
        for file in files
        if file.ending in endings
        and (place := file.place(folder)).exists()
        and place.stat().st_size <= largest
    ]


def _samples(files: Sequence[RealFile], folder: Path, most: int) -> dict[str, list[_Shown]]:
    """Return, for each kind of file, the first files that contain visible words."""
    samples: dict[str, list[_Shown]] = defaultdict(list)
    with viewer() as visible_in:
        for file in files:
            if len(samples[file.ending]) == most:
                continue
            try:
                visible = visible_in(file, folder)
            except FAILURES as error:
                click.echo(f"{file.package} {file.path}: not shown, {type(error).__name__}")
                continue
            content = file.content(folder)
            if visible.words and (file.ending != ".csv" or _has_header(content)):
                shown = _Shown(content, visible, picture(content, file.ending))
                samples[file.ending].append(shown)
    return samples


def _has_header(table: bytes) -> bool:
    """Return whether the first row of a table is as wide as its widest row."""
    rows = [len(row) for row in csv.reader(io.StringIO(table.decode("utf-8", "replace"))) if row]
    return bool(rows) and rows[0] == max(rows)


def _word_count(sample: Sequence[_Shown]) -> int:
    return sum(shown.visible.words.total() for shown in sample)


def _on_real_files(
    reader: Callable[[bytes, str], str], ending: str, sample: Sequence[_Shown]
) -> str:
    counts: Counter[str] = Counter()
    seconds = 0.0
    for shown in sample:
        begun = time.process_time()
        try:
            text = reader(shown.content, ending)
        except Exception:  # noqa: BLE001 - counted
            counts["refused"] += 1
            continue
        finally:
            seconds += time.process_time() - begun
        bare = without_marks(text)
        words = Counter(words_of(bare))
        counts.update(
            kept=(words & shown.visible.words).total(),
            words=words.total(),
            glued="glued" in faults_of(bare, shown.visible.text),
            picture=bool(shown.picture and not MARK.search(text)),
            pictures=bool(shown.picture),
        )
    kept = counts["kept"] / max(1, _word_count(sample))
    added = 1 - counts["kept"] / max(1, counts["words"])
    return (
        f"{counts['refused']} refused, kept {100 * kept:.2f} %, added {100 * added:.2f} %,"
        f" glued in {counts['glued']} files,"
        f" {counts['picture']} of {counts['pictures']} with an unmarked picture, {seconds:.1f} s"
    )


if __name__ == "__main__":
    main()
