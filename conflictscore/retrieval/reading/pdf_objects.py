"""Examines the pictures on a PDF page, and the objects that are painted over text.

Limits without a stated reason were chosen by hand.
"""

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from itertools import compress, repeat
from typing import TYPE_CHECKING, Any, NamedTuple
from zlib import crc32

import numpy as np

from conflictscore.retrieval.reading.pdf_columns import PageLine
from conflictscore.retrieval.reading.pdfium_calls import ManyCalls, address, calls, pointer

if TYPE_CHECKING:
    from numpy.typing import NDArray

_PATH, _IMAGE, _FORM = 2, 3, 5
"""pdfium's codes for object types."""
_NO_MODE = -1
"""The rendering mode that pdfium returns for an object that is not a text."""
_MOST_OBJECTS = 20_000
"""At most this many objects on a page are examined, to limit the time; chosen by hand."""
_MOST_COVERS = 50
"""At most this many areas on a page are checked for text that they cover. Each text is
compared with all of them, so the number limits the time; chosen by hand."""
_OPAQUE = 250
"""Minimum opacity (out of 255) of an object that hides the text under it."""
_SMALLEST = 24.0
"""Minimum width and height of a picture, in points; smaller images are symbols and lines."""
_BACKGROUND = 0.6
"""Share of a page that an image must cover to count as a scan or a background behind text."""
_TOUCHING = 2.0
"""Maximum distance, in points, between the parts of one image."""
_THIN, _SHORTEST = 3.0, 5.0
"""Maximum thickness and minimum length, in points, of a line that may belong to a table."""
_MOST_LINES = 3_000  # Maximum number of lines kept for a page; more lines are a drawing.
_MOST_SHAPES = 2_000  # Maximum number of other paths that are kept for a page.
_LARGEST_COMPARED = 5_000_000
"""Maximum size of an image, in bytes, whose content is compared; of larger images, only the size is
compared.
"""
_MARK = "[picture]"


class Area(NamedTuple):
    """A rectangle on a page, in points from the lower left corner."""

    left: float
    bottom: float
    right: float
    top: float

    @property
    def width(self) -> float:
        """The width in points."""
        return self.right - self.left

    @property
    def height(self) -> float:
        """The height in points."""
        return self.top - self.bottom

    def middle(self) -> tuple[float, float]:
        """Return the centre."""
        return (self.left + self.right) / 2, (self.bottom + self.top) / 2

    def holds(self, x: float, y: float) -> bool:
        """Whether a point lies within the area."""
        return self.left <= x <= self.right and self.bottom <= y <= self.top


class Shape(NamedTuple):
    """A path that is not a straight line: its area and number of points."""

    area: Area
    points: int


class PageObjects:
    """The objects of a page, as memory addresses or areas.

    Attributes:
        texts: The texts.
        text_handles: The texts again, as objects that pdfium's functions take.
        modes: The rendering modes of the texts.
        images: The areas of the images.
        covered: The texts that later objects may cover.
        vertical: The areas of straight vertical lines, as in a table.
        horizontal: The areas of straight horizontal lines.
        shapes: The other paths.
        groups: The groups of objects (forms).
    """

    def __init__(self, page: Any, many: ManyCalls) -> None:
        """Examine the objects of a page, the last painted first.

        Later objects are painted over earlier ones.
        """
        self._calls, self._many = calls(), many
        self._numbers = (ctypes.c_uint * 4)()
        self._number_places = [ctypes.addressof(self._numbers) + 4 * place for place in range(4)]
        handle = pointer(address(page.raw))
        count = min(self._calls.count_objects(handle), _MOST_OBJECTS)
        objects = [*map(self._calls.object, repeat(handle), range(count))]
        handles = [*map(pointer, objects)]
        self.modes = np.fromiter(map(self._calls.any_mode, handles), np.intc, count)
        self.texts, self.text_handles = objects, handles
        self.covered: set[int] = set()
        self.images: list[Area] = []
        self._checksums: dict[Area, int] = {}
        self.vertical: list[Area] = []
        self.horizontal: list[Area] = []
        self.shapes: list[Shape] = []
        self.groups: list[int] = []
        is_text = self.modes != _NO_MODE
        if is_text.all():
            return
        text_numbers, other_numbers = is_text.nonzero()[0], (~is_text).nonzero()[0][::-1]
        self.texts = [objects[number] for number in text_numbers.tolist()]
        self.text_handles = [handles[number] for number in text_numbers.tolist()]
        self.modes = self.modes[is_text]
        covers = self._look_at_others(
            [objects[number] for number in other_numbers.tolist()],
            many.bounds([handles[number] for number in other_numbers.tolist()]),
        )
        if covers:
            areas = [area for _, area in covers]
            cover_numbers = other_numbers[[place for place, _ in covers]]
            self.covered = self._covered(text_numbers, cover_numbers, np.array(areas))

    def _look_at_others(
        self, objects: Sequence[int], bounds: "NDArray[np.float32]"
    ) -> list[tuple[int, Area]]:
        """Record the objects that are not texts.

        Returns the objects that may cover others, as places in ``objects``, with their areas. A
        form (a group of objects) that contains an image counts as an image and covers nothing.
        """
        covers: list[tuple[int, Area]] = []
        # Area._make() would take twice as long
        areas: Iterator[Area] = map(tuple.__new__, repeat(Area), bounds.tolist())
        kinds = map(self._calls.kind, objects)
        for place, (each, kind, area) in enumerate(zip(objects, kinds, areas, strict=True)):
            if kind == _PATH and self._is_line(each, area):
                continue
            if kind == _FORM:
                self.groups.append(each)
            if kind == _IMAGE or (kind == _FORM and self._holds_image(each)):
                self.images.append(area)
                self._checksums[area] = self._checksum(each, kind)
            if len(covers) < _MOST_COVERS and self._may_cover(each, kind):
                covers.append((place, area))
        return covers

    def _covered(
        self,
        text_numbers: "NDArray[np.intp]",
        cover_numbers: "NDArray[np.intp]",
        areas: "NDArray[np.float64]",
    ) -> set[int]:
        """Return the texts whose centre lies in one of the areas that are painted later."""
        # only texts before the last of these objects can be covered
        count = int(text_numbers.searchsorted(cover_numbers.max()))
        lefts, bottoms, rights, tops = self._many.bounds(self.text_handles[:count]).astype(float).T
        xs, ys = (lefts + rights) / 2, (bottoms + tops) / 2
        is_covered = np.zeros(count, bool)
        for number, (left, bottom, right, top) in zip(cover_numbers, areas, strict=True):
            is_within = (left <= xs) & (xs <= right) & (bottom <= ys) & (ys <= top)
            is_covered |= is_within & (text_numbers[:count] < number)
        return {*compress(self.texts, is_covered.tolist())}

    def _is_line(self, path: int, area: Area) -> bool:
        """Whether a path is a thin line; records it, the sides of a frame, or another shape."""
        if len(self.vertical) + len(self.horizontal) > _MOST_LINES:
            return False
        left, bottom, right, top = area
        width, height = right - left, top - bottom
        if width <= _THIN and height >= _SHORTEST:
            self.vertical.append(area)
            return True
        if height <= _THIN and width >= _SHORTEST:
            self.horizontal.append(area)
            return True
        # a frame or another shape may also be filled, and cover text
        if min(width, height) >= _SHORTEST and self._is_frame(path):
            self.vertical += [Area(x, bottom, x, top) for x in (left, right)]
            self.horizontal += [Area(left, y, right, y) for y in (bottom, top)]
        elif min(width, height) > _THIN and len(self.shapes) < _MOST_SHAPES:
            self.shapes.append(Shape(area, self._calls.count_points(path)))
        return False

    def _is_frame(self, path: int) -> bool:
        """Whether a path is drawn as a line around a rectangle: four sides and a starting point."""
        # pdfium writes how the path is filled, and whether it is drawn as a line
        is_drawn = self._calls.draw_mode(path, self._number_places[0], self._number_places[1])
        return bool(is_drawn and self._numbers[1] and self._calls.count_points(path) <= 5)

    def _may_cover(self, each: int, kind: int) -> bool:
        return kind == _IMAGE or (kind == _PATH and self._is_filled(each))

    def text_areas(self) -> list[tuple[int, Area]]:
        """Return the texts with their areas, in the order in which they are painted."""
        bounds = self._many.bounds(self.text_handles).tolist()
        return [(text, Area(*area)) for text, area in zip(self.texts, bounds, strict=True)]

    def _is_filled(self, path: int) -> bool:
        # pdfium writes a colour as four numbers: red, green, blue, and finally opacity
        fill, opacity = self._number_places[0], 3
        if not self._calls.draw_mode(path, fill, self._number_places[1]) or not self._numbers[0]:
            return False
        return bool(
            self._calls.colour(path, *self._number_places) and self._numbers[opacity] >= _OPAQUE
        )

    def _holds_image(self, form: int) -> bool:
        return any(self._calls.kind(part) == _IMAGE for part in self._parts(form))

    def nested_groups(self) -> Iterator[int]:
        """Yield the groups of objects on the page, and those inside other groups."""
        left = _MOST_OBJECTS
        groups = [*self.groups]
        while groups and left > 0:
            yield (group := groups.pop())
            parts = [*self._parts(group)]
            left -= len(parts)
            groups += (part for part in parts if self._calls.kind(part) == _FORM)

    def _parts(self, form: int) -> Iterator[int]:
        count = min(self._calls.count_parts(form), _MOST_OBJECTS)
        return map(self._calls.part, repeat(form), range(count))

    def _checksum(self, each: int, kind: int) -> int:
        """Return a checksum of an image, or of the first image in a form."""
        if kind == _FORM:
            parts = (part for part in self._parts(each) if self._calls.kind(part) == _IMAGE)
            each = next(parts, 0)
        size = self._calls.image_bytes(each, 0, 0) if each else 0
        if not 0 < size <= _LARGEST_COMPARED:
            return int(size)
        buffer = (ctypes.c_char * size)()
        self._calls.image_bytes(each, ctypes.addressof(buffer), size)
        return crc32(memoryview(buffer))

    def look(self, area: Area) -> int:
        """Return a number that is the same for the same picture at the same place of two pages."""
        images = [
            (*map(round, image), checksum)
            for image, checksum in self._checksums.items()
            if area.holds(*image.middle())
        ]
        shapes = [
            (*map(round, shape.area), shape.points)
            for shape in self.shapes
            if area.holds(*shape.area.middle())
        ]
        return hash((*map(round, area), *sorted(images), *sorted(shapes)))


def pictures(
    images: Iterable[Area], page_size: tuple[float, float], points: Sequence[tuple[float, float]]
) -> list[Area]:
    """Return the images that are pictures, that is, large and not behind text at ``points``."""
    whole: list[Area] = []
    for image in sorted(images, key=lambda area: (area.left, -area.top)):
        last = whole[-1] if whole else None
        # some programs store a tall picture as strips, one below another, with equal left edges
        if last and abs(last.left - image.left) < 1 and abs(last.bottom - image.top) < _TOUCHING:
            whole[-1] = last._replace(bottom=image.bottom)
        else:
            whole.append(image)
    width, height = page_size
    return [
        area
        for area in whole
        if min(area.width, area.height) >= _SMALLEST
        and not (
            area.width * area.height > _BACKGROUND * width * height
            and any(area.holds(x, y) for x, y in points)
        )
    ]


def with_marks(lines: Sequence[PageLine], areas: Sequence[Area]) -> list[PageLine]:
    """Insert a placeholder for each picture between a page's lines, where the picture is."""
    marked = list(lines)
    for area in sorted(areas, key=lambda area: -area.top):
        place = next(_places(marked, area), len(marked))
        marked.insert(place, PageLine(_MARK, area.bottom, area.height))
    return marked


def _places(lines: Sequence[PageLine], area: Area) -> Iterator[int]:
    """Yield the indices at which a picture's placeholder fits.

    The line at such an index is below the picture. The line before it is above the picture or is a
    placeholder.
    """
    middle = (area.top + area.bottom) / 2
    for place, line in enumerate(lines):
        is_below = line.y < middle
        if is_below and (
            not place or lines[place - 1].y >= middle or lines[place - 1].text == _MARK
        ):
            # not between two lines if one of them is beside the picture
            inside = line.y > area.bottom or (place and area.bottom < lines[place - 1].y < area.top)
            if not inside:
                yield place
