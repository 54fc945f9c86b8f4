"""Text and values of others as any JSON reader, terminal and model can take them."""

import base64
import html
import json
import math
import re
from urllib.parse import quote, quote_plus

from conflictscore.records import encodable

__all__ = ["Scalar", "clean_text", "is_scalar", "scrubbed"]

Scalar = str | int | float | bool | None
"""A value that a document's metadata can hold."""

_LONGEST_REASON = 300
"""Characters of what a provider says that an error repeats."""
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


def scrubbed(text: str, *secrets: str) -> str:
    """Message of a server or library, fit to be shown: one line, cut, without the secrets."""
    for secret in secrets:
        # as an address, a header, a JSON or HTML text or Python would write it
        encoded = base64.b64encode(secret.encode()).decode()
        forms = {secret, quote(secret), quote(secret, safe=""), quote_plus(secret), encoded}
        forms |= {json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret)}
        longest_first = sorted((*forms, encoded.rstrip("=")), key=len, reverse=True)
        pattern = "|".join(re.escape(form) for form in longest_first if form)
        text = re.sub(pattern, "***", text, flags=re.IGNORECASE) if pattern else text
    return " ".join(text.split())[:_LONGEST_REASON]
