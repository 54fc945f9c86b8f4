"""The sentences of an answer, each with the citations that belong to it."""

import re
from collections.abc import Iterator

__all__ = ["split_sentences"]

_BRACKETS = re.compile(r"[ \t]*\[[^\[\]\n]{1,120}\]")
_CITATIONS = rf"(?:{_BRACKETS.pattern})*"
_WORD = re.compile(r"\w")
_END = re.compile(
    rf"[.!?\u2026]+[\"'\u201d\u2019\u00bb)*_]*(?P<cited>{_CITATIONS})(?=\s|$)"
    rf"|[\u3002\uff01\uff1f][\u201d\u300d\u300f\uff09]*(?P<cited_cjk>{_CITATIONS})"
)
_BULLET = re.compile(r"^(?:[-*•–]|\d{1,3}[.)])\s+|^#+\s+")
_ONLY_CITATIONS = re.compile(rf"{_CITATIONS}[\s.]*")
_NOT_THE_LAST_WORD = re.compile(
    r"(?:^|[\s(\"'\u201c.])(?:[A-Z]|Dr|Mrs?|Ms|Prof|St|Jr|Sr|No|Yes|vs|cf|ca|approx|e\.g|i\.e)$"
)
"""What often goes before a full stop within a sentence: an initial, a title, an abbreviation; and
"Yes" and "No", which belong to what they are said of."""


def split_sentences(answer: str) -> tuple[str, ...]:
    """Cut an answer in sentences, by rules for European, Chinese and Japanese text.

    A line ends a sentence, unless it ends with a colon. Bullets, list numbers and heading marks
    are left out. Numbers in brackets that follow the full stop belong to the sentence before it.

    Args:
        answer: Any text.

    Returns:
        The sentences in their order, none empty; what has no letter or digit outside of
        brackets is no sentence.
    """
    sentences: list[str] = []
    lead = ""
    for raw in answer.splitlines():
        line = _BULLET.sub("", raw.strip())
        if not line:
            continue
        if sentences and not lead and "[" in line and _ONLY_CITATIONS.fullmatch(line):
            sentences[-1] += f" {line}"
            continue
        line = f"{lead} {line}".strip()
        lead = line if line.rstrip("*_ ").endswith(":") else ""
        if not lead:
            sentences += _of_line(line)
    if lead:
        sentences += _of_line(lead)
    return tuple(sentences)


def _of_line(line: str) -> Iterator[str]:
    start = 0
    for end in [*_ends(line), len(line)]:
        sentence = line[start:end].strip()
        start = end
        if _WORD.search(_BRACKETS.sub("", sentence)):
            yield sentence


def _ends(line: str) -> Iterator[int]:
    start = 0
    for match in _END.finditer(line):
        end = match.end()
        cited = match["cited"] or match["cited_cjk"] or ""
        goes_on = line[end:].lstrip()[:1].islower()
        if cited and goes_on:  # what is cited begins the next sentence: "[2] says so"
            end -= len(cited)
        elif not cited and (goes_on or _NOT_THE_LAST_WORD.search(line[start : match.start()])):
            continue
        yield end
        start = end
