"""Calls the pdfium functions that are needed for each piece of a page's text.

pypdfium2 declares these functions with typed pointers, which makes calls several times slower than
with plain addresses. Functions without declared arguments, which take prepared arguments (see
:func:`pointer`) and plain integers, save another third. All calls are short, so they keep Python's
global lock, which saves another sixth.
"""

import ctypes
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from itertools import repeat
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_Subject = TypeVar("_Subject")
_ADDRESS, _INT, _UNSIGNED = ctypes.c_void_p, ctypes.c_int, ctypes.c_uint
_AT_ONCE = 1_024
"""Maximum number of characters or objects about which pdfium is asked in one go, to limit the
memory; chosen by hand."""


Pointer = ctypes.c_void_p
"""An address as an argument of functions without declared arguments."""
pointer: Callable[[int], Pointer] = Pointer.from_param  # type: ignore[assignment]
"""Prepares an address as an argument, which is passed on as it is.

A ``c_void_p`` that is not prepared would be converted in each call.
"""


class Calls:
    """The pdfium functions, with addresses declared as integers.

    Some functions, marked by a comment, have no declared arguments, and take addresses as
    prepared arguments.
    """

    def __init__(self) -> None:
        """Look up the functions; raises ImportError if pypdfium2 is not installed."""
        import pypdfium2.raw as pdfium

        def plain(name: str, result: Any, *arguments: Any) -> Any:
            address = ctypes.cast(getattr(pdfium, name), _ADDRESS).value
            return ctypes.PYFUNCTYPE(result, *arguments)(address or 0)

        # without declared arguments
        self.owner = plain("FPDFText_GetTextObject", ctypes.c_size_t)
        self.origin = plain("FPDFText_GetCharOrigin", _INT)
        self.box = plain("FPDFText_GetLooseCharBox", _INT)
        self.unicode = plain("FPDFText_GetUnicode", _UNSIGNED)
        self.is_generated = plain("FPDFText_IsGenerated", _INT)
        self.is_unmapped = plain("FPDFText_HasUnicodeMapError", _INT)
        self.text = plain("FPDFText_GetText", _INT)
        self.count_objects = plain("FPDFPage_CountObjects", _INT)
        self.object = plain("FPDFPage_GetObject", ctypes.c_size_t)
        self.any_mode = plain("FPDFTextObj_GetTextRenderMode", _INT)
        self.any_colour = plain("FPDFPageObj_GetFillColor", _INT)
        self.any_bounds = plain("FPDFPageObj_GetBounds", _INT)
        self.any_clip = plain("FPDFPageObj_GetClipPath", ctypes.c_size_t)
        self.any_clip_paths = plain("FPDFClipPath_CountPaths", _INT)
        self.any_marks = plain("FPDFPageObj_CountMarks", _INT)
        # with declared arguments
        self.font_name = plain(
            "FPDFText_GetFontInfo",
            ctypes.c_ulong,
            _ADDRESS,
            _INT,
            _ADDRESS,
            ctypes.c_ulong,
            _ADDRESS,
        )
        self.mode = plain("FPDFTextObj_GetTextRenderMode", _INT, _ADDRESS)
        self.colour = plain("FPDFPageObj_GetFillColor", _INT, *[_ADDRESS] * 5)
        self.clip = plain("FPDFPageObj_GetClipPath", _ADDRESS, _ADDRESS)
        self.clip_paths = plain("FPDFClipPath_CountPaths", _INT, _ADDRESS)
        self.clip_points = plain("FPDFClipPath_CountPathSegments", _INT, _ADDRESS, _INT)
        self.clip_segment = plain("FPDFClipPath_GetPathSegment", _ADDRESS, _ADDRESS, _INT, _INT)
        self.point = plain("FPDFPathSegment_GetPoint", _INT, *[_ADDRESS] * 3)
        self.bounds = plain("FPDFPageObj_GetBounds", _INT, *[_ADDRESS] * 5)
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
        self.mark = plain("FPDFPageObj_GetMark", _ADDRESS, _ADDRESS, ctypes.c_ulong)
        self.mark_name = plain(
            "FPDFPageObjMark_GetName", _INT, _ADDRESS, _ADDRESS, ctypes.c_ulong, _ADDRESS
        )
        self.set_active = plain("FPDFPageObj_SetIsActive", _INT, _ADDRESS, _INT)


class ManyCalls:
    """Asks pdfium about many characters or objects with few steps of Python.

    One object of this class can serve all pages of a file.
    """

    def __init__(self) -> None:
        """Reserve the memory into which pdfium writes its answers."""
        numbers = (ctypes.c_double * (2 * _AT_ONCE))()
        self._start = start = ctypes.addressof(numbers)
        pointers = [pointer(start + 8 * place) for place in range(2 * _AT_ONCE)]
        self._numbers = memoryview(numbers).cast("B")
        self._firsts, self._seconds = pointers[::2], pointers[1::2]
        # the same memory serves for four numbers of 4 bytes: an answer has 16 bytes
        self._quarters = [
            [pointer(start + 16 * place + 4 * quarter) for place in range(_AT_ONCE)]
            for quarter in range(4)
        ]

    def origins(self, text_page: Pointer, places: Sequence[int]) -> "NDArray[np.float64]":
        """Return the origins of the characters at these places, as rows of x and y."""
        import numpy as np

        pointers = self._firsts, self._seconds
        answers = self._answers(
            places, lambda part: map(calls().origin, repeat(text_page), part, *pointers)
        )
        return np.frombuffer(answers, np.float64).reshape(-1, 2)

    def boxes(self, text_page: Pointer, places: Sequence[int]) -> "NDArray[np.float32]":
        """Return the boxes of the characters at these places: left, top, right and bottom."""
        import numpy as np

        pointers = self._quarters[0]
        answers = self._answers(
            places, lambda part: map(calls().box, repeat(text_page), part, pointers)
        )
        return np.frombuffer(answers, np.float32).reshape(-1, 4)

    def colours(self, objects: Sequence[Pointer]) -> bytes:
        """Return the fill colours of objects, each as red, green, blue and opacity of 4 bytes."""
        colour, pointers = calls().any_colour, self._quarters
        return bytes(self._answers(objects, lambda part: map(colour, part, *pointers)))

    def bounds(self, objects: Sequence[Pointer]) -> "NDArray[np.float32]":
        """Return the boxes around objects: left, bottom, right and top."""
        import numpy as np

        bounds, pointers = calls().any_bounds, self._quarters
        answers = self._answers(objects, lambda part: map(bounds, part, *pointers))
        return np.frombuffer(answers, np.float32).reshape(-1, 4)

    def _answers(
        self, subjects: Sequence[_Subject], ask: Callable[[Sequence[_Subject]], Iterator[int]]
    ) -> bytearray:
        """Return what pdfium writes about each subject: 16 bytes, or zeros if it has no answer."""
        answers = bytearray()
        for start in range(0, len(subjects), _AT_ONCE):
            part = subjects[start : start + _AT_ONCE]
            ctypes.memset(self._start, 0, 16 * len(part))
            deque(ask(part), maxlen=0)  # the fastest way to make all calls of an iterator
            answers += self._numbers[: 16 * len(part)]
        return answers


@cache
def calls() -> Calls:
    """Return the pdfium functions, which are looked up once."""
    return Calls()


def address(handle: Any) -> int:
    """Return the address that a pypdfium2 pointer holds."""
    return ctypes.cast(handle, _ADDRESS).value or 0
