"""The values of JSON answers: their places, and which values may replace them."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from conflictscore.json_answers import check_of, inside_of, json_values, new_literal, said_by
from conflictscore.markdown import misfit, passages, spliced


def _has_more(value: Any) -> bool:
    """Whether it is an object, or an array with more than numbers, since "[2]" cites a document."""
    return isinstance(value, dict) or (
        isinstance(value, list) and any(isinstance(one, str | dict | list) for one in value)
    )


_LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text()
)
TREES = st.recursive(
    _LEAVES,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=9), inner),
    max_leaves=12,
).filter(_has_more)
WRITTEN = st.builds(
    lambda value, indent, ascii_: json.dumps(value, indent=indent, ensure_ascii=ascii_),
    TREES,
    st.sampled_from([None, 0, 2]),
    st.booleans(),
)


def at(value: Any, pointer: str) -> Any:
    """The value at a JSON pointer."""
    for step in pointer.split("/")[1:]:
        key = step.replace("~1", "/").replace("~0", "~")
        value = value[int(key)] if isinstance(value, list) else value[key]
    return value


def leaves_of(value: Any) -> list[Any]:
    """All values except null, in order."""
    if isinstance(value, dict | list):
        inner = value.values() if isinstance(value, dict) else value
        return [leaf for one in inner for leaf in leaves_of(one)]
    return [] if value is None else [value]


@given(WRITTEN)
def test_every_value_is_found_at_its_place_and_pointer(text: str) -> None:
    tree, found = json.loads(text), json_values(text)

    assert found is not None
    assert [json.loads(text[v.start : v.end]) for v in found] == leaves_of(tree)
    assert all(at(tree, v.pointer) == json.loads(text[v.start : v.end]) for v in found)


@given(WRITTEN, st.data())
def test_a_new_value_changes_itself_alone(text: str, data: st.DataObject) -> None:
    tree, found = json.loads(text), json_values(text)
    assert found is not None
    if not found:
        return
    value = data.draw(st.sampled_from(found))
    before, said = text[value.start : value.end], data.draw(st.text(min_size=1) | st.just("12"))
    literal = new_literal(before, said)
    [passage] = [p for p in passages(text) if p.start == value.start]
    assert (misfit(text, passage, said) is None) == (literal is not None)
    if literal is None:
        return
    changed = json.loads(spliced(text, [(value.start, value.end, literal)]))
    assert type(at(changed, value.pointer)) is type(at(tree, value.pointer))
    assert said_by(literal) == said or isinstance(at(tree, value.pointer), int | float)
    assert len(leaves_of(changed)) == len(found)


@given(st.text() | WRITTEN.map(lambda text: f"{text}x"))
def test_any_other_text_is_no_json_answer(text: str) -> None:
    try:
        is_tree = isinstance(json.loads(inside_of(text)), dict | list)
    except (ValueError, RecursionError):
        is_tree = False
    assert is_tree or json_values(text) is None


@pytest.mark.parametrize(
    ("literal", "text", "new"),
    [
        ("1871", "1874", "1874"),
        ("1871", "1,874", "1874"),
        ("1871", "1874.5", None),
        ("1871", "about 1874", None),
        ("1.5", "2.25", "2.25"),
        ("true", "false", None),
        ('"Ada"', 'Bo "B" Lund', r'"Bo \"B\" Lund"'),
        (r'"Zo\u00eb"', "Zoé", r'"Zo\u00e9"'),
    ],
)
def test_a_value_is_replaced_by_one_of_its_type(literal: str, text: str, new: str | None) -> None:
    assert new_literal(literal, text) == new


def test_a_block_of_code_may_stand_around_the_answer() -> None:
    text = '```json\n{"lit": 1871}\n```\n'

    [value] = json_values(text) or ()

    assert (value.pointer, text[value.start : value.end]) == ("/lit", "1871")


def test_values_nested_too_deeply_are_left_alone() -> None:
    assert json_values('{"a":' * 40 + "1" + "}" * 40) == ()
    assert json_values("[" * 100_000 + "]" * 100_000) in (None, ())


@pytest.mark.parametrize(
    ("schema", "answer", "valid"),
    [
        (None, '{"lit": 1}', True),
        (None, "{", False),
        ({"properties": {"lit": {"enum": [1871, 1874]}}}, '{"lit": 1874}', True),
        ({"properties": {"lit": {"enum": [1871, 1874]}}}, '{"lit": 1875}', False),
        ({"properties": {"day": {"format": "date"}}}, '{"day": "1874-13-01"}', False),
        ({"$ref": "https://elsewhere.test/schema"}, "{}", False),
        (
            {"properties": {"a": {"pattern": "(a+)+$"}}},
            '{"a": "aaaaaaaaaaaaaaaaaaaaaaaaaaaab"}',
            False,
        ),
        ({"type": 7}, "{}", False),
    ],
)
def test_an_answer_is_held_against_its_schema(schema: Any, answer: str, valid: bool) -> None:
    assert (check_of(schema)(answer) is None) is valid


@pytest.mark.parametrize(
    ("schema", "is_refused"),
    [
        ({"properties": {"pattern": {"type": "string"}}}, False),
        ({"properties": {"colour": {"type": "string", "pattern": "(a+)+$"}}}, True),
        ({"properties": {"pattern": {"type": "string", "pattern": "(a+)+$"}}}, True),
        ({"patternProperties": {"^a": {}}}, True),
        ({"$defs": {"x": {"anyOf": [{"pattern": "a"}]}}, "$ref": "#/$defs/x"}, True),
    ],
)
def test_only_a_schema_with_regular_expressions_is_refused(schema: Any, is_refused: bool) -> None:
    reason = check_of(schema)('{"pattern": "stripes"}')

    assert (reason is not None and "patterns" in reason) is is_refused


def test_a_schema_that_contains_itself_cannot_be_used() -> None:
    schema: dict[str, Any] = {}
    schema["properties"] = {"a": schema}

    assert check_of(schema)('{"a": "b"}') == "the answer's schema cannot be used"
