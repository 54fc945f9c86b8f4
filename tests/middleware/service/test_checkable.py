"""Which requests are checked, with tools and without, and which cannot be checked."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.fakes.openai_server import OpenAIServer, Reply
from tests.middleware.service.serving import (
    AGREEING,
    CALL,
    DETAILED,
    PICTURE,
    TOOL,
    ChatWorld,
    Served,
    asking,
    completion_with,
    events_in,
    serving,
    user,
)


def brought(content: str) -> list[dict[str, Any]]:
    """A conversation in which a tool has returned this text."""
    called = {"role": "assistant", "content": None, "tool_calls": [CALL]}
    return [*user(), called, {"role": "tool", "tool_call_id": "call_1", "content": content}]


class TestTools:
    @pytest.mark.parametrize("stream", [False, True])
    def test_tool_calls_pass_through(self, world: ChatWorld, served: Served, stream: bool) -> None:
        world.plain = completion_with({"content": None, "tool_calls": [CALL]}, "tool_calls")

        reply = served.ask(tools=[TOOL], stream=stream)

        if stream:
            said = [data for _, data in events_in(reply.text)]
            [called] = [d for d in said[:-1] if d["choices"][0]["delta"].get("tool_calls")]
            assert called["choices"][0]["delta"] == {"tool_calls": [{**CALL, "index": 0}]}
            assert said[-2]["choices"][0]["finish_reason"] == "tool_calls"
            assert said[-2]["conflictscore"]["status"] == "passed-through"
        else:
            [choice] = reply.json()["choices"]
            assert choice["message"]["tool_calls"] == [CALL]
            assert (choice["message"]["content"], choice["finish_reason"]) == (None, "tool_calls")
            assert reply.headers["x-conflictscore-status"] == "passed-through"
            assert reply.json()["usage"] == DETAILED
            assert (reply.json()["model"], reply.json()["x_upstream"]) == ("scripted", "kept")
        assert world.handed_on[0].body["tools"] == [TOOL]
        assert world.asked.total() == 0

    def test_no_call_of_the_loop_is_offered_tools(self, world: ChatWorld, served: Served) -> None:
        about = {
            "tools": [TOOL],
            "tool_choice": "auto",
            "parallel_tool_calls": False,
            "functions": [TOOL["function"]],
            "function_call": "auto",
            "web_search_options": {"search_context_size": "low"},
        }

        reply = served.ask(**about)

        [first] = world.handed_on
        assert {name: first.body.get(name) for name in about} == about
        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
        assert not any(
            about.keys() & r.body.keys() for r in served.upstream.requests if r is not first
        )

    def test_the_answer_after_tool_calls_is_checked_against_what_the_tools_returned(
        self, world: ChatWorld
    ) -> None:
        found = [{"text": "The lamp was lit in 1871."}, {"text": "The lamp was lit in 1874."}]
        conversation = brought(json.dumps(found))

        with serving(world, found=AGREEING) as served:
            reply = served.ask(conversation, tools=[TOOL])
            run = served.run(reply)

        assert world.handed_on[0].messages == conversation
        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
        assert [document["text"] for document in run["documents"]] == [d["text"] for d in found]

    def test_plain_text_of_a_tool_is_one_document_named_after_it(self, served: Served) -> None:
        run = served.run(served.ask(brought("The lamp was lit in 1871.")))

        [document] = run["documents"]
        assert (document["title"], document["text"]) == ("look_up", "The lamp was lit in 1871.")


UNCHECKED: list[tuple[Mapping[str, Any], str]] = [
    ({"messages": user([{"type": "text", "text": "What is this?"}, PICTURE])}, "more than text"),
    ({"n": 2}, "n is 2"),
    ({"logprobs": True}, "logprobs"),
    ({"response_format": {"type": "grammar"}}, "grammar"),
    ({"modalities": ["text", "audio"]}, "modalities"),
    ({"messages": [{"role": "system", "content": "Hello."}]}, "no user message"),
    ({"messages": [*user(), {"role": "assistant", "content": "It was"}]}, "by the assistant"),
]


@pytest.mark.parametrize(("more", "reason"), UNCHECKED, ids=[reason for _, reason in UNCHECKED])
class TestWhatCannotBeChecked:
    @pytest.mark.parametrize("stream", [False, True])
    def test_it_passes_untouched_and_the_body_says_that_it_was_not_checked(
        self, world: ChatWorld, served: Served, more: Mapping[str, Any], reason: str, stream: bool
    ) -> None:
        world.plain = Reply("A lamp.", logprobs={"A": -0.1})

        create = served.openai.chat.completions.with_raw_response.create
        reply: Any = create(**asking(**more), stream=stream)
        said = reply.parse()
        chunks = list(said) if stream else [said]
        *before, field = [one.model_extra.get("conflictscore") for one in chunks]
        run = served.run(reply)

        [request] = served.upstream.requests
        assert {name: request.body[name] for name in more} == more
        assert "A " in "".join(chunk.model_dump_json() for chunk in chunks)
        assert reason in run["notes"][0]
        assert not any(before), "the last chunk alone has it"
        assert reply.headers["x-conflictscore-status"] == "passed-through"
        assert (field["status"], field["checked"]) == ("passed-through", "no")
        assert reason in field["notes"][0]
        assert field["cs_c"] is None

    def test_it_is_refused_where_only_checked_answers_are_given(
        self, upstream: OpenAIServer, more: Mapping[str, Any], reason: str
    ) -> None:
        with serving(upstream, settings={"on_failure": "refuse"}) as served:
            reply = served.http.post("/v1/chat/completions", json=asking(**more))

        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "not_checkable")
        assert reason in reply.json()["error"]["message"]
        assert upstream.requests == []


def test_nothing_else_of_an_unchecked_reply_changes(world: ChatWorld, served: Served) -> None:
    world.plain = completion_with({"content": '{"year": 1871}', "annotations": [{"a": 1}]})
    about: dict[str, Any] = {"stream": True, "stream_options": {"include_usage": True}}

    plain = served.ask(logprobs=True).json()
    chunks = [data for _, data in events_in(served.ask(logprobs=True, **about).text)]

    run = plain.pop("conflictscore")
    assert plain == json.loads(completion_with({**plain["choices"][0]["message"]}).body or "")
    assert plain["choices"][0]["message"]["annotations"] == [{"a": 1}]
    assert run["checked"] == "no"
    assert any(c["choices"] and "annotations" in c["choices"][0]["delta"] for c in chunks[:-1])
    assert chunks[-2]["usage"] == plain["usage"]
