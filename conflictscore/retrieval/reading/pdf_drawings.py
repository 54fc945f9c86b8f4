"""Finds charts and other drawings on a PDF page that consist of paths instead of an image.

The limits in this module were chosen by hand.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence

from conflictscore.retrieval.reading.pdf_objects import Area, Shape

_NEAR = 18.0
"""Maximum distance, in points, between two shapes of the same drawing."""
_SMALLEST = 48.0
"""Minimum width and height of a drawing, in points; smaller drawings are symbols and ornaments."""
_SMALLEST_CURVE = 36.0
"""Minimum width and height, in points, of a single shape that counts as a drawing."""
_SIDES = 5
"""Number of points in a rectangle's path; a path with more is a curve or a broken line."""
_BARS = 3
"""Minimum number of different sizes among the rectangles without text in a chart."""
_MOST_COMPARISONS = 100_000
"""Maximum number of comparisons of shapes with text on a page, to limit the time."""
_BACKGROUND = 0.6
"""Maximum share of a page that a shape may cover; a larger shape is the page's background."""


def drawings(
    shapes: Sequence[Shape],
    page_size: tuple[float, float],
    texts: Sequence[tuple[float, float]],
    elsewhere: Sequence[Area],
) -> list[Area]:
    """Return the areas of a page's drawings.

    ``texts`` are the positions of texts: a shape around a text is a frame or a background.
    ``elsewhere`` are areas that have a placeholder or are read already, such as images and tables.
    """
    own = [
        shape for shape in _without_text(shapes, page_size, texts) if not _is_in(shape, elsewhere)
    ]
    return [
        whole
        for group in _groups(own)
        if min((whole := _around(group)).width, whole.height) >= _SMALLEST and _is_drawing(group)
    ]


def _without_text(
    shapes: Sequence[Shape], page_size: tuple[float, float], texts: Sequence[tuple[float, float]]
) -> Iterator[Shape]:
    by_height = sorted((y, x) for x, y in texts)
    heights = [y for y, _ in by_height]
    most = _BACKGROUND * page_size[0] * page_size[1]
    comparisons = 0
    for shape in shapes:
        low = bisect_left(heights, shape.area.bottom)
        high = bisect_right(heights, shape.area.top)
        comparisons += high - low
        if comparisons > _MOST_COMPARISONS:
            return  # the remaining shapes are ignored
        if shape.area.width * shape.area.height < most and not any(
            shape.area.holds(x, y) for y, x in by_height[low:high]
        ):
            yield shape


def _is_in(shape: Shape, areas: Sequence[Area]) -> bool:
    x = (shape.area.left + shape.area.right) / 2
    y = (shape.area.bottom + shape.area.top) / 2
    return any(area.holds(x, y) for area in areas)


def _groups(shapes: Sequence[Shape]) -> Iterator[list[Shape]]:
    """Yield groups of shapes, from the top down; white space across the page divides them."""
    group: list[Shape] = []
    lowest = 0.0
    for shape in sorted(shapes, key=lambda shape: -shape.area.top):
        if group and lowest - shape.area.top > _NEAR:
            yield group
            group = []
        lowest = min(lowest, shape.area.bottom) if group else shape.area.bottom
        group.append(shape)
    if group:
        yield group


def _is_drawing(group: Sequence[Shape]) -> bool:
    """Whether shapes contain a large curve, or rectangles of different sizes as in a chart."""
    if any(
        shape.points > _SIDES and min(shape.area.width, shape.area.height) >= _SMALLEST_CURVE
        for shape in group
    ):
        return True
    sizes = {(round(shape.area.width), round(shape.area.height)) for shape in group}
    return len(sizes) >= _BARS


def _around(group: Sequence[Shape]) -> Area:
    areas = [shape.area for shape in group]
    return Area(
        min(area.left for area in areas),
        min(area.bottom for area in areas),
        max(area.right for area in areas),
        max(area.top for area in areas),
    )
