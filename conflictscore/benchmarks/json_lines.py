"""Reads published files of JSON and the fields of their records: every fault names file and row."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Record, first_fault
from conflictscore.retrieval.cleaning import clean_text

__all__ = [
    "Items",
    "documents_of",
    "list_of",
    "one_of",
    "read_items",
    "read_json",
    "read_json_lines",
    "text_of",
    "texts_of",
]

_V = TypeVar("_V")


def read_json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Each line's value, with the file and row for errors.

    Raises:
        InputError: The file cannot be read, or a line is not JSON.
    """
    try:
        with path.open(encoding="utf-8") as lines:
            for row, line in enumerate(lines, start=1):
                yield f"{path}, row {row}", _value(line, f"{path}, row {row}")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error


class _Named(Protocol):
    @property
    def id(self) -> str: ...


_I = TypeVar("_I", bound=_Named)


class Items(NamedTuple, Generic[_I]):
    """The contents of a file."""

    items: tuple[_I, ...]
    left_out: Mapping[str, int]
    """How many rows make no item, by reason."""


def read_items(
    path: str | Path,
    make: Callable[[Any, str], _I | str],
    *,
    id_field: str = "question",
    rows: Iterable[tuple[str, Any]] | None = None,
) -> Items[_I]:
    """Make an item of each row of a file, in its order.

    Args:
        path: The file.
        make: From a row's value and its place, for errors, to an item or why there is none.
        id_field: The field that ids come from: a file has each once.
        rows: The places and values; by default those of JSON lines.

    Raises:
        InputError: There is no item, an id is repeated, or ``make`` refuses a row.
    """
    items: dict[str, _I] = {}
    first: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    for where, record in read_json_lines(Path(path)) if rows is None else rows:
        made = make(record, where)
        if isinstance(made, str):
            left_out[made] += 1
        elif made.id in items:
            earlier = first[made.id].rpartition(", ")[2]
            raise InputError(f"{where}, field {id_field}: the same as in {earlier}")
        else:
            items[made.id], first[made.id] = made, where
    if not items:
        why = f" ({', '.join(left_out)})" if left_out else ""
        raise InputError(f"{path}: there is nothing in it to use{why}")
    return Items(tuple(items.values()), left_out)


def read_json(path: Path) -> Any:
    """The value of a JSON file.

    Raises:
        InputError: The file cannot be read, or is not JSON.
    """
    try:
        return _value(path.read_text("utf-8"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error


def text_of(record: Any, field: str, where: str) -> str:
    """A text of a record that was read, cleaned.

    Args:
        record: What was read; anything.
        field: The name of the text in it.
        where: File and row, for the error.

    Raises:
        InputError: There is no such text, or it is empty.
    """
    value = record.get(field) if isinstance(record, Mapping) else None
    if not isinstance(value, str) or not (text := clean_text(value)):
        raise InputError(f"{where}, field {field}: a text is needed that is not empty")
    return text


def texts_of(record: Mapping[str, Any], field: str, where: str) -> list[str]:
    """The texts of a list of a record that was read, cleaned, without empty ones.

    Raises:
        InputError: There is no such list, or it holds something other than text.
    """
    values = record.get(field)
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise InputError(f"{where}, field {field}: a list of texts is needed")
    return [text for value in values if (text := clean_text(value))]


def list_of(record: Any, field: str, where: str) -> list[tuple[str, Any]]:
    """The items of a list of a record that was read, each after its place for errors; maybe none.

    Raises:
        InputError: There is no such list.
    """
    values = record.get(field) if isinstance(record, Mapping) else None
    if not isinstance(values, list):
        raise InputError(f"{where}, field {field}: a list is needed")
    return [(f"{where}, field {field}, item {n}", one) for n, one in enumerate(values, start=1)]


def one_of(record: Any, field: str, known: Mapping[str, _V], where: str) -> _V:
    """The meaning of a field whose values are known.

    Raises:
        InputError: It holds something else; names what it may be.
    """
    value = record.get(field) if isinstance(record, Mapping) else None
    if not isinstance(value, str) or value not in known:
        shown = value[:80] if isinstance(value, str) else value
        raise InputError(f"{where}, field {field}: {shown!r} is none of {', '.join(known)}")
    return known[value]


def documents_of(record: Mapping[str, Any], field: str, where: str) -> list[tuple[str, Any]]:
    """The documents of a record that was read, each after its place for errors.

    Raises:
        InputError: There is no such list, or it is empty.
    """
    values = record.get(field)
    if not isinstance(values, list) or not values:
        raise InputError(f"{where}, field {field}: a list of documents is needed that is not empty")
    return [(f"{where}, document {number}", one) for number, one in enumerate(values, start=1)]


def _value(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    except (ValueError, RecursionError) as error:  # a number or a nesting that is too long, too
        raise InputError(f"{where}: not JSON ({error})") from error


_R = TypeVar("_R", bound=Record)


def decoded(line: bytes, kind: type[_R], where: str, advice: str) -> _R:
    """The record in a line of JSON.

    Args:
        line: The line, with or without its end.
        kind: What it holds.
        where: What errors call it, such as ``"FILE, row 3"``.
        advice: What to do where it is damaged.
    """
    try:
        return kind.model_validate(json.loads(line))
    except ValidationError as error:
        raise InputError(f"{where}: damaged ({fault_in_words(error)}); {advice}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{where}: damaged (not JSON); {advice}") from None


def fault_in_words(error: ValidationError) -> str:
    """The first thing that is wrong, with its dotted field; without what was read."""
    field, why = first_fault(error)
    return f"{field and f'field {field}: '}{why}"
