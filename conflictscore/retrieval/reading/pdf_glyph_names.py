"""Finds characters of a PDF whose font does not say what they mean.

A font without a table of meanings (ToUnicode) tells the meaning of a code by the name of its glyph:
/eacute is é. Some programs make up names, such as /g23. For their codes, and for all codes of Type
3 fonts, pdfium returns the code itself as a character. The names are therefore read from the file.
A composite font has no names, and its codes are numbers of glyphs. Without a table, they have no
meaning.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from html.entities import name2codepoint
from string import ascii_letters, ascii_uppercase, digits

from conflictscore.retrieval.reading.pdf_words import JOINER

_ARRAY = re.compile(rb"/Differences\s{0,9}\[([^\]]{0,20000})")
"""Matches a list of codes and glyph names; each number is the code of the name after it."""
_ENTRY = re.compile(rb"/([^\s/\[\]()<>{}%]{1,64})|(\d{1,3})(?!\d)")
_ESCAPED = re.compile(rb"#([0-9a-fA-F]{2})")
"""Matches a character of a name that is written by its code."""
_TYPE_3 = re.compile(rb"/Type3(?![0-9A-Za-z])")
_COMPOSITE = re.compile(rb"/Type0(?![0-9A-Za-z])")
_FONT_NAME = re.compile(rb"/BaseFont\s{0,9}/([^\s/\[\]()<>{}%]{1,128})")
_SIGN = re.compile(r"[^\r\n]")
_ENCODING = re.compile(r"-Identity-[HV]\Z")
"""Matches the encoding that follows the font's name in the name of a composite font."""
_DICTIONARY = 1_000
"""Maximum number of bytes before and after the type in a composite font's dictionary, which has few
entries."""
_BY_CODE = re.compile(r"(?:uni(?=[0-9A-F]{4}$)|u(?=[0-9A-F]{4,6}$))([0-9A-F]+)")
"""Matches a name that contains the code of a Unicode character, such as /uni2264."""
_NUMBERED = re.compile(r"[A-Za-z]{0,4}(\d{1,3})|[A-Za-z]{0,2}([0-9A-Fa-f]{2})")
"""Matches a name that contains a code of its font, in decimal or hexadecimal digits: /a65, /G41."""
_NO_GLYPH = b".notdef"
_LAST_CODE = 255
_DIGITS = digits + ascii_uppercase
_BASE = len(_DIGITS)
"""Some programs name a code by a letter and a digit to this base: /A0 is 0, /BT is 65."""
UNKNOWN = "\ufffd"
_FIRST_SIGN = "!"
"""The first code that shows ink in most fonts. Lower codes without a meaning are marked later,
since they are ligatures in some fonts without names."""

# The names that differ from HTML's, from the Adobe Glyph List
_PUNCTUATION = (
    ("exclam quotedbl numbersign dollar percent ampersand quotesingle", "!\"#$%&'"),
    ("parenleft parenright asterisk plus comma hyphen period slash", "()*+,-./"),
    ("zero one two three four five six seven eight nine", "0123456789"),
    ("colon semicolon less equal greater question at", ":;<=>?@"),
    ("bracketleft backslash bracketright asciicircum underscore grave", "[\\]^_`"),
    ("braceleft bar braceright asciitilde", "{|}~"),
    ("quoteleft quoteright quotedblleft quotedblright quotesinglbase quotedblbase", "‘’“”‚„"),
    ("endash emdash bullet ellipsis guillemotleft guillemotright minus", "–—•…«»−"),
    ("ff fi fl ffi ffl dotlessi germandbls sterling Euro section", "ﬀﬁﬂﬃﬄıß£€§"),
)
_CHARACTERS: Mapping[str, str] = {
    **{name: chr(code) for name, code in name2codepoint.items()},
    **{letter: letter for letter in ascii_letters},
    **{
        name: character
        for names, characters in _PUNCTUATION
        for name, character in zip(names.split(), characters, strict=True)
    },
}

_UNKNOWN_TO_PDFIUM = {
    "angbracketleft": "⟨",
    "angbracketright": "⟩",
    "bardbl": "‖",
    "negationslash": "≠",
    "star": "⋆",
    "vector": "\u20d7",
    "f_f": "ﬀ",
    "f_i": "ﬁ",
    "f_l": "ﬂ",
    "f_f_i": "ﬃ",
    "f_f_l": "ﬄ",
    "s_t": "ﬆ",
}
"""Names in fonts of TeX that pdfium does not know."""
_FONTS_OF_TEX = {
    "SY": {"h": "⟨", "i": "⟩", "k": "‖", "6": "≠"},
    "MI": {"~": "\u20d7", "?": "⋆"},
    "EX": {},
}
"""The codes that pdfium does not know in TeX's fonts of symbols, mathematical italics and large
signs, whose names of glyphs may be stored only in the font itself."""
_FONT_OF_TEX = re.compile(r"(?:.*\+)?CMB?(SY|MI|EX)B?\d+")
_SIGNS_OF_TEX = {sign for characters in _FONTS_OF_TEX.values() for sign in characters} - {"i"}
_CLOSING = re.compile("i")
"""The code of a closing bracket. pdfium is asked about it only on pages with other such codes,
since the letter is frequent, and asking takes time."""
_MAY_HAVE_FONTS_OF_TEX = re.compile(rb"[/+]CMB?(?:SY|MI|EX)B?\d")
_NEGATED = (("≠=", f"≠{JOINER}"), ("≠∈", f"∉{JOINER}"), ("≠≡", f"≢{JOINER}"), ("≠⊂", f"⊄{JOINER}"))
"""TeX draws the stroke of a negation first, and then the sign that it negates."""


class GlyphNames:
    """The meanings of codes by the glyph names of a file.

    Attributes:
        meanings: Characters by code, for codes that pdfium reads without a name. A code without a
            meaning maps to U+FFFD. A code that is not in the mapping is read as a character.
        fonts: The names of composite fonts without a table, in which no code has a meaning.
    """

    def __init__(self) -> None:
        self.meanings: dict[str, str] = {}
        self.fonts: set[str] = set()
        self._code_pattern = _SIGN
        self._has_type_3 = self._has_tex = False
        # by code: the characters of names that pdfium knows, and of other names
        self._standard: dict[int, set[str]] = {}
        self._others: dict[int, set[str]] = {}

    def add(self, data: bytes) -> None:
        """Read the names in a part of a file."""
        self._has_type_3 = self._has_type_3 or _TYPE_3.search(data) is not None
        self.fonts.update(_composite_fonts(data))
        self._has_tex = self._has_tex or _MAY_HAVE_FONTS_OF_TEX.search(data) is not None
        for array in _ARRAY.finditer(data):
            for code, name in _entries(array[1]):
                if (character := _standard(name)) is not None:
                    self._standard.setdefault(code, set()).add(character)
                else:
                    otherwise = chr(code) if _repeats(name, code) else UNKNOWN
                    self._others.setdefault(code, set()).add(
                        _UNKNOWN_TO_PDFIUM.get(name, otherwise)
                    )

    def settle(self) -> None:
        """Set ``meanings`` once all parts of the file are added.

        pdfium knows the meanings of standard names, except in Type 3 fonts. If fonts give a code
        different meanings, and one of them is the code's own character, this character is kept.
        """
        standard = self._standard if self._has_type_3 else {}
        for code in {*standard, *self._others}:
            own = chr(code)
            # a control code may also belong to a font without names, such as TeX's large brackets
            of_type_3 = standard.get(code, set()) if own >= _FIRST_SIGN else set()
            possible = of_type_3 | self._others.get(code, set())
            if not possible or own in possible:
                continue
            meaning = possible.pop() if len(possible) == 1 else UNKNOWN
            if meaning != UNKNOWN or own >= _FIRST_SIGN:
                self.meanings[own] = meaning
        codes = {*self.meanings, *_SIGNS_OF_TEX} if self._has_tex else {*self.meanings}
        if codes:
            self._code_pattern = re.compile(f"[{re.escape(''.join(sorted(codes)))}]")

    @property
    def are_needed(self) -> bool:
        """Whether any character may have to be replaced."""
        return bool(self.meanings or self.fonts or self._has_tex)

    def read(
        self,
        text: str,
        without_meaning: Callable[[Sequence[int]], Iterable[int]],
        font_of: Callable[[int], str],
    ) -> str:
        """Replace the codes in a page's text that pdfium returns as characters.

        ``without_meaning`` returns the places, among some places in the text, of characters for
        which pdfium found no meaning. ``font_of`` returns the name of the font at a place.
        """
        # asking about every character would take a tenth of the time for the whole page
        pattern = _SIGN if self.fonts else self._code_pattern
        doubtful = map(re.Match.start, pattern.finditer(text))
        if not (places := [*without_meaning([*doubtful])]):
            return text
        if self._has_tex:
            closing_places = map(re.Match.start, _CLOSING.finditer(text))
            places = list(set(places).union(without_meaning([*closing_places])))
        signs = [*text]
        for place in places:
            signs[place] = self._meaning(signs[place], place, font_of)
        text = "".join(signs)
        for signs_as_drawn, negation in _NEGATED:
            text = text.replace(signs_as_drawn, negation)
        return text

    def _meaning(self, sign: str, place: int, font_of: Callable[[int], str]) -> str:
        if self.fonts or self._has_tex:
            font = font_of(place)
            if font in self.fonts:
                return UNKNOWN
            if match := _FONT_OF_TEX.fullmatch(font):
                # the names of other fonts do not apply; control codes are marked later
                otherwise = UNKNOWN if sign >= _FIRST_SIGN else sign
                return _FONTS_OF_TEX[match[1]].get(sign, otherwise)
        return self.meanings.get(sign, sign)


def _composite_fonts(data: bytes) -> Iterator[str]:
    """Yield the names of composite fonts whose codes are numbers of glyphs, without a table."""
    for match in _COMPOSITE.finditer(data):
        start = data.rfind(b"<<", max(0, match.start() - _DICTIONARY), match.start())
        end = data.find(b">>", match.end(), match.end() + _DICTIONARY)
        if start < 0 or end < 0:
            continue
        dictionary = data[start:end]
        if b"/ToUnicode" in dictionary or b"/Identity" not in dictionary:
            continue
        if name := _FONT_NAME.search(dictionary):
            # pdfium returns the name of the font that it consists of
            yield _ENCODING.sub("", _decoded(name[1]))


def _entries(array: bytes) -> Iterator[tuple[int, str]]:
    """Yield the codes and names of a list of differences."""
    code = 0
    for entry in _ENTRY.finditer(array):
        if entry[2]:
            code = int(entry[2])
            continue
        if code <= _LAST_CODE and entry[1] != _NO_GLYPH:
            yield code, _decoded(entry[1])
        code += 1


def _decoded(name: bytes) -> str:
    return _ESCAPED.sub(lambda escaped: bytes([int(escaped[1], 16)]), name).decode("latin-1")


def _standard(name: str) -> str | None:
    """Return the character of a standard name, or of a variant such as /a.sc; None without one."""
    base = name.partition(".")[0]
    if (character := _CHARACTERS.get(base)) is not None:
        return character
    if match := _BY_CODE.fullmatch(base):
        code = int(match[1], 16)
        return chr(code) if code <= 0x10FFFF and not 0xD800 <= code <= 0xDFFF else None
    return None


def _repeats(name: str, code: int) -> bool:
    """Whether a name only repeats its code, as in TeX's fonts of dots: /a65, /G41 or /BT for 65."""
    if name == f"{ascii_uppercase[code // _BASE]}{_DIGITS[code % _BASE]}":
        return True
    if not (match := _NUMBERED.fullmatch(name)):
        return False
    return (match[1] is not None and int(match[1]) == code) or name[-2:].upper() == f"{code:02X}"
