"""Reading a list of claims in a reply: what states something of the answer, and nothing else."""

import re
from collections.abc import Iterable, Sequence
from itertools import accumulate
from operator import and_
from typing import NamedTuple

from conflictscore.models.json_replies import json_texts
from conflictscore.models.replies import unwrapped
from conflictscore.scripts import terms_in

_HEADING = re.compile(
    r"^[\W_]*(?:<\w{1,6}>)?claims[\W_]*(?:</\w{1,6}>)?$|^[*_#\s]*claims[:\uff1a][*_]*\s*(?P<first>\S.*)$",
    re.IGNORECASE,
)
_BULLET = re.compile(
    r"^(?:(?:[-*+–—·‣▪◦○■►➢➤→✓✔✅☑>]|\[[ xX]\])\s+|[・•●]\s*"
    r"|[*_]{0,3}(?:claim|fact|statement|[cf](?=\d))\s{0,3}#?\d{1,3}[.):][*_]{0,3}\s+)",
    re.IGNORECASE,
)
_NUMBER = re.compile(
    r"^(?:#{1,6}\s)?[*_]{0,3}[(\[#]?(?P<number>\d{1,3})"
    r"(?:\\?[.):\]][*_]{0,3}\s+|[、\uff0e]\s*|\s[-–—]\s+|(?<=#\d)\s+)(?=\S)"
)
_OTHER_FORM = re.compile(
    r"^[ \t]{0,20}(?:\|(?=[^\n]*-)[ \t:|-]++$|</?(?:li|claim|item|fact|statement)\b)",
    re.IGNORECASE | re.MULTILINE,
)
"""A table, or tags around each claim: what belongs to a claim cannot be told for sure."""
_NOTHING = re.compile(r"(?:none|n/a|no\s{1,9}claims)", re.IGNORECASE)
_NOT_WORDS = " \t*_#`-–—.,;:()[]{}\"'"
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]*[\"“”»]")
_STYLED = re.compile(r"(?P<sign>\*\*|__|[*_])(?P<inside>[^*_]+)(?P=sign)")
_FULL_STOP = re.compile(r"[.!?。\uff01\uff1f।][\"'”’»)\]*_]{0,3}$")
_ADDRESSES_READER = re.compile(
    r"\b(?:(?:let|tell)\s+me|feel\s+free|i\s+(?:hope|have|left|can|could|did|omitted|skipped|split)"
    r"|hope\s+this|(?:would|do|if)\s+you|these\s+(?:are|claims)|this\s+(?:list|covers)|note|please"
    r"|claims?|reasoning|explanation|anything\s+else|that\s+is\s+all)\b",
    re.IGNORECASE,
)
_BULLETS = 4  # the most in a row: models number bullets, and put bullets before numbers
_LEAD_LINES = 3  # the most lines of introduction before a list
_HEADING_CHARS = 120
_STEM = 5
_OWN, _FOREIGN = 0.5, 0.34
"""The share of a line's words that the answer has: from here on it is a claim of the answer, and
below it may be a remark. Claims of real answers have .8 and more; remarks next to nothing."""
_MIXED = "not all of its lines were claims with a bullet or a number, as the first was"
_NO_LIST = 'the line "Claims:" was missing'


class _Line(NamedTuple):
    text: str  # without a bullet or number
    indent: int
    marked: bool  # whether it had one
    apart: bool  # whether a blank line stands before it

    @property
    def is_heading(self) -> bool:
        """Whether it introduces what follows, and states nothing."""
        bare = self.text.rstrip("*_ ")
        bold = self.text.startswith("**") and self.text.endswith("**") and not self.marked
        titled = self.text.startswith("#") or (bold and not _FULL_STOP.search(bare))
        return bare.endswith((":", "\uff1a")) or (titled and len(bare) <= _HEADING_CHARS)


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
        rows = _lines("\n".join(" ".join(text.split()) for text in texts))
        texts = [line.text for line in rows if not line.is_heading]
    else:
        lines, words = _lines(listed), _stems(answer)
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


def _lines(reply: str) -> list[_Line]:
    raws: list[tuple[str, str, str, bool]] = []
    apart = False
    for raw in reply.splitlines():
        text = raw.strip()
        text = plain = text[1:-1] if _QUOTED.fullmatch(text) else text
        if not any(map(str.isalnum, text)) or text.startswith(("```", "~~~")):
            apart = apart or not text
            continue
        raws.append((raw, plain, _without_bullets(text), apart))
        apart = False
    counting = _counting([text for _, _, text, _ in raws])
    lines = []
    for place, (raw, plain, text, apart) in enumerate(raws):
        bare = _without_bullets(_NUMBER.sub("", text)) if place in counting else text
        indent = len(raw) - len(raw.lstrip())
        lines.append(_Line(bare, indent, bare != plain, apart))
    return lines


def _without_bullets(text: str) -> str:
    for _ in range(_BULLETS):
        text = _BULLET.sub("", text).strip()
    return text


def _counting(texts: Sequence[str]) -> frozenset[int]:
    """The places of lines whose numbers count 1, 2, 3 down the lines, and of a 1 that is alone.

    Any other number is the claim's own: "12. Mai 1932", "1. FC Vik".
    """
    runs: list[list[int]] = []
    last = 0
    for place, text in enumerate(texts):
        found = _NUMBER.match(text)
        number = int(found["number"]) if found else 0
        skips = len(runs[-1]) > 1 and number > last if runs else False  # models lose count
        if number == 1:
            runs.append([place])
        elif runs and (number == last + 1 or skips):
            runs[-1].append(place)
        else:
            continue
        last = number
    full = any(len(run) > 1 for run in runs) or len(texts) == 1  # a section may have one claim
    return frozenset(at for run in runs for at in run if full)


def _after_heading(reply: str) -> tuple[str, bool]:
    rows = reply.splitlines()
    for number, row in enumerate(rows):
        if not row.rstrip().endswith(("[", "{")) and (found := _HEADING.match(row.strip())):
            return "\n".join([found["first"] or "", *rows[number + 1 :]]), True
    for number, row in enumerate(rows[:_LEAD_LINES]):
        for line in _lines(row):
            if line.marked:
                return reply, False
            if line.is_heading:
                return "\n".join(rows[number + 1 :]), True
    return reply, False


def _without_lead(lines: Sequence[_Line], words: frozenset[str]) -> list[_Line]:
    marked = [line.marked for line in lines]
    if any(marked[: _LEAD_LINES + 1]):
        return [*lines[marked.index(True) :]]
    kept = _without_remark(lines, words)
    if not kept or not words or any(_share(line, words) < _OWN for line in kept):
        raise ValueError(_NO_LIST)
    return kept


def _marked(lines: Sequence[_Line], words: frozenset[str]) -> list[str]:
    """The claims of a list with bullets or numbers, with lines that go on joined."""
    last = max(number for number, line in enumerate(lines) if line.marked)
    items: list[_Line] = []
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
    goes_on = rest and not rest[0].apart and not _FULL_STOP.search(items[-1].text)
    if goes_on or (words and any(map(all, _own_blocks(rest, words)))):
        raise ValueError(_MIXED)
    if len(items) > 1 and _is_alien(items[-1], items[:-1], words):
        items.pop()
    following = [*items[1:], None]
    return [
        item.text
        for item, after in zip(items, following, strict=True)
        if not item.is_heading
        and not (after and after.indent > item.indent and not _FULL_STOP.search(item.text))
    ]


def _own_blocks(lines: Sequence[_Line], words: frozenset[str]) -> list[list[bool]]:
    """For each block of lines between blank ones, which lines have most words from the answer."""
    blocks: list[list[bool]] = []
    for line in lines:
        if line.apart or not blocks:
            blocks.append([])
        blocks[-1].append(_share(line, words) >= _OWN)
    return blocks


def _without_remark(lines: Sequence[_Line], words: frozenset[str]) -> list[_Line]:
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


def _is_alien(line: _Line, others: Sequence[_Line], words: frozenset[str]) -> bool:
    """Whether a line has no word of the answer, where all others have most of theirs from it."""
    return bool(words) and not _share(line, words) and all(_share(o, words) >= _OWN for o in others)


def _stems(text: str) -> frozenset[str]:
    return frozenset(term[:_STEM] for term in terms_in(text))


def _share(line: _Line, words: frozenset[str]) -> float:
    own = _stems(line.text)
    return len(own & words) / len(own) if own else 0.0


def _says_something(text: str) -> bool:
    bare = text.strip(_NOT_WORDS)
    return any(map(str.isalnum, bare)) and not _NOTHING.fullmatch(bare)
