"""Cleans untrusted text and values so that any JSON reader, terminal or model can handle them."""

import math
import re

from conflictscore.records import encodable

Scalar = str | int | float | bool | None
"""A value allowed in a document's metadata."""

_DOUBLE_BITS = 1023  # an integer with more bits may exceed the largest double
# Line ends other than a line feed. Each is replaced with a line feed.
_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85]")
# Quantifiers are bounded, so that matching a hostile text takes linear time.
_TERMINAL = re.compile(
    "(?:\x1b\\[|\x9b)[0-?]{0,99}[ -/]{0,9}[@-~]"  # Colours, cursor movements.
    "|\x1b\\][^\x07\x1b\x9c\n]{0,4000}(?:\x07|\x1b\\\\|\x9c)"  # Titles, links.
    "|\x1b[PX^_][^\x1b\x9c]{0,4000}(?:\x1b\\\\|\x9c)"  # Commands to a device.
    "|\x1b[()*+][0-9A-Z]|\x1b[78=>]"  # Sets of characters, saved cursors, keypads.
)
_OVERSTRUCK = re.compile("[^\n\x08]\x08")
"""Matches a character that a backspace erases.

Man pages print bold and underlined text with backspaces.
"""
# Separators of ASCII (file, group, record, unit), which Python counts as white space.
_SEPARATORS = re.compile("[\x1c-\x1f]+")
_WINDOWS_1252 = {
    code: bytes([code]).decode("cp1252")
    for code in range(0x80, 0xA0)
    if code not in (0x81, 0x85, 0x8D, 0x8F, 0x90, 0x9D)
}
"""Maps characters that were decoded as Latin-1 to the intended windows-1252 characters."""
# Control characters of Latin-1, which texts do not contain on purpose.
_FROM_WINDOWS = re.compile("[\x80-\x9f]")
# Control characters other than tab, line ends and form feed.
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")
_SPECIAL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f]")
"""Matches any character that ``clean_text`` may change. Most texts contain no such character, or
only line ends."""


def clean_text(text: str) -> str:
    """Return the text with uniform line feeds and without control characters.

    Escape sequences for terminal colours and links are removed completely. C1 control characters
    become the windows-1252 dashes and quotation marks that they stand for. The four ASCII separator
    characters become spaces. Lone surrogates, which UTF-8 cannot encode, become U+FFFD. Tabs within
    the text are kept, but white space at both ends is removed.
    """
    if text.replace("\n", "").isprintable():  # several times faster than a regular expression
        return text.strip()
    if special_signs := {*_SPECIAL.findall(text)}:
        if "\x8b" in special_signs:
            # in pairs, these characters are windows-1252 quotation marks, not the start of an
            # escape sequence
            text = text.replace("\x8b", "\u2039").replace("\x9b", "\u203a")
        if "\x1b" in text or "\x9b" in text:
            text = _TERMINAL.sub("", text)
        if "\x08" in special_signs:
            text = _OVERSTRUCK.sub("", text)
        text = _SEPARATORS.sub(" ", _LINE_ENDS.sub("\n", text))
        # a few signs are replaced one by one, since str.translate() is slow on a long text
        text = _FROM_WINDOWS.sub(lambda sign: _WINDOWS_1252.get(ord(sign[0]), sign[0]), text)
        text = _CONTROLS.sub("", text)
    return str(encodable(text)).strip()


def is_scalar(value: object) -> bool:
    """Return whether metadata can contain this value: a string, a finite number, a bool or None.

    Integers that no double could hold are not accepted either, since other programs read them as
    infinite, and Python refuses to write them out.
    """
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return value.bit_length() <= _DOUBLE_BITS
    return value is None or isinstance(value, str)
