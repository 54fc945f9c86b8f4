"""Reading the one JSON object, or list of texts, in a model's reply.

A reply that is not plain JSON is mended by json-repair, and taken only where the mended value has
every field that was written, once: nothing is guessed, and nothing that was cut is completed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from json_repair import repair_json
from langchain_core.messages import AIMessage

from conflictscore.models.replies import reply_text
from conflictscore.records import encodable

__all__ = ["json_object", "json_reply", "json_texts"]

_REPAIRABLE_CHARS = 64_000
"""A longer reply is no verdict that was damaged, and mending takes time."""
_RESTARTS = 16
_WRAPPINGS = ("arguments", "parameters", "args", "input")
"""Where the text of a tool call has its arguments, beside its name."""
_BRACKETS = {"{": "}", "[": "]"}
_JSON_MARK = re.compile(r'["\\{}\[\]]')
_FENCE = re.compile(r"^[ \t]*```[^\n`]*$", re.MULTILINE)
_FIELD = re.compile(r"(?P<open>[\"'“”]?)\b(?P<name>\w+)\b[\"'“”]?\s{0,20}:")
_NOT_ONE_OBJECT = "it was not one JSON object of the asked form"


def json_reply(message: AIMessage, needed: AbstractSet[str], *, listed: str = "") -> dict[str, Any]:
    """The JSON object that a model replied, as text or as the arguments of its one tool call.

    Args:
        message: The reply.
        needed: The fields that the object must have.
        listed: See :func:`json_object`.

    Raises:
        ValueError: There is none, or more than one.
    """
    made = len(message.tool_calls) + len(message.invalid_tool_calls)
    if made > 1:
        raise ValueError(f"it made {made} tool calls instead of one")
    for call in message.tool_calls:
        if (found := _sole_object(call["args"], needed, listed)) is not None:
            return found
    for broken in message.invalid_tool_calls:
        return json_object(str(broken["args"] or ""), needed, listed=listed)
    text = reply_text(message)
    if not text.strip():
        reasoning = message.additional_kwargs.get("reasoning_content")
        if not isinstance(reasoning, str):
            raise ValueError("it was empty")
        # vLLM puts a reply there that its grammar holds to JSON
        if (found := _sole_object(_loads(reasoning), needed, listed)) is not None:
            return found
        raise ValueError("it was empty but for the model's reasoning")
    return json_object(text, needed, listed=listed)


def json_object(
    text: str, needed: AbstractSet[str] = frozenset(), *, listed: str = ""
) -> dict[str, Any]:
    """The only JSON object in a text that has the needed fields, their names in small letters.

    What surrounds the object is passed over. Missing commas and quotes, trailing commas, comments,
    single quotes and raw line breaks are mended where that leaves one way to read the text: each
    field that was written is then in the object, once.

    Args:
        text: Without reasoning.
        needed: The fields that the object must have.
        listed: The field that a bare list of objects is the value of.

    Raises:
        ValueError: There is none, or several that differ.
    """
    if (whole := _sole_object(_loads(text), needed, listed)) is not None:
        return whole
    parts = [*_bracketed(text)]
    for read, candidates in ((_loads, parts), (_mended, parts), (_mended, [_to_last_brace(text)])):
        if found := _one_of(candidates, read, text, needed, listed):
            return found
    raise ValueError(_NOT_ONE_OBJECT)


def _one_of(
    parts: Iterable[str],
    read: Callable[[str], Any],
    text: str,
    needed: AbstractSet[str],
    listed: str,
) -> dict[str, Any] | None:
    """The object that one part of a text is; None where none is one.

    Raises:
        ValueError: Several are, and differ, or fields that are needed stand elsewhere too.
    """
    found: list[dict[str, Any]] = []
    fields = Counter[str]()
    for part in parts:
        value = _sole_object(read(part), needed, listed)
        if value is not None:
            fields += _fields_written(part, quoted=True)
            found += [] if value in found else [value]
    if len(found) > 1:
        raise ValueError(f"it held {len(found)} JSON objects instead of one")
    everywhere = _fields_written(text, quoted=True)
    if found and any(everywhere[name] != fields[name] for name in needed):
        raise ValueError(_NOT_ONE_OBJECT)  # the object is a part of one that is broken
    return found[0] if found else None


def json_texts(text: str) -> list[str] | None:
    """The texts of the JSON list in a reply; None where there is none.

    An object that holds one list counts as that list, and an object in a list as its one text.

    Raises:
        ValueError: The reply looks like JSON, and is no such list.
    """
    bare = _FENCE.sub("", text).strip()
    lists = [texts for part in _bracketed(bare) if (texts := _texts_of(_loads(part)))]
    if len(lists) == 1:
        return lists[0]
    if bare[:1] not in _BRACKETS or not bare.endswith(("]", "}")):
        return None
    texts = _texts_of(_loads(bare))
    if texts is None and len(bare) <= _REPAIRABLE_CHARS:
        mended = repair_json(bare, return_objects=True)
        same = _letters(json.dumps(mended, ensure_ascii=False)) == _letters(bare)
        texts = _texts_of(mended) if same else None
    if texts is None:
        raise ValueError("it was no JSON list of texts")
    return texts


def _texts_of(value: Any) -> list[str] | None:
    if isinstance(value, Mapping) and len(value) == 1:
        [value] = value.values()
    texts = [_only_text(item) for item in value] if isinstance(value, list) else [None]
    return None if None in texts else [encodable(one) for one in texts if one is not None]


def _only_text(item: Any) -> str | None:
    if isinstance(item, Mapping):
        texts = [value for value in item.values() if isinstance(value, str)]
        item = texts[0] if len(texts) == 1 else None
    return item if isinstance(item, str) else None


def _letters(text: str) -> int:
    return len(re.findall(r"\w", text))


def _loads(text: str) -> Any:
    """The JSON value of a text, raw line breaks in its strings included; None if it is not JSON."""
    try:
        return json.loads(text, strict=False, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError):
        return None


def _unambiguous(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object with its names in small letters.

    Raises:
        ValueError: A name stands twice, with different values.
    """
    known: dict[str, Any] = {}
    for name, value in pairs:
        folded = "_".join(re.findall(r"\w+", name.lower()))
        if known.setdefault(folded, value) != value:
            raise ValueError(f"{name} stands twice")
    return known


def _sole_object(value: Any, needed: AbstractSet[str], listed: str) -> dict[str, Any] | None:
    """The object with the needed fields that a value is, or that it holds and nothing else."""
    for _ in range(4):
        if isinstance(value, str) and value.lstrip()[:1] in _BRACKETS:
            value = _loads(value)
        elif isinstance(value, list):
            objects = [item for item in value if isinstance(item, Mapping)]
            if len(objects) == 1 == len(value) and needed <= objects[0].keys():
                [value] = objects
            elif listed and len(objects) == len(value) > 0:
                value = {listed: value}
            elif len(value) == 1:
                [value] = value
            else:
                return None
        elif isinstance(value, Mapping):
            if needed <= value.keys():
                clean: dict[str, Any] = encodable(dict(value))
                return clean
            alone = [*value.values()] if listed and len(value) == 1 else [None]
            called = [value[name] for name in _WRAPPINGS if {"name", name} <= value.keys()]
            [value, *_] = called or alone
        else:
            return None
    return None


def _bracketed(text: str) -> Iterator[str]:
    """The parts of a text between outermost brackets.

    A bracket of prose that is never closed hides all that follows it, so a few are passed over.
    """
    start = 0
    for _ in range(_RESTARTS):
        parts, unclosed = _outermost(text, start)
        yield from parts
        if unclosed is None:
            return
        start = unclosed + 1


def _outermost(text: str, start: int) -> tuple[list[str], int | None]:
    """The parts between outermost brackets that match, and where one opens that is not closed."""
    parts: list[str] = []
    awaited: list[str] = []
    begins, in_string = start, False
    while mark := _JSON_MARK.search(text, start):
        sign, start = mark[0], mark.end()
        if in_string:
            start += sign == "\\"
            in_string = sign != '"'
        elif sign in _BRACKETS:
            begins = begins if awaited else mark.start()
            awaited.append(_BRACKETS[sign])
        elif awaited and sign == '"':
            in_string = True
        elif awaited and sign in "]}":
            if sign != awaited.pop():
                awaited = []
            elif not awaited:
                parts.append(text[begins:start])
    return parts, begins if awaited else None


def _to_last_brace(text: str) -> str:
    """Text from the first brace to the last, or to the end if none closes.

    Such a text is not cut within a value if a quotation mark ends it.
    """
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end > start:
        return text[start : end + 1] if start >= 0 else ""
    body = text[start:].rstrip("` \t\r\n")
    return body if body.endswith('"') else ""


def _mended(body: str) -> Any:
    """Result of json-repair for a text, if it keeps every field that was written."""
    if not body or len(body) > _REPAIRABLE_CHARS:
        return None
    try:
        value = _loads(json.dumps(repair_json(body, return_objects=True)))
    except (ValueError, RecursionError):
        return None
    written, kept = _fields_written(body), _fields_of(value)
    return value if all(written[name] == count for name, count in kept.items()) else None


def _fields_written(text: str, *, quoted: bool = False) -> Counter[str]:
    """How often each word stands in a text as the name of a field."""
    return Counter(
        found["name"].lower() for found in _FIELD.finditer(text) if found["open"] or not quoted
    )


def _fields_of(value: Any) -> Counter[str]:
    """How often each name is that of a field in a JSON value."""
    counts = Counter[str]()
    parts = [value]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            counts.update(part.keys())
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return counts
