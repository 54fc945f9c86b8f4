"""Records read back from a file, or what is wrong with them in words."""

import json
from typing import TypeVar

from pydantic import ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Record, first_fault

__all__ = ["decoded", "fault_in_words"]

_R = TypeVar("_R", bound=Record)


def decoded(line: bytes, kind: type[_R], where: str, advice: str) -> _R:
    """The record in a line of JSON.

    Args:
        line: The line, with or without its end.
        kind: What it holds.
        where: What errors call it, such as ``"FILE, row 3"``.
        advice: What to do where it is damaged.

    Raises:
        InputError: The line is damaged; says how.
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
