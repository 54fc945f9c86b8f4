"""Reads the single JSON object, or the list of texts, in a model's reply.

A reply that is not plain JSON is repaired by json-repair. The repaired value is used only if it has
every field of the reply exactly once. Nothing is guessed, and nothing that was cut off is
completed.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from json_repair import repair_json
from langchain_core.messages import AIMessage

from conflictscore.models.replies import FormlessReplyError, is_empty, reply_text
from conflictscore.records import encodable

_REPAIRABLE_CHARS = 64_000
"""Maximum number of characters of a reply to repair.
Longer replies are not verdicts and take long to repair."""
_MOST_UNCLOSED = 50
"""Maximum number of unclosed brackets to repair; json-repair takes 0.1 s of CPU for a thousand."""
_RESTARTS = 16  # unclosed brackets that are skipped; the bound keeps the time linear
_DEPTH = (
    6  # maximum levels of nesting that are searched; services that wrap replies add one or two each
)
_CALL_FIELDS = {"arguments", "parameters", "args", "input", "function", "result", "output"}
"""Fields that may contain an object as text. Text in other fields may quote a document."""
_BRACKETS = {"{": "}", "[": "]"}
_JSON_MARK = re.compile(r'["\\{}\[\]]')
_FIELD = re.compile(
    r"(?P<open>(?:[\"'“”„«‹「『]\s?)?)\b(?P<name>\w+)\b(?:\s?[\"'“”«»\u203a」』])?\s{0,20}[:\uff1a]"
)
_TEMPLATE = re.compile(r"\.\.\.|…|<(?=[^<> a-z_]*+[ a-z_])[^<>]*+>|.*\|.*", re.DOTALL)
"""A placeholder that a reply copied from the prompt instead of writing a label."""
_TYPOGRAPHIC = str.maketrans("“”„«»‹\u203a「」『』\uff02\uff1a\uff0c", '"' * 12 + ":,")
_UNSEEN = dict.fromkeys(map(ord, "\0\ufeff\u200b\u200c\u200d\u2060"))
_FENCE = re.compile(r"^[ \t]*(?:```|~~~)[^\n`]*$", re.MULTILINE)  # begins or ends a code block
_ASSIGNED = re.compile(r"\w{1,30}\s?=\s?(?=[\[{])")  # such as "claims = ["
_TEXT_FIELDS = ("claim", "text", "statement", "fact", "atomic_claim", "sentence", "content")
_NOT_ONE_OBJECT = "it was not a single JSON object of the requested form"


class _Form(NamedTuple):
    """The requested JSON object, described by its fields."""

    needed: AbstractSet[str]
    """Fields that an object must have."""
    listed: str
    """The field that a bare list of objects stands for; empty if no field is a list."""
    aliases: Mapping[str, str]
    """Maps other field names that models use to the names of the needed fields."""

    def named(self, fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the fields with aliases replaced; None if a needed field is missing."""
        if self.needed <= fields.keys():
            return fields
        own = {self.aliases.get(name, name): part for name, part in fields.items()}
        return own if self.needed <= own.keys() and len(own) == len(fields) else None

    def within(self, json_value: Any, depth: int = _DEPTH) -> Iterator[dict[str, Any]]:
        """Yield the objects of this form in a JSON value, which may be such an object itself."""
        if not depth:
            return
        if isinstance(json_value, str) and json_value.lstrip()[:1] in {*_BRACKETS, '"'}:
            yield from self.within(loads(json_value), depth - 1)
        elif isinstance(json_value, list):
            yield from self._within_list(json_value, depth)
        elif isinstance(json_value, Mapping):
            yield from self._within_object(json_value, depth)

    def _within_list(self, elements: list[Any], depth: int) -> list[dict[str, Any]]:
        objects = [
            json_object for element in elements for json_object in self.within(element, depth - 1)
        ]
        all_mappings = bool(elements) and all(isinstance(element, Mapping) for element in elements)
        if self.listed and not objects and all_mappings:
            # the reply lacks the object around its list
            return [{self.listed: elements}]
        return objects

    def _within_object(self, fields: Mapping[str, Any], depth: int) -> Iterator[dict[str, Any]]:
        if (own_fields := self.named(fields)) is not None:
            clean: dict[str, Any] = encodable(dict(own_fields))
            yield clean
            return
        for name, part in fields.items():
            if not isinstance(part, str) or name in _CALL_FIELDS:
                yield from self.within(part, depth - 1)

    def sole(self, objects: Iterable[dict[str, Any]]) -> dict[str, Any] | None:
        """Return the only object that does not copy the template; raise ValueError for several."""
        distinct_objects: list[dict[str, Any]] = []
        for candidate in objects:
            if candidate not in distinct_objects and not any(
                _is_template(candidate.get(name)) for name in self.needed
            ):
                distinct_objects.append(candidate)
        if len(distinct_objects) > 1:
            raise ValueError(f"it contained {len(distinct_objects)} JSON objects instead of one")
        return distinct_objects[0] if distinct_objects else None


def _is_template(json_value: Any) -> bool:
    if isinstance(json_value, Mapping):  # a field of a JSON schema
        return not {"type", "enum", "const"}.isdisjoint(json_value)
    return isinstance(json_value, str) and _TEMPLATE.fullmatch(json_value.strip()) is not None


def json_reply(
    message: AIMessage,
    needed_fields: AbstractSet[str],
    *,
    list_field: str = "",
    aliases: Mapping[str, str] | None = None,
) -> dict[str, Any]:
    """Return the only JSON object with the needed fields in a reply; field names become lower case.

    The object may be in the text or in the arguments of a tool call. Surrounding words and other
    JSON are ignored. Broken JSON is repaired if only one reading is possible and the object then
    has every written field exactly once. Such faults are missing commas or quotes, trailing commas,
    comments, single or typographic quotes, and raw line breaks. A bare list of objects is read as
    the field ``list_field``. ``aliases`` maps other names to the needed ones.

    Raises:
        ValueError: There is no such object, or there are several different objects.
    """
    form = _Form(needed_fields, list_field, aliases or {})
    calls = [call["args"] for call in message.tool_calls]
    if calls and (json_object := form.sole(form.within(loads(json.dumps(calls, default=str))))):
        return json_object
    broken = [str(call["args"] or "") for call in message.invalid_tool_calls]
    if len(broken) + len(calls) > 1:
        raise ValueError(f"it made {len(broken) + len(calls)} tool calls instead of one")
    text = broken[0] if broken else reply_text(message)
    if not text.strip():
        reasoning = message.additional_kwargs.get("reasoning_content")
        if not isinstance(reasoning, str):
            raise FormlessReplyError("it was empty", empty=True)
        # vLLM puts replies here if its grammar restricts them to JSON
        if json_object := form.sole(form.within(loads(reasoning))):
            return json_object
        raise FormlessReplyError("it was empty except for the model's reasoning", empty=True)
    return _object_in(text, form)


def _object_in(text: str, form: _Form) -> dict[str, Any]:
    text = text.translate(_UNSEEN)
    whole = loads(text) if text.lstrip()[:1] in {*_BRACKETS, '"'} else None
    if whole is not None and (json_object := form.sole(form.within(whole))):
        return json_object  # plain JSON, like most replies, needs no further search
    typographic = text.translate(_TYPOGRAPHIC).replace("\\_", "_")  # as escaped for Markdown
    for variant, parse in ((text, loads), (text, _mended), (typographic, _mended)):
        if json_object := _one_of(_bracketed(variant), parse, variant, form):
            return json_object
    raise FormlessReplyError(_NOT_ONE_OBJECT, empty=is_empty(text))


def _one_of(
    parts: Iterable[str], parse: Callable[[str], Any], text: str, form: _Form
) -> dict[str, Any] | None:
    """Return the only object in a text; raise ValueError if its fields also occur elsewhere."""
    objects: list[dict[str, Any]] = []
    fields_in_parts = Counter[str]()
    for part in parts:
        json_value = parse(part)
        inside = [*form.within(json_value)]
        # a part that is valid JSON without such an object, such as a schema, is not a broken object
        if inside or (parse is loads and json_value is not None):
            fields_in_parts += _fields_written(part, quoted_only=True)
        objects += inside
    sole = form.sole(objects)
    everywhere = _fields_written(text, quoted_only=True)
    marks = {*form.needed, *form.aliases}
    if sole and any(everywhere[name] != fields_in_parts[name] for name in marks):
        raise ValueError(_NOT_ONE_OBJECT)  # the object is a fragment of a broken object
    return sole


def loads(text: str) -> Any:
    """Return a text's JSON value, or None if it is not JSON. Strings may have raw line breaks."""
    try:
        return json.loads(text, strict=False, object_pairs_hook=_unambiguous)
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


def _bracketed(text: str) -> Iterator[str]:
    """Yield the parts of a text between outermost brackets.

    An unclosed bracket in prose would hide everything after it, so a few such brackets are skipped.
    """
    start = 0
    for _ in range(_RESTARTS):
        parts, open_at = _outermost(text, start)
        yield from parts
        if open_at is None:
            return
        start = open_at + 1


def _outermost(text: str, start: int) -> tuple[list[str], int | None]:
    """Return the parts between matching outermost brackets, and an unclosed bracket's position."""
    parts: list[str] = []
    closing_signs: list[str] = []
    begins, in_string = start, False
    while mark := _JSON_MARK.search(text, start):
        sign, start = mark[0], mark.end()
        if in_string:
            start += sign == "\\"
            in_string = sign != '"'
        elif sign in _BRACKETS:
            begins = begins if closing_signs else mark.start()
            closing_signs.append(_BRACKETS[sign])
        elif closing_signs and sign == '"':
            in_string = True
        elif closing_signs and sign in "]}":
            if sign != closing_signs.pop():
                closing_signs = []
            elif not closing_signs:
                parts.append(text[begins:start])
    return parts, begins if closing_signs else None


def _mended(body: str) -> Any:
    """Return the value that json-repair reads, or None if that value repeats or lacks a field."""
    open_brackets = sum(map(body.count, "{[(")) - sum(map(body.count, "}])"))
    if not body or len(body) > _REPAIRABLE_CHARS or open_brackets > _MOST_UNCLOSED:
        return None
    try:
        json_value = loads(json.dumps(repair_json(body, return_objects=True)))
    except (ValueError, RecursionError):
        return None
    names_quoted, names_written = _fields_written(body, quoted_only=True), _fields_written(body)
    field_counts = _fields_of(json_value).items()
    return (
        json_value
        if all((names_quoted[name] or names_written[name]) == n for name, n in field_counts)
        else None
    )


def _fields_written(text: str, *, quoted_only: bool = False) -> Counter[str]:
    """Return how often each word occurs in a text as a field name."""
    return Counter(
        match["name"].lower() for match in _FIELD.finditer(text) if match["open"] or not quoted_only
    )


def _fields_of(json_value: Any) -> Counter[str]:
    counts = Counter[str]()
    parts = [json_value]
    while parts:
        part = parts.pop()
        if isinstance(part, Mapping):
            counts.update(part.keys())
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return counts


def json_texts(text: str) -> list[str] | None:
    """Return the texts of the JSON list in a reply, or None if the reply has no list.

    An object with a single list counts as that list. An object inside a list counts as its text.
    Several values in sequence count as a list.

    Raises:
        ValueError: The reply looks like JSON, but is not such a list.
    """
    bare = _ASSIGNED.sub("", _FENCE.sub("", text).translate(_UNSEEN).strip())
    texts = _bracketed_texts(bare)
    if texts is not None:
        return texts
    lines = [loads(line.strip(", \t\r")) for line in bare.splitlines()]
    if lines and all(isinstance(line, str) for line in lines):
        return [encodable(line) for line in lines]
    start = _start_of_list(bare)
    if start is None:
        return None
    texts = _repaired_texts(bare, start)
    if texts is None:
        raise ValueError("it was not a JSON list of texts")
    return texts


def _bracketed_texts(bare: str) -> list[str] | None:
    """Return the texts of a reply's valid lists; None unless they make up most of the reply."""
    parts = [*_bracketed(bare)]
    lists = [_texts_of(loads(part)) for part in parts]
    are_most = _letters("".join(parts)) * 2 > _letters(bare)
    if not (lists and all(lists) and are_most):
        return None
    return [text for texts in lists for text in texts or ()]


def _start_of_list(bare: str) -> int | None:
    """Return the position at which a damaged list begins, or None if the reply is prose.

    Prose may contain brackets too, so a list must make up most of the reply and have quotation
    marks.
    """
    start = min((at for sign in _BRACKETS if (at := bare.find(sign)) >= 0), default=-1)
    if start < 0 or 2 * _letters(bare[start:]) < _letters(bare):
        return None
    if not ('"' in bare or "'" in bare or bare[start] == bare[:1]):
        return None
    if start == 0 and not _is_closed(bare) and not re.match(r"[\[{]\s*[\"'{\[]", bare):
        return None
    return start


def _repaired_texts(bare: str, start: int) -> list[str] | None:
    """Return the texts of a damaged list, or None if repairing it would lose or add letters."""
    # json-repair would complete a truncated list
    if not _is_closed(bare) or len(bare) > _REPAIRABLE_CHARS:
        return None
    json_value = repair_json(bare[start:], return_objects=True)
    letters = _letters(json.dumps(json_value, ensure_ascii=False))
    return _texts_of(json_value) if letters == _letters(bare[start:]) else None


def _is_closed(bare: str) -> bool:
    return bare.rstrip(";) ").endswith(("]", "}"))


def _texts_of(json_value: Any, depth: int = _DEPTH) -> list[str] | None:
    """Return the texts of a list, or of an object's only list; None for any other value."""
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
    """Return the field of an object that holds the claims (a list or an object); None if unclear.

    It is the only list or object among the fields, or the field named ``claims`` or
    ``atomic_claims``. An object whose only field is a string counts as a list of that string.
    """
    lists = [part for part in fields.values() if isinstance(part, list | Mapping) and part]
    if len(lists) == 1:
        return lists[0]
    if lists:
        by_name = [fields[name] for name in ("claims", "atomic_claims") if name in fields]
        return by_name[0] if by_name else None
    text = _only_text(fields) if len(fields) == 1 else None
    return [text] if text else None


def _texts_in_element(element: Any, depth: int) -> list[str] | None:
    """Return the texts in an element of a list, or None if the element has no unambiguous text."""
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
