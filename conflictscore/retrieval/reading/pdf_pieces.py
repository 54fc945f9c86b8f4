"""Reads the text of a PDF page and the positions of its words into arrays.

pdfium returns the whole text of a page at once, but each position needs a call. Requesting the
position of each character would take ten times as long as pdfium's own extraction. Positions are
therefore requested for a few words at a time.
"""

import ctypes
from collections.abc import Iterator
from functools import cached_property
from itertools import repeat
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from conflictscore.retrieval.reading.pdf_words import with_known_signs, with_whole_words
from conflictscore.retrieval.reading.pdfium_calls import address, calls

if TYPE_CHECKING:
    from numpy.typing import NDArray

    _Places = NDArray[np.intp]

_LAST_SPACE = 0x3000
_IS_SPACE = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 2)])
"""Whether a character is white space, by its code; the last place stands for all other codes."""
_RIGHT_TO_LEFT = (0x590, 0x900), (0xFB1D, 0xFEFD)
"""Ranges of codes that contain the Hebrew and Arabic letters."""
_GROUP = 3
"""Maximum number of words in a piece. The position of a whole piece is requested with one call."""


class Words(NamedTuple):
    """The places at which the words of a text start and end, and which words begin a line.

    ``breaks`` is the number of characters that break lines.
    """

    starts: "_Places"
    ends: "_Places"
    begins: "NDArray[np.bool_]"
    breaks: int = 0


class Pieces(NamedTuple):
    """The pieces of a page's text: a few words of a line, or a part of a word.

    Attributes:
        starts: The places of their first characters.
        ends: The places after their last characters.
        owners: The addresses of the objects that draw them.
        firsts: The numbers of the pieces that begin a line.
    """

    starts: "_Places"
    ends: "_Places"
    owners: "NDArray[np.uintp]"
    firsts: "_Places"


class PageGlyphs:
    """The text of a page, and the positions of its characters.

    Attributes:
        handle: The text in pdfium, as its functions take it.
        count: The number of characters.
    """

    def __init__(self, page: Any) -> None:
        self._text_page = page.get_textpage()
        self.handle = ctypes.c_void_p(address(self._text_page.raw))
        self.count = self._text_page.count_chars()
        self._calls = calls()
        place, box = (ctypes.c_double * 2)(), (ctypes.c_float * 4)()
        # a memoryview is faster to read than the array
        self._place = memoryview(place).cast("B").cast("d")
        x_address = ctypes.addressof(place)
        self._place_pointers = ctypes.c_void_p(x_address), ctypes.c_void_p(x_address + 8)
        self._box = memoryview(box).cast("B").cast("f")
        self._box_pointer = ctypes.c_void_p(ctypes.addressof(box))

    @cached_property
    def text(self) -> str:
        """Return the page's text, in which each character has the same index as in pdfium."""
        return self._text_and_words[0]

    @property
    def words(self) -> Words:
        """Return the words of the text."""
        return self._text_and_words[1]

    @cached_property
    def _text_and_words(self) -> tuple[str, Words]:
        text = own_text = self._own_text()
        codes = _codes(text)
        words = _words(codes)
        if _has_single_letters(words) or _has_right_to_left(codes):
            text = with_whole_words(text, self)
        if np.count_nonzero(codes < ord(" ")) > words.breaks:  # other control characters
            text = with_known_signs(text)
        return text, words if text == own_text else _words(_codes(text))

    def _own_text(self) -> str:
        """Return the text as pdfium gives it."""
        count = self.count
        buffer = (ctypes.c_char * (2 * count + 2))()
        pointer = ctypes.c_void_p(ctypes.addressof(buffer))
        units_written = self._calls.text(self.handle, 0, count, pointer)
        text = str(memoryview(buffer)[: 2 * max(0, units_written - 1)], "utf-16-le", "replace")
        if len(text) != count or "\ufffd" in text:
            # the text has characters beyond Unicode's first plane, or pdfium has left some out
            text = "".join(chr(self._calls.unicode(self.handle, place)) for place in range(count))
        return text

    def pieces(self) -> Pieces:
        """Return the pieces of the text: groups of words, or where needed, words or their parts."""
        words = self.words
        if not len(words.starts):
            return Pieces(words.starts, words.ends, words.starts.astype(np.uintp), words.starts)
        firsts = words.begins.nonzero()[0]
        places = np.arange(len(words.starts))
        numbers = places - firsts[words.begins.cumsum() - 1]  # of the words in their line
        begins_group = numbers % _GROUP == 0
        group_firsts = begins_group.nonzero()[0]
        ends_group = _ends(begins_group)
        group_starts, group_ends = words.starts[group_firsts], words.ends[ends_group]
        begins_line = words.begins[group_firsts]
        last_owners, owners_before = self._group_owners(group_starts, group_ends, begins_line)
        # a group is a piece if the object that draws its end also draws what precedes the group
        is_whole = last_owners == owners_before
        if is_whole.all():
            firsts = begins_line.nonzero()[0]
            return Pieces(group_starts, group_ends, last_owners, firsts)
        in_group = begins_group.cumsum() - 1
        is_divided = ~is_whole[in_group]
        own = Words(words.starts[is_divided], words.ends[is_divided], begins_group[is_divided])
        starts, ends, owners = self._divided(own)
        starts = np.concatenate((group_starts[is_whole], starts))
        order = starts.argsort()
        starts = starts[order]
        ends = np.concatenate((group_ends[is_whole], ends))[order]
        owners = np.concatenate((last_owners[is_whole], owners))[order]
        return Pieces(starts, ends, owners, starts.searchsorted(words.starts[firsts]))

    def _group_owners(
        self, starts: "_Places", ends: "_Places", begins_line: "NDArray[np.bool_]"
    ) -> "tuple[NDArray[np.uintp], NDArray[np.uintp]]":
        """Return the objects that draw the ends of groups, and the text before the groups.

        A group at the start of a line has no text before it, so the second object is the one that
        draws its first character. If the same object draws both ends of a line, it draws the whole
        line.
        """
        lines = begins_line.cumsum() - 1
        ends_line = _ends(begins_line)
        line_owners = self._owners(starts[begins_line])
        last_line_owners = self._owners(ends[ends_line] - 1)
        owners = last_line_owners[lines]
        inner = (line_owners != last_line_owners)[lines] & ~ends_line
        owners[inner] = self._owners(ends[inner] - 1)
        owners_before = np.empty_like(owners)
        owners_before[1:] = owners[:-1]
        owners_before[begins_line] = line_owners
        return owners, owners_before

    def _divided(self, words: Words) -> "tuple[_Places, _Places, NDArray[np.uintp]]":
        """Return the starts, ends and owners of the words, or of their parts.

        Words whose start and end are drawn by different objects have parts, as in 10^6.
        """
        starts, ends, *_ = words
        owners = self._owners(starts)
        last_owners = self._owners(ends - 1)
        divided = (last_owners != owners).nonzero()[0]
        if not len(divided):
            return starts, ends, owners
        parts: list[int] = []
        part_owners: list[int] = []
        for start, end in zip(starts[divided].tolist(), ends[divided].tolist(), strict=True):
            for place, owner in self._changes(start, end):
                parts.append(place)
                part_owners.append(owner)
        starts, ends = np.concatenate((starts, parts)), np.concatenate((ends, parts))
        order = starts.argsort()
        owners = np.concatenate((owners, np.array(part_owners, np.uintp)))
        return starts[order], np.sort(ends), owners[order]

    def _changes(self, start: int, end: int) -> Iterator[tuple[int, int]]:
        """Yield the places within a word at which a different object begins, and that object."""
        owners = [*map(self._calls.owner, repeat(self.handle), range(start, end))]
        before = owners[0]
        for place, owner in enumerate(owners, start):
            if owner != before:
                yield place, owner
                before = owner

    def _owners(self, places: "_Places") -> "NDArray[np.uintp]":
        """Return the addresses of the objects that draw the characters at these places."""
        owners = map(self._calls.owner, repeat(self.handle), places.tolist())
        return np.fromiter(owners, np.uintp, len(places))

    def is_inserted(self, place: int) -> bool:
        """Whether pdfium inserted a character where the file has only a gap."""
        return bool(self._calls.is_generated(self.handle, place))

    def x(self, place: int) -> float:
        """Return the horizontal position of a character."""
        self._calls.origin(self.handle, place, *self._place_pointers)
        x: float = self._place[0]
        return x

    def origin(self, place: int) -> tuple[float, float]:
        """Return the position of a character."""
        self._calls.origin(self.handle, place, *self._place_pointers)
        x, y = self._place
        return x, y

    def right(self, end: int) -> float:
        """Return the right end of the character before a position."""
        self._calls.box(self.handle, end - 1, self._box_pointer)
        right: float = self._box[2]
        return right

    def size(self, place: int) -> float:
        """Return the height of a character's line."""
        self._calls.box(self.handle, place, self._box_pointer)
        _, top, _, bottom = self._box
        return abs(top - bottom) or 1.0


def _codes(text: str) -> "NDArray[np.uint32]":
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _words(codes: "NDArray[np.uint32]") -> Words:
    is_space = np.ones(len(codes) + 2, bool)
    is_space[1:-1] = _IS_SPACE.take(codes, mode="clip")
    edges = (is_space[1:] != is_space[:-1]).nonzero()[0]
    starts, ends = edges[::2], edges[1::2]
    breaks = ((codes == ord("\n")) | (codes == ord("\r"))).nonzero()[0]
    lines = breaks.searchsorted(starts)
    begins = np.ones(len(starts), bool)
    begins[1:] = lines[1:] != lines[:-1]
    return Words(starts, ends, begins, len(breaks))


def _ends(begins: "NDArray[np.bool_]") -> "NDArray[np.bool_]":
    """Return which words end a group, from which words begin one."""
    ends = np.ones(len(begins), bool)
    ends[:-1] = begins[1:]
    return ends


def _has_single_letters(words: Words) -> bool:
    """Whether four words in succession have a single character, as in "S U M M A R Y"."""
    single = words.ends - words.starts == 1
    return bool((single[:-3] & single[1:-2] & single[2:-1] & single[3:]).any())


def _has_right_to_left(codes: "NDArray[np.uint32]") -> bool:
    if not len(codes) or codes.max() < _RIGHT_TO_LEFT[0][0]:
        return False
    return any(((first <= codes) & (codes < after)).any() for first, after in _RIGHT_TO_LEFT)
