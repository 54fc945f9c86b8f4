"""Finds columns of text, tables and line numbers on a PDF page by the gaps in its lines.

The limits in this module were chosen by hand. ``measurements.real_files`` shows their effect on
real PDFs (docs/findings/reading.md).
"""

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise
from statistics import fmean, median
from typing import NamedTuple

from conflictscore.retrieval.reading.bidirectional import reads_from_right
from conflictscore.retrieval.reading.pdf_lines import Segment

_COLUMN_LINES, _COLUMN_WORDS = 3, 3
"""Minimum number of lines in columns of text, and minimum average number of words on each side of
the gap.

All the lines must have a gap at the same place. Lines with fewer words are treated as a table.
"""
_WIDE = 2.5
"""Minimum white space between the columns of a table with only two rows, relative to the font
size."""
_GUTTER = 0.6
"""Minimum white space between columns if all rows are laid over one another, relative to the font
size."""
_LEAST_ROWS = 3
"""Minimum number of rows in a table whose gaps are narrower than ``_WIDE``."""
_MOST_COLUMNS = 60  # a block with more gaps at the same places is a drawing, not a table
_LEAST_NUMBERS = 4
"""Minimum number of numbered lines on a page that has line numbers."""
_NUMBERED_WORDS = 4
"""Minimum average number of words in a numbered line; rows of a table have fewer words."""
_STEPS = (1, 2, 5, 10)  # usual differences between successive line numbers
_PITCH = 3.5
"""Maximum distance between the rows of a table, as a multiple of the font size."""

SegmentLine = Sequence[Segment]


class PageLine(NamedTuple):
    """A line of text on a page.

    ``y`` is its position, and ``is_row`` says whether it is a row of a table.
    """

    text: str
    y: float
    size: float
    is_row: bool = False


def laid_out(lines: Iterable[SegmentLine]) -> list[PageLine]:
    """Return the lines of a page in reading order, with ``|`` between the cells of table rows."""
    page_lines: list[PageLine] = []
    block: list[SegmentLine] = []
    for line in _unnumbered(list(lines)):
        if block and not _follows(block[-1], line):
            page_lines += _laid_out_block(block)
            block = []
        if block or len(line) > 1:
            block.append(line)
        else:
            page_lines.append(_page_line(line))
    return page_lines + _laid_out_block(block)


def _laid_out_block(block: list[SegmentLine]) -> list[PageLine]:
    """Return consecutive lines in reading order; the first of them has gaps.

    A line without gaps may be a row with a single cell if a line with gaps follows.
    """
    after: list[PageLine] = []
    while block and len(block[-1]) == 1:
        after.insert(0, _page_line(block.pop()))
    if not block:
        return after
    columns = _columns(block)
    return [*(_table(block, columns) if columns else _text(block)), *after]


def _page_line(line: SegmentLine) -> PageLine:
    """Return a line without gaps."""
    segment = line[0]
    return PageLine(segment.text, segment.y, segment.size)


def _follows(above: SegmentLine, line: SegmentLine) -> bool:
    pitch = above[0].y - line[0].y
    size = max(above[0].size, line[0].size)
    # a line may be up to half a font size higher than the one before (chosen by hand); two lines
    # without gaps, one after the other, end a table
    return -0.5 * size <= pitch <= _PITCH * size and not (len(above) == len(line) == 1)


def _columns(block: list[SegmentLine]) -> list[tuple[float, float]]:
    """Return the left and right edges of a table's columns; empty if the lines are not a table."""
    rows = [line for line in block if len(line) > 1]
    if len(rows) < 2 or _is_text_in_columns(block):
        return []
    columns = _spans(rows)
    if not 2 <= len(columns) <= _MOST_COLUMNS:
        return []
    if len(rows) < _LEAST_ROWS and not all(_is_wide(line) for line in rows):
        return []
    lone_cells = (line[0] for line in block if len(line) == 1)
    if any(_column(segment, columns) is None for segment in lone_cells):
        return []
    return columns


def _spans(rows: list[SegmentLine]) -> list[tuple[float, float]]:
    """Return the left and right edges of the areas that the cells of all rows together cover.

    Rows with few cells are ignored, since their cells often span several columns.
    """
    size = median(line[0].size for line in rows)
    most = max(len(line) for line in rows)
    full = [line for line in rows if most < 3 or len(line) > most / 3]
    spans: list[tuple[float, float]] = []
    for start, end in sorted((segment.x, segment.end) for line in full for segment in line):
        if spans and start < spans[-1][1] + _GUTTER * size:
            spans[-1] = spans[-1][0], max(spans[-1][1], end)
        else:
            spans.append((start, end))
    return spans


def _is_wide(line: SegmentLine) -> bool:
    gaps = (after.x - before.end for before, after in pairwise(line))
    return min(gaps) > _WIDE * line[0].size


def _is_text_in_columns(block: list[SegmentLine]) -> bool:
    if len(block) < _COLUMN_LINES or any(len(line) != 2 for line in block):
        return False
    words = [fmean(len(line[side].text.split()) for line in block) for side in (0, 1)]
    return min(words) >= _COLUMN_WORDS


def _column(segment: Segment, columns: Sequence[tuple[float, float]]) -> int | None:
    """Return the index of a segment's column; None if the segment spans several columns."""
    within = [
        number
        for number, (start, end) in enumerate(columns)
        if segment.x < end and segment.end > start
    ]
    return within[0] if len(within) == 1 else None


def _table(block: list[SegmentLine], columns: Sequence[tuple[float, float]]) -> Iterator[PageLine]:
    from_right = is_from_right(segment for line in block for segment in line)
    for line in block:
        cells = [""] * len(columns)
        for segment in line:
            middle = (segment.x + segment.end) / 2
            number = min(
                range(len(columns)),
                # mypy cannot infer the type of a lambda with a default
                key=lambda place, middle=middle: abs(sum(columns[place]) / 2 - middle),  # type: ignore[misc]
            )
            within = _column(segment, columns)
            # a segment over several columns is put in the column whose middle is nearest
            number = number if within is None else within
            cells[number] = f"{cells[number]} {segment.text}".strip()
        if from_right:
            cells.reverse()
        yield PageLine(" | ".join(cells), line[0].y, line[0].size, is_row=True)


def is_from_right(segments: Iterable[Segment]) -> bool:
    """Whether columns of these segments are read from right to left."""
    return reads_from_right("".join(segment.text for segment in segments))


def _text(block: list[SegmentLine]) -> Iterator[PageLine]:
    from_right = is_from_right(segment for line in block for segment in line)
    if _is_text_in_columns(block):
        for side in (1, 0) if from_right else (0, 1):
            for line in block:
                yield PageLine(line[side].text, line[side].y, line[side].size)
        return
    for line in block:
        text = " ".join(segment.text for segment in (reversed(line) if from_right else line))
        yield PageLine(text, line[0].y, line[0].size)


def _unnumbered(lines: list[SegmentLine]) -> list[SegmentLine]:
    """Remove the line numbers in a page's margin."""
    # a numbered line has the number, and at most one column of text
    numbers = [line[0] for line in lines if line[0].text.isdecimal() and len(line) <= 2]
    if len(numbers) < _LEAST_NUMBERS or not _counts(numbers):
        return lines
    number_ids = set(map(id, numbers))
    rest = [[segment for segment in line if id(segment) not in number_ids] for line in lines]
    text = [segment for line in rest for segment in line]
    return [line for line in rest if line] if _is_numbered(text, numbers) else lines


def _is_numbered(text: Sequence[Segment], numbers: Sequence[Segment]) -> bool:
    """Whether numbers are line numbers, that is, are next to lines of prose."""
    if not text or fmean(len(segment.text.split()) for segment in text) < _NUMBERED_WORDS:
        return False
    return _are_beside(numbers, text)


def _are_beside(numbers: Sequence[Segment], text: Sequence[Segment]) -> bool:
    """Whether the numbers are all to the left of the text, or all to the right of it."""
    all_left = min(segment.x for segment in text) >= max(number.end for number in numbers)
    return all_left or max(segment.end for segment in text) <= min(number.x for number in numbers)


def _counts(numbers: Sequence[Segment]) -> bool:
    """Whether numbers placed one below another increase in equal steps, as line numbers do."""
    # line numbers have at most four digits
    counts = [int(number.text) for number in numbers if len(number.text) < 5]
    steps = {after - before for before, after in pairwise(counts)}
    lefts, rights = [number.x for number in numbers], [number.end for number in numbers]
    size = numbers[0].size
    in_line = max(lefts) - min(lefts) < size or max(rights) - min(rights) < size
    return len(counts) == len(numbers) and len(steps) == 1 and steps.issubset(_STEPS) and in_line
