"""Reading a list of claims in a reply: what states something of the answer, and nothing else."""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import and_

from conflictscore.answering.list_marks import FULL_STOP, Line, lines_of, without_titles
from conflictscore.models.json_replies import json_texts
from conflictscore.models.replies import unwrapped
from conflictscore.scripts import terms_in

_HEADING = re.compile(
    r"^[\W_]*(?:<\w{1,6}>)?claims[\W_]*(?:</\w{1,6}>)?$|^[*_#\s]*claims[:\uff1a][*_]*\s*(?P<first>\S.*)$",
    re.IGNORECASE,
)
_OTHER_FORM = re.compile(
    r"^[ \t]{0,20}(?:\|(?=[^\n]*-)[ \t:|-]++$|</?(?:li|claim|item|fact|statement)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A table, or tags around each claim: what belongs to a claim cannot be told for sure."""
_NOTHING = re.compile(r"(?:none|n/a|no\s{1,9}claims)", re.IGNORECASE)
_NOT_WORDS = " \t*_#`-–—.,;:()[]{}\"'"
_STYLED = re.compile(r"(?P<sign>\*\*|__|[*_])(?P<inside>[^*_]+)(?P=sign)")
_ADDRESSES_READER = re.compile(
    r"\b(?:(?:let|tell)\s+me|feel\s+free|i\s+(?:hope|have|left|can|could|did|omitted|skipped|split)"
    r"|hope\s+this|(?:would|do|if)\s+you|these\s+(?:are|claims)|this\s+(?:list|covers)|note|please"
    r"|claims?|reasoning|explanation|anything\s+else|that\s+is\s+all)\b",
    re.IGNORECASE,
)
_LEAD_LINES = 3  # the most lines of introduction before a list
_STEM = 5
_OWN, _FOREIGN = 0.5, 0.34
"""The share of a line's words that the answer has: from here on it is a claim of the answer, and
below it may be a remark. Claims of real answers have .8 and more; remarks next to nothing."""
_MIXED = "not all of its lines were claims with a bullet or a number, as the first was"
_NO_LIST = 'the line "Claims:" was missing'


def read_claims(reply: str, answer: str = "") -> tuple[str, ...]:
    """The claims of a reply (Table 6), without bullets, each once.

    They follow the line "Claims:" or another heading, or stand in a list of bullets, of numbers or
    in JSON. Headings, parents of nested bullets and remarks to the reader are no claims; lines
    under no heading are, where they have words of the answer. Another reply is a ValueError.
    """
    reply = unwrapped(reply)
    if _OTHER_FORM.search(reply):
        raise ValueError("it was a table, or had tags around its claims")
    listed, headed = _after_heading(reply)
    texts = json_texts(listed)
    if texts is not None:
        rows = lines_of("\n".join(" ".join(text.split()) for text in texts))
        texts = [line.text for line in rows if not line.is_heading]
    else:
        lines, words = lines_of(listed), _stems(answer)
        if not headed:
            lines = _without_lead(lines, words)
        told = [line for line in lines if not line.is_heading]
        unmarked = [line.text for line in _without_remark(told, words)]
        texts = _marked(lines, words) if told and told[0].marked else unmarked
        if lines and not texts:
            raise ValueError("it had headings and no claim")
    texts = [_STYLED.sub(r"\g<inside>", t) if _STYLED.fullmatch(t) else t for t in texts]
    return each_once(text for text in texts if _says_something(text))


def read_placed_claims(reply: str, answer: str = "") -> tuple[tuple[str, str], ...]:
    """Claims as :func:`read_claims` reads them, each with the first words of its passage.

    The words follow two bars; they are empty where a small model leaves them out.
    """
    placed: dict[str, tuple[str, str]] = {}
    for line in read_claims(reply, answer):
        text, _, opening = line.partition("||")
        if _says_something(text):
            said = opening.strip().strip("\"'“”‘’«»").rstrip(".… ")
            placed.setdefault(folded(text), (text.strip(), said))
    return tuple(placed.values())


def each_once(texts: Iterable[str]) -> tuple[str, ...]:
    """The texts; those that differ only in case, space or a last full stop count once."""
    first: dict[str, str] = {}
    for text in texts:
        first.setdefault(folded(text), text)
    return tuple(first.values())


def folded(text: str) -> str:
    """A text without differences of case, space or a last full stop."""
    return " ".join(text.casefold().split()).rstrip(".")


def _after_heading(reply: str) -> tuple[str, bool]:
    rows = reply.splitlines()
    for number, row in enumerate(rows):
        if not row.rstrip().endswith(("[", "{")) and (found := _HEADING.match(row.strip())):
            return "\n".join([found["first"] or "", *rows[number + 1 :]]), True
    for number, row in enumerate(rows[:_LEAD_LINES]):
        for line in lines_of(row):
            if line.marked:
                return reply, False
            if line.is_heading:
                return "\n".join(rows[number + 1 :]), True
    return reply, False


def _without_lead(lines: Sequence[Line], words: frozenset[str]) -> list[Line]:
    marked = [line.marked for line in lines]
    if any(marked[: _LEAD_LINES + 1]):
        return [*lines[marked.index(True) :]]
    kept = _without_remark(lines, words)
    if not kept or not words or any(_share(line, words) < _OWN for line in kept):
        raise ValueError(_NO_LIST)
    return kept


def _marked(lines: Sequence[Line], words: frozenset[str]) -> list[str]:
    """The claims of a list with bullets or numbers, with lines that go on joined."""
    last = max(number for number, line in enumerate(lines) if line.marked)
    items: list[Line] = []
    for line in lines[: last + 1]:
        if line.marked:
            items.append(line)
        elif items and not line.apart and line.indent > items[-1].indent:
            items[-1] = items[-1]._replace(text=f"{items[-1].text} {line.text}")
        elif not line.is_heading:
            raise ValueError(_MIXED)
    rest = lines[last + 1 :]
    while rest and not rest[0].apart and rest[0].indent > items[-1].indent:
        items[-1] = items[-1]._replace(text=f"{items[-1].text} {rest[0].text}")
        rest = rest[1:]
    goes_on = rest and not rest[0].apart and not FULL_STOP.search(items[-1].text)
    if goes_on or (words and any(map(all, _own_blocks(rest, words)))):
        raise ValueError(_MIXED)
    if len(items) > 1 and _is_alien(items[-1], items[:-1], words):
        items.pop()
    return [item.text for item in without_titles(items)]


def _own_blocks(lines: Sequence[Line], words: frozenset[str]) -> list[list[bool]]:
    """For each block of lines between blank ones, which lines have most words from the answer."""
    blocks: list[list[bool]] = []
    for line in lines:
        if line.apart or not blocks:
            blocks.append([])
        blocks[-1].append(_share(line, words) >= _OWN)
    return blocks


def _without_remark(lines: Sequence[Line], words: frozenset[str]) -> list[Line]:
    """The lines without those at the end that speak to the reader of the list.

    They have hardly a word of the answer, and stand apart from the list or address somebody.
    """
    shares = [_share(line, words) for line in lines] if words else []
    agreeing = [*accumulate((share >= _OWN for share in shares), and_)]
    apart = [*accumulate(line.apart for line in lines)]
    count = len(lines)
    while count > 1:
        last = count - 1
        alien = bool(words) and not shares[last] and agreeing[last - 1]
        foreign = shares[last] < _FOREIGN if words else True
        sets_apart = lines[last].apart and apart[last - 1] == apart[0]
        addresses = _ADDRESSES_READER.search(lines[last].text) is not None
        if not alien and (not foreign or not (addresses or (sets_apart and words))):
            break
        count = last
    return [*lines[:count]]


def _is_alien(line: Line, others: Sequence[Line], words: frozenset[str]) -> bool:
    """Whether a line has no word of the answer, where all others have most of theirs from it."""
    return bool(words) and not _share(line, words) and all(_share(o, words) >= _OWN for o in others)


def _stems(text: str) -> frozenset[str]:
    return frozenset(term[:_STEM] for term in terms_in(text))


def _share(line: Line, words: frozenset[str]) -> float:
    own = _stems(line.text)
    return len(own & words) / len(own) if own else 0.0


def _says_something(text: str) -> bool:
    bare = text.strip(_NOT_WORDS)
    return any(map(str.isalnum, bare)) and not _NOTHING.fullmatch(bare)
