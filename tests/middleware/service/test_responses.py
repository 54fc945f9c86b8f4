"""``/v1/responses`` as OpenAI's own client sees it, with each reply validated by its types."""

import json
from typing import Any

import openai
import pytest
from openai.types.responses import Response, ResponseStreamEvent
from pydantic import TypeAdapter

from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.responses_request import read_responses
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    QUESTION,
    ChatWorld,
    Served,
    completion_with,
    events_in,
    serving,
)

EVENTS: TypeAdapter[Any] = TypeAdapter(ResponseStreamEvent)
TOOL = {
    "type": "function",
    "name": "search",
    "description": "Search the archive.",
    "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    "strict": False,
}
CALL = {"id": "c1", "type": "function", "function": {"name": "search", "arguments": '{"q": "x"}'}}
TEXT_EVENTS = [
    "response.created",
    "response.in_progress",
    "response.output_item.added",
    "response.content_part.added",
    "response.output_text.delta",
    "response.output_text.done",
    "response.content_part.done",
    "response.output_item.done",
    "response.completed",
]


def ask(served: Any, given: Any = QUESTION, **more: Any) -> Response:
    response: Response = served.openai.responses.create(model="conflictscore", input=given, **more)
    Response.model_validate(response.model_dump(by_alias=True))
    return response


def streamed(served: Any, given: Any = QUESTION, **more: Any) -> list[tuple[str, Any]]:
    """The events as sent over the wire, each validated as one of OpenAI's."""
    body = {"model": "conflictscore", "input": given, "stream": True, **more}
    events = events_in(served.http.post("/v1/responses", json=body).text)
    for name, data in events:
        assert EVENTS.validate_python(data).type == name
    assert [data["sequence_number"] for _, data in events] == list(range(len(events)))
    return events


def kinds(events: list[tuple[str, Any]]) -> list[str]:
    """The kinds of events in order, with repetitions collapsed."""
    names = [name for name, _ in events]
    return [name for at, name in enumerate(names) if at == 0 or names[at - 1] != name]


def test_an_answer_is_corrected_and_its_run_reported_as_for_a_chat_completion(
    served: Served,
) -> None:
    raw = served.openai.responses.with_raw_response.create(
        model="conflictscore", input=QUESTION, instructions="Be brief.", metadata={"a": "b"}
    )
    response: Any = raw.parse()
    run = served.run(raw.http_response)

    assert response.output_text == run["answer"] == "It was lit in 1874."
    assert response.status == "completed"
    assert (response.instructions, response.metadata) == ("Be brief.", {"a": "b"})
    assert response.conflictscore["first_answer"] == "It was lit in 1871."
    assert response.usage.total_tokens == sum(
        run["usage"][name] for name in ("input_tokens", "output_tokens")
    )
    assert raw.headers["x-conflictscore-status"] == "corrected"
    assert raw.headers["x-conflictscore-checked"] == "fully"
    assert response.id == f"resp_{raw.headers['x-conflictscore-run-id']}"


def test_token_counts_in_an_odd_form_are_not_a_failure(world: ChatWorld, served: Served) -> None:
    odd = {"prompt_tokens": 7.0, "completion_tokens": "?", "prompt_tokens_details": [1]}
    body = {"choices": [{"message": {"content": None, "tool_calls": [CALL]}}], "usage": odd}
    world.plain = Fault.raw(json.dumps(body).encode())

    reply = served.http.post(
        "/v1/responses",
        json={"model": "conflictscore", "input": QUESTION, "tools": [TOOL]},
    )

    usage = reply.json()["usage"]
    assert (usage["input_tokens"], usage["output_tokens"], usage["total_tokens"]) == (7, 0, 7)


def test_a_stream_has_openais_events_in_their_order(served: Served) -> None:
    events = streamed(served)
    with served.openai.responses.stream(model="conflictscore", input=QUESTION) as stream:
        final = stream.get_final_response()

    assert kinds(events) == TEXT_EVENTS
    deltas = [data["delta"] for name, data in events if name == "response.output_text.delta"]
    assert "".join(deltas) == final.output_text == "It was lit in 1874."
    assert events[-1][1]["response"]["conflictscore"]["status"] == "corrected"


def test_a_model_of_any_name_is_answered_by_the_served_one_if_the_service_says_so(
    upstream: OpenAIServer,
) -> None:
    with serving(upstream) as served, pytest.raises(openai.NotFoundError):
        served.openai.responses.create(model="gpt-4o", input=QUESTION)
    with serving(upstream, settings={"any_model": True}) as served:
        response = served.openai.responses.create(model="gpt-4o", input=QUESTION)
        completion = served.ask(model="gpt-4o")

    assert (response.output_text, response.model) == ("It was lit in 1874.", "gpt-4o")
    assert completion.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
    assert {request.body["model"] for request in upstream.requests} == {"scripted"}


def test_documents_of_the_request_take_the_place_of_a_search(served: Served) -> None:
    documents = [{"text": "The lamp was lit in 1871."}, {"text": "In 1871 the lamp was lit."}]

    response: Any = ask(served, extra_body={"documents": documents})

    assert response.output_text == "It was lit in 1871."
    assert response.conflictscore["checked"] == "fully"


def test_functions_are_called_and_what_they_find_is_checked_against(
    world: ChatWorld, served: Served
) -> None:
    world.plain = completion_with({"content": None, "tool_calls": [CALL]}, "tool_calls")
    first = ask(served, tools=[TOOL])
    events = streamed(served, tools=[TOOL])
    world.plain = "The lamp was lit in 1871."
    texts = ["Lit in 1871.", "Oil was paid for when the lamp was first lit, in 1871."]
    output = json.dumps([{"text": text} for text in texts])
    found = {"type": "function_call_output", "call_id": "c1", "output": output}
    call = first.output[0].model_dump()
    second = ask(served, [{"role": "user", "content": QUESTION}, call, found], tools=[TOOL])

    assert first.output[0].type == "function_call"
    assert (first.output[0].call_id, first.output[0].arguments) == ("c1", '{"q": "x"}')
    assert kinds(events)[2:-1] == [
        "response.output_item.added",
        "response.function_call_arguments.delta",
        "response.function_call_arguments.done",
        "response.output_item.done",
    ]
    handed_on = world.handed_on[-1].body
    assert handed_on["tools"][0]["function"]["name"] == "search"
    assert [m["role"] for m in handed_on["messages"]] == ["user", "assistant", "tool"]
    assert handed_on["messages"][1]["tool_calls"] == [CALL]
    assert second.output_text == "The lamp was lit in 1871."
    beside: Any = second.model_dump()["conflictscore"]
    assert (beside["status"], beside["checked"]) == ("scored", "fully")


def test_a_conversation_and_settings_reach_the_upstream_as_it_knows_them(
    world: ChatWorld, served: Served
) -> None:
    given: Any = [
        {"role": "developer", "content": "Answer in JSON."},
        {"role": "assistant", "content": [{"type": "output_text", "text": "Hello."}]},
        {"role": "user", "content": [{"type": "input_text", "text": QUESTION}]},
    ]
    schema = {"type": "json_schema", "name": "year", "schema": {"type": "object"}, "strict": True}
    wishes = {"max_output_tokens": 77, "temperature": 0.5, "reasoning": {"effort": "low"}}
    response = ask(served, given, text={"format": schema}, **wishes)

    told = given[0]["content"]
    body = next(r.body for r in served.upstream.requests if r.messages[0]["content"] == told)
    *before, last = [m["content"] for m in body["messages"]]
    assert before == ["Answer in JSON.", "Hello."]
    assert last.endswith(QUESTION)
    assert (body["max_completion_tokens"], body["temperature"]) == (77, 0.5)
    assert body["reasoning_effort"] == "low"
    year = {k: v for k, v in schema.items() if k != "type"}
    assert body["response_format"] == {"type": "json_schema", "json_schema": year}
    assert response.output_text == "It was lit in 1871."
    assert response.max_output_tokens == 77
    beside: Any = response.model_dump()["conflictscore"]
    assert (beside["status"], beside["checked"]) == ("passed-through", "no")


def test_an_earlier_answer_may_be_named_by_its_id_alone(world: ChatWorld, served: Served) -> None:
    """The Vercel AI SDK does so from the second turn on."""
    first = ask(served)
    world.plain = completion_with({"content": "I look.", "tool_calls": [CALL]}, "tool_calls")
    second = ask(served, "And then?", tools=[TOOL])
    ask(
        served,
        [
            {"role": "user", "content": QUESTION},
            {"type": "item_reference", "id": first.output[0].id},
            {"role": "user", "content": "And then?"},
            {"type": "item_reference", "id": second.output[0].id},
            second.output[1].model_dump(),
            {"type": "function_call_output", "call_id": "c1", "output": "Nothing."},
        ],
        tools=[TOOL],
    )
    sent = world.handed_on[-1].body["messages"]
    assert [(m["role"], m["content"]) for m in sent] == [
        ("user", QUESTION),
        ("assistant", "It was lit in 1874."),
        ("user", "And then?"),
        ("assistant", "I look."),
        ("tool", "Nothing."),
    ]
    assert sent[3]["tool_calls"] == [CALL]


def test_an_answer_that_was_withheld_cannot_be_referred_to(
    upstream: OpenAIServer, world: ChatWorld
) -> None:
    world.plain = "It was lit in 1871."
    refusal = {"require": "fully", "refusal": "I cannot say."}
    with serving(upstream, found=[], settings=refusal) as served:
        withheld = ask(served)
        body = [
            {"type": "item_reference", "id": withheld.output[0].id},
            {"role": "user", "content": QUESTION},
        ]
        ask(served, body)
    assert withheld.output_text == "I cannot say."
    told = [m["content"] for request in world.handed_on for m in request.body["messages"]]
    assert "I cannot say." in told
    assert "It was lit in 1871." not in told


@pytest.mark.parametrize(
    "other_key", [pytest.param(False, id="never stored"), pytest.param(True, id="of another key")]
)
def test_an_answer_that_is_not_there_is_refused_by_its_item(
    upstream: OpenAIServer, *, other_key: bool
) -> None:
    keys: tuple[str, ...] = ("one-one-one-one-one", "two-two-two-two-two") if other_key else ()
    with serving(upstream, settings={"keys": keys}) as served:
        item_id = ask(served).output[0].id if other_key else "msg_0"
        served.key = keys[-1] if other_key else None
        items = [{"type": "item_reference", "id": item_id}, {"role": "user", "content": QUESTION}]
        with pytest.raises(openai.BadRequestError, match=r"input\[0\].id: this answer is not"):
            ask(served, items)


def test_more_references_than_a_conversation_has_are_refused(served: Served) -> None:
    items = [{"type": "item_reference", "id": f"msg_{number}"} for number in range(201)]
    with pytest.raises(openai.BadRequestError, match="at most 200 items"):
        ask(served, [*items, {"role": "user", "content": QUESTION}])


def test_an_answer_that_was_cut_is_reported_as_incomplete(world: ChatWorld, served: Served) -> None:
    world.plain = completion_with({"content": "It was"}, "length")

    response = ask(served, tools=[TOOL])
    events = streamed(served, tools=[TOOL])

    assert response.status == "incomplete"
    assert response.incomplete_details is not None
    assert response.incomplete_details.reason == "max_output_tokens"
    assert kinds(events)[-1] == "response.incomplete"


def test_a_failure_has_its_status_and_in_a_stream_its_event(
    world: ChatWorld, served: Served
) -> None:
    world.broken["generate"] = Fault(500, should_retry=False)
    with pytest.raises(openai.InternalServerError) as raised:
        ask(served)
    events = streamed(served)

    assert raised.value.response.headers["x-conflictscore-status"] == "failed"
    assert kinds(events) == ["response.created", "response.in_progress", "response.failed"]
    assert events[-1][1]["response"]["error"]["code"] == "server_error"


@pytest.mark.parametrize(
    ("field", "value", "param"),
    [
        ("previous_response_id", "resp_1", "previous_response_id"),
        ("conversation", "conv_1", "conversation"),
        ("background", True, "background"),
        ("store", True, "store"),
        ("include", ["reasoning.encrypted_content"], "include"),
        ("truncation", "auto", "truncation"),
        ("tools", [{"type": "web_search"}], "tools[0].type"),
        ("tools", [{"type": "function"}], "tools[0].name"),
        ("reasoning", {"summary": "auto"}, "reasoning.summary"),
        ("input", [{"type": "item_reference", "id": "x"}], "input[0].type"),
        ("input", [{"role": "robot", "content": "x"}], "input[0].role"),
        ("input", [{"role": "user", "content": [{"type": "input_file"}]}], None),
        ("input", [], "input"),
        ("temperature", 9, "temperature"),
        ("max_output_tokens", 0, "max_output_tokens"),
        ("no_such_field", 1, "no_such_field"),
    ],
)
def test_what_cannot_be_had_is_refused_by_name(
    served: Served, field: str, value: Any, param: str | None
) -> None:
    body = {"model": "conflictscore", "input": QUESTION, field: value}
    response = served.http.post("/v1/responses", json=body)

    error = response.json()["error"]
    assert response.status_code == 400
    assert str(error["param"]).startswith(param or "input[0].content[0].type")
    assert str(error["message"]).startswith(error["param"])
    assert not served.upstream.requests


@pytest.mark.parametrize("content", [None, 5, {}, []])
def test_content_of_another_kind_is_refused_with_what_it_must_be(content: Any) -> None:
    body = {"model": "conflictscore", "input": [{"role": "user", "content": content}]}
    with pytest.raises(RefusedError, match=r"^input\[0\]\.content: must be a string or a list"):
        read_responses(body, {})
