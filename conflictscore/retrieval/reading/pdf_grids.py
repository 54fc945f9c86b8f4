"""Finds the ruled tables of a PDF page, and puts the text inside them into rows and cells.

A table is a group of vertical and horizontal lines that meet. Cells without a line between them
form one cell. If such a cell spans several rows, a short text is repeated in each of them. The text
is put in the cell's first column, and the other columns of the cell are empty.

The limits in this module were chosen by hand.
"""

import itertools
import re
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import pairwise

from conflictscore.retrieval.reading.pdf_columns import PageLine, is_from_right, laid_out
from conflictscore.retrieval.reading.pdf_lines import Segment
from conflictscore.retrieval.reading.pdf_objects import Area

_NEAR = 3.0
"""Maximum distance, in points, between lines that coincide."""
_MEET = 6.0
"""Maximum distance, in points, between lines that meet; cells may have white space around them."""
# A cell narrower or lower than this many points has no room for text.
_LEAST_CELL = 8.0
_MOST_COMPARISONS = 200_000
"""At most this many pairs of lines are compared on a page, to limit the time."""
_MOST_COLUMNS, _MOST_ROWS = 60, 300  # with more lines, it is a drawing
_FILLED, _FILLED_ROWS = 0.4, 0.6
"""Minimum share of a table's cells, and of its rows, that contain words; drawings have fewer."""
_MOST_LINES, _MOST_CHARACTERS = 6, 400
"""Maximum number of lines and characters in a cell. A frame around a longer text is not a cell."""
_LONGEST_REPEATED = 60
"""Maximum number of characters in a cell whose text is repeated in each row that the cell spans."""
_PROSE_WORDS = 2.0
"""Minimum average number of words in the lines of a cell that contains wrapped text."""
_MIDDLE = 0.3
"""Height of the middle of small letters above their baseline, relative to the font size."""
_WORD = re.compile(r"\w")


_Cell = tuple[int, int]
"""The row and column of a cell, counted from the upper left corner."""


class Grid:
    """The lines of a table.

    Attributes:
        columns: The positions of its vertical lines, from left to right.
        rows: The positions of its horizontal lines, from top to bottom.
    """

    def __init__(self, vertical: Sequence[Area], horizontal: Sequence[Area]) -> None:
        """Build the grid from the lines; lines that almost coincide are merged."""
        lefts = [_x(line) for line in vertical] + [line.left for line in horizontal]
        rights = [_x(line) for line in vertical] + [line.right for line in horizontal]
        bottoms = [_y(line) for line in horizontal] + [line.bottom for line in vertical]
        tops = [_y(line) for line in horizontal] + [line.top for line in vertical]
        self.columns = _merged([*map(_x, vertical), min(lefts), max(rights)], _LEAST_CELL)
        self.rows = _merged([*map(_y, horizontal), min(bottoms), max(tops)], _LEAST_CELL)[::-1]
        self._depths = [-row for row in self.rows]  # ascending
        self._leader: dict[_Cell, _Cell] = {}
        self._walls_by_row: dict[int, list[float]] = {}
        if self.is_table():
            self._join_cells(vertical, horizontal)

    def is_table(self) -> bool:
        """Whether there are at least two rows and two columns, and not too many."""
        return 2 < len(self.columns) <= _MOST_COLUMNS and 2 < len(self.rows) <= _MOST_ROWS

    def holds(self, x: float, y: float) -> bool:
        """Whether a point lies within the table."""
        return self.columns[0] <= x <= self.columns[-1] and self.rows[-1] <= y <= self.rows[0]

    def area(self) -> Area:
        """Return the area of the table."""
        return Area(self.columns[0], self.rows[-1], self.columns[-1], self.rows[0])

    def fits(self, lines: Iterable[Sequence[Segment]]) -> bool:
        """Whether the lines of text on a page are arranged like the cells of a complete table.

        The result is False if there is text beside the table, if a cell contains a long text or
        white space that divides columns, or if too few cells contain words. The lines may then be a
        drawing, or part of a larger table without lines.
        """
        by_cell: dict[_Cell, list[Segment]] = {}
        for line in lines:
            inside = [segment for segment in line if self.holds(*_middle(segment))]
            cells = [self._cell(segment) for segment in inside]
            if cells and (len(cells) < len(line) or len({*cells}) < len(cells)):
                return False
            for cell, segment in zip(cells, inside, strict=True):
                by_cell.setdefault(cell, []).append(segment)
        if any(map(_is_long, by_cell.values())):
            return False
        return self._has_enough([cell for cell, texts in by_cell.items() if _has_words(texts)])

    def _has_enough(self, filled: Sequence[_Cell]) -> bool:
        """Whether enough cells and rows contain words, and two rows have two cells with words."""
        places = itertools.product(range(len(self.rows) - 1), range(len(self.columns) - 1))
        cells = {self._of(cell) for cell in places}
        counts = Counter(row for row, _ in filled)
        return (
            len(filled) >= _FILLED * len(cells)
            and len(counts) >= _FILLED_ROWS * len({row for row, _ in cells})
            and sum(count > 1 for count in counts.values()) > 1
        )

    def _cell(self, segment: Segment) -> _Cell:
        x, y = _middle(segment)
        return self._of((self._row(y), self._column(x)))

    def walls_at(self, y: float) -> Sequence[float]:
        """Return the positions of the vertical lines at a height, from left to right."""
        if not self.rows[-1] <= y <= self.rows[0]:
            return ()
        row = self._row(y)
        if row not in self._walls_by_row:
            last = len(self.columns) - 1
            self._walls_by_row[row] = [
                x
                for place, x in enumerate(self.columns)
                if place in (0, last) or self._of((row, place - 1)) != self._of((row, place))
            ]
        return self._walls_by_row[row]

    def text_rows(self, segments: Sequence[Segment]) -> Iterator[PageLine]:
        """Yield the rows of the table with the text of these segments, with ``|`` between cells."""
        by_cell: dict[_Cell, list[Segment]] = {}
        for segment in segments:
            by_cell.setdefault(self._cell(segment), []).append(segment)
        size = max(segment.size for segment in segments)
        from_right = is_from_right(segments)
        for row in range(len(self.rows) - 1):
            cells = [self._of((row, column)) for column in range(len(self.columns) - 1)]
            distinct = [*dict.fromkeys(cells)]
            low = (cell for cell in distinct if cell[0] == row and self._is_low(cell))
            own = [by_cell.get(cell, []) for cell in low]
            for chosen in _baselines(own):
                texts = [
                    self._cell_text(cells, row, column, by_cell, chosen)
                    for column in range(len(cells))
                ]
                if from_right:
                    texts = _from_right(texts, cells)
                if any(texts):
                    text = " | ".join(texts) if len(distinct) > 1 else "".join(texts)
                    yield PageLine(text, self.rows[row + 1], size, is_row=len(distinct) > 1)

    def _cell_text(
        self,
        cells: Sequence[_Cell],
        row: int,
        column: int,
        by_cell: Mapping[_Cell, Sequence[Segment]],
        chosen: Sequence[float] | None,
    ) -> str:
        """Return a row's text in one column; with ``chosen`` lines, only the text on them."""
        cell = cells[column]
        if column and cells[column - 1] == cell:
            return ""  # a wide cell has its text in its first column
        segments = sorted(by_cell.get(cell, ()), key=lambda each: (-each.y, each.x))
        if chosen is not None and self._is_low(cell):
            segments = [each for each in segments if _is_near(each.y, chosen)]
        text = " ".join(segment.text for segment in segments)
        return "" if cell[0] < row and len(text) > _LONGEST_REPEATED else text

    def _is_low(self, cell: _Cell) -> bool:
        """Whether a cell spans a single row."""
        row, column = cell
        return self._leader.get((row + 1, column)) != cell

    def _row(self, y: float) -> int:
        above = bisect_right(self._depths, -y)
        return min(max(above - 1, 0), len(self.rows) - 2)

    def _column(self, x: float) -> int:
        return min(max(bisect_right(self.columns, x) - 1, 0), len(self.columns) - 2)

    def _of(self, cell: _Cell) -> _Cell:
        """Return the upper left grid position of the cell that contains this position."""
        return self._leader.get(cell, cell)

    def _join_cells(self, vertical: Iterable[Area], horizontal: Iterable[Area]) -> None:
        """Merge grid positions that no line separates, if they form a rectangle."""
        walls, floors = self._walls(vertical), self._floors(horizontal)
        rows, columns, leader = len(self.rows) - 1, len(self.columns) - 1, self._leader
        for row in range(rows):
            for column in range(columns):
                cell = row, column
                if cell in leader:
                    continue
                right, low = column, row
                while right < columns - 1 and (row, right) not in walls:
                    right += 1
                width = range(column, right + 1)
                while low < rows - 1 and floors.isdisjoint([(low, place) for place in width]):
                    low += 1
                for part in itertools.product(range(row, low + 1), width):
                    leader.setdefault(part, cell)

    def _walls(self, vertical: Iterable[Area]) -> set[_Cell]:
        """Return the grid positions with a line on their right."""
        walls: set[_Cell] = set()
        middles = [(top + bottom) / 2 for top, bottom in pairwise(self.rows)]
        for line in vertical:
            column = _index(self.columns, _x(line)) - 1  # to the left of the line
            low, high = line.bottom - _NEAR, line.top + _NEAR
            walls.update(
                [(row, column) for row, middle in enumerate(middles) if low <= middle <= high]
            )
        return walls

    def _floors(self, horizontal: Iterable[Area]) -> set[_Cell]:
        """Return the grid positions with a line below them."""
        floors: set[_Cell] = set()
        middles = [(left + right) / 2 for left, right in pairwise(self.columns)]
        ascending_rows = self.rows[::-1]
        for line in horizontal:
            row = len(self.rows) - 2 - _index(ascending_rows, _y(line))  # above the line
            low, high = line.left - _NEAR, line.right + _NEAR
            floors.update(
                [(row, column) for column, middle in enumerate(middles) if low <= middle <= high]
            )
        return floors


def _from_right(texts: Sequence[str], cells: Sequence[_Cell]) -> list[str]:
    """Return the texts of a row from right to left; a wide cell has its text in its last column."""
    by_cell = dict(zip(reversed(cells), reversed(texts), strict=True))
    return [by_cell.pop(cell, "") for cell in reversed(cells)]


def _middle(segment: Segment) -> tuple[float, float]:
    """Return a point in the middle of a text, about halfway up its small letters."""
    return (segment.x + segment.end) / 2, segment.y + _MIDDLE * segment.size


def _is_long(segments: Sequence[Segment]) -> bool:
    """Whether a text is too long for the cell of a table."""
    lines = _merged(segment.y for segment in segments)
    return len(lines) > _MOST_LINES or sum(len(each.text) for each in segments) > _MOST_CHARACTERS


def _has_words(segments: Sequence[Segment]) -> bool:
    return any(_WORD.search(segment.text) for segment in segments)


def _x(line: Area) -> float:
    return (line.left + line.right) / 2


def _y(line: Area) -> float:
    return (line.bottom + line.top) / 2


def _merged(places: Iterable[float], least: float = _NEAR) -> list[float]:
    """Return the positions in order, without those that almost coincide with the one before."""
    merged: list[float] = []
    for place in sorted(places):
        if not merged or place - merged[-1] > least:
            merged.append(place)
    return merged


def _index(places: Sequence[float], place: float) -> int:
    """Return the index of the position nearest to a place."""
    right = bisect_left(places, place)
    if not 0 < right < len(places):
        return max(right - 1, 0)
    return right - (abs(places[right - 1] - place) <= abs(places[right] - place))


def _is_near(y: float, chosen: Sequence[float]) -> bool:
    return any(abs(y - each) < _NEAR for each in chosen)


def _baselines(cells: Sequence[Sequence[Segment]]) -> list[list[float] | None]:
    """Return the baselines of the lines into which a row is divided; ``[None]`` for no division.

    If at least two cells have several lines at the same heights, each line is a separate row, as in
    a table without lines between its rows. However, if all these cells contain several words per
    line, the lines are wrapped text.
    """
    heights_by_cell = [(_merged(segment.y for segment in cell), cell) for cell in cells]
    tall = [(heights, cell) for heights, cell in heights_by_cell if len(heights) > 1]
    if len(tall) < 2:
        return [None]
    every = max((heights for heights, _ in tall), key=len)
    aligned = all(_is_near(y, every) for heights, _ in tall for y in heights)
    words = min(
        sum(len(segment.text.split()) for segment in cell) / len(heights) for heights, cell in tall
    )
    if not aligned or words >= _PROSE_WORDS:
        return [None]
    return [[y] for y in reversed(every)]


def grids(vertical: Sequence[Area], horizontal: Sequence[Area]) -> list[Grid]:
    """Return the tables that a page's lines form; empty if there are too many lines."""
    if len(vertical) < 2 or len(horizontal) < 2:
        return []
    floors = sorted(horizontal, key=_y)
    groups = _Groups(len(vertical) + len(floors))
    if not _join_crossing(groups, vertical, floors):
        return []
    order = sorted(range(len(vertical)), key=lambda place: (_x(vertical[place]), vertical[place]))
    for first, second in pairwise(order):
        below, above = vertical[first], vertical[second]
        # a long line may be drawn in pieces, one above another, at the same distance from the left
        if abs(_x(above) - _x(below)) < 1 and above.bottom - below.top <= _MEET:
            groups.join(first, [second])
    walls_by_group: dict[int, list[Area]] = {}
    floors_by_group: dict[int, list[Area]] = {}
    for number, wall in enumerate(vertical):
        walls_by_group.setdefault(groups.of(number), []).append(wall)
    for place, floor in enumerate(floors):
        floors_by_group.setdefault(groups.of(len(vertical) + place), []).append(floor)
    shared = [group for group in walls_by_group if group in floors_by_group]
    tables = (Grid(walls_by_group[group], floors_by_group[group]) for group in shared)
    return [table for table in tables if table.is_table()]


def _join_crossing(groups: "_Groups", walls: Sequence[Area], floors: Sequence[Area]) -> bool:
    """Join the groups of lines that cross or touch; ``floors`` are sorted by height.

    Returns whether there were few enough lines to compare.
    """
    heights = [*map(_y, floors)]
    spans = [(floor.left - _MEET, floor.right + _MEET) for floor in floors]
    comparisons = 0
    for number, wall in enumerate(walls):
        x = _x(wall)
        low = bisect_left(heights, wall.bottom - _MEET)
        high = bisect_right(heights, wall.top + _MEET)
        comparisons += high - low
        if comparisons > _MOST_COMPARISONS:
            return False
        places = enumerate(spans[low:high], len(walls) + low)
        groups.join(number, [place for place, (left, right) in places if left <= x <= right])
    return True


class _Groups:
    """Groups of numbers (disjoint sets) that are merged pair by pair."""

    def __init__(self, count: int) -> None:
        self._parents = [*range(count)]

    def of(self, number: int) -> int:
        """Return the number that stands for the whole group to which a number belongs."""
        parents = self._parents
        while (parent := parents[number]) != number:
            parents[number] = number = parents[parent]
        return number

    def join(self, number: int, members: Iterable[int]) -> None:
        """Merge the group of a number with the groups of members."""
        parents, own = self._parents, self.of(number)
        for member in members:
            if parents[member] != own:
                parents[self.of(member)] = own


def laid_out_with_grids(
    lines: Iterable[Sequence[Segment]], tables: Sequence[Grid]
) -> list[PageLine]:
    """Return the lines of a page in reading order; each table is put where its first text is."""
    if not tables:
        return laid_out(lines)
    page_lines: list[PageLine] = []
    outside: list[Sequence[Segment]] = []
    inside: dict[int, list[Segment]] = {}
    order: list[list[Sequence[Segment]] | int] = []
    for line in lines:
        rest: list[Segment] = []
        for segment in line:
            number = _table_of(segment, tables)
            if number is None:
                rest.append(segment)
                continue
            if number not in inside:
                order += [outside, number]
                outside = []
            inside.setdefault(number, []).append(segment)
        if rest:
            outside.append(rest)
    for part in [*order, outside]:
        if isinstance(part, int):
            page_lines += tables[part].text_rows(inside[part])
        else:
            page_lines += laid_out(part)
    return page_lines


def _table_of(segment: Segment, tables: Sequence[Grid]) -> int | None:
    x, y = _middle(segment)
    return next((number for number, table in enumerate(tables) if table.holds(x, y)), None)
