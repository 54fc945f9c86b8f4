"""Answers that are JSON: their values with their places, and what may stand in a value's place.

Places are in characters of the answer as it is, so that a new value leaves all else byte for byte.
"""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any, NamedTuple, NoReturn

_FENCE = "```"
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*+"?|[^\s\[\]{},:"]+|[\[\]{}]')
_NUMBER = re.compile(r"-?(?:0|[1-9]\d*)(?P<fraction>\.\d+)?(?P<exponent>[eE][+-]?\d+)?")
_GROUPED = re.compile(r"-?\d{1,3}(?:,\d{3})+(?:\.\d+)?")
_LONGEST_NUMBER = 40
_MOST_DEPTH, _LONGEST_KEY = 32, 200
_PATTERNS = ('"pattern"', '"patternProperties"')


class JsonValue(NamedTuple):
    """A text, a number or a truth value in a JSON answer, at a JSON pointer (RFC 6901)."""

    pointer: str
    start: int
    end: int


@lru_cache(maxsize=8)
def json_values(answer: str) -> tuple[JsonValue, ...] | None:
    """The values of a JSON object or array, in their order; None where the answer is neither.

    The answer may stand in a block of code. An array of numbers alone is no answer in JSON, and
    ``null`` no value. Nothing is found more than 32 levels deep or with a key of 200 characters.
    """
    text = inside_of(answer)
    if text.lstrip()[:1] not in ("{", "["):
        return None
    try:
        tree = json.loads(text, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return None
    if isinstance(tree, list) and all(isinstance(number, int | float | None) for number in tree):
        return None  # "[2]" cites a document
    tokens = _TOKEN.finditer(answer, answer.index(text), answer.index(text) + len(text))
    try:
        return tuple(_values_inside(next(tokens)[0], tokens))
    except _TooDeepError:
        return ()


def is_json(answer: str) -> bool:
    """Whether an answer is a JSON object or array."""
    return json_values(answer) is not None


def inside_of(answer: str) -> str:
    """The text of an answer without the block of code around it, if any."""
    text = answer.strip()
    head, line_end, rest = text.partition("\n")
    if line_end and head.strip() in (_FENCE, f"{_FENCE}json") and rest.endswith(_FENCE):
        return rest.removesuffix(_FENCE)
    return text


def said_by(literal: str) -> str:
    """The text of a value, without quotes and escapes."""
    value = json.loads(literal)
    return value if isinstance(value, str) else literal


def value_in(reply: str, answer: str, start: int) -> str:
    """The words of a reply for the value that begins at an offset of an answer.

    A reply that is JSON itself, as of a function that returns nothing else, says it at the value's
    pointer.
    """
    pointer = next((v.pointer for v in json_values(answer) or () if v.start == start), None)
    for value in json_values(reply) or ():
        if value.pointer == pointer:
            return said_by(reply[value.start : value.end])
    return reply


def new_literal(literal: str, text: str) -> str | None:
    """The JSON of a text that takes a value's place; None where it is not of the same type.

    A whole number is replaced by a whole number, and a truth value by none.
    """
    if literal.startswith('"'):
        return json.dumps(text, ensure_ascii="\\u" in literal)
    number_text = text.strip().rstrip(".")[: _LONGEST_NUMBER + 1]
    number_text = number_text.replace(",", "") if _GROUPED.fullmatch(number_text) else number_text
    old, new = _NUMBER.fullmatch(literal), _NUMBER.fullmatch(number_text)
    if not old or not new or len(number_text) > _LONGEST_NUMBER:
        return None
    whole = [not (number["fraction"] or number["exponent"]) for number in (old, new)]
    return number_text if whole[0] == whole[1] else None


def check_of(schema: Mapping[str, Any] | None) -> Callable[[str], str | None]:
    """A check that says why an answer is not valid by a JSON schema, or (None) JSON at all.

    Nothing is fetched for a schema. By one with patterns, which may take any time, none is valid.
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
            if any(name in json.dumps(schema) for name in _PATTERNS):
                return "the answer's schema has patterns, which are not checked"
            kind = jsonschema.validators.validator_for(schema)
            validator = kind(schema, registry=Registry(), format_checker=kind.FORMAT_CHECKER)
            valid = validator.is_valid(json.loads(inside_of(answer)))
        except (jsonschema.SchemaError, Unresolvable, TypeError, ValueError, RecursionError):
            return "the answer's schema cannot be used"
        return None if valid else "it would not be valid by the answer's schema"

    return check


class _TooDeepError(Exception):
    """A text is nested too deeply, or has a key that is too long, to say where its values are."""


def _values_inside(
    opening: str, tokens: Iterator[re.Match[str]], pointer: str = "", depth: int = 1
) -> Iterator[JsonValue]:
    """The values up to the bracket that closes this one, in a valid JSON text."""
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
    raise ValueError(f"{constant} is no JSON")
