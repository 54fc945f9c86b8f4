"""Functions that read the bullets and numbers of list lines, and recognise titles among them.

The limits were chosen by hand. If a title is taken for a claim, no document supports it. If a claim
is taken for a title, the model is asked again about the text that no claim covers.
"""

import re
from collections.abc import Collection, Iterator, Sequence
from itertools import chain, pairwise
from typing import NamedTuple

# Bullets, check boxes, and names of claims such as "Claim 3:" or "C1."
_BULLET = re.compile(
    r"^(?:(?:[-*+–—·‣▪◦○■►➢➤→✓✔✅☑>]|\[[ xX]\])\s+|[・•●]\s*"
    r"|[*_]{0,3}(?:claim|fact|statement|[cf](?=\d))\s{0,3}#?\d{1,3}[.):][*_]{0,3}\s+)",
    re.IGNORECASE,
)
# Numbers of list items, such as "3.", "(3)", "#3", "**3.**" and keycaps; they may also be headings.
# Only after "#" may a number stand without a sign after it.
_NUMBER = re.compile(
    r"^(?P<title>#{1,6}\s)?[*_]{0,3}[(\[#]?(?P<number>\d{1,3})"
    r"(?:\\?[.):\]][*_]{0,3}\s+|[、\uff0e]\s*|\ufe0f?\u20e3\s*|\s[-–—]\s+|(?:(?<=#\d)|(?<=#\d\d)|(?<=#\d\d\d))\s+)(?=\S)"
)
_CLUB = re.compile(r"[A-Z]{2,4}\b")
"""Matches the first word of a name that begins with a number, such as "1. FC Vik"."""
# Numbers of nested items, such as "2.1".
_SUBNUMBER = re.compile(r"^[*_]{0,3}(?P<over>\d{1,3})\.(?P<number>\d{1,3})[.):]?[*_]{0,3}\s+(?=\S)")
# Letters of list items, such as "a)" and "(b)". A capital needs a bracket, since "A." may be an
# initial, unless a nested list follows.
_LETTER = re.compile(r"^\(?(?:(?P<letter>[a-z])[.)]|(?P<capital>[A-Z])\))\s+(?=\S)")
# A capital and a full stop at the start, as of a list item, perhaps in bold: "**A.** Lakes".
_TITLE_LETTER = re.compile(r"^[*_]{0,3}(?P<letter>[A-Z])\.[*_]{0,3}\s+(?=\S)")
# Roman numerals of list items.
_ROMAN = re.compile(r"^[*_]{0,3}\(?(?P<roman>[ivx]{1,5}|[IVX]{1,5})[.)][*_]{0,3}\s+(?=\S)")
_ROMAN_DIGITS = ("i", "ii", "iii", "iv", "v", "vi", "vii", "viii", "ix", "x")
_ROMAN_NUMBERS = [tens + ones for tens in ("", "x") for ones in _ROMAN_DIGITS]
_NUMBERINGS = (
    ("1", _NUMBER),
    ("1.1", _SUBNUMBER),
    ("a", _LETTER),
    ("A", _TITLE_LETTER),
    ("I", _ROMAN),
)
"""The kinds of marks with their patterns. The first pattern that fits a line decides its kind."""
# Quoted text, in which a mark is a part of the quotation.
_QUOTED = re.compile(r"[\"“„«][^\"“”„«»]*[\"“”»]")
# A line that is bold as a whole, such as a heading.
_WHOLLY_BOLD = re.compile(r"(?:\*\*[^*]+\*\*|__[^_]+__)\s{0,3}[:\uff1a–—-]?")
FULL_STOP = re.compile(r"[.!?。\uff01\uff1f।][\"'”’»)\]*_]{0,3}$")
_BULLETS = 4  # Maximum bullets and numbers before a text; models combine them.
_HEADING_CHARS = 120  # A longer line in bold is a sentence, not a heading.
_TITLE_WORDS = 4  # Maximum number of words of a short title; a statement usually has more.
_DEPTHS = 12  # Maximum depth of nested lists. It bounds the time; real lists are far less deep.
_ALIGNMENT = 1  # Maximum difference in indentation at the same depth, as between " 9." and "10."


class ReplyLine(NamedTuple):
    """A line of a reply that contains letters or digits."""

    text: str
    """The line without its bullet or number."""
    indent: int
    mark: str
    """The kind of mark: one of ``_NUMBERINGS``, "#" for a numbered title, else the bullet.

    The kind is empty if there is no mark.
    """
    apart: bool
    """Whether a blank line precedes the line."""

    @property
    def marked(self) -> bool:
        """Return whether the line had a bullet or a number."""
        return bool(self.mark)

    @property
    def is_bold(self) -> bool:
        """Return whether the whole line is bold."""
        return _WHOLLY_BOLD.fullmatch(self.text) is not None

    @property
    def is_heading(self) -> bool:
        """Return whether the line only introduces the next lines and states nothing itself."""
        bare = self.text.rstrip("*_ ")
        bold = self.is_bold and not self.marked
        is_title = self.text.startswith("#") or (bold and not FULL_STOP.search(bare))
        return bare.endswith((":", "\uff1a")) or (is_title and len(bare) <= _HEADING_CHARS)

    def heads(self, after: "ReplyLine") -> bool:
        """Return whether the line is the title of a list that begins with the next line.

        The list must be indented further, or have marks of a different kind. A sentence that ends
        in a full stop is usually not a title. It is one if it is short and bold, and the next line
        is not bold.
        """
        deeper = after.indent > self.indent + _ALIGNMENT
        if not deeper and after.mark == self.mark:
            return False
        short = len(self.text.split()) <= _TITLE_WORDS
        if self.is_bold and not after.is_bold:
            return short or (deeper and not FULL_STOP.search(self.text))
        if FULL_STOP.search(self.text):
            return False
        # at the same depth, the marks may just be out of sequence, so only a clear title counts
        return deeper or self.mark == "#" or (short and self.mark in ("1", "a"))


def without_titles(marked_lines: Sequence[ReplyLine]) -> list[ReplyLine]:
    """Return the marked lines of a list, without the titles of its sections."""
    titles = {
        number for number, (line, after) in enumerate(pairwise(marked_lines)) if line.heads(after)
    }
    kinds = {(marked_lines[n].mark, marked_lines[n].is_bold) for n in titles}
    last = marked_lines[-1]
    # a title in the last line is recognised because it has the style of the other titles
    if (last.mark, last.is_bold) in kinds and (last.is_bold or last.mark == "#"):
        titles.add(len(marked_lines) - 1)
    return [line for n, line in enumerate(marked_lines) if n not in titles and not line.is_heading]


def lines_of(reply: str) -> list[ReplyLine]:
    """Return a reply's lines that contain letters or digits, without enclosing quotation marks."""
    raws: list[tuple[int, str, str, bool]] = []
    apart = False
    for raw in reply.splitlines():
        text = raw.strip()
        text = plain = text[1:-1] if _QUOTED.fullmatch(text) else text
        if not any(map(str.isalnum, text)) or text.startswith(("```", "~~~")):
            apart = apart or not text
            continue
        raws.append((len(raw) - len(raw.lstrip()), plain, _without_bullets(text), apart))
        apart = False
    marks_by_place = _counted([(indent, text) for indent, _, text, _ in raws])
    lines = []
    for place, (indent, plain, text, apart) in enumerate(raws):
        pattern, mark = marks_by_place.get(place, (None, ""))
        bare = _without_bullets(pattern.sub("", text)) if pattern else text
        if bare != plain and not mark:
            mark = plain[0]
        lines.append(ReplyLine(bare, indent, mark if bare != plain else "", apart))
    return lines


def _without_bullets(text: str) -> str:
    text = text.strip()
    for _ in range(_BULLETS):
        bullet = _BULLET.match(text)
        if bullet is None:
            break
        text = text[bullet.end() :].strip()
    return text


class _Run(NamedTuple):
    """A sequence of numbers 1, 2, 3 … in the lines at one depth."""

    indent: int
    places: list[int]
    last: int


def _counted(rows: Sequence[tuple[int, str]]) -> dict[int, tuple[re.Pattern[str], str]]:
    """Return the numbered or lettered lines, by index, each with the pattern and kind of its mark.

    Args:
        rows: The indentation and text of each line.
    """
    marks_by_place: dict[int, tuple[re.Pattern[str], str]] = {}
    for kind, pattern in _NUMBERINGS:
        matches = [pattern.match(text) for _, text in rows]
        if not any(matches):
            continue
        numbers = [
            (indent, _number(match)) for (indent, _), match in zip(rows, matches, strict=True)
        ]
        if pattern is _TITLE_LETTER:
            numbers = _over_nested_lists(numbers)
        alone = len(rows) == 1 or any(
            number == 1 and _WHOLLY_BOLD.fullmatch(pattern.sub("", text, count=1))
            for (_, number), (_, text) in zip(numbers, rows, strict=True)
        )
        for place in _counting(numbers, _names_in(rows, matches), alone=alone):
            match = pattern.match(rows[place][1])
            is_title = match is not None and match.groupdict().get("title")
            marks_by_place.setdefault(place, (pattern, "#" if is_title else kind))
    return marks_by_place


def _names_in(rows: Sequence[tuple[int, str]], matches: Sequence[re.Match[str] | None]) -> set[int]:
    """Return the indices of the lines in which a mark belongs to a name, as in "1. FC Vik"."""
    return {
        place
        for place, match in enumerate(matches)
        if match and _CLUB.match(rows[place][1], match.end())
    }


def _over_nested_lists(numbers: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return indentations and numbers; the number is 0 unless the next line is indented further."""
    depths_after = [indent for indent, _ in numbers[1:]]
    return [
        (indent, number if after > indent + _ALIGNMENT else 0)
        for (indent, number), after in zip(numbers, [*depths_after, 0], strict=False)
    ]


def _number(match: re.Match[str] | None) -> int:
    """Return the number that a mark represents, from 1; 0 if there is no mark."""
    if match is None:
        return 0
    groups = match.groupdict()
    if number := groups.get("number"):
        return int(number)
    if roman := groups.get("roman"):
        plain = roman.casefold()
        return _ROMAN_NUMBERS.index(plain) + 1 if plain in _ROMAN_NUMBERS else 0
    letter = (groups["letter"] or groups["capital"]).casefold()
    return ord(letter) - ord("a") + 1


def _counting(
    numbers: Sequence[tuple[int, int]], names: Collection[int], *, alone: bool
) -> frozenset[int]:
    """Return the indices of the lines that are numbered 1, 2, 3 … in order.

    If ``alone`` is true, a 1 counts even if no 2 follows, since a section or a whole reply may have
    just one claim. A nested list may also have just one item, unless the number belongs to a name.
    ``names`` are the indices of the lines with such names.

    Any other number is part of the claim itself, as in "12. Mai 1932" or "1. FC Vik". A nested list
    has its own sequence at each depth.
    """
    closed_runs: list[_Run] = []
    open_runs: list[_Run] = []
    for place, (indent, number) in enumerate(numbers):
        if not number:
            continue
        if number == 1:
            while open_runs and open_runs[-1].indent >= indent - _ALIGNMENT:
                closed_runs.append(open_runs.pop())
            open_runs.append(_Run(indent, [place], 1))
            closed_runs.extend(open_runs[:-_DEPTHS])
            open_runs = open_runs[-_DEPTHS:]
            continue
        at = _continued(open_runs, indent, number)
        if at is None:
            continue
        closed_runs.extend(open_runs[at + 1 :])
        run = open_runs[at]
        run.places.append(place)
        open_runs[at:] = [run._replace(last=number)]
    runs = [*closed_runs, *open_runs]
    full = alone or any(len(run.places) > 1 for run in runs)
    return frozenset(chain.from_iterable(_without_names(runs, names))) if full else frozenset()


def _without_names(runs: Sequence[_Run], names: Collection[int]) -> Iterator[list[int]]:
    """Yield the lines of each sequence; of several sequences, skip those that are just a name."""
    for run in runs:
        if len(runs) == 1 or len(run.places) > 1 or run.places[0] not in names:
            yield run.places


def _continued(open_runs: Sequence[_Run], indent: int, number: int) -> int | None:
    """Return the index of the sequence that a number continues; None if there is no such sequence.

    The sequence at the same depth is preferred. If no sequence fits, a model may have indented the
    line by mistake, so the deepest sequence is used.
    """
    fitting = [n for n, run in enumerate(open_runs) if _goes_on(run, number)]
    return max(
        fitting,
        key=lambda n: (abs(open_runs[n].indent - indent) <= _ALIGNMENT, n),
        default=None,
    )


def _goes_on(run: _Run, number: int) -> bool:
    """Return whether a number continues a sequence.

    Models lose count, so a sequence of at least two numbers may skip some numbers.
    """
    return number == run.last + 1 or (len(run.places) > 1 and number > run.last)
