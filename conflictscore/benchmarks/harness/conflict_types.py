"""The taxonomy of "DRAGged into Conflicts": types, expected behaviours, and citations.

The loop knows nothing about types. They come with CONFLICTS' questions, and the methods
``pipeline``, ``taxonomy-aware`` and ``oracle`` use them.
"""

import re
from collections.abc import Collection
from enum import StrEnum

from conflictscore.prompts import PromptSet


class ConflictType(StrEnum):
    """The relation between a question's documents ("DRAGged into Conflicts", section 2)."""

    NO_CONFLICT = "no-conflict"
    """*No conflict*: the answers are the same, or nearly."""
    COMPLEMENTARY = "complementary"
    """*Complementary information*: the answers differ, but are compatible with each other."""
    CONFLICTING_OPINIONS = "conflicting-opinions"
    """*Conflicting opinions or research outcomes*: an unsettled debate."""
    OUTDATED = "outdated"
    """*Conflict due to outdated information*: the answer has changed over time."""
    MISINFORMATION = "misinformation"
    """*Conflict due to misinformation*: a source has a fact wrong, or misleads."""


_TEMPLATES = {kind: f"behaviour_{kind.value.replace('-', '_')}" for kind in ConflictType}

_BRACKETS = re.compile(r"\[([^\[\]]{1,500})\]")
_BETWEEN = re.compile(r" ?(?:[,;&]|\band\b) ?", re.IGNORECASE)
_SPAN = re.compile(r"(?:doc(?:ument)?s?\.? ?)?(\d{1,9})(?: ?[-–] ?(\d{1,9}))?", re.IGNORECASE)


def all_behaviours(prompts: PromptSet) -> str:
    """The expected behaviours of all types, one on each line."""
    return "\n".join(f"{kind}: {prompts.render(_TEMPLATES[kind])}" for kind in ConflictType)


def typed_fields(kind: ConflictType | None, prompts: PromptSet) -> dict[str, str]:
    """A type with its expected behaviour, as template fields; empty if the type is unknown."""
    return {} if kind is None else {"type": kind.value, "rule": prompts.render(_TEMPLATES[kind])}


def inline_citations(answer: str, documents: Collection[int]) -> tuple[int, ...]:
    """Numbers of existing documents that an answer cites, such as ``[2]``, ``[1, 3]``, ``[2-4]``.

    Brackets with anything else in them cite nothing.
    """
    numbers: set[int] = set()
    for inside in _BRACKETS.findall(answer):
        parts = [part for part in _BETWEEN.split(" ".join(inside.split())) if part]
        spans = [_SPAN.fullmatch(part) for part in parts]
        for span in spans if all(spans) else ():
            if span:
                low, high = int(span[1]), int(span[2] or span[1])
                numbers.update(number for number in documents if low <= number <= high)
    return tuple(sorted(numbers))
