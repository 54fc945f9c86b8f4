"""The base class of all records, and the repair of texts that UTF-8 cannot encode."""

import re
from enum import Enum
from functools import cache, partial
from operator import is_
from typing import Annotated, Any, Literal, Self, get_args, get_origin

from pydantic import BaseModel, ConfigDict, ValidationError

# Halves of characters, which JSON can contain but UTF-8 cannot encode.
_SURROGATES = re.compile("[\ud800-\udfff]")
_CONTAINERS = frozenset({dict, list, tuple})
# Looking up exact types is faster than ``isinstance``, and every field of every record is checked.
_TEXTLESS = frozenset({int, float, bool, type(None)})
_HOLDERS = (str, dict, list, tuple)  # types that may hold text
_TEXTLESS_TYPES = (int, float, type(None), Enum, BaseModel)
_set = object.__setattr__  # records are frozen
is_none = partial(is_, None)
"""Returns whether a value is None. Pydantic asks this of several fields of every record that it
writes, and a function in Python would take longer.

These fields (``exclude_if``) were added after runs had been stored. A record that does not use them
has the same JSON as in versions without them."""


def encodable(value: Any) -> Any:
    """Return a value of plain JSON with its lone surrogates replaced, so that UTF-8 can encode it.

    JSON can contain half of a surrogate pair as an escape, and some models and web pages send such
    a half. No file, database or terminal accepts it, so it is replaced by U+FFFD.
    """
    kind = type(value)
    if kind in _TEXTLESS or not issubclass(kind, _HOLDERS):
        return value
    if isinstance(value, str):
        if value.isascii():  # most texts are ASCII, and the test is cheap
            return value
        try:
            value.encode()
        except UnicodeEncodeError:
            return _SURROGATES.sub("\ufffd", value)
        return value
    if isinstance(value, dict):
        return {encodable(key): encodable(inner) for key, inner in value.items()}
    try:  # most lists and tuples hold ASCII texts only, or nothing
        if "".join(value).isascii():
            return value
    except TypeError:  # a part is not a text
        pass
    # a record replaces the surrogates in its own fields when it is made
    parts: Any = [part if isinstance(part, BaseModel) else encodable(part) for part in value]
    return parts if kind is list else kind(parts)


def first_fault(error: ValidationError) -> tuple[str, str]:
    """Return the dotted path of the first invalid field, and the reason, without quoting the input.

    The path is empty if the data as a whole is invalid.
    """
    fault = error.errors(include_url=False, include_input=False)[0]
    return ".".join(map(str, fault["loc"])), fault["msg"].removeprefix("Value error, ")


class Record(BaseModel):
    """Base class of all records.

    Records are frozen, reject unknown fields, NaN and infinity, and replace lone surrogates.
    """

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    def model_post_init(self, _context: Any) -> None:
        """Make texts encodable when this record is created, not when another record includes it."""
        fields = self.__dict__
        for name in _text_fields(type(self)):  # must be fast: a run has thousands of fields
            if name not in fields:
                continue  # ``model_construct`` may leave fields out
            field = fields[name]
            kind = type(field)
            if (kind is str and not field.isascii()) or (field and kind in _CONTAINERS):
                fields[name] = encodable(field)

    def __copy__(self) -> Self:
        """Return a shallow copy, at less cost than Pydantic's: a record has only its fields."""
        copied = object.__new__(type(self))
        _set(copied, "__dict__", self.__dict__.copy())
        _set(copied, "__pydantic_fields_set__", self.__pydantic_fields_set__.copy())
        _set(copied, "__pydantic_extra__", None)
        _set(copied, "__pydantic_private__", None)
        return copied

    def to_json(self) -> dict[str, Any]:
        """Return the record as plain JSON for graph state, caches and logs."""
        return self.model_dump(mode="json")


@cache
def _text_fields(kind: type[BaseModel]) -> tuple[str, ...]:
    """Return the names of the fields of a record that may hold text."""
    return tuple(n for n, field in kind.model_fields.items() if _may_hold_text(field.annotation))


def _may_hold_text(annotation: Any) -> bool:
    """Return whether values of a type may hold text, apart from the texts of other records."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Literal:  # its texts are in the code
        return False
    if parts:
        types = parts[:1] if origin is Annotated else parts
        return any(part is not Ellipsis and _may_hold_text(part) for part in types)
    return not (isinstance(annotation, type) and issubclass(annotation, _TEXTLESS_TYPES))
