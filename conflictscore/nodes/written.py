"""The outcome of writing an answer again, in either way."""

from typing import NamedTuple

from conflictscore.records import Answer, Change

__all__ = ["Written"]


class Written(NamedTuple):
    """An answer that was written again."""

    changes: tuple[Change, ...]
    """Every passage that was looked at, in the order of the answer; at least one."""
    answer: Answer | None = None
    """None where no look succeeded; then the changes say why."""
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    """Time that the answerer took before it was asked."""
