"""Text and values of others as any JSON reader, terminal and model can take them."""

import math
import re

from conflictscore.records import encodable

Scalar = str | int | float | bool | None
"""A value that a document's metadata can hold."""

_LINE_ENDS = re.compile("\r\n|[\r\x0b\x0c\x85]")
_CONTROLS = re.compile("[\x00-\x08\x0e-\x1f\x7f-\x9f]")


def clean_text(text: str) -> str:
    """The text with line feeds as its line ends and without control characters.

    A lone surrogate, which no UTF-8 can hold, becomes U+FFFD. The tab stays; white space around
    the text goes.
    """
    text = _CONTROLS.sub("", _LINE_ENDS.sub("\n", text))
    return str(encodable(text)).strip()


def is_scalar(value: object) -> bool:
    """Whether a value fits into a document's metadata: text, a finite number, or nothing."""
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or isinstance(value, str | int)
