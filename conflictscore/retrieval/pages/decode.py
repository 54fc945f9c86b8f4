"""From bytes to text, where what the server and the page say of their encoding may be wrong."""

import codecs
import re

from conflictscore.retrieval.pages.page import PageError

__all__ = ["decode"]

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark is the beginning of its own
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_META = re.compile(rb"""<meta[^>]{0,200}?charset\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)
_META_WITHIN = 4096
"""Bytes at the beginning of a page in which it may name its encoding."""
_WIDER = {
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
}
"""What pages mean by the encodings that they name, as browsers read them."""
_NOT_OF_THE_WEB = ("utf-7", "unicode-escape", "raw-unicode-escape", "idna", "punycode")
"""Codecs that no page is written in."""
_HIGH = bytes(range(128, 256))
_GUESS_FROM = 50_000
"""Bytes that an encoding is guessed from."""
_LONGEST_CHARACTER = 4
"""Bytes."""
_DAMAGE = 10
"""One character in so many bytes beyond ASCII may be damaged."""
_BINARY = 20
"""One character in so many may be a control character."""
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1a\x1c-\x1f]")


def decode(body: bytes, charset: str | None, *, html: bool) -> str:
    """The text of a page.

    A byte order mark is believed first. Bytes beyond ASCII that are valid UTF-8 are UTF-8,
    whatever is named; else what the server names, then what the page itself names, where it fits.
    A text with little damage is read in spite of it, and an encoding is guessed otherwise.

    Args:
        body: The page, which may break off in mid-character.
        charset: The encoding that the server names; None where it names none.
        html: Whether the page may name its encoding itself.

    Raises:
        PageError: It is not text.
    """
    text = _decoded(body, charset, html)
    if len(_CONTROLS.findall(text)) * _BINARY > len(text):
        raise PageError("is not text")
    return text


def _decoded(body: bytes, charset: str | None, html: bool) -> str:
    for mark, name in _BOMS:
        if body.startswith(mark):
            return body[len(mark) :].decode(name, "replace")
    named = [_codec(charset), _codec(_named_in(body) if html else None)]
    high = len(body) - len(body.translate(None, _HIGH))
    candidates = [name for name in (["utf-8", *named] if high else [*named, "utf-8"]) if name]
    for name in candidates:
        try:
            # An incremental decoder waits for the rest of a last character that breaks off.
            return codecs.getincrementaldecoder(name)().decode(body)
        except (UnicodeError, LookupError):
            continue
    best = body.decode(next(filter(None, named), "utf-8"), "replace")
    if best.count("\ufffd") * _DAMAGE <= high:
        return best
    guess = _guess(body)
    return body.decode(guess, "replace") if guess else best


def _guess(body: bytes) -> str | None:
    from charset_normalizer import from_bytes

    # A cut in mid-character makes the right encoding the one that does not fit.
    guesses = (from_bytes(body[: _GUESS_FROM - less]).best() for less in range(_LONGEST_CHARACTER))
    best = next(filter(None, guesses), None)
    return best.encoding if best else None


def _named_in(body: bytes) -> str | None:
    found = _META.search(body[:_META_WITHIN])
    return found[1].decode("ascii", "replace") if found else None


def _codec(name: str | None) -> str | None:
    """The codec that reads an encoding; None for what is no encoding of text."""
    try:
        found = codecs.lookup(name or "").name
        b"a".decode(found, "replace")
    except (LookupError, ValueError):  # unknown, no name at all, or from bytes to bytes
        return None
    return None if found in _NOT_OF_THE_WEB else _WIDER.get(found, found)
