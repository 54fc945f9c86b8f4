"""Removes running heads, running feet, page numbers and watermarks, which interrupt sentences.

The limits in this module were chosen by hand. ``measurements.real_files`` shows their effect on
real PDFs (docs/findings/reading.md).
"""

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from conflictscore.retrieval.reading.pdf_columns import PageLine
from conflictscore.retrieval.reading.pdf_runs import TextRun
from conflictscore.retrieval.shaping.counting import roman

_EDGE = 2
"""Number of lines at the top and bottom of a page that may be running heads or feet."""
_LEAST_LINES = 3
"""Minimum number of lines on a page that may have a running head."""
_MOST_PLACES = 8
"""Maximum number of positions that are remembered for each running head, so that the time is linear
in the number of pages. Left and right pages have different positions."""
_SAME_PLACE = 3.0
"""Maximum distance, in points, between positions of a running head that count as the same."""
# Page numbers such as "12", "- 12 -", "Page 12 of 40" and "第12页".
_PAGE_NUMBER = re.compile(
    r"(?:(?:page|p\.|seite|página|pagina|str\.|стр\.|第)\s*+)?(?:[-–]\s*+)?\d{1,4}(?:\s*+[-–])?"
    r"(?:\s*+(?:of|/|von|de|di|van|из|z)\s*+\d{1,4})?(?:\s*+页)?",
    re.IGNORECASE,
)
_NAMED_NUMBER = re.compile(
    r"\W*(?:(?:page|p\.|seite|página|pagina|str\.|стр\.|第)\s*+\d|\d{1,4}\s*+(?:of|/|von|de|di|van|из|z)\s*+\d"
    r"|[-–]\s*+\d{1,4}\s*+[-–])",
    re.IGNORECASE,
)
"""Matches page numbers that a word or symbol identifies; a bare number may be part of the text."""
_ROMAN = {roman(number): number for number in range(1, 90)}
"""Roman numbers of pages before the first chapter; higher numbers would need the letter c."""
_NUMBER_AT_END = re.compile(r"\W*+\d{1,4}\b\W*+")
"""Matches a number at the beginning of a line, or at the end if the line is reversed."""
_LARGE = 1.8
"""Minimum size of a watermark, relative to the usual text size."""
_MOST_MARKS = 30
"""At most this many large texts on a page are examined."""
_TURNED = 0.15
"""Minimum rise of a rotated text, relative to its font size."""


class _Head(NamedTuple):
    """A line that may be a running head.

    ``words`` are its text without a number at either end, and ``offset`` is the difference between
    that number and the page's index; None without a number.
    """

    line: PageLine
    words: str
    offset: int | None


def without_running_heads(pages: Sequence[Sequence[PageLine]]) -> list[list[PageLine]]:
    """Remove page numbers, and all running heads and feet except the first occurrence of each.

    Such lines would interrupt sentences that continue on the next page.
    """
    left_out = _heads_and_numbers([_edges(page) for page in pages])
    return [[line for line in page if id(line) not in left_out] for page in pages]


def _heads_and_numbers(edges: Sequence[Sequence[PageLine]]) -> set[int]:
    """Return the ids of lines at page edges that are page numbers or repeated running heads."""
    offsets = _offsets(edges)
    drop: set[int] = set()
    earlier: dict[str, list[_Head]] = defaultdict(list)
    for number, edge in enumerate(edges):
        heads = [_head(line, number) for line in edge]
        for head in heads:
            line = head.line
            if line.is_row and not _NAMED_NUMBER.match(line.text):
                continue
            is_head = _is_repeated(head, earlier)
            if is_head or _is_page_number(line.text, number, offsets, len(edges)):
                drop.add(id(line))
        for head in heads:  # only now, since a line does not repeat a line of its own page
            same = earlier[head.words]
            if head.words and len(same) < _MOST_PLACES and id(head.line) not in drop:
                same.append(head)
    return drop


def _is_repeated(head: _Head, earlier: Mapping[str, Sequence[_Head]]) -> bool:
    """Whether an earlier page has the same running head at the same position.

    A number in a running head must be the number of the page, so "Amount due: 50" and "Amount due:
    70" are not running heads.
    """
    return bool(head.words) and any(
        _is_at(head.line, before.line)
        and (head.offset == before.offset or head.line.text == before.line.text)
        for before in earlier.get(head.words, ())
    )


def _offsets(edges: Sequence[Sequence[PageLine]]) -> Counter[tuple[bool, int]]:
    """Count by how much the bare numbers at the edges of pages exceed the index of their page.

    For page numbers, the difference is the same on each page; for other numbers, it is not. Roman
    numbers are counted separately.
    """
    return Counter(
        (place[0], place[1] - number)
        for number, edge in enumerate(edges)
        for line in edge
        if (place := _bare_number(line.text))
    )


def _bare_number(text: str) -> tuple[bool, int] | None:
    """Return whether a page number is Roman, and the number; None for other text."""
    text = text.strip()
    if text in _ROMAN:
        return True, _ROMAN[text]
    is_number = text.isdecimal() and len(text) < 5  # page numbers have at most four digits
    return (False, int(text)) if is_number else None


def _edges(page: Sequence[PageLine]) -> list[PageLine]:
    """Return the lines at the top and bottom of a page, regardless of their order in the file."""
    if len(page) < _LEAST_LINES:
        return [line for line in page if _NAMED_NUMBER.match(line.text)]
    by_height = sorted(page, key=lambda line: -line.y)
    return [*by_height[:_EDGE], *by_height[max(_EDGE, len(by_height) - _EDGE) :]]


def _head(line: PageLine, page: int) -> _Head:
    """Return a line without any page number at its beginning or end."""
    text = line.text
    if number := _NUMBER_AT_END.match(text):
        text, digits = text[number.end() :], number[0]
    elif number := _NUMBER_AT_END.match(text[::-1]):
        text, digits = text[: len(text) - number.end()], number[0][::-1]
    else:
        return _Head(line, text.strip().casefold(), None)
    own = int("".join(filter(str.isdecimal, digits)))
    return _Head(line, text.strip().casefold(), own - page)


def _is_at(line: PageLine, before: PageLine) -> bool:
    return abs(line.y - before.y) <= _SAME_PLACE and abs(line.size - before.size) < 1


def _is_page_number(text: str, page: int, offsets: Counter[tuple[bool, int]], pages: int) -> bool:
    text = text.strip()
    if pages < 2:  # then no sentence is interrupted
        return False
    # a word or sign identifies the number, and the line contains nothing else
    if _NAMED_NUMBER.match(text) and _PAGE_NUMBER.fullmatch(text):
        return True
    place = _bare_number(text)
    # the numbers of at least two pages agree
    return place is not None and offsets[place[0], place[1] - page] > 1


def split_watermarks(runs: Sequence[TextRun]) -> tuple[list[TextRun], list[str]]:
    """Separate the runs of a page's text from the texts of watermarks, such as DRAFT."""
    if not runs:
        return [], []
    marks = _marks(runs)
    if not marks:
        return list(runs), []
    mark_ids = {id(run) for run in marks}
    if any(map(_is_turned, marks)):  # other parts of the watermark may lie beside the text
        mark_ids |= {id(run) for run in runs if _is_turned(run)}
    words = " ".join(run.text for run in runs if id(run) in mark_ids)
    return [run for run in runs if id(run) not in mark_ids], [words]


def _marks(runs: Sequence[TextRun]) -> list[TextRun]:
    """Return the large and rotated texts that overlap other text."""
    sizes = [run.size for run in runs]
    if max(sizes) < _LARGE * min(sizes) and not any(run.slope for run in runs):
        return []  # then no text can be large, whatever the usual size is
    usual = _usual_size(runs)
    least = _LARGE * usual
    large = [run for run in runs if (run.slope and _is_turned(run)) or run.size >= least]
    return [run for run in large[:_MOST_MARKS] if _lies_over(run, runs, usual)]


def _usual_size(runs: Sequence[TextRun]) -> float:
    """Return the most common font size, by number of characters."""
    characters = dict.fromkeys([run.size for run in runs], 0)
    for run in runs:
        characters[run.size] += len(run.text)
    return max(characters, key=characters.__getitem__)


def _is_turned(run: TextRun) -> bool:
    return abs(run.slope) > _TURNED * run.size and abs(run.end - run.x) > run.size


def _lies_over(run: TextRun, runs: Sequence[TextRun], usual: float) -> bool:
    """Whether a large or rotated text crosses at least two lines of smaller text."""
    low, high = sorted((run.y, run.y + run.slope))
    # half the size for a rotated text, whose letters lean to the side; chosen by hand
    high += run.size * (0.5 if _is_turned(run) else 1)
    heights = {
        round(text.y)
        for text in runs
        if text is not run
        and text.size < run.size / 1.2  # clearly smaller than the watermark; chosen by hand
        and low - usual < text.y < high
        and text.x < run.end
        and text.end > run.x
    }
    return len(heights) >= 2
