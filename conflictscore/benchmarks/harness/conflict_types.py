"""The taxonomy of "DRAGged into Conflicts": types, expected behaviours, and replies that name one.

The loop knows nothing of types. They are what CONFLICTS' questions carry, and what the methods
``pipeline``, ``taxonomy-aware`` and ``oracle`` answer by.
"""

import re
from collections.abc import Collection
from enum import StrEnum
from typing import NamedTuple

from conflictscore.nodes.answer_replies import read_text
from conflictscore.prompts import PromptSet


class ConflictType(StrEnum):
    """How the documents of a question relate ("DRAGged into Conflicts", section 2)."""

    NO_CONFLICT = "no-conflict"
    """*No conflict*: the answers are the same, or nearly."""
    COMPLEMENTARY = "complementary"
    """*Complementary information*: the answers differ, and one person can agree with all."""
    CONFLICTING_OPINIONS = "conflicting-opinions"
    """*Conflicting opinions or research outcomes*: a debate that is not settled."""
    OUTDATED = "outdated"
    """*Conflict due to outdated information*: the answer has changed with time."""
    MISINFORMATION = "misinformation"
    """*Conflict due to misinformation*: a source has a fact wrong, or misleads."""


_TEMPLATES = {kind: f"behaviour_{kind.value.replace('-', '_')}" for kind in ConflictType}

BEHAVIOURS = tuple(_TEMPLATES.values())
"""Templates of the behaviour that each type asks for (section 2)."""

CLASSIFYING = ("classify_conflict", "conflict_types", *BEHAVIOURS)
"""Templates for naming a type and answering by it."""

_FIELD = re.compile(r"^[*_#\s]*(?P<name>TYPE|REASON|ANSWER)[*_]*:[*_]*\s*(?P<said>.*)$", re.I)
_BRACKETS = re.compile(r"\[([^\[\]]{1,500})\]")
_BETWEEN = re.compile(r" ?(?:[,;&]|\band\b) ?", re.IGNORECASE)
_SPAN = re.compile(r"(?:doc(?:ument)?s?\.? ?)?(\d{1,9})(?: ?[-–] ?(\d{1,9}))?", re.IGNORECASE)
_NAMES = {tuple(kind.value.split("-")): kind for kind in ConflictType}


class Classified(NamedTuple):
    """A conflict type, with the model's reason where it gave one."""

    kind: ConflictType
    reason: str | None = None


class TypedAnswer(NamedTuple):
    """An answer with the type that the model named before it."""

    classified: Classified
    answer: str


def all_behaviours(prompts: PromptSet) -> str:
    """The behaviours of all types, one a line."""
    return "\n".join(f"{kind}: {prompts.render(_TEMPLATES[kind])}" for kind in ConflictType)


def typed_fields(kind: ConflictType | None, prompts: PromptSet) -> dict[str, str]:
    """A type with its behaviour, as template fields; none where the type is not known."""
    return {} if kind is None else {"type": kind.value, "rule": prompts.render(_TEMPLATES[kind])}


def read_type(reply: str) -> Classified:
    """The two lines ``REASON: …`` and ``TYPE: …``, in either order.

    The type is as clear where a small model leaves the reason out.
    """
    lines = [line.strip() for line in reply.splitlines() if line.strip()]
    if not 1 <= len(lines) <= 2:
        raise ValueError(f"it had {len(lines)} lines instead of two")
    kind, rest = _kind(lines)
    if rest and _said(rest[0], "REASON") is None:
        raise ValueError('its other line did not begin with "REASON:"')
    return Classified(kind, _reason(rest))


def read_typed_answer(reply: str) -> TypedAnswer:
    """``REASON: …``, which may be left out, ``TYPE: …``, and ``ANSWER: …`` up to the end.

    Reason and type may change places.
    """
    lines = reply.strip().splitlines()
    for start, line in enumerate(lines):
        first = _said(line, "ANSWER")
        if first is not None:
            kind, rest = _kind(lines[:start])
            answer = read_text("\n".join([first, *lines[start + 1 :]]))
            return TypedAnswer(Classified(kind, _reason(rest)), answer)
    _kind(lines)
    raise ValueError('the line "ANSWER:" was missing')


def inline_citations(answer: str, documents: Collection[int]) -> tuple[int, ...]:
    """Numbers of existing documents that an answer cites, such as ``[2]``, ``[1, 3]``, ``[2-4]``.

    Brackets with anything else in them cite nothing.

    Returns:
        The numbers, ascending, each once.
    """
    cited: set[int] = set()
    for inside in _BRACKETS.findall(answer):
        parts = [part for part in _BETWEEN.split(" ".join(inside.split())) if part]
        spans = [_SPAN.fullmatch(part) for part in parts]
        for span in spans if all(spans) else ():
            if span:
                low, high = int(span[1]), int(span[2] or span[1])
                cited.update(number for number in documents if low <= number <= high)
    return tuple(sorted(cited))


def _kind(lines: list[str]) -> tuple[ConflictType, list[str]]:
    """The type that one of the lines names, and the other lines."""
    said = [_said(line.strip(), "TYPE") for line in lines]
    if (there := len(said) - said.count(None)) != 1:
        raise ValueError(f'it had {there or "no"} lines that began with "TYPE:" instead of one')
    place = next(place for place, one in enumerate(said) if one is not None)
    words = re.findall(r"\w+", (said[place] or "").casefold().replace("_", " "))
    kind = _NAMES.get(tuple(words))
    if kind is None:
        raise ValueError(f"its type was none of {', '.join(ConflictType)}")
    return kind, [*lines[:place], *lines[place + 1 :]]


def _said(line: str, name: str) -> str | None:
    """The text after the name of a field; None where the line is not of that field."""
    match = _FIELD.match(line)
    return match["said"].strip() if match and match["name"].upper() == name else None


def _reason(lines: list[str]) -> str | None:
    said = [_said(line, "REASON") for line in lines]
    text = " ".join(line if part is None else part for line, part in zip(lines, said, strict=True))
    return " ".join(text.split()) or None
