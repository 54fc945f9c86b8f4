"""Real files of other projects, read by conflictscore and by a second extractor.

The files are those that the source distributions of pypdf, trafilatura, python-docx, mammoth and
readability-lxml ship. They are fetched here and never kept in this repository::

    python -m measurements.real_files --folder /tmp/files

Words of the second extractor that the first does not give count as lost; both texts are folded to
lower case, and order does not count. Seconds and memory are those of a process of its own.
"""

import argparse
import multiprocessing
import re
import resource
import subprocess
import sys
import tarfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

PROJECTS = ("pypdf", "trafilatura", "python-docx", "mammoth", "readability-lxml")
ENDINGS = (".pdf", ".docx", ".html", ".htm", ".txt", ".md")
_SECONDS = 120
_WORD = re.compile(r"\w+")


class Outcome(NamedTuple):
    """How one file was read."""

    file: str
    state: str
    """``read``, ``refused`` or ``empty``."""
    reason: str
    lost: int
    """Words of the second extractor that are missing."""
    words: int
    """Words of the second extractor; 0 where it read nothing."""
    seconds: float
    megabytes: float


def main() -> None:
    """Fetch, read and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--folder", type=Path, required=True, help="where the files are fetched to")
    parser.add_argument("--worst", type=int, default=12, help="files to name; default: 12")
    arguments = parser.parse_args()
    fetch(arguments.folder)
    files = sorted(p for p in arguments.folder.rglob("*") if p.suffix.lower() in ENDINGS)
    outcomes = [outcome for file in files if (outcome := _in_process(file, arguments.folder))]
    for ending in ENDINGS:
        if of_kind := [one for one in outcomes if one.file.lower().endswith(ending)]:
            print_kind(ending, of_kind)
    print("\nwords lost, by file:")
    losses = sorted(outcomes, key=lambda one: -one.lost)
    for one in losses[: arguments.worst]:
        if one.lost:
            print(f"  {one.file}: {one.lost} of {one.words}")
    print("\nnot read:")
    for one in outcomes:
        if one.state != "read":
            print(f"  {one.file}: {one.state} ({one.reason})")


def fetch(folder: Path) -> None:
    """Download and unpack the source distributions that the folder lacks."""
    folder.mkdir(parents=True, exist_ok=True)
    for project in PROJECTS:
        stem = project.replace("-", "[-_]")
        if not [*folder.glob(f"{stem}-*.tar.gz")]:
            pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps"]
            pip += ["--no-binary", ":all:", "--dest", str(folder), project]
            subprocess.run(pip, check=True)  # noqa: S603 - names of this file
        for archive in folder.glob(f"{stem}-*.tar.gz"):
            if not (folder / archive.name.removesuffix(".tar.gz")).exists():
                with tarfile.open(archive) as packed:
                    packed.extractall(folder, filter="data")


def print_kind(ending: str, outcomes: list[Outcome]) -> None:
    """Print the table row of one kind of file."""
    states = Counter(one.state for one in outcomes)
    compared = [one for one in outcomes if one.words and one.state == "read"]
    lost, words = sum(one.lost for one in compared), sum(one.words for one in compared)
    whole = sum(not one.lost for one in compared)
    seconds = [one.seconds for one in outcomes]
    memory = [one.megabytes for one in outcomes]
    print(
        f"{ending}: {len(outcomes)} files, read {states['read']}, refused {states['refused']},"
        f" empty {states['empty']}; words lost {lost} of {words}"
        f" ({lost / max(words, 1):.2%}), no word lost in {whole} of {len(compared)};"
        f" seconds p50 {median(seconds):.2f}, worst {max(seconds):.2f};"
        f" MB p50 {median(memory):.0f}, worst {max(memory):.0f}"
    )


def _in_process(file: Path, folder: Path) -> Outcome | None:
    """The outcome of one file, read in a forked process."""
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    process = context.Process(target=_read, args=(file, theirs))
    started = time.perf_counter()
    process.start()
    theirs.close()
    try:
        said = ours.recv() if ours.poll(_SECONDS) else None
    except EOFError:
        said = None
    seconds = time.perf_counter() - started
    process.kill()
    process.join()
    name = file.relative_to(folder).as_posix()
    if said is None:
        return Outcome(name, "refused", "crashed or too slow", 0, 0, seconds, 0.0)
    text, reason, took, megabytes = said
    second = Counter(_words(_second_reading(file)))
    lost = sum((second - Counter(_words(text))).values())
    state = "refused" if reason else "read"
    if "no text" in reason:
        state = "empty"
    return Outcome(name, state, reason, lost, sum(second.values()), took, megabytes)


def _read(file: Path, answer: Any) -> None:
    from conflictscore.retrieval.reading.by_ending import UnusableFileError, read_file

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    text, reason, started = "", "", time.perf_counter()
    try:
        documents, _ = read_file(file.read_bytes(), file.suffix.lower(), file.name)
        text = "\n".join(f"{document.title}\n{document.text}" for document in documents)
    except UnusableFileError as error:
        reason = str(error)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    answer.send((text, reason, time.perf_counter() - started, (after - before) / 1024))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _second_reading(file: Path) -> str:
    """The text by pypdf, mammoth or lxml; as it is for plain text; empty where they fail."""
    reader: Callable[[Path], str] = _SECOND[file.suffix.lower()]
    try:
        return reader(file)
    except Exception:  # noqa: BLE001 - of a second reader any failure means: nothing to compare
        return ""


def _by_pypdf(file: Path) -> str:
    from pypdf import PdfReader

    return "\n".join(page.extract_text() for page in PdfReader(file).pages)


def _by_mammoth(file: Path) -> str:
    import mammoth

    with file.open("rb") as opened:
        return str(mammoth.extract_raw_text(opened).value)


def _by_lxml(file: Path) -> str:
    from lxml import etree, html

    tree = html.fromstring(file.read_bytes())
    etree.strip_elements(tree, "script", "style", "noscript", "template", with_tail=False)
    return "\n".join(str(text) for text in tree.itertext())


def _as_text(file: Path) -> str:
    return file.read_text("utf-8", "replace")


_SECOND = {
    ".pdf": _by_pypdf,
    ".docx": _by_mammoth,
    ".html": _by_lxml,
    ".htm": _by_lxml,
    ".txt": _as_text,
    ".md": _as_text,
}

if __name__ == "__main__":
    main()
