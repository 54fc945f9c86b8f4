"""Finding the single JSON object of a reply, and refusing everything else."""

import pytest
from langchain_core.messages import AIMessage

from conflictscore.models.json_lists import json_texts
from conflictscore.models.json_replies import json_reply

GOOD = '{"snippet": "lit in 1871", "answer": "SUPPORTS"}'
NEEDED = frozenset({"answer"})
READ = {"snippet": "lit in 1871", "answer": "SUPPORTS"}


@pytest.mark.parametrize(
    "reply",
    [
        GOOD,
        f"```json\n{GOOD}\n```",
        f"It says {{so}}, so:\n{GOOD}\nThat is all {{sic}}.",
        f"[{GOOD}]",
        f"{GOOD}\n{GOOD}",
        GOOD.replace('"}', '",}'),
        GOOD.replace('"answer"', '"Answer"'),
        GOOD.replace('"', "'"),
        GOOD.replace(', "', ' "'),
        GOOD.replace("{", "{ // the verdict\n"),
        f'{{"name": "evidence_label", "arguments": {GOOD}}}',
        f"<tool_call>\n{{'name': 'evidence_label', 'arguments': {GOOD}}}\n</tool_call>",
        "{ " + GOOD,
        f'{{"result": {GOOD}, "confidence": NaN}}',
        f'{{"answer": "SUPPORTS | CONTRADICTS"}}\n{GOOD}',
        f'{{"properties": {{"answer": {{"type": "string"}}}}}}\n{GOOD}',
        "“snippet”\uff1a “lit in 1871”\uff0c “answer”\uff1a “SUPPORTS”".join("{}"),
    ],
)
def test_damage_that_loses_nothing_is_undone(reply: str) -> None:
    assert json_reply(AIMessage(reply), NEEDED) == READ


def test_a_string_may_have_raw_line_breaks_and_quotation_marks() -> None:
    assert json_reply(AIMessage('{"snippet": "a\nb", "answer": "C"}'), NEEDED)["snippet"] == "a\nb"
    reply = '{"snippet": "He said "no" to it", "answer": "C"}'
    assert json_reply(AIMessage(reply), NEEDED) == {"snippet": 'He said "no" to it', "answer": "C"}


@pytest.mark.parametrize(
    "reply",
    [
        "It supports the claim.",
        "[1871]",
        "{}",
        '{"snippet": "lit in 1871", "answ',
        '{"snippet": "lit in 1871", "answer": "SUPP',
        '{"snippet": "lit in 1871", "answer": SUPP',
        f"{GOOD}\n{GOOD.replace('SUPPORTS', 'CONTRADICTS')}",
        f'{{"first": {GOOD}, "second": {{"answer": "CONTRADICTS"}}}}',
        '{"snippet": "{\\"answer\\": \\"SUPPORTS\\"}", "finding": "CONTRADICTS"}',
        '{"answer": "SUPPORTS", "answer": "CONTRADICTS"}',
        '{"snippet": "it reads "answer": "SUPPORTS" there", "answer": "CONTRADICTS"}',
        '{"snippet": "it reads {"answer": "SUPPORTS"}", "answer": "CONTRADICTS"}',
        '{"snippet": "5" by {"answer": "SUPPORTS"}", "answer": "CONTRADICTS"}',
    ],
)
def test_what_is_cut_or_can_be_read_in_two_ways_is_refused(reply: str) -> None:
    with pytest.raises(ValueError, match="JSON object"):
        json_reply(AIMessage(reply), NEEDED)


def test_a_verdict_may_come_as_a_tool_call() -> None:
    call = {"name": "evidence_label", "args": READ, "id": "1", "type": "tool_call"}
    assert json_reply(AIMessage("", tool_calls=[call]), NEEDED) == READ
    broken = {"name": "evidence_label", "args": GOOD[:-1] + ",}", "id": "1", "error": None}
    message = AIMessage("", invalid_tool_calls=[{**broken, "type": "invalid_tool_call"}])
    assert json_reply(message, NEEDED) == READ
    assert json_reply(AIMessage("", tool_calls=[call, {**call, "id": "2"}]), NEEDED) == READ
    other = {**call, "args": {**READ, "answer": "CONTRADICTS"}, "id": "2"}
    with pytest.raises(ValueError, match="2 JSON objects"):
        json_reply(AIMessage("", tool_calls=[call, other]), NEEDED)


def test_a_call_in_the_old_field_is_read_and_a_repeated_argument_is_not_overlooked() -> None:
    legacy = {"function_call": {"name": "evidence_label", "arguments": GOOD}}
    assert json_reply(AIMessage("", additional_kwargs=legacy), NEEDED) == READ
    not_text = {"function_call": {"name": "evidence_label", "arguments": dict(READ)}}
    assert json_reply(AIMessage("", additional_kwargs=not_text), NEEDED) == READ
    assert json_reply(AIMessage(GOOD, additional_kwargs={"function_call": {}}), NEEDED) == READ
    arguments = '{"answer": "SUPPORTS", "answer": "CONTRADICTS"}'
    function = {"name": "evidence_label", "arguments": arguments}
    parsed = {"name": "evidence_label", "args": {"answer": "CONTRADICTS"}, "id": "1"}
    message = AIMessage(
        "",
        tool_calls=[{**parsed, "type": "tool_call"}],
        additional_kwargs={"tool_calls": [{"id": "1", "function": function}]},
    )
    with pytest.raises(ValueError, match="JSON object"):
        json_reply(message, NEEDED)


@pytest.mark.parametrize(
    "reply",
    [
        "snippet: lit in 1871\nanswer: SUPPORTS",
        "```yaml\nsnippet: 'lit in 1871'\nanswer: SUPPORTS\n```",
        "**Snippet:** lit in 1871\n**Answer**: SUPPORTS",
        "result:\n  snippet: >-\n    lit in\n    1871\n  answer: SUPPORTS",
        "<snippet>lit in 1871</snippet><answer>SUPPORTS</answer>",
        "<?xml version='1.0'?>\n<verdict>\n <snippet>lit in 1871</snippet>\n"
        " <answer>SUPPORTS</answer>\n</verdict>",
    ],
)
def test_a_verdict_may_be_yaml_or_tags(reply: str) -> None:
    assert json_reply(AIMessage(reply), NEEDED) == READ


def test_a_tag_named_reasoning_is_no_block_of_reasoning_in_a_verdict() -> None:
    reply = "<answer>SUPPORTS</answer><reasoning>lit &amp; seen</reasoning>"
    assert json_reply(AIMessage(reply), NEEDED) == {"answer": "SUPPORTS", "reasoning": "lit & seen"}
    reply = "<think>Hm, <b>no</b>.</think><answer>SUPPORTS</answer>"
    assert json_reply(AIMessage(reply), NEEDED) == {"answer": "SUPPORTS"}


@pytest.mark.parametrize(
    "reply",
    [
        "It is clear.\nanswer: SUPPORTS",
        "answer: SUPPORTS\nanswer: CONTRADICTS",
        "answer: SUPPORTS | CONTRADICTS | IRRELEVANT",
        "snippet: our #1 lake\nanswer: SUPPORTS # or not",
        "answer: &a SUPPORTS\nreasoning: *a",
        "It says <answer>SUPPORTS</answer> there.",
        "<answer>SUPPORTS</answer><answer>CONTRADICTS</answer>",
        "<verdict><answer>SUPPORTS</answer> or not</verdict>",
        "<snippet>a</snippet><answer>SUPPORTS",
    ],
)
def test_yaml_or_tags_that_are_only_part_of_a_reply_or_say_two_things_are_refused(
    reply: str,
) -> None:
    with pytest.raises(ValueError, match="JSON object"):
        json_reply(AIMessage(reply), NEEDED)


@pytest.mark.parametrize(
    "reply",
    [
        "verdicts:\n- claim: 101\n  answer: SUPPORTS\n- claim: 102\n  answer: IRRELEVANT",
        "<verdicts><verdict><claim>101</claim><answer>SUPPORTS</answer></verdict>"
        "<verdict><claim>102</claim><answer>IRRELEVANT</answer></verdict></verdicts>",
    ],
)
def test_a_list_of_verdicts_may_be_yaml_or_tags(reply: str) -> None:
    [first, second] = json_reply(AIMessage(reply), frozenset({"verdicts"}))["verdicts"]
    assert (int(first["claim"]), first["answer"]) == (101, "SUPPORTS")
    assert (int(second["claim"]), second["answer"]) == (102, "IRRELEVANT")


def test_plain_values_of_yaml_are_those_of_json_and_quoted_ones_are_texts() -> None:
    reply = 'a: 7\nb: "7"\nc: true\nd: NO\ne: 1.2.3\nf: -0.5\ng: null\nh: 007'
    expected = {"a": 7, "b": "7", "c": True, "d": "NO", "e": "1.2.3", "f": -0.5, "g": None}
    assert json_reply(AIMessage(reply), frozenset({"a"})) == {**expected, "h": "007"}


def test_an_object_that_a_server_took_for_reasoning_is_read_and_nothing_else_of_it() -> None:
    assert json_reply(AIMessage("", additional_kwargs={"reasoning_content": GOOD}), NEEDED) == READ
    thought = AIMessage("", additional_kwargs={"reasoning_content": f"I would say {GOOD}"})
    with pytest.raises(ValueError, match="reasoning"):
        json_reply(thought, NEEDED)


def test_a_bare_list_of_objects_is_the_value_of_the_listed_field() -> None:
    items = '[{"claim": 1}, {"claim": 2}]'
    read = {"verdicts": [{"claim": 1}, {"claim": 2}]}
    for reply in (items, f'{{"verdicts": {items}}}', f'{{"labels": {items}}}', f"So:\n{items}"):
        assert json_reply(AIMessage(reply), frozenset({"verdicts"}), list_field="verdicts") == read


@pytest.mark.parametrize(
    "reply",
    [
        *('["a", "b"]', '["a", "b",]', "['a', 'b']", 'claims = ["a", "b"]', '[["a"], ["b"]]'),
        *('{"claims": ["a", "b"], "count": 2}', '{"data": {"claims": ["a", "b"]}}'),
        *('[{"claim": "a", "id": "c1"}, {"claim": "b"}]',),
        *('{"claim": "a"}\n{"claim": "b"}', '"a",\n"b"', '[{"of": "x", "claims": ["a", "b"]}]'),
    ],
)
def test_a_list_of_texts_is_read_in_each_of_its_forms(reply: str) -> None:
    assert json_texts(reply) == ["a", "b"]


def test_a_reply_without_a_list_of_texts_gives_none_or_is_refused() -> None:
    assert json_texts("[Gate] opens at nine.") is None
    for reply in ("[1, 2]", '{"a": 1, "b": 2}', '[{"a": "x", "b": "y"}]', '["a", "b'):
        with pytest.raises(ValueError, match="list"):
            json_texts(reply)


@pytest.mark.parametrize("reply", ["[" * 9_000 + '"a"]', '[{"claim": ' * 900 + '"a"]'])
def test_a_list_that_is_nested_too_deep_is_refused_as_unreadable(reply: str) -> None:
    with pytest.raises(ValueError, match="list"):
        json_texts(reply)


def test_lists_of_claims_by_topic_are_joined_unless_a_name_speaks_against_it() -> None:
    opened, built = "The museum opened in 1901.", "Ada Holm built it."
    assert json_texts(f'{{"Dates": ["{opened}"], "People": ["{built}"]}}') == [opened, built]
    assert json_texts(f'{{"claims": {{"a": ["{opened}"], "b": ["{built}"]}}}}') == [opened, built]
    for other in (f'"left out": ["{built}"]', f'"Not stated": ["{built}"]', '"b": ["x"]'):
        with pytest.raises(ValueError, match="list"):
            json_texts(f'{{"Facts": ["{opened}"], {other}}}')
