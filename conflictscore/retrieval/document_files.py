"""Which files a path stands for, and the documents in each, by the ending of its name."""

import codecs
import json
import logging
import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib import import_module
from io import BytesIO
from pathlib import Path
from typing import Any, NoReturn
from zipfile import ZipFile

from conflictscore.errors import InputError, NoDocumentsError, install_hint
from conflictscore.records import Document
from conflictscore.retrieval.documents import Scalar, clean_text, is_scalar
from conflictscore.retrieval.pages.extract import whole_text

__all__ = ["ReadResult", "files_of", "read_documents"]

_NOTES_SHOWN = 3
"""How many notes an error repeats."""
_LARGEST = 20_000_000
"""Bytes; a larger file is not read."""
_LARGEST_UNPACKED = 200_000_000
_BOMS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NEVER_GUESSED = ["utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le", "utf_7"]
"""Encodings that announce themselves by a byte order mark or are not in use; a guess of them is
wrong, and likely for a short text."""
_HEADING = re.compile(r"^#{1,6}[ \t]+([^\s#].*)$", re.MULTILINE)

Notes = list[str]
_Reader = Callable[[bytes, str, Notes], Iterator[Document]]
"""Of a file's bytes and what it is called, its documents; adds notes on how it was read."""


@dataclass(frozen=True, slots=True)
class ReadResult:
    """What was read, and what was not.

    Attributes:
        documents: Numbered from 1, in the order of the paths; a folder's files by name.
        notes: One line for each thing the user should know, such as a file left out.
    """

    documents: tuple[Document, ...]
    notes: tuple[str, ...]


def read_documents(paths: Sequence[str | Path]) -> ReadResult:
    """Reads files, and folders with all their subfolders.

    Text (.txt, .md), web pages (.html, .htm), PDF and DOCX (these two with the extra ``docs``) give
    one document a file; .jsonl gives one a line: an object with ``text`` and, where wanted,
    ``title``, ``url`` and other single values as metadata. In a folder, hidden files and other
    endings are passed over, and a file that cannot be used is left out with a note. A file met
    twice is read once.

    Raises:
        InputError: A path does not exist or cannot be read, a file given by name cannot be
            used, or a line of a .jsonl file is wrong; names the file, the line and the field.
        NoDocumentsError: There is nothing to read in any of the paths.
    """
    if not paths:
        raise InputError("no file or folder to read was given")
    documents: list[Document] = []
    notes: list[str] = []
    seen: set[str] = set()
    for given in paths:
        for file in files_of(given, notes):
            if (real := os.path.realpath(file)) in seen:
                continue
            seen.add(real)
            try:
                found, file_notes = _read_file(file, _shown(file))
            except _UnusableFileError as unusable:
                if file == Path(given):
                    raise InputError(f"{_shown(file)}: {unusable}") from None
                notes.append(f"{_shown(file)}: {unusable}, left out")
                continue
            notes += file_notes
            documents += (
                document.model_copy(update={"number": number})
                for number, document in enumerate(found, len(documents) + 1)
            )
    if not documents:
        where = ", ".join(_shown(Path(given)) for given in paths)
        why = f" ({'; '.join(notes[:_NOTES_SHOWN])})" if notes else ""
        raise NoDocumentsError(f"nothing to read in {where}: {_ENDINGS} files are read{why}")
    return ReadResult(tuple(documents), tuple(notes))


def _shown(path: Path) -> str:
    """The path with forward slashes, as text that any output can hold."""
    return os.fsencode(path.as_posix()).decode("utf-8", "replace")


def files_of(given: str | Path, notes: list[str]) -> Iterator[Path]:
    """The files to read for one path, a folder's by name; adds notes on what is passed over.

    Raises:
        InputError: The path does not exist, cannot be read, or is a file with another ending.
    """
    path = Path(given)
    if not str(given):
        raise InputError("the path of a file or folder to read is empty")
    try:
        path.stat()
    except FileNotFoundError:
        raise InputError(f"{_shown(path)}: there is no such file or folder") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise InputError(f"{_shown(path)[:200]}: cannot be read ({reason})") from None
    if path.is_dir():
        yield from _walk(path, notes)
    elif path.suffix.lower() not in _READERS:
        raise InputError(f"{_shown(path)}: not one of the endings that are read, {_ENDINGS}")
    else:
        yield path


def _walk(folder: Path, notes: list[str]) -> list[Path]:
    """The folder's files to read, by name; each folder once, however many links lead to it."""
    files: list[Path] = []
    passed_over = 0
    entered = {os.path.realpath(folder)}
    for root, folders, names in os.walk(folder, followlinks=True, onerror=_cannot_read):
        candidates, folders[:] = sorted(folders), []
        for name in candidates:
            real = os.path.realpath(Path(root, name))
            if not name.startswith(".") and real not in entered:
                entered.add(real)
                folders.append(name)
        visible = [Path(root, name) for name in names if not name.startswith(".")]
        wanted = [path for path in visible if path.suffix.lower() in _READERS]
        passed_over += len(visible) - len(wanted)
        files += wanted
    if passed_over:
        what = "1 file" if passed_over == 1 else f"{passed_over} files"
        notes.append(f"{_shown(folder)}: passed over {what} not ending in {_ENDINGS}")
    return sorted(files, key=lambda path: path.parts)


def _cannot_read(error: OSError) -> None:
    raise InputError(
        f"{_shown(Path(error.filename))}: the folder cannot be read ({error.strerror})"
    )


class _UnusableFileError(Exception):
    """The file holds nothing that can be used; its text says why, without the file's name."""


def _read_file(path: Path, url: str) -> tuple[list[Document], Notes]:
    """The documents of one file, each numbered 1, with notes on how it was read.

    Args:
        path: The file; its ending is a key of ``_READERS``.
        url: What errors and notes call it, and the address of its documents.

    Raises:
        _UnusableFileError: It cannot be opened, is too large, empty or not text.
        InputError: A line of a .jsonl file is wrong.
    """
    notes: Notes = []
    documents = list(_READERS[path.suffix.lower()](_bytes_of(path), url, notes))
    if not documents:
        raise _UnusableFileError("there is no text in it")
    return documents, notes


def _bytes_of(path: Path) -> bytes:
    try:
        if not path.is_file():
            raise _UnusableFileError("not a file that can be read")
        if path.stat().st_size > _LARGEST:
            raise _UnusableFileError(f"larger than {_LARGEST // 1_000_000} MB")
        return path.read_bytes()
    except OSError as error:
        raise _UnusableFileError(f"cannot be read ({error.strerror})") from None


def _of_text(read: Callable[[str, str, Notes], Iterator[Document]]) -> _Reader:
    """The reader of a file's bytes, from that of its text."""
    return lambda data, url, notes: read(_decoded(data, url, notes), url, notes)


def _decoded(data: bytes, url: str, notes: Notes) -> str:
    if not data.startswith(_BOMS):
        if b"\x00" in data:
            raise _UnusableFileError("not text")
        try:
            return data.decode("utf-8-sig")
        except UnicodeDecodeError:
            pass
    from charset_normalizer import from_bytes

    guess = from_bytes(data, cp_exclusion=[] if data.startswith(_BOMS) else _NEVER_GUESSED).best()
    if guess is None:
        raise _UnusableFileError("not text, or in an encoding that cannot be determined")
    notes.append(f"{url}: not UTF-8, read as {guess.encoding}")
    return str(guess)


def _read_text(text: str, url: str, notes: Notes) -> Iterator[Document]:
    text = clean_text(text)
    heading = _HEADING.search(text)
    if text:
        title = heading[1].rstrip(" \t#") if heading else Path(url).stem
        yield Document(number=1, text=text, title=title, url=url)


def _read_html(text: str, url: str, notes: Notes) -> Iterator[Document]:
    heading, body = map(clean_text, whole_text(text))
    if body:
        yield Document(number=1, text=body, title=heading or Path(url).stem, url=url)


def _read_jsonl(text: str, url: str, notes: Notes) -> Iterator[Document]:
    left_out: dict[str, None] = {}
    for row, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{url}, line {row}"
        fields = _object(line, where)
        body = _string(fields, "text", where)
        if not body:
            raise InputError(f"{where}: the field 'text' is missing or empty")
        title = _string(fields, "title", where)
        address = _string(fields, "url", where)
        metadata: dict[str, Scalar] = {}
        for key, value in fields.items():
            name = clean_text(key)
            if isinstance(value, list | dict):
                left_out[name] = None
            elif not is_scalar(value):
                raise InputError(f"{where}: the field {name!r} is not a finite number")
            else:
                metadata[name] = clean_text(value) if isinstance(value, str) else value
        yield Document(number=1, text=body, title=title, url=address or url, metadata=metadata)
    notes += (f"{url}: the field {name!r} is not a single value, left out" for name in left_out)


def _object(line: str, where: str) -> dict[str, Any]:
    try:
        fields = json.loads(line, parse_constant=_no_constant)
    except (ValueError, RecursionError):
        raise InputError(f"{where}: not JSON; each line holds one JSON object") from None
    if not isinstance(fields, dict):
        raise InputError(f'{where}: not a JSON object such as {{"text": "...", "title": "..."}}')
    return fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _string(fields: dict[str, Any], name: str, where: str) -> str:
    """Takes a field out; empty where it is missing or null."""
    value = fields.pop(name, None)
    if not isinstance(value, str | None):
        raise InputError(f"{where}: the field {name!r} is not a string")
    return clean_text(value or "")


def _read_pdf(data: bytes, url: str, notes: Notes) -> Iterator[Document]:
    pypdf = _library("pypdf", "pypdf")
    logging.getLogger("pypdf").setLevel(logging.ERROR)  # it tells of each flaw that it mends
    with _damaged("PDF"):
        file = pypdf.PdfReader(BytesIO(data))
        if file.is_encrypted and not file.decrypt(""):
            raise _UnusableFileError("it is locked; save a copy that opens without a password")
        pages = [clean_text(page.extract_text()) for page in file.pages]
        title = file.metadata.title if file.metadata else None
    if missing := pages.count(""):
        if missing == len(pages):
            raise _UnusableFileError(
                "there is no text in it; where its pages are pictures, have their text recognised"
                " (OCR) first"
            )
        notes.append(f"{url}: {missing} of its {len(pages)} pages have no text")
    yield _named(url, "\n\n".join(filter(None, pages)), title)


def _read_docx(data: bytes, url: str, notes: Notes) -> Iterator[Document]:
    docx = _library("docx", "python-docx")
    with _damaged("DOCX"):
        with ZipFile(BytesIO(data)) as parts:
            unpacked = sum(part.file_size for part in parts.infolist())
        if unpacked > _LARGEST_UNPACKED:
            raise _UnusableFileError(f"unpacked larger than {_LARGEST_UNPACKED // 1_000_000} MB")
        file = docx.Document(BytesIO(data))
        blocks = [
            "\n".join(" | ".join(cell.text for cell in row.cells) for row in block.rows)
            if hasattr(block, "rows")
            else block.text
            for block in file.iter_inner_content()
        ]
        title = file.core_properties.title
    if text := clean_text("\n".join(blocks)):
        yield _named(url, text, title)


def _named(url: str, text: str, title: object) -> Document:
    known = clean_text(title) if isinstance(title, str) else ""
    return Document(number=1, text=text, title=known or Path(url).stem, url=url)


def _library(module: str, package: str) -> Any:
    try:
        return import_module(module)
    except ImportError:
        raise _UnusableFileError(f"reading it needs {package}: {install_hint('docs')}") from None


@contextmanager
def _damaged(kind: str) -> Iterator[None]:
    try:
        yield
    except _UnusableFileError:
        raise
    except Exception as error:  # noqa: BLE001 - a damaged file makes its reader raise anything
        reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
        raise _UnusableFileError(f"not a {kind} that can be read ({reason})") from None


_READERS: dict[str, _Reader] = {
    ".txt": _of_text(_read_text),
    ".md": _of_text(_read_text),
    ".html": _of_text(_read_html),
    ".htm": _of_text(_read_html),
    ".jsonl": _of_text(_read_jsonl),
    ".pdf": _read_pdf,
    ".docx": _read_docx,
}

_ENDINGS = ", ".join(_READERS)
