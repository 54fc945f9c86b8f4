"""Reads published JSON files into :class:`PublishedRow` records.

Error messages name the file, the row and the field.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Generic, NamedTuple, Protocol, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Record, first_fault
from conflictscore.retrieval.cleaning import clean_text


def _filled(text: str) -> str:
    if not (clean := clean_text(text)):
        raise ValueError("a non-empty string is needed")
    return clean


Text = Annotated[str, AfterValidator(_filled)]
"""A string that has been cleaned and must not be empty."""
Cleaned = Annotated[str, AfterValidator(clean_text)]
"""A string that has been cleaned and may be empty."""


class PublishedRow(BaseModel):
    """A row of a published file. Fields that the class does not declare are ignored.

    The class is strict: a value of another type is an error, and is not converted.
    """

    model_config = ConfigDict(frozen=True, strict=True)


_K = TypeVar("_K", bound=PublishedRow)


def read_json_lines(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield the location of each line, for use in error messages, and its parsed JSON value.

    Blank lines are skipped, but they count in line numbers.

    Raises:
        InputError: The file cannot be read, or a line is not JSON.
    """
    try:
        # "utf-8-sig" skips the byte order mark that some Windows programs write
        with path.open(encoding="utf-8-sig") as lines:
            for row, line in enumerate(lines, start=1):
                if not line.isspace():
                    yield f"{path}, row {row}", _value(line, f"{path}, row {row}")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error


class _Named(Protocol):
    """An object with an ``id``, by which duplicates are recognised."""

    @property
    def id(self) -> str: ...


_I = TypeVar("_I", bound=_Named)


class Items(NamedTuple, Generic[_I]):
    """The items that were read from a file."""

    items: tuple[_I, ...]
    left_out: Mapping[str, int]
    """The number of rows that gave no item, by reason."""


def read_items(
    path: str | Path,
    kind: type[_K],
    make: Callable[[_K, str], _I | str],
    *,
    id_field: str = "question",
    rows: Iterable[tuple[str, Any]] | None = None,
) -> Items[_I]:
    """Make an item from each row of a file, in order.

    By default, the rows are read from the file as JSON lines. Each element of ``rows`` is a pair: a
    location for error messages, and a row. ``make`` takes a row and its location, and returns an
    item. If the row has to be left out, ``make`` returns the reason instead. Every id must be
    unique within the file. If an id is repeated, the error message names ``id_field``, the field
    from which ids are made. Most published files have no ids, so readers make an id from the
    question, which is the default.

    Raises:
        InputError: No row gives an item, an id is repeated, or a row does not fit ``kind``.
    """
    items_by_id: dict[str, _I] = {}
    first: dict[str, str] = {}
    left_out: Counter[str] = Counter()
    for where, record in read_json_lines(Path(path)) if rows is None else rows:
        made_or_reason = make(row_of(kind, record, where), where)
        if isinstance(made_or_reason, str):
            left_out[made_or_reason] += 1
        elif made_or_reason.id in items_by_id:
            # the message already names the file, so only "row N" is quoted
            earlier = first[made_or_reason.id].rpartition(", ")[2]
            raise InputError(f"{where}, field {id_field}: the same as in {earlier}")
        else:
            items_by_id[made_or_reason.id], first[made_or_reason.id] = made_or_reason, where
    if not items_by_id:
        why = f" ({', '.join(left_out)})" if left_out else ""
        raise InputError(f"{path}: no row can be used{why}")
    return Items(tuple(items_by_id.values()), left_out)


def row_of(kind: type[_K], record: Any, where: str) -> _K:
    """Convert a record into a row of type ``kind``; raise InputError if it does not fit."""
    try:
        return kind.model_validate(record)
    except ValidationError as error:
        field, why = first_fault(error)
        raise InputError(f"{where}{field and f', field {field}'}: {why}") from None


def read_json(path: Path) -> Iterator[tuple[str, Any]]:
    """Yield each element of a file's JSON list, together with its location for error messages.

    Raises:
        InputError: The file cannot be read, or does not contain a JSON list.
    """
    try:
        rows = _value(path.read_text("utf-8-sig"), str(path))
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read as UTF-8 text ({error})") from error
    if not isinstance(rows, list):
        raise InputError(f"{path}: a JSON list is needed")
    yield from ((f"{path}, item {number}", row) for number, row in enumerate(rows, start=1))


def _value(line: str, where: str) -> Any:
    try:
        return json.loads(line)
    # A number with more than 4,300 digits raises ValueError, and deep nesting RecursionError.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{where}: not JSON ({error})") from error


_R = TypeVar("_R", bound=Record)


def decoded(line: bytes, kind: type[_R], where: str, advice: str) -> _R:
    """Decode a record from a JSON line.

    If this fails, the error message names the location ``where`` and ends with ``advice``.
    """
    try:
        return kind.model_validate(json.loads(line))
    except ValidationError as error:
        raise InputError(f"{where}: damaged ({fault_in_words(error)}); {advice}") from None
    except (ValueError, RecursionError):
        raise InputError(f"{where}: damaged (not JSON); {advice}") from None


def fault_in_words(error: ValidationError) -> str:
    """Return the dotted path of the first invalid field and its fault, but not the value read."""
    field, why = first_fault(error)
    return f"{field and f'field {field}: '}{why}"
