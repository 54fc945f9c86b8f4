"""Finds and removes active content: links, images, HTML, addresses, telephone numbers and so on.

A client that renders Markdown fetches images. If a document got an image into an answer, the
image's server could therefore learn the question. So corrections add no active content, and reasons
contain none.
"""

import re
from collections import Counter
from collections.abc import Iterator

from conflictscore.prompts import neutral
from conflictscore.suffixes import load_suffixes
from conflictscore.word_lists import FUNCTION_WORDS

_FILE_ENDINGS = frozenset({"md", "py", "rs"})
"""Top-level domains that are file extensions."""
_WORDS = FUNCTION_WORDS - {"au", "com", "de", "es", "se"}
"""Words that may follow a full stop if the space is missing, as in "It was lit.It is red". Some of
them are top-level domains. The words left out are mostly domains."""
_UNITS = frozenset({"cm", "kg", "km", "mg", "mm", "pm"})
"""Top-level domains that are units, as in "2.5.mm"."""
# Every repetition has an upper bound, so that the search takes time linear in the length of a text.
_ADDRESS = (
    r"\b[a-z][a-z0-9+.-]{1,15}://\S{0,2000}"
    r"|\b(?:mailto|javascript|vbscript|data|tel|sms|file):\S{1,2000}"
    r"|(?<![\w.:/])//[a-z0-9-]{1,63}\.\S{1,2000}"
    r"|\bwww\.\S{1,2000}"
    r"|\b[\w.+-]{1,64}@[\w-]{1,63}\.[a-z]\S{0,2000}"
    r"|\b(?:[a-z0-9-]{1,63}\.){1,8}[a-z]{2,24}/\S{0,2000}"
    r"|(?<!\w)(?:\+|00)[1-9]\d{0,2}(?:[\s().-]{0,3}\d){8,12}\b"  # a telephone number
    r"|\b0\d{2,4}[\s/-]\s{0,2}\d{4,9}\b"
    # where money can be sent: an account (IBAN) or a wallet
    r"|(?-i:\b[A-Z]{2}\d{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?\b)"
    r"|(?-i:\b(?:[13][1-9A-HJ-NP-Za-km-z]{25,34}|bc1[a-z0-9]{25,87}|0x[0-9a-fA-F]{40})\b)"
)
# A host name without a scheme or a path, such as evil.quest, and its obscured forms, such as
# evil[.]com and evil (dot) com. Any word may stand before the dot, so the suffix is looked up.
_HOST_NAME = re.compile(
    r"(?<![\w.])((?:[\w-]{1,63}\.){0,8}[\w-]{1,63})"
    r"(?:\.|\s?[\[(]\s?(?:\.|dot)\s?[\])]\s?|[\uff0e\uff61])"
    r"([^\W\d_]{2,24}|xn--[a-z0-9-]{2,59})(?![\w-])(?!\.\w)",
    re.IGNORECASE,
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
_LEFT_OUT = "(address left out)"
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
        plain = _PATTERNS["an address"].sub(_LEFT_OUT, plain)
        plain = _HOST_NAME.sub(lambda name: _LEFT_OUT if _is_host(name) else name[0], plain)
    plain = neutral(_ENTITY.sub("", _IMAGE_MARKS.sub("[", plain)))
    plain = _COMMAND_MARKS.sub("", _LINK_MARKS.sub("]", plain))
    return _PATTERNS["HTML"].sub(lambda tag: f"\u2039{tag[0][1:]}", plain)


def _found(kind: str, text: str) -> Counter[str]:
    matches = [*_PATTERNS[kind].finditer(text)]
    if kind == "an address":
        matches += filter(_is_host, _HOST_NAME.finditer(text))
    return Counter(match[0].casefold() for match in matches)


def _is_host(match: re.Match[str]) -> bool:
    """Return whether a word with a dot is a host name, judged by its public suffix."""
    name, suffix = match[1].casefold(), match[2].casefold()
    is_number = name.replace(".", "").isdecimal()
    if suffix in _FILE_ENDINGS or (is_number and suffix in _UNITS | _WORDS):
        return False
    is_word = match[2].istitle() or match[2] in match[0].split()  # as in "it (.) is"
    if suffix in _WORDS and is_word:
        return False
    return load_suffixes().publicsuffix(f"{name}.{suffix}", accept_unknown=False) is not None


def _tokens(text: str) -> int:
    is_changed: Iterator[bool] = map(str.__ne__, neutral(text), text)
    return sum(is_changed)
