"""Reading a JSON list of texts in a model's reply."""

import json
import re
from collections.abc import Mapping
from typing import Any

from json_repair import repair_json

from conflictscore.models.json_replies import (
    BRACKETS,
    DEPTH,
    REPAIRABLE_CHARS,
    UNSEEN,
    bracketed,
    loads,
)
from conflictscore.records import encodable

__all__ = ["json_texts"]

_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)
_ASSIGNED = re.compile(r"\w{1,30}\s?=\s?(?=[\[{])")
_COMMENT = re.compile(r"(?<=[,\[{])[ \t]*(?://|#)[^\n\"]*$", re.MULTILINE)
_TEXT_FIELDS = ("claim", "text", "statement", "fact", "atomic_claim", "sentence", "content")
_COUNTED = re.compile(r"[a-z_# ]{0,20}\d{1,3}[.:)]?")


def json_texts(text: str) -> list[str] | None:
    """The texts of the JSON list in a reply; None if there is none.

    An object that holds one list counts as that list, an object in a list as its one text, fields
    that are numbered as a list, and several values one after the other too.

    Raises:
        ValueError: The reply looks like JSON, and is no such list.
    """
    bare = _ASSIGNED.sub("", _FENCE.sub("", text).translate(UNSEEN).strip())
    parts = [*bracketed(bare)]
    values = [loads(part) for part in parts]
    texts = [_texts_of(value) for value in values]
    if texts and all(texts) and _letters("".join(parts)) * 2 > _letters(bare):
        return [one for several in texts for one in several or ()]
    lines = [loads(line.strip(", \t\r")) for line in bare.splitlines()]
    if lines and all(isinstance(line, str) for line in lines):
        return [encodable(line) for line in lines]
    # prose may have brackets: a list is most of what stands there, and has quotation marks
    start = min((at for sign in BRACKETS if (at := bare.find(sign)) >= 0), default=-1)
    if start < 0 or 2 * _letters(bare[start:]) < _letters(bare):
        return None
    if not ('"' in bare or "'" in bare or bare[start] == bare[:1]):
        return None
    ends = bare.rstrip(";) ").endswith(("]", "}"))
    if start == 0 and not ends and not re.match(r"[\[{]\s*[\"'{\[]", bare):
        return None
    found = None
    if ends and len(bare) <= REPAIRABLE_CHARS:  # json-repair would complete a list that was cut
        mended = repair_json(bare[start:], return_objects=True)
        kept = _letters(json.dumps(mended, ensure_ascii=False))
        found = _texts_of(mended) if kept == _letters(_COMMENT.sub("", bare[start:])) else None
    if found is None:
        raise ValueError("it was no JSON list of texts")
    return found


def _texts_of(value: Any, depth: int = DEPTH) -> list[str] | None:
    """The texts of a list, or of the one list in an object; None if it is neither."""
    if isinstance(value, Mapping):
        lists = [part for part in value.values() if isinstance(part, list | Mapping) and part]
        named = [value[name] for name in ("claims", "atomic_claims") if name in value]
        if lists:
            [value] = lists if len(lists) == 1 else [*named, None][:1]
        elif len(value) > 1 and all(map(_COUNTED.fullmatch, value)):
            value = [*value.values()]
        elif len(value) == 1 and "\n" in str(*value.values()):
            value = str(*value.values()).splitlines()
        elif len(value) != 1 or not (only := _only_text(value)):
            return None
        else:
            value = [only]
    if not isinstance(value, list):
        return _texts_of(value, depth - 1) if isinstance(value, Mapping) and depth else None
    texts: list[str] = []
    for item in value:
        holds = isinstance(item, list) or (
            isinstance(item, Mapping) and any(isinstance(part, list) for part in item.values())
        )
        inner = _texts_of(item, depth - 1) if holds and depth else None
        only = None if holds else _only_text(item)
        if inner is None and only is None:
            return None
        texts += inner or [encodable(only)]
    return texts or None


def _only_text(item: Any) -> str | None:
    """A text, or the text of an object: the one under a known name, or the only one with words."""
    if isinstance(item, Mapping):
        texts = {name: value for name, value in item.items() if isinstance(value, str)}
        named = [texts[name] for name in _TEXT_FIELDS if name in texts]
        if len(texts) > 1 and not named:
            texts = {name: value for name, value in texts.items() if " " in value.strip()}
        item = named[0] if named else [*texts.values(), None][0] if len(texts) == 1 else None
    return item if isinstance(item, str) else None


def _letters(text: str) -> int:
    return len(re.findall(r"\w", text))
