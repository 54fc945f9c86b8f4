"""Reads the single JSON object in a model's reply.

A reply that is not plain JSON is repaired by json-repair. The repaired value is used only if it has
every field of the reply exactly once. A reply without JSON may have the same fields in YAML or in
tags. Nothing is guessed, and nothing that was cut off is completed.

Limits without a stated reason were chosen by hand.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from typing import Any, NamedTuple

from langchain_core.messages import AIMessage

from conflictscore.models.json_text import (
    BRACKETS,
    DEPTH,
    UNSEEN,
    bracketed,
    loads,
    repaired,
)
from conflictscore.models.marked_replies import tagged_fields, yaml_fields
from conflictscore.models.replies import FormlessReplyError, is_empty, reply_text
from conflictscore.records import encodable

_CALL_FIELDS = {"arguments", "parameters", "args", "input", "function", "result", "output"}
"""Fields that may contain an object as text. Text in other fields may quote a document."""
# A word before a colon, with or without quotation marks: the name of a field.
_FIELD = re.compile(
    r"(?P<open>(?:[\"'“”„«‹「『]\s?)?)\b(?P<name>\w+)\b(?:\s?[\"'“”«»\u203a」』])?\s{0,20}[:\uff1a]"
)
_TEMPLATE = re.compile(r"\.\.\.|…|<(?=[^<> a-z_]*+[ a-z_])[^<>]*+>|.*\|.*", re.DOTALL)
"""A placeholder that a reply copied from the prompt instead of writing a label.

Words in angle brackets are a placeholder only in lower case or with a space: ``<SUPPORTS>`` is a
label.
"""
_TYPOGRAPHIC = str.maketrans("“”„«»‹\u203a「」『』\uff02\uff1a\uff0c", '"' * 12 + ":,")
"""Maps typographic quotation marks, colons and commas to their JSON equivalents."""
_NOT_ONE_OBJECT = "it was not a single JSON object of the requested form"


class _Form(NamedTuple):
    """The requested JSON object, described by its fields."""

    needed: AbstractSet[str]
    """Fields that an object must have."""
    listed: str
    """The field to which a bare list of objects belongs; empty if no field is a list."""
    aliases: Mapping[str, str]
    """Maps other field names that models use to the names of the needed fields."""

    @property
    def names(self) -> AbstractSet[str]:
        """The names of the needed fields, and their aliases."""
        return self.needed | self.aliases.keys()

    def named(self, fields: Mapping[str, Any]) -> Mapping[str, Any] | None:
        """Return the fields with their aliases replaced; None if a needed field is missing."""
        if self.needed <= fields.keys():
            return fields
        own = {self.aliases.get(name, name): part for name, part in fields.items()}
        return own if self.needed <= own.keys() and len(own) == len(fields) else None

    def within(self, json_value: Any, depth: int = DEPTH) -> Iterator[dict[str, Any]]:
        """Yield the objects of this form in a JSON value, which may be such an object itself."""
        if not depth:
            return
        if isinstance(json_value, str) and json_value.lstrip()[:1] in {*BRACKETS, '"'}:
            yield from self.within(loads(json_value), depth - 1)
        elif isinstance(json_value, list):
            yield from self._within_list(json_value, depth)
        elif isinstance(json_value, Mapping):
            yield from self._within_object(json_value, depth)

    def _within_list(self, elements: list[Any], depth: int) -> list[dict[str, Any]]:
        """Return the objects in a list; if there are none, the list itself may be the object."""
        objects = [
            json_object for element in elements for json_object in self.within(element, depth - 1)
        ]
        all_mappings = bool(elements) and all(isinstance(element, Mapping) for element in elements)
        if self.listed and not objects and all_mappings:
            # the reply lacks the object around its list, as in ``[{"claim": …}, …]``
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
        """Return the only object that is not a template copy; raise ValueError for several."""
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
    JSON are ignored. Broken JSON is repaired on two conditions: only one reading is possible, and
    the repaired object has every field of the text exactly once. Examples are missing commas or
    quotes, trailing commas, comments, single or typographic quotes, and raw line breaks. Text
    without JSON is read only if all of it is YAML or consists of tags. A bare list of objects is
    read as the field ``list_field``. ``aliases`` maps other names to the names of the needed
    fields.

    Raises:
        ValueError: There is no such object, or there are several different objects.
    """
    form = _Form(needed_fields, list_field, aliases or {})
    arguments = _arguments(message)
    contents = [*map(loads, arguments)]
    if contents and (json_object := form.sole(form.within(contents))):
        return json_object
    if len(arguments) > 1:
        raise ValueError(f"it made {len(arguments)} tool calls instead of one")
    # if the arguments of a single call are not JSON, they are repaired like text
    text = arguments[0] if contents == [None] else reply_text(message)
    # in a tagged verdict, the element <reasoning> would look like a block of reasoning
    has_tags = not isinstance(message.content, str) or "</" in message.content
    fields = tagged_fields(message.text, form.names) if has_tags else None
    if fields is not None and (json_object := form.sole(form.within(fields))):
        return json_object
    if not text.strip():
        reasoning = message.additional_kwargs.get("reasoning_content")
        if not isinstance(reasoning, str):
            raise FormlessReplyError("it was empty", empty=True)
        # vLLM puts replies here if its grammar restricts them to JSON
        if json_object := form.sole(form.within(loads(reasoning))):
            return json_object
        raise FormlessReplyError("it was empty except for the model's reasoning", empty=True)
    return _object_in(text, form)


def _arguments(message: AIMessage) -> list[str]:
    """Return the arguments of each call in a reply, as JSON text; skip calls without arguments.

    LangChain's parser keeps only the last of two fields with the same name. So if the client kept
    the text that the server sent, this text is returned instead of LangChain's.
    """
    calls = message.additional_kwargs.get("tool_calls")
    if not message.tool_calls and not message.invalid_tool_calls:
        # servers with OpenAI's first form of calls send a single call in this field
        call = message.additional_kwargs.get("function_call")
        return [] if call is None else _texts([call])
    if isinstance(calls, list) and len(calls) == len(message.tool_calls):
        functions = [call.get("function") for call in calls if isinstance(call, Mapping)]
    else:
        functions = [{"arguments": call["args"]} for call in message.tool_calls]
    functions += [{"arguments": call["args"]} for call in message.invalid_tool_calls]
    return _texts(functions)


def _texts(functions: Iterable[Any]) -> list[str]:
    """Return the arguments of calls as JSON text, without empty ones."""
    arguments = [call.get("arguments") for call in functions if isinstance(call, Mapping)]
    texts = (each if isinstance(each, str) else json.dumps(each, default=str) for each in arguments)
    return [text for text in texts if not is_empty(text)]


def _object_in(text: str, form: _Form) -> dict[str, Any]:
    """Return the object in a reply's text: as plain JSON, then as damaged JSON, tags or YAML."""
    text = text.translate(UNSEEN)
    whole = loads(text) if text.lstrip()[:1] in {*BRACKETS, '"'} else None
    if whole is not None and (json_object := form.sole(form.within(whole))):
        return json_object  # Most replies are plain JSON and end here.
    typographic = text.translate(_TYPOGRAPHIC).replace("\\_", "_")  # Undo escapes for Markdown.
    for variant, parse in ((text, loads), (text, _mended), (typographic, _mended)):
        if json_object := _one_of(bracketed(variant), parse, variant, form):
            return json_object
    for fields in (tagged_fields(text, form.names), yaml_fields(text, form.names)):
        if json_object := form.sole(form.within(fields)):
            return json_object
    raise FormlessReplyError(_NOT_ONE_OBJECT, empty=is_empty(text))


def _one_of(
    parts: Iterable[str], parse: Callable[[str], Any], text: str, form: _Form
) -> dict[str, Any] | None:
    """Return the only object in the parts; raise ValueError if its fields also occur elsewhere."""
    objects: list[dict[str, Any]] = []
    fields_in_parts = Counter[str]()
    for part in parts:
        json_value = parse(part)
        inside = [*form.within(json_value)]
        # a part that is valid JSON but contains no such object, such as a schema, is not a broken
        # object
        if inside or (parse is loads and json_value is not None):
            fields_in_parts += _fields_written(part, quoted_only=True)
        objects += inside
    sole = form.sole(objects)
    everywhere = _fields_written(text, quoted_only=True)
    if sole and any(everywhere[name] != fields_in_parts[name] for name in form.names):
        raise ValueError(_NOT_ONE_OBJECT)  # the object is a fragment of a broken object
    return sole


def _mended(body: str) -> Any:
    """Return the value that json-repair reads; None if a field of the text is repeated or lost."""
    try:
        json_value = loads(json.dumps(repaired(body)))
    except (ValueError, RecursionError):
        return None
    # a name without quotation marks counts only if it is never quoted, since the same word may
    # stand before a colon inside a string
    names_quoted, names_written = _fields_written(body, quoted_only=True), _fields_written(body)
    field_counts = _fields_of(json_value).items()
    return (
        json_value
        if all((names_quoted[name] or names_written[name]) == n for name, n in field_counts)
        else None
    )


def _fields_written(text: str, *, quoted_only: bool = False) -> Counter[str]:
    """Return how often each word occurs as a field name.

    If ``quoted_only``, only names in quotation marks count.
    """
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
