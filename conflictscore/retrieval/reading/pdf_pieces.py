"""Reads the texts of several PDF pages and the positions of their words into arrays.

pdfium returns the whole text of a page at once, but each position needs a call. Requesting the
position of each character would take ten times as long as pdfium's own extraction. Positions are
therefore requested for a few words at a time. Several pages are handled together, since few
operations on long arrays take less time than many on short ones.
"""

import ctypes
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from itertools import chain, compress, repeat
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np

from conflictscore.retrieval.reading.pdf_accents import has_accents, with_accented_letters
from conflictscore.retrieval.reading.pdf_glyph_names import GlyphNames
from conflictscore.retrieval.reading.pdf_words import with_known_signs, with_whole_words
from conflictscore.retrieval.reading.pdfium_calls import ManyCalls, Pointer, address, calls, pointer

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Places = NDArray[np.intp]
    _Owners = NDArray[np.uintp]

_Answer = TypeVar("_Answer")
_PAGE_END = "\r\n"
"""Follows the text of each page; pdfium divides lines in the same way."""
_BREAKS = [ord("\n"), ord("\r")]
_LAST_SPACE = 0x3000
_IS_SPACE = np.array([chr(code).isspace() for code in range(_LAST_SPACE + 2)])
"""Whether a character is white space, by its code; the last place stands for all other codes."""
_RIGHT_TO_LEFT = (0x590, 0x900), (0xFB1D, 0xFEFD)
"""Ranges of codes that contain the Hebrew and Arabic letters."""
_LONGEST_NAME = 256
"""Size of the buffer for a font's name, in bytes; a longer name is not returned."""
_GROUP = 3
"""Maximum number of words in a piece; chosen by hand. The position of a whole piece is requested
with one call. Longer pieces need fewer calls, but more calls to find a gap within them."""


class Words(NamedTuple):
    """The places at which the words of a text start and end, and which words begin a line.

    ``has_controls`` says whether the text has control characters other than line breaks.
    """

    starts: "Places"
    ends: "Places"
    begins: "NDArray[np.bool_]"
    has_controls: bool


class Pieces(NamedTuple):
    """The pieces of a text: a few words of a line, or a part of a word.

    Attributes:
        starts: The places of their first characters.
        ends: The places after their last characters.
        owners: The addresses of the objects that draw them.
        begins: Whether each begins a line.
        begins_word: Whether each begins at the start of a word, not within one.
    """

    starts: "Places"
    ends: "Places"
    owners: "_Owners"
    begins: "NDArray[np.bool_]"
    begins_word: "NDArray[np.bool_]"


class PageGlyphs:
    """The text of a page in pdfium.

    Attributes:
        handle: The text as pdfium's functions take it.
        count: The number of characters.
    """

    def __init__(self, page: Any, names: GlyphNames) -> None:
        self._names = names
        self._text_page = page.get_textpage()
        self.handle = pointer(address(self._text_page.raw))
        self.count = self._text_page.count_chars()

    def text(self) -> str:
        """Return the page's text, in which each character has the same index as in pdfium."""
        count = self.count
        units = np.empty(count + 1, np.uint16)
        units_written = calls().text(self.handle, 0, count, pointer(units.ctypes.data))
        # pdfium counts the null that it writes at the end
        text = str(units[: max(0, units_written - 1)].data, "utf-16-le", "replace")
        if len(text) != count or "\ufffd" in text:
            # the text has characters beyond Unicode's first plane, or pdfium has left some out
            text = "".join(map(chr, map(calls().unicode, repeat(self.handle), range(count))))
        if self._names.are_needed:
            text = self._names.read(text, self._without_meaning, self._font_of)
        return text

    def _without_meaning(self, places: Sequence[int]) -> Iterator[int]:
        return compress(places, map(calls().is_unmapped, repeat(self.handle), places))

    def _font_of(self, place: int) -> str:
        """Return the name of the font of a character."""
        name = ctypes.create_string_buffer(_LONGEST_NAME)
        calls().font_name(self.handle, place, ctypes.addressof(name), _LONGEST_NAME, None)
        return name.value.decode("utf-8", "replace")


class BlockGlyphs:
    """The characters of successive pages, and their positions.

    Attributes:
        text: The texts of the pages, one after another.
        words: The words of the text.
        offsets: The place of each page's first character in the text, and the end of the text.
        pdfium_text: The texts of the pages as pdfium returns them.
        has_right_to_left: Whether the texts have Hebrew, Arabic or other right-to-left letters.
    """

    def __init__(self, pages: Sequence[PageGlyphs], many: ManyCalls) -> None:
        """Read the texts."""
        self._handles = [page.handle for page in pages]
        self._many = many
        sizes = [page.count + len(_PAGE_END) for page in pages]
        self._offsets = [0, *np.cumsum(sizes).tolist()]
        self.offsets = np.array(self._offsets)
        # the page of the character that was asked for last: its handle, start and end
        self._handle: Pointer | None = None
        self._first = self._after = 0
        place, box = (ctypes.c_double * 2)(), (ctypes.c_float * 4)()
        # a memoryview is faster to read than the array
        self._place = memoryview(place).cast("B").cast("d")
        x_address = ctypes.addressof(place)
        self._place_pointers = pointer(x_address), pointer(x_address + 8)
        self._box = memoryview(box).cast("B").cast("f")
        self._box_pointer = pointer(ctypes.addressof(box))
        self.text = own_text = "".join([page.text() + _PAGE_END for page in pages])
        codes = _codes(own_text)
        self.words = _words(codes)
        self.has_right_to_left = _has_right_to_left(codes)
        self.pdfium_text = own_text
        if _has_single_letters(self.words) or self.has_right_to_left:
            self.text = with_whole_words(self.text, self, has_right_to_left=self.has_right_to_left)
        if has_accents(own_text):
            self.text = with_accented_letters(self.text, self)
        if self.words.has_controls:
            self.text = with_known_signs(self.text)
        if self.text != own_text:
            self.words = _words(_codes(self.text))

    def pieces(self) -> Pieces:
        """Return the pieces of the text: groups of words, or where needed, words or their parts."""
        starts, ends, begins, _ = self.words
        if not len(starts):
            return Pieces(starts, ends, starts.astype(np.uintp), begins, begins)
        owners, last_owners, is_whole, begins_group = self._word_owners()
        # the first word of a whole group stands for all of them
        group_ends = ends[ends_of(begins_group)][begins_group.cumsum() - 1]
        kept = begins_group | ~is_whole
        starts, ends = starts[kept], np.where(is_whole, group_ends, ends)[kept]
        owners, last_owners, begins = owners[kept], last_owners[kept], begins[kept]
        begins_word = np.ones(len(starts), bool)
        # a word whose start and end are drawn by different objects has parts, as in 10^6
        divided = (last_owners != owners).nonzero()[0]
        if not len(divided):
            return Pieces(starts, ends, owners, begins, begins_word)
        parts, part_owners = self._changes(
            starts[divided], ends[divided] - 1, owners[divided], last_owners[divided]
        )
        order = (starts := np.concatenate((starts, parts))).argsort()
        begins_none = np.zeros(len(parts), bool)
        return Pieces(
            starts[order],
            np.sort(np.concatenate((ends, parts))),
            np.concatenate((owners, part_owners))[order],
            np.concatenate((begins, begins_none))[order],
            np.concatenate((begins_word, begins_none))[order],
        )

    def _word_owners(self) -> "tuple[_Owners, _Owners, NDArray[np.bool_], NDArray[np.bool_]]":
        """Return the objects that draw the first and the last character of each word.

        Also return whether one object draws the word's group and what precedes it, and whether the
        word begins a group. If the same object draws both ends of a line or a group, it draws all
        of it.
        """
        starts, ends, begins, _ = self.words
        firsts = begins.nonzero()[0]
        numbers = np.arange(len(starts)) - firsts[begins.cumsum() - 1]  # of the words in their line
        begins_group = numbers % _GROUP == 0
        ends_group = ends_of(begins_group)
        of_groups, owners_before = self._group_owners(
            starts[begins_group], ends[ends_group], begins[begins_group]
        )
        groups = begins_group.cumsum() - 1
        owners = of_groups[groups]
        last_owners = owners.copy()
        is_whole = (of_groups == owners_before)[groups]
        divided = (~is_whole).nonzero()[0]
        owners[divided] = self.owners(starts[divided])
        inner = divided[~ends_group[divided]]
        last_owners[inner] = owners[inner]
        unsure = inner[(owners[inner + 1] != owners[inner]) & (ends[inner] - starts[inner] > 1)]
        last_owners[unsure] = self.owners(ends[unsure] - 1)
        return owners, last_owners, is_whole, begins_group

    def _group_owners(
        self, starts: "Places", ends: "Places", begins_line: "NDArray[np.bool_]"
    ) -> "tuple[_Owners, _Owners]":
        """Return the objects that draw the ends of groups, and the text before the groups.

        A group at the start of a line has no text before it, so the second object is the one that
        draws its first character.
        """
        lines = begins_line.cumsum() - 1
        ends_line = ends_of(begins_line)
        line_owners = self.owners(starts[begins_line])
        last_line_owners = self.owners(ends[ends_line] - 1)
        owners = last_line_owners[lines]
        inner = (line_owners != last_line_owners)[lines] & ~ends_line
        owners[inner] = self.owners(ends[inner] - 1)
        owners_before = np.empty_like(owners)
        owners_before[1:] = owners[:-1]
        owners_before[begins_line] = line_owners
        return owners, owners_before

    def _changes(
        self, firsts: "Places", lasts: "Places", owners: "_Owners", last_owners: "_Owners"
    ) -> "tuple[Places, _Owners]":
        """Return the places within words at which a different object begins, and these objects.

        The words are given by their first and last characters, which different objects draw. The
        search halves each word until the two characters are adjacent.
        """
        changes: list[Places] = []
        change_owners: list[_Owners] = []
        while len(firsts):
            is_adjacent = lasts - firsts == 1
            changes.append(lasts[is_adjacent])
            change_owners.append(last_owners[is_adjacent])
            rest = ~is_adjacent
            middles = (firsts[rest] + lasts[rest]) // 2
            middle_owners = self.owners(middles)
            firsts, lasts = _alternately(firsts[rest], middles), _alternately(middles, lasts[rest])
            owners = _alternately(owners[rest], middle_owners)
            last_owners = _alternately(middle_owners, last_owners[rest])
            differs = owners != last_owners
            firsts, lasts = firsts[differs], lasts[differs]
            owners, last_owners = owners[differs], last_owners[differs]
        return np.concatenate(changes), np.concatenate(change_owners)

    def owners(self, places: "Places") -> "_Owners":
        """Return the addresses of the objects that draw the characters at ascending places."""
        owners = self._each(places, lambda handle, own: map(calls().owner, repeat(handle), own))
        return np.fromiter(chain.from_iterable(owners), np.uintp, len(places))

    def origins(self, places: "Places") -> "NDArray[np.float64]":
        """Return the origins of the characters at ascending places, as rows of x and y."""
        origins = [*self._each(places, self._many.origins)]
        return np.concatenate(origins) if origins else np.empty((0, 2))

    def boxes(self, places: "Places") -> "NDArray[np.float32]":
        """Return the boxes of the characters at ascending places: left, top, right, bottom."""
        boxes = [*self._each(places, self._many.boxes)]
        return np.concatenate(boxes) if boxes else np.empty((0, 4), np.float32)

    def _each(
        self, places: "Places", ask: Callable[[Pointer, list[int]], _Answer]
    ) -> Iterator[_Answer]:
        """Yield the answers about ascending places, page by page."""
        bounds = places.searchsorted(self.offsets)
        counts = bounds[1:] - bounds[:-1]
        own = (places - np.repeat(self.offsets[:-1], counts)).tolist()
        before = 0
        for handle, after in zip(self._handles, bounds[1:].tolist(), strict=True):
            if after > before:
                yield ask(handle, own[before:after])
            before = after

    def _own(self, place: int) -> tuple[Pointer | None, int]:
        """Return the page of a character, and its place in that page's text."""
        if not self._first <= place < self._after:
            page = bisect_right(self._offsets, place)
            self._first, self._after = self._offsets[page - 1 : page + 1]
            self._handle = self._handles[page - 1]
        return self._handle, place - self._first

    def is_inserted(self, place: int) -> bool:
        """Whether pdfium inserted a character where the file has only a gap."""
        return bool(calls().is_generated(*self._own(place)))

    def x(self, place: int) -> float:
        """Return the horizontal position of a character."""
        calls().origin(*self._own(place), *self._place_pointers)
        x: float = self._place[0]
        return x

    def origin(self, place: int) -> tuple[float, float]:
        """Return the position of a character."""
        calls().origin(*self._own(place), *self._place_pointers)
        x, y = self._place
        return x, y

    def right(self, end: int) -> float:
        """Return the right end of the character before a position."""
        calls().box(*self._own(end - 1), self._box_pointer)
        right: float = self._box[2]
        return right

    def size(self, place: int) -> float:
        """Return the height of a character's line."""
        calls().box(*self._own(place), self._box_pointer)
        _, top, _, bottom = self._box
        return abs(top - bottom) or 1.0


def ends_of(begins: "NDArray[np.bool_]") -> "NDArray[np.bool_]":
    """Return which words end a line or a group, from which words begin one."""
    ends = np.ones(len(begins), bool)
    ends[:-1] = begins[1:]
    return ends


def _alternately(first: "NDArray[Any]", second: "NDArray[Any]") -> "NDArray[Any]":
    return np.column_stack((first, second)).ravel()


def _codes(text: str) -> "NDArray[np.uint32]":
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), np.uint32)


def _words(codes: "NDArray[np.uint32]") -> Words:
    is_space = np.ones(len(codes) + 2, bool)
    is_space[1:-1] = _IS_SPACE.take(codes, mode="clip")
    edges = (is_space[1:] != is_space[:-1]).nonzero()[0]
    starts, ends = edges[::2], edges[1::2]
    controls = (codes < ord(" ")).nonzero()[0]
    breaks = controls[np.isin(codes[controls], _BREAKS)]
    lines = breaks.searchsorted(starts)
    begins = np.ones(len(starts), bool)
    begins[1:] = lines[1:] != lines[:-1]
    return Words(starts, ends, begins, has_controls=len(breaks) < len(controls))


def _has_single_letters(words: Words) -> bool:
    """Whether four words in succession have a single character, as in "S U M M A R Y"."""
    single = words.ends - words.starts == 1
    return bool((single[:-3] & single[1:-2] & single[2:-1] & single[3:]).any())


def _has_right_to_left(codes: "NDArray[np.uint32]") -> bool:
    if not len(codes) or codes.max() < _RIGHT_TO_LEFT[0][0]:
        return False
    return any(((first <= codes) & (codes < after)).any() for first, after in _RIGHT_TO_LEFT)
