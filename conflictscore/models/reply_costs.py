"""Costs of replies, kept with what is stored of them, so that a cached one has its price."""

from contextvars import ContextVar
from typing import Any

from pydantic import ValidationError

from conflictscore.models.usage import cost_of
from conflictscore.records import Usage

__all__ = ["add", "begin", "stored", "take"]

_UNSTORED: ContextVar[Usage | None] = ContextVar("conflictscore_unstored", default=None)
"""The cost of this task's calls since the last value was stored."""


def begin() -> None:
    """Leave out the calls so far, which may be of whoever started this task."""
    _UNSTORED.set(None)


def add(reply: Any) -> None:
    """Add the cost of the call that gave a reply."""
    _UNSTORED.set((_UNSTORED.get() or Usage()) + cost_of(reply))


def take() -> dict[str, Any]:
    """The field to store with a value: the cost of the calls since the last one was stored.

    Of several values that one call gave, the first has its whole cost.
    """
    cost = _UNSTORED.get()
    if cost is None:
        return {}
    _UNSTORED.set(Usage())
    return {"cost": cost.to_json()}


def stored(value: dict[str, Any]) -> Usage | None:
    """Take the cost out of a stored value; None where an earlier version stored it without."""
    try:
        return Usage.model_validate(value.pop("cost", None))
    except ValidationError:
        return None
