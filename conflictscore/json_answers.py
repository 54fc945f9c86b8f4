"""Locates the values in answers that are JSON, and decides which texts may replace a value.

Offsets count characters of the raw answer, so replacing a value leaves every other byte unchanged.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

_FENCE = "```"
# The tokens of JSON: strings (perhaps cut off), other values, and brackets.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[^\s\[\]{},:"]+|[\[\]{}]')
# A number as JSON writes it.
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d+)?")
# Numbers with commas between thousands, which JSON does not allow but models write.
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# Limits on untrusted text, chosen by hand and far above what answers contain: lengths in
# characters, and the levels of nesting. The depth also bounds the recursion, and the length of a
# key bounds the pointers, which repeat the keys of all enclosing objects. Beyond these two limits,
# no value of an answer can be located, and the run says that its values were not split into claims.
_LONGEST_NUMBER = 40
_MOST_DEPTH, _LONGEST_KEY = 32, 200


class JsonValue(NamedTuple):
    """A string, number or boolean in a JSON answer, with its JSON pointer (RFC 6901) and span."""

    pointer: str
    start: int
    end: int


# several steps of a run read the same one or two answers
@lru_cache(maxsize=8)
def json_values(answer: str) -> tuple[JsonValue, ...] | None:
    """Return the values of a JSON object or array, in order, or None if the answer is neither.

    The answer may be in a code block. An array without a string, object or array may be a citation,
    such as [2], so it does not count as a JSON answer. ``null`` is not a value. No values are
    returned if the answer is nested more than 32 levels deep, or has a key of about 200 characters
    or more.
    """
    text = inside_of(answer)
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        tree = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if isinstance(tree, list) and all(isinstance(number, int | float | None) for number in tree):
        return None
    tokens = _TOKEN.finditer(answer, answer.index(text), answer.index(text) + len(text))
    try:
        return tuple(_values_inside(next(tokens)[0], tokens))
    except _TooDeepError:
        return ()


def is_json(answer: str) -> bool:
    """Return whether an answer is a JSON object or array."""
    return json_values(answer) is not None


def inside_of(answer: str) -> str:
    """Return the text of an answer, without a code block around it."""
    text = answer.strip()
    head, line_end, rest = text.partition("\n")
    if line_end and head.strip() in (_FENCE, f"{_FENCE}json") and rest.endswith(_FENCE):
        return rest.removesuffix(_FENCE)
    return text


def said_by(literal: str) -> str:
    """Return the text of a JSON literal, without quotes and escapes."""
    value = json.loads(literal)
    return value if isinstance(value, str) else literal


def value_in(reply: str, answer: str, start: int) -> str:
    """Return the part of a reply that corresponds to the value at offset ``start`` of an answer.

    If the reply is JSON too, the part is the value at the same JSON pointer; otherwise, it is the
    whole reply.
    """
    pointer = next((v.pointer for v in json_values(answer) or () if v.start == start), None)
    for value in json_values(reply) or ():
        if value.pointer == pointer:
            return said_by(reply[value.start : value.end])
    return reply


def new_literal(literal: str, text: str) -> str | None:
    """Return a text as a JSON literal of the same type as another literal, or None if it has none.

    An integer can only be replaced by an integer. A boolean cannot be replaced, since no document
    states it as such.
    """
    # A string is escaped like the string that it replaces.
    if literal.startswith('"'):
        return json.dumps(text, ensure_ascii="\\u" in literal)
    number_text = text.strip().rstrip(".")[: _LONGEST_NUMBER + 1]
    number_text = number_text.replace(",", "") if _GROUPED.fullmatch(number_text) else number_text
    old, new = _NUMBER.fullmatch(literal), _NUMBER.fullmatch(number_text)
    if not old or not new or len(number_text) > _LONGEST_NUMBER:
        return None
    # a program that reads an integer would fail at 3.5, and a rating of 4.5 should not become 4
    whole = [not (number["fraction"] or number["exponent"]) for number in (old, new)]
    return number_text if whole[0] == whole[1] else None


def check_of(schema: Mapping[str, Any] | None) -> Callable[[str], str | None]:
    """Return a function that says why an answer violates a JSON schema (None if it is valid).

    Without a schema, the function only checks that the answer is JSON. References in a schema are
    not fetched. A schema with patterns accepts no answer, since matching patterns may take any
    amount of time.
    """

    def check(answer: str) -> str | None:
        if not is_json(answer):
            return "it would not be valid JSON"
        if schema is None:
            return None
        import jsonschema
        from referencing import Registry
        from referencing.exceptions import Unresolvable

        try:
            if _has_patterns(json.loads(json.dumps(schema))):  # a copy, which has no cycles
                return "the answer's schema has patterns, which are not checked"
            kind = jsonschema.validators.validator_for(schema)
            validator = kind(schema, registry=Registry(), format_checker=kind.FORMAT_CHECKER)
            valid = validator.is_valid(json.loads(inside_of(answer)))
        except (jsonschema.SchemaError, Unresolvable, TypeError, ValueError, RecursionError):
            return "the answer's schema cannot be used"
        return None if valid else "it would violate the answer's schema"

    return check


def _has_patterns(schema: object) -> bool:
    """Return whether a JSON schema has regular expressions, whose time need not be linear.

    A property may be named "pattern"; its value is then a schema instead of a string.
    """
    parts = [schema]
    while parts:
        part = parts.pop()
        if isinstance(part, dict):
            if isinstance(part.get("pattern"), str) or "patternProperties" in part:
                return True
            parts += part.values()
        elif isinstance(part, list):
            parts += part
    return False


class _TooDeepError(Exception):
    """A text's values cannot be located: it is nested too deeply, or has too long a key."""


def _values_inside(
    opening: str, tokens: Iterator[re.Match[str]], pointer: str = "", depth: int = 1
) -> Iterator[JsonValue]:
    """Yield the values in a valid JSON text, up to the bracket that closes ``opening``."""
    if depth > _MOST_DEPTH:
        raise _TooDeepError
    for index, token in enumerate(tokens):
        step = str(index)
        if token[0] in "}]":
            return
        if opening == "{":
            if len(token[0]) > _LONGEST_KEY:
                raise _TooDeepError
            step, token = json.loads(token[0]), next(tokens)
        inside = f"{pointer}/{step.replace('~', '~0').replace('/', '~1')}"
        if token[0] in "{[":
            yield from _values_inside(token[0], tokens, inside, depth + 1)
        elif token[0] != "null":
            yield JsonValue(inside, token.start(), token.end())


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is not JSON")
