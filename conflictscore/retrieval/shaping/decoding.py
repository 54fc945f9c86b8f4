"""Decodes bytes in their declared encoding, as browsers do.

Limits without a stated reason were chosen by hand.
"""

import codecs
import re
from contextlib import suppress
from typing import NamedTuple

from conflictscore.retrieval.pages.page import UnreadableError
from conflictscore.retrieval.shaping.language_letters import (
    has_all_signs_in_place,
    is_latin,
    is_plain,
    plausibility,
)


class Decoded(NamedTuple):
    """A decoded text, and Python's name for its encoding."""

    text: str
    encoding: str


_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose BOM is a prefix of this one
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_WITHOUT_BOM = (("utf-16-le", 1), ("utf-16-be", 0))
"""The encodings that some programs write without a byte order mark, each with the place of the zero
byte in a pair that is an ASCII character."""
_PAIRS, _ZERO, _NOT_ZERO = 2_000, 0.5, 0.02
"""Three limits for recognising UTF-16: the number of pairs of bytes that are examined, the least
share of pairs with a zero byte in its place, and the largest share with a zero byte in the other
place (UTF-16 text has no U+0000).
"""
# Quantifiers are bounded, so that matching a hostile text takes linear time.
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_META_WITHIN = 4096
"""Number of bytes at the beginning of a page in which its encoding may be declared."""
# Python codecs that no browser supports. A page that declares one is read as if it declared none.
_NOT_OF_THE_WEB = frozenset(
    (
        "x-user-defined",
        "replacement",
        "utf-7",
        "idna",
        "punycode",
        "unicode-escape",
        "raw-unicode-escape",
    )
)
_CANDIDATES = (
    "cp1252",
    "cp1250",
    "cp1251",
    "cp1253",
    "cp1254",
    "cp1255",
    "cp1256",
    "cp1257",
    "cp1258",
    "cp874",
    "cp866",
    "koi8_r",
    "koi8_u",
    "iso8859_2",
    "iso8859_5",
    "iso8859_7",
    "iso8859_8",
    "gb18030",
    "big5",
    "cp932",
    "euc_jp",
    "iso2022_jp",
    "cp949",
)
"""Encodings used on the web.

DOS and IBM code pages are excluded, since a guess could choose them by chance: "1932–1945" in
cp1252 is also valid cp852.
"""
_LATIN = ("cp1252", "cp1250", "iso8859_2", "cp1254", "cp1257")
"""Encodings of the Latin alphabet.

If several encodings are equally plausible, the first is used.
"""
_HIGH = bytes(range(128, 256))
_GUESS_FROM, _LONGEST_CHARACTER = 50_000, 4
"""Maximum number of bytes from which an encoding is guessed, and maximum number of bytes in a
character."""
_DAMAGE = 10
"""One damaged character is allowed for this many non-ASCII bytes.

With more damage, the declared encoding is taken to be wrong, and the encoding is guessed.
"""
_SURELY_UTF8 = 4
"""Minimum number of valid UTF-8 characters for each damaged byte, if UTF-8 is not declared.

In other encodings, about one in ten pairs of non-ASCII bytes looks like a UTF-8 character.
"""
# A valid UTF-8 character of two to four bytes.
_UTF8_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_BINARY, _LEAST_CONTROLS = 20, 5
"""In text, at most one in ``_BINARY`` characters may be a control character, but
``_LEAST_CONTROLS`` control characters are always allowed."""
# Control characters that do not occur in text, except the escape character, with which some
# encodings change their set of characters.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decode(body: bytes, charset: str | None = None, *, html: bool = False) -> Decoded:
    """Decode the text of a page or file.

    A byte order mark determines the encoding. Without a byte order mark, UTF-16 is recognised in
    texts that mostly consist of ASCII characters, since each of them has a zero byte. Otherwise
    UTF-8 is used if there are non-ASCII bytes and all of them are valid UTF-8, even if another
    encoding is declared. If the bytes are not valid UTF-8, the encoding that the server declares is
    tried, and then the encoding that the page declares. If neither fits, slightly damaged text is
    accepted, or the encoding is guessed. Encoding names follow the WHATWG's table, in which
    iso-8859-9 means windows-1254.

    Raises UnreadableError if the bytes are not text.
    """
    decoding = _decoded(body, charset, html)
    controls = len(_CONTROLS.findall(decoding.text))
    if controls > _LEAST_CONTROLS and controls * _BINARY > len(decoding.text):
        raise UnreadableError("is not text")
    return decoding


def _decoded(body: bytes, charset: str | None, html: bool) -> Decoded:
    """Decode a text in the first encoding that fits, in the order that ``decode`` describes."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return Decoded(body[len(mark) :].decode(name, "replace"), name)
    if name := _utf16(body):
        return Decoded(body.decode(name, "replace"), name)
    named = [name for name in (_codec(charset), _own_codec(body) if html else None) if name]
    high = len(body) - len(body.translate(None, _HIGH))
    for name in ["utf-8", *named] if high else [*named, "utf-8"]:
        with suppress(UnicodeError, LookupError):
            # an incremental decoder waits for the rest of an incomplete last character
            return Decoded(codecs.getincrementaldecoder(name)(_errors(name)).decode(body), name)
    if _is_mostly_utf8(body, high, declared=named[:1] == ["utf-8"]):
        return Decoded(body.decode("utf-8", "replace"), "utf-8")
    name = next(iter(named), "utf-8")
    best = body.decode(name, "replace")
    if best.count("\ufffd") * _DAMAGE <= high:
        return Decoded(best, name)
    # a cut in the middle of a character would rule out the correct encoding
    for less in range(_LONGEST_CHARACTER):
        if guess := _guessed(body[: _GUESS_FROM - less]):
            return Decoded(body.decode(guess, "replace"), guess)
    raise UnreadableError("is not text in an encoding that can be determined")


def _utf16(body: bytes) -> str:
    """Return the encoding of a text in UTF-16 without a byte order mark; empty for other texts."""
    start = body[: 2 * _PAIRS]
    pairs = len(start) // 2
    for name, place in _WITHOUT_BOM:
        zeros, others = (start[each::2].count(0) for each in (place, 1 - place))
        if zeros > _ZERO * pairs and others <= _NOT_ZERO * pairs:
            return name
    return ""


def _guessed(body: bytes) -> str:
    """Return the most likely encoding of a text; empty if none fits.

    If the text may be in the Latin alphabet, the encoding whose letters fit a language best is
    chosen.
    """
    from charset_normalizer import from_bytes

    matches = from_bytes(body, cp_isolation=list(_CANDIDATES))
    texts = {name: body.decode(name, "c1_controls") for name in _LATIN}
    if is_plain(texts["cp1252"]):
        return "cp1252"
    if matches and not is_latin(str(matches[0])):
        return str(matches[0].encoding)
    likeliest = max(texts, key=lambda name: plausibility(texts[name]))
    return likeliest if matches or has_all_signs_in_place(texts[likeliest]) else ""


def _own_codec(body: bytes) -> str | None:
    """Return the codec that a page itself declares, or None."""
    meta = _META.search(body[:_META_WITHIN])
    codec = _codec(meta[1].decode("ascii", "replace")) if meta else None
    # in UTF-16, the declaration itself could not have been found; browsers assume UTF-8
    return "utf-8" if codec and codec.startswith(("utf-16", "utf-32")) else codec


def _is_mostly_utf8(body: bytes, high: int, *, declared: bool) -> bool:
    """Return whether the bytes are UTF-8 except for a few stray bytes.

    Text declared as UTF-8 is accepted unless most of its non-ASCII bytes are damaged. Browsers
    accept even damaged UTF-8.
    """
    characters = _UTF8_CHARACTER.findall(body)
    damaged = high - sum(map(len, characters))
    return bool(characters) and damaged <= len(characters) * (1 if declared else 1 / _SURELY_UTF8)


def _codec(label: str | None) -> str | None:
    """Return Python's codec for an encoding label on the web; None if it is not a text encoding."""
    import webencodings

    label = label or ""
    with suppress(LookupError, ValueError):  # "latin-1" is not a web label, but pages use it
        encoding = webencodings.lookup(label) or webencodings.lookup(codecs.lookup(label).name)
        name = str(encoding.codec_info.name) if encoding else codecs.lookup(label).name
        b"a".decode(name, "replace")  # this fails if the codec does not return text
        if name in _NOT_OF_THE_WEB:
            return None
        # as in browsers: it decodes everything that GBK does, and more characters
        return "gb18030" if name == "gbk" else name
    return None


def _errors(codec: str) -> str:
    """Return the error handler for a codec.

    Bytes that windows-125x does not define become control characters, as in browsers.
    """
    return "c1_controls" if codec.startswith(("cp125", "cp874")) else "strict"


def _c1_controls(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("c1_controls", _c1_controls)
