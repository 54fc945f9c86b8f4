"""Determines which text on a PDF page is visible to a person.

Invisible text may be white, outside the crop box, behind a clip, in a hidden layer, or not painted
at all, as OCR text over a scan is. The properties of a text do not decide whether it is visible:
white text is easy to read on a dark box. The page is therefore drawn with and without the text that
has doubtful properties. This text counts as visible if the two images differ. Drawing takes time,
so all other text counts as visible.

Limits without a stated reason were chosen by hand.
"""

import ctypes
import time
from collections.abc import Iterable, Sequence
from functools import cache
from itertools import compress
from typing import TYPE_CHECKING, Any

from conflictscore.retrieval.reading.pdf_objects import Area, PageObjects
from conflictscore.retrieval.reading.pdf_runs import TextRun
from conflictscore.retrieval.reading.pdfium_calls import ManyCalls, Pointer, calls, pointer

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNPAINTED = 3, 7
"""Text rendering modes that paint nothing: invisible text, and text used only as a clip path."""
_LIGHT, _FAINT = 200, 80
"""Limits (out of 255) at which text may be invisible; chosen by hand.

Text may be invisible on white if its red, green and blue all reach the first limit. Text may be
invisible on any background if its opacity is at most the second limit.
"""
_SMALLEST = 1.0
"""Minimum font size, in points, that a person can see."""
_DIFFERENT = 24
"""Minimum difference in grey (out of 255) that a person can see; chosen by hand."""
_PIXELS = 1_800
"""Maximum number of pixels along the longer side of a page's image."""
_SECONDS = 10.0
"""Maximum processor time, in seconds, for all images of a file's pages.

After this time, doubtful text counts as visible, with a note on the file. A malicious file is
therefore limited to this time, and a harmless file loses no text.
"""
# The following limits bound the time for a hostile file, and were chosen by hand.
_MOST_OVERLAPPING = 20
"""Maximum number of overlapping objects on a page that are removed one at a time, with a new image
for each."""
_MOST_COMPARED = 400
"""At most this many doubtful runs on a page are compared in pairs to find overlaps."""
_MOST_CLIPS, _MOST_POINTS = 4, 12
"""Maximum number of clips that are examined for a text, and of points in a box-shaped clip.

Text in a clip with more points is always doubtful.
"""


_LAYER_NAME = "OC\0".encode("utf-16-le")
"""The name of the mark of content in a layer, as pdfium returns it."""


class Sight:
    """Finds the visible text on the pages of one file.

    Attributes:
        unsure: The number of runs that were not examined, since the images of the file's pages had
            taken ten seconds. Such runs count as visible.
    """

    def __init__(self, many: ManyCalls, *, has_layers: bool, has_layered_groups: bool) -> None:
        self._many = many
        self._calls = calls()
        self._has_layers, self._has_layered_groups = has_layers, has_layered_groups
        self._seconds = _SECONDS
        self.unsure = 0
        self._clear: set[int] = set()
        self._covered: set[int] = set()
        self._texts: set[int] = set()
        self._layered: set[int] = set()
        self._in_layered_group = False
        self._name, self._name_size = ctypes.create_string_buffer(8), ctypes.c_ulong()
        self._colour = (ctypes.c_uint * 4)()
        self._colours = [ctypes.addressof(self._colour) + 4 * place for place in range(4)]
        self._floats = (ctypes.c_float * 4)()
        self._places = [ctypes.addressof(self._floats) + 4 * place for place in range(4)]

    def look_at(self, objects: PageObjects) -> None:
        """Examine all texts of the next page at once, which is faster than one by one."""
        self._covered = objects.covered
        self._texts = {*objects.texts}
        self._clear = self._texts
        if self._has_layers:
            self._layered = self._marked(zip(objects.texts, objects.text_handles, strict=True))
            groups = ((group, pointer(group)) for group in objects.nested_groups())
            self._in_layered_group = self._has_layered_groups or bool(self._marked(groups))
            self._clear = self._clear - self._layered
        is_unclear = self._are_unclear(objects)
        if is_unclear.any():
            self._clear = self._clear.difference(compress(objects.texts, is_unclear.tolist()))
        if objects.covered:
            self._clear = self._clear - objects.covered

    def _marked(self, objects: Iterable[tuple[int, Pointer]]) -> set[int]:
        """Return the objects that are marked as the content of a layer, which may be hidden."""
        is_layer = cache(self._is_layer)  # many texts share a mark
        return {
            each
            for each, handle in objects
            for number in range(self._calls.any_marks(handle))
            if is_layer(self._calls.mark(each, number))
        }

    def _is_layer(self, mark: int) -> bool:
        name, size = self._name, self._name_size
        self._calls.mark_name(mark, ctypes.addressof(name), len(name), ctypes.addressof(size))
        return name.raw[: size.value] == _LAYER_NAME

    def _are_unclear(self, objects: PageObjects) -> "NDArray[np.bool_]":
        """Return which texts may be invisible because of their mode, colour or clip."""
        import numpy as np

        texts, count = objects.text_handles, len(objects.texts)
        colours = self._many.colours(texts)
        clip_counts = map(
            self._calls.any_clip_paths, map(pointer, map(self._calls.any_clip, texts))
        )
        is_unclear = np.fromiter(clip_counts, np.intc, count) > 0
        for mode in _UNPAINTED:
            is_unclear |= objects.modes == mode
        if colours == colours[:16] * count:  # most pages have one colour
            colours = colours[:16]
        numbers = np.frombuffer(colours, np.uint32).reshape(-1, 4)
        is_unclear |= (numbers[:, :3] >= _LIGHT).all(axis=1) | (numbers[:, 3] <= _FAINT)
        return is_unclear

    def doubtful(self, owners: set[int]) -> set[int]:
        """Return the text objects that have properties that may make them invisible.

        ``owners`` are the objects' addresses, and 0 for text that no object draws, such as spaces
        that pdfium inserts. pdfium reveals whether a text is in a layer, but not whether that layer
        is visible.
        """
        unclear = owners.difference(self._clear, (0,))
        return {owner for owner in unclear if owner in self._covered or self._is_doubtful(owner)}

    def _is_doubtful(self, owner: int) -> bool:
        if self._may_be_in_layer(owner) or self._calls.mode(owner) in _UNPAINTED:
            return True
        if self._calls.colour(owner, *self._colours) and _is_light(*self._colour):
            return True
        clips = self._calls.clip(owner)
        count = self._calls.clip_paths(clips) if clips else 0
        return count > 0 and self._is_clipped(owner, clips, count)

    def _may_be_in_layer(self, owner: int) -> bool:
        if not self._has_layers or owner in self._texts:
            return owner in self._layered
        return self._in_layered_group or bool(self._marked([(owner, pointer(owner))]))

    def seen(self, page: Any, runs: Sequence[TextRun]) -> list[TextRun]:
        """Return the visible runs of a page.

        Unpainted text never appears in the page's image. If unpainted text lies over a picture, it
        is the OCR text of a scan, and a person sees the words in the scan itself. Unpainted text
        elsewhere is hidden.
        """
        runs = [run for run in runs if run.size >= _SMALLEST]
        doubtful = [run for run in runs if run.owner]
        if not doubtful:
            return runs
        owners = {run.owner for run in doubtful}
        unpainted_owners = {owner for owner in owners if self._calls.mode(owner) in _UNPAINTED}
        unseen = _without_image(page, doubtful, unpainted_owners)
        if painted_runs := [run for run in doubtful if run.owner not in unpainted_owners]:
            unseen |= self._unseen(page, painted_runs)
        return [run for run in runs if run.owner not in unseen]

    def _is_clipped(self, owner: int, clips: int, count: int) -> bool:
        """Whether the centre of a text lies outside the box around one of its clips."""
        if not self._calls.bounds(owner, *self._places):
            return False
        left, bottom, right, top = self._floats
        middle_x, middle_y = (left + right) / 2, (bottom + top) / 2
        for number in range(min(count, _MOST_CLIPS)):
            points = self._calls.clip_points(clips, number)
            if points > _MOST_POINTS:
                return True
            xs, ys = [], []
            for place in range(max(0, points)):
                segment = self._calls.clip_segment(clips, number, place)
                if self._calls.point(segment, *self._places[:2]):
                    xs.append(self._floats[0])
                    ys.append(self._floats[1])
            if xs and not (min(xs) <= middle_x <= max(xs) and min(ys) <= middle_y <= max(ys)):
                return True
        return False

    def _unseen(self, page: Any, runs: Sequence[TextRun]) -> set[int]:
        """Return the objects of these runs whose removal does not change how the page looks.

        First, all objects are removed together. If this changes the area of a text, that text may
        still be invisible, because the change may come from an overlapping text. Each overlapping
        text is therefore also removed separately.
        """
        if self._seconds <= 0:
            self.unsure += len(runs)
            return set()
        start = time.process_time()
        owners = {run.owner for run in runs}
        with_them, scale = _image(page)
        seen_owners = self._changing(page, runs, owners, with_them, scale)
        overlapping: list[TextRun] = []
        if len(runs) <= _MOST_COMPARED:
            overlapping = [run for run in runs if run.owner in seen_owners and _overlaps(run, runs)]
        for owner in list(dict.fromkeys(run.owner for run in overlapping))[:_MOST_OVERLAPPING]:
            if self._seconds < time.process_time() - start:
                self.unsure += 1
            elif not self._changing(page, overlapping, {owner}, with_them, scale):
                seen_owners.discard(owner)
        self._seconds -= time.process_time() - start
        return owners - seen_owners

    def _changing(
        self,
        page: Any,
        runs: Sequence[TextRun],
        owners: set[int],
        with_them: "NDArray[np.int16]",
        scale: float,
    ) -> set[int]:
        """Remove all ``owners`` at once; return the owners whose area on the page has changed."""
        self._set_active(owners, active=False)
        without_them, _ = _image(page)
        self._set_active(owners, active=True)
        differs = abs(with_them - without_them) > _DIFFERENT
        return {
            run.owner
            for run in runs
            if run.owner in owners and _in_area(differs, run, page, scale).any()
        }

    def _set_active(self, owners: Iterable[int], *, active: bool) -> None:
        for owner in owners:
            self._calls.set_active(owner, active)


def _is_light(red: int, green: int, blue: int, opacity: int) -> bool:
    """Whether text in a colour may be invisible."""
    return (red >= _LIGHT and green >= _LIGHT and blue >= _LIGHT) or opacity <= _FAINT


def _without_image(page: Any, runs: Sequence[TextRun], unpainted_owners: set[int]) -> set[int]:
    """Return the unpainted text objects that do not lie over an image."""
    images = _images(page) if unpainted_owners else []
    return unpainted_owners - {
        run.owner for run in runs if any(_is_within(run, image) for image in images)
    }


def _is_within(run: TextRun, area: Area) -> bool:
    # with a tolerance of one point; chosen by hand
    return area.left - 1 <= run.x <= area.right + 1 and area.bottom - 1 <= run.y <= area.top + 1


def _overlaps(run: TextRun, runs: Sequence[TextRun]) -> bool:
    left, right = sorted((run.x, run.end))
    return any(
        run.owner != another.owner
        and left < max(another.x, another.end)
        and min(another.x, another.end) < right
        and abs(run.y - another.y) < max(run.size, another.size)
        for another in runs
    )


def _images(page: Any) -> list[Area]:
    import pypdfium2.raw as pdfium

    # find images in up to three nested groups of objects; chosen by hand
    kinds = [pdfium.FPDF_PAGEOBJ_IMAGE]
    return [Area(*image.get_bounds()) for image in page.get_objects(filter=kinds, max_depth=3)]


def _image(page: Any) -> "tuple[NDArray[np.int16], float]":
    """Return a grey-scale image of a page, from the top down, and its pixels per point."""
    import numpy as np

    # 1.5 pixels per point (108 per inch) show text of ordinary size; more pixels would only take
    # longer
    scale = min(1.5, _PIXELS / max(1.0, *page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    return bitmap.to_numpy().astype(np.int16).reshape(bitmap.height, bitmap.width), scale


def _in_area(differs: "NDArray[np.bool_]", run: TextRun, page: Any, scale: float) -> Any:
    """Return the part of a page's image that shows a run, from its descenders to its ascenders."""
    left, _, _, top = page.get_cropbox()
    if page.get_rotation():  # run positions ignore the page's rotation
        return differs
    # Right-to-left or rotated letters may lie beside these positions.
    beside = run.size if run.end < run.x or abs(run.slope) > run.size / 2 else 0.0
    first, last = sorted((run.x, run.end))
    low, high = sorted((run.y, run.y + run.slope))
    # The cut-out is two pixels larger, since positions are rounded down. Descenders reach about a
    # third of the font size below the line.
    columns = (int((first - beside - left) * scale), int((last + beside - left) * scale) + 2)
    rows = (
        int((top - high - run.size) * scale),
        int((top - low + run.size / 3) * scale) + 2,
    )
    return differs[max(0, rows[0]) : max(0, rows[1]), max(0, columns[0]) : max(0, columns[1])]
