"""Calls the pdfium functions that are needed for each piece of a page's text.

pypdfium2 declares these functions with typed pointers, which makes calls several times slower than
with plain addresses. Functions without declared arguments, which take ``c_void_p`` objects
and plain integers, save another third.
"""

import ctypes
from collections import deque
from collections.abc import Sequence
from functools import cache
from itertools import repeat
from typing import Any

_ADDRESS, _INT, _UNSIGNED = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
_AT_ONCE = 1_024
"""Maximum number of characters whose positions are read in one go, to limit the memory."""


class Calls:
    """The pdfium functions, with addresses declared as integers."""

    def __init__(self) -> None:
        """Look up the functions; raises ImportError if pypdfium2 is not installed."""
        import pypdfium2.raw as pdfium

        def plain(name: str, result: Any, *arguments: Any) -> Any:
            address = ctypes.cast(getattr(pdfium, name), _ADDRESS).value
            return ctypes.CFUNCTYPE(result, *arguments)(address or 0)

        self.owner = plain("FPDFText_GetTextObject", ctypes.c_size_t)
        self.origin = plain("FPDFText_GetCharOrigin", _INT)
        self.box = plain("FPDFText_GetLooseCharBox", _INT)
        self.unicode = plain("FPDFText_GetUnicode", _UNSIGNED)
        self.is_generated = plain("FPDFText_IsGenerated", _INT)
        self.text = plain("FPDFText_GetText", _INT)
        self.mode = plain("FPDFTextObj_GetTextRenderMode", _INT, _ADDRESS)
        self.colour = plain("FPDFPageObj_GetFillColor", _INT, *[_ADDRESS] * 5)
        self.clip = plain("FPDFPageObj_GetClipPath", _ADDRESS, _ADDRESS)
        self.clip_paths = plain("FPDFClipPath_CountPaths", _INT, _ADDRESS)
        self.clip_points = plain("FPDFClipPath_CountPathSegments", _INT, _ADDRESS, _INT)
        self.clip_segment = plain("FPDFClipPath_GetPathSegment", _ADDRESS, _ADDRESS, _INT, _INT)
        self.point = plain("FPDFPathSegment_GetPoint", _INT, *[_ADDRESS] * 3)
        self.bounds = plain("FPDFPageObj_GetBounds", _INT, *[_ADDRESS] * 5)
        self.count_objects = plain("FPDFPage_CountObjects", _INT)
        self.object = plain("FPDFPage_GetObject", ctypes.c_size_t)
        self.kind = plain("FPDFPageObj_GetType", _INT, _ADDRESS)
        self.count_parts = plain("FPDFFormObj_CountObjects", _INT, _ADDRESS)
        self.part = plain("FPDFFormObj_GetObject", _ADDRESS, _ADDRESS, _UNSIGNED)
        self.image_bytes = plain(
            "FPDFImageObj_GetImageDataRaw", ctypes.c_ulong, _ADDRESS, _ADDRESS, ctypes.c_ulong
        )
        self.draw_mode = plain("FPDFPath_GetDrawMode", _INT, _ADDRESS, _ADDRESS, _ADDRESS)
        self.count_points = plain("FPDFPath_CountSegments", _INT, _ADDRESS)
        self.count_notes = plain("FPDFPage_GetAnnotCount", _INT, _ADDRESS)
        self.note = plain("FPDFPage_GetAnnot", _ADDRESS, _ADDRESS, _INT)
        self.note_kind = plain("FPDFAnnot_GetSubtype", _INT, _ADDRESS)
        self.close_note = plain("FPDFPage_CloseAnnot", None, _ADDRESS)
        self.set_active = plain("FPDFPageObj_SetIsActive", _INT, _ADDRESS, _INT)


class Origins:
    """Reads the positions of many characters with few steps of Python.

    One such object can serve all pages of a file.
    """

    def __init__(self) -> None:
        """Reserve the memory into which pdfium writes the positions."""
        numbers = (ctypes.c_double * (2 * _AT_ONCE))()
        start, size = ctypes.addressof(numbers), ctypes.sizeof(ctypes.c_double)
        pointers = [_ADDRESS(start + size * place) for place in range(2 * _AT_ONCE)]
        self._numbers = memoryview(numbers).cast("B").cast("d")
        self._xs, self._ys = pointers[::2], pointers[1::2]

    def of(self, text_page: ctypes.c_void_p, places: Sequence[int]) -> list[float]:
        """Return the origins of the characters at these places: x and y in turn."""
        origin = calls().origin
        origins: list[float] = []
        for start in range(0, len(places), _AT_ONCE):
            part = places[start : start + _AT_ONCE]
            deque(map(origin, repeat(text_page), part, self._xs, self._ys), maxlen=0)
            origins += self._numbers[: 2 * len(part)].tolist()
        return origins


@cache
def calls() -> Calls:
    """Return the pdfium functions, which are looked up once."""
    return Calls()


def address(handle: Any) -> int:
    """Return the address that a pypdfium2 pointer holds."""
    return ctypes.cast(handle, _ADDRESS).value or 0
