"""From one file to documents: plain text, web page or JSON lines."""

import codecs
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NoReturn

from conflictscore.errors import InputError
from conflictscore.records import Document
from conflictscore.retrieval.documents import Scalar, clean_text, is_scalar
from conflictscore.retrieval.pages.whole_text import whole_text

__all__ = ["ENDINGS", "UnusableFileError", "read_file"]

_LARGEST = 20_000_000
"""Bytes; a larger file is not read."""
_BOMS = (codecs.BOM_UTF32_LE, codecs.BOM_UTF32_BE, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
_NEVER_GUESSED = ["utf_16", "utf_16_be", "utf_16_le", "utf_32", "utf_32_be", "utf_32_le", "utf_7"]
"""Encodings that announce themselves by a byte order mark or are not in use; a guess of them is
wrong, and likely for a short text."""
_HEADING = re.compile(r"^#{1,6}[ \t]+([^\s#].*)$", re.MULTILINE)

Notes = list[str]


class UnusableFileError(Exception):
    """The file holds nothing that can be used; its text says why, without the file's name."""


def read_file(path: Path, url: str) -> tuple[list[Document], Notes]:
    """The documents of one file, each numbered 1, with notes on how it was read.

    Args:
        path: The file; its ending is one of ``ENDINGS``.
        url: What errors and notes call it, and the address of its documents.

    Raises:
        UnusableFileError: It cannot be opened, is too large, empty or not text.
        InputError: A line of a .jsonl file is wrong.
    """
    text, notes = _text_of(path, url)
    documents = list(_READERS[path.suffix.lower()](text, url, notes))
    if not documents:
        raise UnusableFileError("there is no text in it")
    return documents, notes


def _text_of(path: Path, url: str) -> tuple[str, Notes]:
    try:
        if not path.is_file():
            raise UnusableFileError("not a file that can be read")
        if path.stat().st_size > _LARGEST:
            raise UnusableFileError(f"larger than {_LARGEST // 1_000_000} MB")
        data = path.read_bytes()
    except OSError as error:
        raise UnusableFileError(f"cannot be read ({error.strerror})") from None
    if not data.startswith(_BOMS):
        if b"\x00" in data:
            raise UnusableFileError("not text")
        try:
            return data.decode("utf-8-sig"), []
        except UnicodeDecodeError:
            pass
    from charset_normalizer import from_bytes

    guess = from_bytes(data, cp_exclusion=[] if data.startswith(_BOMS) else _NEVER_GUESSED).best()
    if guess is None:
        raise UnusableFileError("not text, or in an encoding that cannot be told")
    return str(guess), [f"{url}: not UTF-8, read as {guess.encoding}"]


def _read_text(text: str, url: str, notes: Notes) -> Iterator[Document]:
    text = clean_text(text)
    heading = _HEADING.search(text)
    if text:
        title = heading[1].rstrip(" \t#") if heading else _stem(url)
        yield Document(number=1, text=text, title=title, url=url)


def _read_html(text: str, url: str, notes: Notes) -> Iterator[Document]:
    heading, body = map(clean_text, whole_text(text))
    if body:
        yield Document(number=1, text=body, title=heading or _stem(url), url=url)


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
    notes += (f"{url}: the field {name!r} is no single value, left out" for name in left_out)


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


def _stem(url: str) -> str:
    return Path(url).stem


_READERS: dict[str, Callable[[str, str, Notes], Iterator[Document]]] = {
    ".txt": _read_text,
    ".md": _read_text,
    ".html": _read_html,
    ".htm": _read_html,
    ".jsonl": _read_jsonl,
}

ENDINGS = tuple(_READERS)
"""The file endings that are read."""
