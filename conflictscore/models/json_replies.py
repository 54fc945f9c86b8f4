"""Reading the one JSON object, or the list of texts, in a model's reply.

A reply that is not plain JSON is mended by json-repair, and taken only if the mended value has
every field that was written, once: nothing is guessed, and nothing that was cut is completed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from json_repair import repair_json
from langchain_core.messages import AIMessage

from conflictscore.models.replies import reply_text
from conflictscore.records import encodable

_REPAIRABLE_CHARS = 64_000
"""A longer reply is no verdict that was damaged, and mending takes time."""
_MOST_UNCLOSED = 50
"""json-repair takes .1 s of CPU for a thousand brackets that are never closed."""
_RESTARTS = 16
_DEPTH = 6
_CALL_FIELDS = {"arguments", "parameters", "args", "input", "function", "result", "output"}
"""Fields that may hold an object as text. A text elsewhere may quote a document."""
_BRACKETS = {"{": "}", "[": "]"}
_JSON_MARK = re.compile(r'["\\{}\[\]]')
_FIELD = re.compile(r"(?P<open>[\"'“”„«]?)\b(?P<name>\w+)\b[\"'“”«»]?\s{0,20}[:\uff1a]")
_TEMPLATE = re.compile(r"\.\.\.|…|<(?=[^<> a-z_]*+[ a-z_])[^<>]*+>|.*\|.*", re.DOTALL)
"""A value that a prompt has where a reply has a label."""
_TYPOGRAPHIC = str.maketrans("“”„«»\uff02\uff1a\uff0c", '"""""":,')
_UNSEEN = dict.fromkeys(map(ord, "\0\ufeff\u200b\u200c\u200d\u2060"))
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)
_ASSIGNED = re.compile(r"\w{1,30}\s?=\s?(?=[\[{])")
_TEXT_FIELDS = ("claim", "text", "statement", "fact", "atomic_claim", "sentence", "content")
_NOT_ONE_OBJECT = "it was not one JSON object of the asked form"


class EmptyReplyError(ValueError):
    """A reply without a word, as some servers give to every request for a schema."""


class _Form(NamedTuple):
    needed: AbstractSet[str]
    listed: str
    aliases: Mapping[str, str]

    def named(self, value: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """An object with the needed fields under their own names; None if it lacks one."""
        if self.needed <= value.keys():
            return value
        own = {self.aliases.get(name, name): part for name, part in value.items()}
        return own if self.needed <= own.keys() and len(own) == len(value) else None

    def within(self, value: Any, depth: int = _DEPTH) -> Iterator[dict[str, Any]]:
        """The objects of the form that a JSON value is or holds."""
        if not depth:
            return
        if isinstance(value, str) and value.lstrip()[:1] in {*_BRACKETS, '"'}:
            yield from self.within(loads(value), depth - 1)
        elif isinstance(value, list):
            objects = [item for item in value if isinstance(item, Mapping)]
            inside = [one for item in value for one in self.within(item, depth - 1)]
            if self.listed and not inside and len(objects) == len(value) > 0:
                inside = [{self.listed: value}]
            yield from inside
        elif isinstance(value, Mapping):
            if (named := self.named(value)) is not None:
                clean: dict[str, Any] = encodable(dict(named))
                yield clean
                return
            for name, part in value.items():
                if not isinstance(part, str) or name in _CALL_FIELDS:
                    yield from self.within(part, depth - 1)

    def sole(self, found: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
        """The only object but for the prompt's own template; ValueError for several."""
        kept: list[dict[str, Any]] = []
        for one in found:
            if one not in kept and not any(_is_template(one.get(name)) for name in self.needed):
                kept.append(one)
        if len(kept) > 1:
            raise ValueError(f"it held {len(kept)} JSON objects instead of one")
        return kept[0] if kept else None


def _is_template(value: Any) -> bool:
    if isinstance(value, Mapping):  # a field of a JSON schema
        return not {"type", "enum", "const"}.isdisjoint(value)
    return isinstance(value, str) and _TEMPLATE.fullmatch(value.strip()) is not None


def json_reply(
    message: AIMessage,
    needed: AbstractSet[str],
    *,
    listed: str = "",
    aliases: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """The only JSON object of a reply that has the needed fields, their names in small letters.

    It may be the text or the arguments of a tool call. What surrounds it is passed over, be it
    words or other JSON. Missing commas and quotes, trailing commas, comments, single or typographic
    quotes and raw line breaks are mended if that leaves one way to read the text: each field
    that was written is then in the object, once. ``listed`` is the field that a bare list of
    objects is the value of; ``aliases`` maps other names of fields to the needed ones.

    Raises:
        ValueError: There is none, or several that differ.
    """
    form = _Form(needed, listed, aliases or {})
    calls = [call["args"] for call in message.tool_calls]
    if found := form.sole(form.within(loads(json.dumps(calls, default=str)))):
        return found
    broken = [str(call["args"] or "") for call in message.invalid_tool_calls]
    if len(broken) + len(calls) > 1:
        raise ValueError(f"it made {len(broken) + len(calls)} tool calls instead of one")
    text = broken[0] if broken else reply_text(message)
    if not text.strip():
        reasoning = message.additional_kwargs.get("reasoning_content")
        if not isinstance(reasoning, str):
            raise EmptyReplyError("it was empty")
        # vLLM puts a reply there that its grammar holds to JSON
        if found := form.sole(form.within(loads(reasoning))):
            return found
        raise EmptyReplyError("it was empty but for the model's reasoning")
    return _object_in(text, form)


def _object_in(text: str, form: _Form) -> dict[str, Any]:
    text = text.translate(_UNSEEN)
    typographic = text.translate(_TYPOGRAPHIC)
    for written, read in ((text, loads), (text, _mended), (typographic, _mended)):
        if found := _one_of(_bracketed(written), read, written, form):
            return found
    raise ValueError(_NOT_ONE_OBJECT)


def _one_of(
    parts: Iterable[str], read: Callable[[str], Any], text: str, form: _Form
) -> dict[str, Any] | None:
    """The object that one part of a text is or holds, and no other part has fields of."""
    found: list[dict[str, Any]] = []
    accounted = Counter[str]()
    for part in parts:
        value = read(part)
        inside = [*form.within(value)]
        # valid JSON without such an object, such as a schema, is no part of one that is broken
        if inside or (read is loads and value is not None):
            accounted += _fields_written(part, quoted=True)
        found += inside
    sole = form.sole(found)
    everywhere = _fields_written(text, quoted=True)
    marks = {*form.needed, *form.aliases}
    if sole and any(everywhere[name] != accounted[name] for name in marks):
        raise ValueError(_NOT_ONE_OBJECT)  # the object is a part of one that is broken
    return sole


def loads(text: str) -> Any:
    """The JSON value of a text, raw line breaks in its strings included; None if it is not JSON."""
    try:
        return json.loads(text, strict=False, object_pairs_hook=_unambiguous)
    except (ValueError, RecursionError):
        return None


def _unambiguous(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    """An object with its names in small letters; ValueError if one has two different values."""
    known: dict[str, Any] = {}
    for name, value in pairs:
        folded = "_".join(re.findall(r"\w+", name.lower()))
        kept = known.setdefault(folded, value)
        if kept is not value and kept != value:  # NaN is not equal to itself
            raise ValueError(f"{name} stands twice")
    return known


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


def _mended(body: str) -> Any:
    """Result of json-repair for a text, if it keeps every field that was written."""
    unclosed = sum(map(body.count, "{[(")) - sum(map(body.count, "}])"))
    if not body or len(body) > _REPAIRABLE_CHARS or unclosed > _MOST_UNCLOSED:
        return None
    try:
        value = loads(json.dumps(repair_json(body, return_objects=True)))
    except (ValueError, RecursionError):
        return None
    quoted, written = _fields_written(body, quoted=True), _fields_written(body)
    kept = _fields_of(value).items()
    return value if all((quoted[name] or written[name]) == n for name, n in kept) else None


def _fields_written(text: str, *, quoted: bool = False) -> Counter[str]:
    """How often each word stands in a text as the name of a field."""
    return Counter(
        found["name"].lower() for found in _FIELD.finditer(text) if found["open"] or not quoted
    )


def _fields_of(value: Any) -> Counter[str]:
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


def json_texts(text: str) -> list[str] | None:
    """The texts of the JSON list in a reply; None if there is none.

    An object that holds one list counts as that list, an object in a list as its one text, and
    several values one after the other too.

    Raises:
        ValueError: The reply looks like JSON, and is no such list.
    """
    bare = _ASSIGNED.sub("", _FENCE.sub("", text).translate(_UNSEEN).strip())
    parts = [*_bracketed(bare)]
    values = [loads(part) for part in parts]
    texts = [_texts_of(value) for value in values]
    if texts and all(texts) and _letters("".join(parts)) * 2 > _letters(bare):
        return [one for several in texts for one in several or ()]
    lines = [loads(line.strip(", \t\r")) for line in bare.splitlines()]
    if lines and all(isinstance(line, str) for line in lines):
        return [encodable(line) for line in lines]
    # prose may have brackets: a list is most of what stands there, and has quotation marks
    start = min((at for sign in _BRACKETS if (at := bare.find(sign)) >= 0), default=-1)
    if start < 0 or 2 * _letters(bare[start:]) < _letters(bare):
        return None
    if not ('"' in bare or "'" in bare or bare[start] == bare[:1]):
        return None
    ends = bare.rstrip(";) ").endswith(("]", "}"))
    if start == 0 and not ends and not re.match(r"[\[{]\s*[\"'{\[]", bare):
        return None
    found = None
    if ends and len(bare) <= _REPAIRABLE_CHARS:  # json-repair would complete a list that was cut
        mended = repair_json(bare[start:], return_objects=True)
        kept = _letters(json.dumps(mended, ensure_ascii=False))
        found = _texts_of(mended) if kept == _letters(bare[start:]) else None
    if found is None:
        raise ValueError("it was no JSON list of texts")
    return found


def _texts_of(value: Any, depth: int = _DEPTH) -> list[str] | None:
    """The texts of a list, or of the one list in an object; None if it is neither."""
    if isinstance(value, Mapping):
        lists = [part for part in value.values() if isinstance(part, list | Mapping) and part]
        named = [value[name] for name in ("claims", "atomic_claims") if name in value]
        if lists:
            [value] = lists if len(lists) == 1 else [*named, None][:1]
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
