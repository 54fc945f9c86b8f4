"""The conflict taxonomy of "DRAGged into Conflicts": types, expected behaviour, and citations.

The correction loop does not use these types. The questions of CONFLICTS come with an annotated
type. The ``oracle`` method uses this type. In the ``pipeline`` and ``taxonomy-aware`` methods, the
model names a type itself.
"""

import re
from collections.abc import Collection
from enum import StrEnum

from conflictscore.prompts import PromptSet


class ConflictType(StrEnum):
    """How the documents of a question are related ("DRAGged into Conflicts", section 2)."""

    NO_CONFLICT = "no-conflict"
    """*No conflict*: the documents give the same answer, or nearly the same."""
    COMPLEMENTARY = "complementary"
    """*Complementary information*: the answers differ, but can all be true."""
    CONFLICTING_OPINIONS = "conflicting-opinions"
    """*Conflicting opinions or research outcomes*: the question is still debated."""
    OUTDATED = "outdated"
    """*Conflict due to outdated information*: the answer has changed over time."""
    MISINFORMATION = "misinformation"
    """*Conflict due to misinformation*: a source is wrong or misleading."""


_TEMPLATES = {kind: f"behaviour_{kind.value.replace('-', '_')}" for kind in ConflictType}
"""The name of the template that describes the expected behaviour, by type."""

# These limits bound the work on hostile answers with many brackets or digits. No real citation
# reaches them: 500 characters hold more than a hundred numbers, and no set has 10^9 documents.
_BRACKETS = re.compile(r"\[([^\[\]]{1,500})\]")
# What separates the numbers in brackets: ", ", "; ", " and ".
_BETWEEN = re.compile(r" ?(?:[,;&]|\band\b) ?", re.IGNORECASE)
# A number or a range of numbers: "doc 3", "2–4".
_SPAN = re.compile(r"(?:doc(?:ument)?s?\.? ?)?(\d{1,9})(?: ?[-–] ?(\d{1,9}))?", re.IGNORECASE)


def all_behaviours(prompts: PromptSet) -> str:
    """List the behaviour expected for each conflict type, one type per line."""
    return "\n".join(f"{kind}: {prompts.render(_TEMPLATES[kind])}" for kind in ConflictType)


def typed_fields(kind: ConflictType | None, prompts: PromptSet) -> dict[str, str]:
    """Return a conflict type's template fields ``type`` and ``rule``; empty if the type is None."""
    return {} if kind is None else {"type": kind.value, "rule": prompts.render(_TEMPLATES[kind])}


def inline_citations(answer: str, documents: Collection[int]) -> tuple[int, ...]:
    """Return the numbers of the documents that an answer cites: ``[2]``, ``[1, 3]``, ``[2-4]``.

    The word "document" may precede a number, as in ``[Doc 2 and 3]``. Numbers that belong to no
    document are ignored. Brackets with any other text are ignored as a whole.
    """
    numbers: set[int] = set()
    for inside in _BRACKETS.findall(answer):
        parts = [part for part in _BETWEEN.split(" ".join(inside.split())) if part]
        spans = [_SPAN.fullmatch(part) for part in parts]
        if not all(spans):
            continue  # the brackets hold other text, such as "[sic 2]"
        for span in spans:
            if span:  # always true here, but the type checker cannot tell
                low, high = int(span[1]), int(span[2] or span[1])
                numbers.update(number for number in documents if low <= number <= high)
    return tuple(sorted(numbers))
