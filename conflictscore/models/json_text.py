"""Finds and parses JSON in text.

Limits without a stated reason were chosen by hand.
"""

import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from json_repair import repair_json

_REPAIRABLE_CHARS = 64_000
"""Maximum number of characters of a reply to repair. Longer replies are neither verdicts nor lists
of claims, and repairing them takes long."""
_MOST_UNCLOSED = 50
"""Maximum number of unclosed brackets to repair; json-repair takes 0.1 s of CPU for a thousand. It
reads tuples in parentheses too, so these count as brackets."""
DEPTH = 6
"""Maximum levels of nesting that are searched; services that wrap replies add one or two each."""
BRACKETS = {"{": "}", "[": "]"}
UNSEEN = dict.fromkeys(map(ord, "\0\ufeff\u200b\u200c\u200d\u2060"))
"""Maps invisible characters, which JSON does not allow outside strings, to None."""
_RESTARTS = 16  # At most this many unclosed brackets are skipped, so that the time stays linear.
_JSON_MARK = re.compile(r'["\\{}\[\]]')


def loads(text: str) -> Any:
    """Return the value of JSON, or None if the text is not JSON. Strings may have line breaks."""
    try:
        return json.loads(text, strict=False, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError):
        return None


def repaired(text: str) -> Any:
    """Return the value that json-repair reads; None if the text is too long or too broken.

    The caller must compare the value with the text, since json-repair guesses what is missing.
    """
    open_brackets = sum(map(text.count, "{[(")) - sum(map(text.count, "}])"))
    if not text or len(text) > _REPAIRABLE_CHARS or open_brackets > _MOST_UNCLOSED:
        return None
    try:
        return repair_json(text, return_objects=True)
    except (ValueError, RecursionError):
        return None


def _unambiguous(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """Return an object with lower-case field names; raise ValueError if a name has two values."""
    fields: dict[str, Any] = {}
    for name, content in pairs:
        plain_name = "_".join(re.findall(r"\w+", name.lower()))
        first_content = fields.setdefault(plain_name, content)
        if first_content is not content and first_content != content:  # NaN is not equal to itself
            raise ValueError(f"{name} occurs twice")
    return fields


def bracketed(text: str) -> Iterator[str]:
    """Yield the bracketed parts of text, each with its outermost brackets.

    An unclosed bracket in prose would hide everything after it, so a few of these are skipped.
    """
    start = 0
    for _ in range(_RESTARTS):
        parts, open_at = _outermost(text, start)
        yield from parts
        if open_at is None:
            return
        start = open_at + 1


def _outermost(text: str, start: int) -> tuple[list[str], int | None]:
    """Return the parts in matching outermost brackets, and an unclosed bracket's position."""
    parts: list[str] = []
    closing_signs: list[str] = []
    begins, in_string = start, False
    while mark := _JSON_MARK.search(text, start):
        sign, start = mark[0], mark.end()
        if in_string:
            start += sign == "\\"  # skip the escaped character
            in_string = sign != '"'
        elif sign in BRACKETS:
            begins = begins if closing_signs else mark.start()
            closing_signs.append(BRACKETS[sign])
        elif closing_signs and sign == '"':
            in_string = True
        elif closing_signs and sign in "]}":
            if sign != closing_signs.pop():
                closing_signs = []  # these brackets do not match, so this is not JSON
            elif not closing_signs:
                parts.append(text[begins:start])
    return parts, begins if closing_signs else None
