"""Which text of a PDF page a person sees.

Text may be drawn in white, outside of the crop box, behind a clip, in a layer that is off, or not
painted at all, as the recognised text over a scan is. Only an image of the page tells: white text
is read well on a dark box. So text whose properties make it doubtful is taken away from the page,
and counts as seen if the page then looks different. Images take time, so all other text is taken
as seen.
"""

import ctypes
import re
import time
import zlib
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from conflictscore.retrieval.reading.pdf_runs import TextRun
from conflictscore.retrieval.reading.pdfium_calls import calls

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_UNPAINTED = (3, 7)
"""Modes of drawing text that paint nothing: invisible, and as a clip for what is drawn later."""
_LIGHT, _FAINT = 200, 80
"""Least of red, green and blue from which text may not show on white, and opacity up to which it
may not show on anything, of 255."""
_SMALLEST = 1.0
"""Points of letters that a person sees."""
_DIFFERENT = 24
"""Steps of grey, of 255, that a person sees."""
_PIXELS = 1_800
"""Most of a page's image, along its longer side."""
_SECONDS = 10.0
"""Of the processor, for all images of a file's pages. Text that is doubtful after that counts as
seen, with a note on the file: a hostile file may not cost more, and an honest one loses nothing."""
_MOST_OVERLAPPING = 20
"""Objects over each other on a page that are taken away one by one, which takes an image each."""
_MOST_COMPARED = 400
"""Doubtful runs of a page up to which those over each other are looked for, each against all."""
_MOST_CLIPS, _MOST_POINTS = 4, 12
"""Clips of a text that are looked at, and points of a clip beyond which it is no box: its text is
then doubtful, wherever it lies."""
_MOST_LAYERED = 8_000_000
"""Bytes of unpacked objects among which a file's layers are looked for."""
_PACKED, _UNPACKED = 300_000, 1_000_000
"""Bytes of a packed list of objects that are unpacked, and most that come of it."""
_OBJECTS = re.compile(rb"/ObjStm\b.{0,300}?\bstream\r?\n", re.DOTALL)


class _Area(NamedTuple):
    """The box around an object of a page, in points from the page's left and bottom."""

    left: float
    bottom: float
    right: float
    top: float


class Sight:
    """The visible text of the pages of one file, whose bytes are ``data``.

    Attributes:
        unsure: Runs that there was no time to look at. They count as seen.
        covered: The texts of the current page that something else may be painted over, by their
            addresses. The caller sets it for each page.
    """

    def __init__(self, data: bytes) -> None:
        self._calls = calls()
        self._has_layers = _has_layers(data)
        self._seconds = _SECONDS
        self.unsure = 0
        self.covered: set[int] = set()
        self._colour = (ctypes.c_uint * 4)()
        self._colours = [ctypes.addressof(self._colour) + 4 * place for place in range(4)]
        self._floats = (ctypes.c_float * 4)()
        self._places = [ctypes.addressof(self._floats) + 4 * place for place in range(4)]

    def may_be_unseen(self, owner: int) -> bool:
        """Whether the properties of an object that draws text are those of unseen text.

        ``owner`` is its address, 0 for text that no object draws, as pdfium's own spaces. pdfium
        does not tell the layer of a text: where a file has layers, all of its text is doubtful.
        """
        if not owner:
            return False
        if self._has_layers or owner in self.covered or self._calls.mode(owner) in _UNPAINTED:
            return True
        if self._calls.colour(owner, *self._colours):
            red, green, blue, opacity = self._colour
            if (red >= _LIGHT and green >= _LIGHT and blue >= _LIGHT) or opacity <= _FAINT:
                return True
        clips = self._calls.clip(owner)
        count = self._calls.clip_paths(clips) if clips else 0
        return count > 0 and self._is_clipped(owner, clips, count)

    def seen(self, page: Any, runs: Sequence[TextRun]) -> list[TextRun]:
        """The runs that a person sees on a page.

        Text that is not painted is in no image. Over a picture it is the recognised text of a scan,
        which a person sees there; anywhere else it is hidden.
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
        """Whether the middle of a text lies outside of the box around one of its clips."""
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
        """The objects of these runs without which the page looks the same.

        All of them are taken away at once first. Where the page then looks different, text that
        lies over other doubtful text may still be unseen, so it is taken away alone.
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
        """Those of the objects at whose places the page looks different without all of them."""
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


def _without_image(page: Any, runs: Sequence[TextRun], unpainted_owners: set[int]) -> set[int]:
    """The unpainted objects that lie over no image."""
    images = _images(page) if unpainted_owners else []
    return unpainted_owners - {
        run.owner for run in runs if any(_is_within(run, image) for image in images)
    }


def _is_within(run: TextRun, area: _Area) -> bool:
    return area.left - 1 <= run.x <= area.right + 1 and area.bottom - 1 <= run.y <= area.top + 1


def _overlaps(run: TextRun, runs: Sequence[TextRun]) -> bool:
    return any(
        run.owner != another.owner
        and run.x < another.end
        and another.x < run.end
        and abs(run.y - another.y) < max(run.size, another.size)
        for another in runs
    )


def _images(page: Any) -> list[_Area]:
    import pypdfium2.raw as pdfium

    kinds = [pdfium.FPDF_PAGEOBJ_IMAGE]
    return [_Area(*image.get_bounds()) for image in page.get_objects(filter=kinds, max_depth=3)]


def _image(page: Any) -> "tuple[NDArray[np.int16], float]":
    """A page as shades of grey from its top, and its pixels a point."""
    import numpy as np

    scale = min(1.5, _PIXELS / max(1.0, *page.get_size()))
    bitmap = page.render(scale=scale, grayscale=True, may_draw_forms=False)
    return bitmap.to_numpy().astype(np.int16).reshape(bitmap.height, bitmap.width), scale


def _in_area(differs: "NDArray[np.bool_]", run: TextRun, page: Any, scale: float) -> Any:
    """The part of a page's image where a run is drawn, from below its line to its letters' top."""
    left, _, _, top = page.get_cropbox()
    if page.get_rotation():  # a run's place is that before the page is turned
        return differs
    columns = (int((run.x - left) * scale), int((run.end - left) * scale) + 2)
    rows = (
        int((top - run.y - run.size) * scale),
        int((top - run.y + run.size / 3) * scale) + 2,
    )
    return differs[max(0, rows[0]) : max(0, rows[1]), max(0, columns[0]) : max(0, columns[1])]


def _has_layers(data: bytes) -> bool:
    """Whether a file has layers, on or off; newer files pack the place that says so."""
    if b"/OCProperties" in data:
        return True
    unpacked_bytes = 0
    for match in _OBJECTS.finditer(data):
        packed_objects = memoryview(data)[match.end() : match.end() + _PACKED]
        try:
            objects = zlib.decompressobj().decompress(packed_objects, _UNPACKED)
        except zlib.error:
            continue
        unpacked_bytes += len(objects)
        if b"/OCProperties" in objects:
            return True
        if unpacked_bytes > _MOST_LAYERED:
            break
    return False
