"""From bytes to text, by what is said of their encoding, as browsers understand it."""

import codecs
import re
from contextlib import suppress
from typing import NamedTuple

from conflictscore.retrieval.pages.page import UnreadableError


class Decoded(NamedTuple):
    """A text, and the encoding that it was read in, by Python's name."""

    text: str
    encoding: str


_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of its own
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]{1,40})""", re.IGNORECASE)
_META_WITHIN = 4096
"""Bytes at the beginning of a page in which it may name its encoding."""
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
"""Encodings of the web. Without the code pages of DOS and IBM a guess of them cannot win by chance:
"1932–1945" in cp1252 looks like cp852 as well."""
_HIGH = bytes(range(128, 256))
_GUESS_FROM, _LONGEST_CHARACTER = 50_000, 4
"""Bytes that an encoding is guessed from, and of a character."""
_DAMAGE = 10
"""One character per this many bytes beyond ASCII may be damaged."""
_SURELY_UTF8 = 4
"""Characters of UTF-8 for each damaged one, in a text of which nothing says that it is UTF-8. Of
two bytes beyond ASCII in another encoding, one pair in ten looks like a character of UTF-8."""
_UTF8_CHARACTER = re.compile(
    rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}"
)
_BINARY, _LEAST_CONTROLS = 20, 5
"""One character in this many may be a control character, and this many in any text."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decode(body: bytes, charset: str | None = None, *, html: bool = False) -> Decoded:
    """The text of a page or file.

    A byte order mark is believed first. Bytes beyond ASCII that are valid UTF-8 are UTF-8,
    whatever is named; else what the server names, then what the page itself names, where it fits.
    A text with little damage is read in spite of it, and an encoding is guessed otherwise. Names
    are read by the WHATWG's table: iso-8859-9 means windows-1254. UnreadableError if it is no text.
    """
    decoding = _decoded(body, charset, html)
    controls = len(_CONTROLS.findall(decoding.text))
    if controls > _LEAST_CONTROLS and controls * _BINARY > len(decoding.text):
        raise UnreadableError("is not text")
    return decoding


def _decoded(body: bytes, charset: str | None, html: bool) -> Decoded:
    """The text by the first encoding that fits: named, UTF-8, either with damage, or guessed."""
    for mark, name in _BOMS:
        if body.startswith(mark):
            return Decoded(body[len(mark) :].decode(name, "replace"), name)
    meta = _META.search(body[:_META_WITHIN]) if html else None
    labels = (charset, meta[1].decode("ascii", "replace") if meta else None)
    named = [name for name in map(_codec, labels) if name]
    high = len(body) - len(body.translate(None, _HIGH))
    for name in ["utf-8", *named] if high else [*named, "utf-8"]:
        with suppress(UnicodeError, LookupError):
            # An incremental decoder waits for the rest of a last character that breaks off.
            return Decoded(codecs.getincrementaldecoder(name)(_errors(name)).decode(body), name)
    if _is_mostly_utf8(body, high, declared=named[:1] == ["utf-8"]):
        return Decoded(body.decode("utf-8", "replace"), "utf-8")
    name = next(iter(named), "utf-8")
    best = body.decode(name, "replace")
    if best.count("\ufffd") * _DAMAGE <= high:
        return Decoded(best, name)
    from charset_normalizer import from_bytes

    # A cut in mid-character makes the right encoding the one that does not fit.
    for less in range(_LONGEST_CHARACTER):
        guess = from_bytes(body[: _GUESS_FROM - less], cp_isolation=list(_CANDIDATES)).best()
        if guess:
            return Decoded(body.decode(guess.encoding, "replace"), guess.encoding)
    raise UnreadableError("is not text in an encoding that can be determined")


def _is_mostly_utf8(body: bytes, high: int, *, declared: bool) -> bool:
    """Whether a text is UTF-8 but for a few bytes that came in from elsewhere.

    A text that says so is, unless more of its bytes beyond ASCII are damaged than not; browsers
    believe it whatever they find.
    """
    characters = _UTF8_CHARACTER.findall(body)
    damaged = high - sum(map(len, characters))
    return bool(characters) and damaged <= len(characters) * (1 if declared else 1 / _SURELY_UTF8)


def _codec(label: str | None) -> str | None:
    """Python's codec for a label of the web; None for what is no encoding of text."""
    import webencodings

    label = label or ""
    with suppress(LookupError, ValueError):  # "latin-1" is no label of the web's, but meant as one
        encoding = webencodings.lookup(label) or webencodings.lookup(codecs.lookup(label).name)
        name = str(encoding.codec_info.name) if encoding else codecs.lookup(label).name
        b"a".decode(name, "replace")  # fails where it is from bytes to bytes
        if name in _NOT_OF_THE_WEB:
            return None
        return "gb18030" if name == "gbk" else name
    return None


def _errors(codec: str) -> str:
    """Browsers read the bytes that windows-125x leaves free as control characters."""
    return "c1_controls" if codec.startswith(("cp125", "cp874")) else "strict"


def _c1_controls(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeDecodeError):
        raise error
    return error.object[error.start : error.end].decode("latin-1"), error.end


codecs.register_error("c1_controls", _c1_controls)
