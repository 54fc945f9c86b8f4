"""Finds and removes active content: links, images, HTML, addresses, telephone numbers and so on.

A client that renders Markdown fetches images. If a document got an image into an answer, the
image's server could therefore learn the question. So corrections add no active content, and reasons
contain none.
"""

import re
from collections import Counter
from collections.abc import Iterator

from conflictscore.prompts import neutral

_TOP_LEVEL = (
    "com|org|net|info|biz|name|pro|app|dev|xyz|top|site|online|shop|store|club|live|link|click|icu"
    "|vip|work|website|space|tech|cloud|blog|news|bank|health|pharmacy|io|ai|co|cc|tv|ws|gg|sh|ly"
    "|pw|tk|ml|ga|cf|gq|eu|uk|de|fr|nl|ru|cn|jp|ch|pl|se|dk|cz|br|au|ca|kr|tr|ua|ro|hu|gr|pt|es"
    "|gov|edu|mil|int|onion"
)
"""Top-level domains. People and many programs treat a word with such an ending as an address. The
list was written by hand; it has common generic domains and the domains of larger countries. Domains
that are also file extensions (py, md, rs) or common words (it, is, in, to, at, no) are left out.
"""
# Every repetition has an upper bound, so that the search takes time linear in the length of a text.
_ADDRESS = (
    r"\b[a-z][a-z0-9+.-]{1,15}://\S{0,2000}"
    r"|\b(?:mailto|javascript|vbscript|data|tel|sms|file):\S{1,2000}"
    r"|(?<![\w.:/])//[a-z0-9-]{1,63}\.\S{1,2000}"
    r"|\bwww\.\S{1,2000}"
    r"|\b[\w.+-]{1,64}@[\w-]{1,63}\.[a-z]\S{0,2000}"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}/\S{0,2000}"
    rf"|(?<![\w.])(?:[a-z0-9-]{{1,63}}\.){{1,8}}(?:{_TOP_LEVEL})(?![\w-])(?!\.\w)"
    r"|(?<!\w)(?:\+|00)[1-9]\d{0,2}(?:[\s().-]{0,3}\d){8,12}\b"  # a telephone number
    r"|\b0\d{2,4}[\s/-]\s{0,2}\d{4,9}\b"
    # an obscured host name, such as evil[.]com and evil (dot) com
    rf"|\b[a-z0-9-]{{1,63}}(?:\s?[\[(]\s?(?:\.|dot)\s?[\])]\s?|[\uff0e\uff61])(?:{_TOP_LEVEL})\b"
    # where money can be sent: an account (IBAN) or a wallet
    r"|(?-i:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b)"
    r"|(?-i:\b(?:[13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[a-z0-9]{25,87}|0x[0-9a-fA-F]{40})\b)"
)
# Control characters that reverse text.
_DIRECTIONS = "[\u202a-\u202e\u2066-\u2069]"
# LaTeX commands that MathJax or KaTeX execute in a page
_COMMAND = r"(?:href|url|include(?:graphics)?|input|html\w{0,20}|cssid|class|style|def)\b"
_KINDS = {
    "an image": r"!\[",
    "a link": r"\](?:[(:]|\s\()",
    "an address": _ADDRESS,
    "HTML": r"<[a-z!/?]|&#?\w{2,31};",
    "a text direction mark": _DIRECTIONS,
    "a command": rf"\\{_COMMAND}",
}
_PATTERNS = {kind: re.compile(pattern, re.IGNORECASE) for kind, pattern in _KINDS.items()}
# Matches a tag, even if its end is missing.
_TAG = re.compile(r"<[a-z!/?][^<>]{0,500}>?", re.IGNORECASE)
# The sign that begins an entity, such as "&amp;".
_ENTITY = re.compile(r"&(?=#?\w{2,31};)")
# Each pattern matches an entire run of special characters. If only one of them were removed, the
# others would still form an image ("!!["), a link ("]((") or a command ("\\\\url").
_IMAGE_MARKS = re.compile(r"(?<!!)!++\[")
# The target of a link after its text: "](", "]:" or "] (".
_LINK_MARKS = re.compile(r"\](?:[(:]|\s\()++")
_COMMAND_MARKS = re.compile(rf"(?<!\\)\\++(?={_COMMAND})", re.IGNORECASE)


def added_active_content(before: str, after: str) -> str | None:
    """Return the kind of active content that a change adds to a text; None if it adds none."""
    kinds = (kind for kind in _PATTERNS if _found(kind, after) - _found(kind, before))
    if kind := next(kinds, None):
        return kind
    # A single additional control token counts, since it can end the user's turn in a later prompt.
    return "a control token" if _tokens(after) > _tokens(before) else None


def without_active_content(text: str) -> str:
    """Return the text without addresses and tags, and with links and commands as plain words.

    Direction marks are removed first, since they may separate the characters of markup.
    """
    plain = _TAG.sub("", _PATTERNS["a text direction mark"].sub("", text))
    for _ in range(2):  # a telephone number may directly follow an address
        plain = _PATTERNS["an address"].sub("(address left out)", plain)
    plain = neutral(_ENTITY.sub("", _IMAGE_MARKS.sub("[", plain)))
    plain = _COMMAND_MARKS.sub("", _LINK_MARKS.sub("]", plain))
    return _PATTERNS["HTML"].sub(lambda tag: f"\u2039{tag[0][1:]}", plain)


def _found(kind: str, text: str) -> Counter[str]:
    return Counter(match[0].casefold() for match in _PATTERNS[kind].finditer(text))


def _tokens(text: str) -> int:
    is_changed: Iterator[bool] = map(str.__ne__, neutral(text), text)
    return sum(is_changed)
