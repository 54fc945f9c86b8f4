"""The rows of an input: what is read of them, what is scored, and how JSON lines are read."""

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from typing import Any, Final, NoReturn, Protocol

from conflictscore.errors import InputError

__all__ = ["ADDED", "JsonLines", "Row", "Source", "Task", "task_of"]

ADDED = "conflictscore"
"""The field that is added to a row; every other one is carried through as it is."""
_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"
_KINDS: Final = {
    bool: "true or false",
    int: "a number",
    float: "a number",
    str: "a text",
    list: "a list",
    dict: "an object",
}


@dataclass(frozen=True, slots=True)
class Row:
    """One row of an input.

    Attributes:
        number: From 1, in the order of the input.
        fields: What stands in it, as JSON values, or as Python values of Parquet columns.
        fault: Why it could not be read; then it has no fields.
    """

    number: int
    fields: Mapping[str, Any] = field(default_factory=dict)
    fault: str | None = None


class Source(Protocol):
    """An input that is read again and again, a few rows at a time."""

    @property
    def path(self) -> Path:
        """Where it is."""

    @property
    def total(self) -> int:
        """How many rows it has."""

    @property
    def sha256(self) -> str:
        """Of its bytes, in hexadecimal."""

    def rows(self, wanted: Callable[[int], bool]) -> Iterator[Row]:
        """The rows whose numbers are wanted, in order.

        Raises:
            InputError: The file cannot be read any more.
        """


class JsonLines:
    """A file of JSON lines, one object a row; see :class:`Source`. Blank lines are no rows."""

    def __init__(self, path: Path) -> None:
        """Count the rows, which reads the file once.

        Raises:
            InputError: The file cannot be read.
        """
        self.path = path
        self.total = 0
        digest = hashlib.sha256()
        for line in self._lines():
            digest.update(line)
            self.total += not line.isspace()
        self.sha256 = digest.hexdigest()

    def rows(self, wanted: Callable[[int], bool]) -> Iterator[Row]:
        """The rows whose numbers are wanted, in order; one that is not an object has a fault."""
        number = 0
        for line in self._lines():
            if line.isspace():
                continue
            number += 1
            if wanted(number):
                yield _row(number, line.removeprefix(_BYTE_ORDER_MARK) if number == 1 else line)

    def _lines(self) -> Iterator[bytes]:
        try:
            with self.path.open("rb") as file:
                yield from file
        except OSError as error:
            raise InputError(f"{self.path}: cannot be read ({error.strerror})") from None


def _row(number: int, line: bytes) -> Row:
    try:
        value = json.loads(line.decode(), parse_constant=_refuse, parse_float=_finite)
    except UnicodeDecodeError:
        return Row(number, fault="is not UTF-8")
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
        half = "" if line.endswith(b"\n") else "; the file ends within this row"
        return Row(number, fault=f"is not JSON ({reason}){half}")
    if not isinstance(value, dict):
        return Row(number, fault="is not an object")
    return Row(number, value)


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no JSON value")


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError("a number is out of range")
    return value


@dataclass(frozen=True, slots=True)
class Task:
    """An answer and its documents, each with ``text``, ``title`` and ``url``."""

    answer: str
    documents: list[dict[str, str]]


def task_of(row: Row) -> Task:
    """What is to be scored of a row.

    Raises:
        InputError: It is missing, empty or of another form; names the field or document.
    """
    if row.fault is not None:
        raise InputError(row.fault)
    if ADDED in row.fields:
        raise InputError(f"has a field {ADDED} already: score the file that it was made from")
    for name in ("answer", "documents"):
        if row.fields.get(name) is None:
            raise InputError(f"has no field {name}")
    documents = row.fields["documents"]
    if not isinstance(documents, list):
        raise InputError(f"field documents: {_kind(documents)}, and not a list")
    if not documents:
        raise InputError("field documents: empty")
    return Task(
        _text(row.fields["answer"], "field answer"),
        [_document(item, f"document {number}") for number, item in enumerate(documents, 1)],
    )


def _document(item: Any, where: str) -> dict[str, str]:
    if isinstance(item, str):
        return {"text": _text(item, where)}
    if not isinstance(item, dict):
        raise InputError(f"{where}: {_kind(item)}, and neither a text nor an object with text")
    if item.get("text") is None:
        raise InputError(f"{where}: has no field text")
    document = {"text": _text(item["text"], f"{where}, field text")}
    for name in ("title", "url"):
        if item.get(name):
            document[name] = _text(item[name], f"{where}, field {name}")
    return document


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str):
        raise InputError(f"{where}: {_kind(value)}, and not a text")
    if not value.strip():
        raise InputError(f"{where}: empty")
    try:
        value.encode()
    except UnicodeEncodeError:
        raise InputError(f"{where}: holds half a character (a lone surrogate)") from None
    return value


def _kind(value: Any) -> str:
    return _KINDS.get(type(value), type(value).__name__)
