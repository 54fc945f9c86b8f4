"""Reads the list of strings in a reply that is JSON instead of the requested lines.

Limits without a stated reason were chosen by hand.
"""

import json
import re
from collections.abc import Mapping
from typing import Any

from conflictscore.models.json_text import (
    BRACKETS,
    DEPTH,
    UNSEEN,
    bracketed,
    loads,
    repaired,
)
from conflictscore.records import encodable

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)  # A code block's edge.
_ASSIGNED = re.compile(
    r"\w{1,30}\s?=\s?(?=[\[{])"
)  # Matches the start of text such as "claims = [".
_SENTENCE = re.compile(r"\w\s+\S{1,80}\s+\w|[.!?。\uff01\uff1f।]\W{0,3}$")
"""Matches at least three words, or a final stop, since some scripts have no spaces."""
_NO_TOPIC = re.compile(
    r"\b(?:not?|non|left|un(?:supported|verified|verifiable|clear|certain|confirmed|stated|related|used)"
    r"|incorrect|false|wrong|(?:omit|exclu|skip|ignor|remov|reject|drop|duplica)\w*"
    r"|questions?|sources?|notes?|remarks?|comments?|instructions?|examples?|documents?|evidence"
    r"|reason\w*|explanations?|others?)\b",
    re.IGNORECASE,
)
"""Matches names of lists that a model adds to its claims, such as what it left out."""
# Names that models give to the text of a claim, in the order of preference.
_TEXT_FIELDS = ("claim", "text", "statement", "fact", "atomic_claim", "sentence", "content")


def json_texts(text: str) -> list[str] | None:
    """Return the texts of the JSON list in a reply, or None if the reply has no list.

    If the reply is an object with a single list, that list is read. If an element of the list is an
    object, the text in that object is read. Several values in sequence are read like the elements
    of a list.

    Raises:
        ValueError: The reply looks like JSON, but is not such a list.
    """
    bare = _ASSIGNED.sub("", _FENCE.sub("", text).translate(UNSEEN).strip())
    has_brackets = any(sign in bare for sign in BRACKETS)
    if has_brackets and (texts := _bracketed_texts(bare)) is not None:
        return texts
    # strings on lines of their own, without a list around them
    lines = [line.strip(", \t\r") for line in bare.splitlines()]
    if lines and all(line.startswith('"') for line in lines):
        strings = [*map(loads, lines)]
        if all(isinstance(string, str) for string in strings):
            return [encodable(string) for string in strings]
    start = _start_of_list(bare) if has_brackets else None
    if start is None:
        return None
    texts = _repaired_texts(bare, start)
    if texts is None:
        raise ValueError("it was not a JSON list of texts")
    return texts


def _bracketed_texts(bare: str) -> list[str] | None:
    """Return the texts of a reply's valid lists; None unless they make up most of the reply."""
    parts = [*bracketed(bare)]
    lists = [_texts_of(loads(part)) for part in parts]
    are_most = _letters("".join(parts)) * 2 > _letters(bare)
    if not (lists and all(lists) and are_most):
        return None
    return [text for texts in lists for text in texts or ()]


def _start_of_list(bare: str) -> int | None:
    """Return the position at which a damaged list begins, or None if the reply is prose.

    Prose may contain brackets too, so a list must make up most of the reply. It must also begin
    the reply, or have quotation marks.
    """
    start = min((at for sign in BRACKETS if (at := bare.find(sign)) >= 0), default=-1)
    if start < 0 or 2 * _letters(bare[start:]) < _letters(bare):
        return None
    if not ('"' in bare or "'" in bare or bare[start] == bare[:1]):
        return None
    # a first bracket that nothing closes may belong to prose, unless a list clearly follows it
    if start == 0 and not _is_closed(bare) and not re.match(r"[\[{]\s*[\"'{\[]", bare):
        return None
    return start


def _repaired_texts(bare: str, start: int) -> list[str] | None:
    """Return the texts of a damaged list, or None if repairing it would lose or add letters."""
    # json-repair would complete a truncated list
    json_value = repaired(bare[start:]) if _is_closed(bare) else None
    if json_value is None:
        return None
    try:
        letters = _letters(json.dumps(json_value, ensure_ascii=False))
    except RecursionError:
        return None
    return _texts_of(json_value) if letters == _letters(bare[start:]) else None


def _is_closed(bare: str) -> bool:
    # code around the list may follow it, as in ``print([…]);``
    return bare.rstrip(";) ").endswith(("]", "}"))


def _texts_of(json_value: Any, depth: int = DEPTH) -> list[str] | None:
    """Return the texts of a list, or of an object's lists; None for any other value."""
    elements = _sole_list_in(json_value) if isinstance(json_value, Mapping) else json_value
    if isinstance(elements, Mapping):
        return _texts_of(elements, depth - 1) if depth else None
    if not isinstance(elements, list):
        return None
    texts: list[str] = []
    for element in elements:
        inner_texts = _texts_in_element(element, depth)
        if inner_texts is None:
            return None
        texts += inner_texts
    return texts or None


def _sole_list_in(fields: Mapping[str, Any]) -> Any:
    """Return the list or object that holds the claims; None if several might.

    The claims are in the only list or object, or in the field named ``claims`` or
    ``atomic_claims``. If every field is a list of sentences, the fields are topics, and their lists
    are joined. This requires that no field name suggests something else. If the only field of an
    object is a string, a list of that string is returned.
    """
    lists = [part for part in fields.values() if isinstance(part, list | Mapping) and part]
    if len(lists) == 1:
        return lists[0]
    if lists:
        by_name = [fields[name] for name in ("claims", "atomic_claims") if name in fields]
        return by_name[0] if by_name else _joined_topics(fields)
    text = _only_text(fields) if len(fields) == 1 else None
    return [text] if text else None


def _joined_topics(fields: Mapping[str, Any]) -> list[str] | None:
    """Return the sentences of all fields if each is a list of sentences; otherwise None."""
    texts: list[str] = []
    for name, part in fields.items():
        if _NO_TOPIC.search(name.replace("_", " ")) or not isinstance(part, list):
            return None
        for element in part:
            if not isinstance(element, str) or not _SENTENCE.search(element):
                return None
            texts.append(element)
    return texts


def _texts_in_element(element: Any, depth: int) -> list[str] | None:
    """Return the texts in an element of a list, or None if the element is ambiguous."""
    holds_list = isinstance(element, list) or (
        isinstance(element, Mapping) and any(isinstance(part, list) for part in element.values())
    )
    if holds_list:
        return _texts_of(element, depth - 1) if depth else None
    text = _only_text(element)
    return None if text is None else [encodable(text)]


def _only_text(element: Any) -> str | None:
    """Return a string, or an object's text: its usual text field, or its only field with words."""
    if not isinstance(element, Mapping):
        return element if isinstance(element, str) else None
    text_by_name = {name: part for name, part in element.items() if isinstance(part, str)}
    for name in _TEXT_FIELDS:
        if name in text_by_name:
            return text_by_name[name]
    texts = [*text_by_name.values()]
    if len(texts) > 1:  # a single word next to a claim is its number, kind or source
        texts = [text for text in texts if " " in text.strip()]
    return texts[0] if len(texts) == 1 else None


def _letters(text: str) -> int:
    return len(re.findall(r"\w", text))
