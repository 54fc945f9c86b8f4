"""Asking a model for text, for JSON and for a letter, through the real client."""

import json
import re
from collections.abc import Awaitable, Callable, Mapping
from math import isfinite
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langchain_openai import ChatOpenAI
from langgraph.graph import START, StateGraph
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, UnreadableReplyError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Usage
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import ChatRequest, OpenAIServer, Reply, script, then
from tests.fakes.search_server import Handler, Received, SearchServer, json_reply
from tests.fakes.search_server import Reply as JsonReply
from tests.models.calling import PROMPTS, SCHEMA, calling

PROMPT = "When was it lit?"
LETTERS = ("A", "B", "C")


def year(text: str) -> int:
    found = re.search(r"\d{4}", text)
    if found is None:
        raise ValueError("it names no year")
    return int(found[0])


def year_field(reply: Mapping[str, Any]) -> int:
    if str(reply.get("year")).isdecimal():
        return int(reply["year"])
    raise ValueError("year: must be a whole number")


async def ask(model: LanguageModel, meter: UsageMeter | None = None, *, most: int = 20) -> int:
    meter = meter or UsageMeter()
    return await model.ask(PROMPT, year, prompts=PROMPTS, meter=meter, max_tokens=most)


async def ask_json(model: LanguageModel, meter: UsageMeter | None = None) -> int:
    meter = meter or UsageMeter()
    return await model.ask_json(
        PROMPT, SCHEMA, year_field, prompts=PROMPTS, meter=meter, max_tokens=20
    )


async def ask_letter(model: LanguageModel, meter: UsageMeter | None = None) -> dict[str, float]:
    meter = meter or UsageMeter()
    return await model.ask_letter(PROMPT, LETTERS, dict, prompts=PROMPTS, meter=meter)


@pytest.fixture
def cache(tmp_path: Path) -> ContentCache:
    return ContentCache(tmp_path / "replies.sqlite")


def conversation(request: ChatRequest) -> list[tuple[str, str]]:
    return [(message["role"], message["content"]) for message in request.messages]


class TestText:
    async def test_a_reply_is_read_and_its_cost_is_counted(self) -> None:
        meter = UsageMeter()
        reply = Reply("It was lit in 1871.", input_tokens=11, output_tokens=7)
        with OpenAIServer(script(reply)) as server:
            assert await ask(calling(server), meter) == 1871
        assert meter.usage == Usage(calls=1, input_tokens=11, output_tokens=7)
        [request] = server.requests
        assert conversation(request) == [("user", PROMPT)]
        assert request.body["temperature"] == 0

    async def test_an_unreadable_reply_is_asked_for_once_more_with_the_reason(self) -> None:
        with OpenAIServer(script("Long ago.", "In 1871.")) as server:
            assert await ask(calling(server)) == 1871
        again = PROMPTS.render("retry", reason="it names no year")
        assert "it names no year" in again
        assert conversation(server.requests[1]) == [
            ("user", PROMPT),
            ("assistant", "Long ago."),
            ("user", again),
        ]

    async def test_a_reply_that_stays_unreadable_is_an_error_and_both_calls_are_paid_for(
        self,
    ) -> None:
        meter = UsageMeter()
        said = ("Long ago.", "Once upon a time.")
        replies = [Reply(text, input_tokens=5, output_tokens=2) for text in said]
        with (
            OpenAIServer(script(*replies)) as server,
            pytest.raises(UnreadableReplyError, match="test-model: it names no year") as caught,
        ):
            await ask(calling(server), meter)
        assert (caught.value.reason, caught.value.reply) == ("it names no year", said[1])
        assert meter.usage == Usage(calls=2, input_tokens=10, output_tokens=4)

    async def test_half_a_character_in_a_prompt_or_a_reply_is_sent_as_its_replacement(self) -> None:
        with OpenAIServer(script("Ages ago \ud83d", "1871")) as server:
            model = calling(server)
            asked = model.ask(
                "When?\ude00", year, prompts=PROMPTS, meter=UsageMeter(), max_tokens=9
            )
            assert await asked == 1871
        first, reply, _ = conversation(server.requests[1])
        assert (first[1], reply[1]) == ("When?\ufffd", "Ages ago \ufffd")

    async def test_a_thinking_model_gets_its_room_on_top_and_the_error_names_the_reply_alone(
        self,
    ) -> None:
        with OpenAIServer(then(Reply("Hm", finish_reason="length"))) as server:
            with pytest.raises(UnreadableReplyError, match="cut off after 20 tokens"):
                await ask(calling(server, thinking_tokens=1000))
            assert server.requests[0].body["max_completion_tokens"] == 1020


class TestReplyCache:
    async def test_what_was_asked_before_is_not_asked_again(self, cache: ContentCache) -> None:
        meter = UsageMeter()
        with OpenAIServer(script("In 1871.")) as server:
            first = await ask(calling(server, cache=cache))
            assert await ask(calling(server, cache=cache), meter) == first == 1871
        assert len(server.requests) == 1
        assert meter.usage.cached_calls == meter.usage.counted_calls == 1
        assert meter.usage.kept_output_tokens == 2  # its price is still known

    @pytest.mark.parametrize(
        "change",
        [
            {"name": "other-model"},
            {"endpoint": "http://elsewhere.test/v1"},
            {"parameters": {"temperature": 0.5}},
        ],
        ids=lambda change: next(iter(change)),
    )
    async def test_another_models_cached_reply_is_not_used(
        self, cache: ContentCache, change: dict[str, Any]
    ) -> None:
        with OpenAIServer(script("In 1871.", "In 1874.")) as server:
            await ask(calling(server, cache=cache))
            assert await ask(calling(server, cache=cache, **change)) == 1874

    async def test_a_cached_reply_to_another_length_or_prompt_is_not_used(
        self, cache: ContentCache
    ) -> None:
        with OpenAIServer(script("In 1871.", "In 1874.", "In 1880.")) as server:
            model = calling(server, cache=cache)
            await ask(model)
            assert await ask(model, most=21) == 1874
            other = model.ask(
                f"{PROMPT} ", year, prompts=PROMPTS, meter=UsageMeter(), max_tokens=20
            )
            assert await other == 1880

    @pytest.mark.parametrize("change", [{"deterministic": False}, {"parameters": None}], ids=str)
    async def test_nothing_is_kept_of_a_model_that_may_reply_otherwise_or_is_not_known(
        self, cache: ContentCache, change: dict[str, Any]
    ) -> None:
        with OpenAIServer(script("In 1871.", "In 1874.")) as server:
            model = calling(server, cache=cache, **change)
            assert [await ask(model), await ask(model)] == [1871, 1874]

    async def test_a_failure_is_never_kept_and_the_second_reply_is(
        self, cache: ContentCache
    ) -> None:
        with OpenAIServer(script("Never.", "Hardly.", "Long ago.", "In 1871.")) as server:
            model = calling(server, cache=cache)
            with pytest.raises(UnreadableReplyError):
                await ask(model)
            assert [await ask(model), await ask(model)] == [1871, 1871]
        assert len(server.requests) == 4

    async def test_a_kept_reply_that_another_reader_cannot_read_is_asked_for_again(
        self, cache: ContentCache
    ) -> None:
        meter = UsageMeter()
        with OpenAIServer(script("Long ago.", "In 1871.")) as server:
            model = calling(server, cache=cache)
            await model.ask(PROMPT, len, prompts=PROMPTS, meter=UsageMeter(), max_tokens=20)
            assert await ask(model, meter) == 1871
        assert (meter.usage.calls, meter.usage.cached_calls) == (1, 0)


class TestJson:
    async def test_the_schema_goes_out_strictly_and_the_object_is_read(self) -> None:
        with OpenAIServer(script('{"year": 1871}')) as server:
            assert await ask_json(calling(server, thinking_tokens=100)) == 1871
        [request] = server.requests
        sent = request.body["response_format"]
        assert sent["type"] == "json_schema"
        assert (sent["json_schema"]["name"], sent["json_schema"]["strict"]) == ("dating", True)
        assert sent["json_schema"]["schema"]["properties"] == {"year": {"type": "integer"}}
        assert request.body["max_completion_tokens"] == 120

    @pytest.mark.parametrize(
        ("reply", "reason"),
        [
            (Reply('{"year": "unknown"}'), "year: must be a whole number"),
            (Reply("{}"), "it was not a single JSON object of the requested form"),
            (Reply(refusal="I will not."), "it was a refusal"),
            (Reply('{"year": 18', finish_reason="length"), "it was cut off after 20 tokens"),
            (Reply('{"year": 1871}', finish_reason="length"), "it was cut off after 20 tokens"),
        ],
        ids=["field", "missing", "refusal", "cut", "cut-but-whole"],
    )
    async def test_a_reply_that_is_not_such_an_object_is_requested_once_more_with_the_reason(
        self, reply: Reply, reason: str
    ) -> None:
        with OpenAIServer(script(reply, '{"year": 1871}')) as server:
            assert await ask_json(calling(server)) == 1871
        asked, _, again = conversation(server.requests[1])
        assert (asked, again) == (
            ("user", PROMPT),
            ("user", PROMPTS.render("retry", reason=reason)),
        )

    @pytest.mark.parametrize("reply", ["It was in 1871.", "[1871]", '{"date": 1871}'])
    async def test_after_a_reply_of_another_form_the_prompt_states_the_schema(
        self, reply: str
    ) -> None:
        with OpenAIServer(script(reply, '{"year": 1871}')) as server:
            assert await ask_json(calling(server)) == 1871
        reason = "it was not a single JSON object of the requested form"
        _, _, (_, again) = conversation(server.requests[1])
        schema = PROMPTS.render("json_only", schema=json.dumps(SCHEMA))
        assert again == f"{PROMPTS.render('retry', reason=reason)}\n\n{schema}"

    @pytest.mark.parametrize("finish_reason", ["stop", "length"])
    async def test_the_tokens_of_an_unreadable_object_are_paid_for_too(
        self, finish_reason: str
    ) -> None:
        meter = UsageMeter()
        reply = Reply('{"year', finish_reason=finish_reason, input_tokens=5, output_tokens=3)
        with OpenAIServer(then(reply)) as server, pytest.raises(UnreadableReplyError) as caught:
            await ask_json(calling(server), meter)
        assert meter.usage == Usage(calls=2, input_tokens=10, output_tokens=6)
        assert caught.value.reply == '{"year'


def responding(*replies: Mapping[str, Any]) -> Handler:
    """Speaks OpenAI's Responses API, which refuses the fields of chat completions."""
    left = iter(replies)

    def handle(request: Received) -> JsonReply:
        if request.path != "/v1/responses" or "response_format" in request.json:
            return json_reply({"error": {"message": "Unsupported parameter", "code": None}}, 400)
        common = {"id": "resp_1", "object": "response", "created_at": 0, "model": "responding"}
        calls = {"parallel_tool_calls": False, "tool_choice": "auto", "tools": []}
        return json_reply({**common, **calls, **next(left)})

    return handle


def response(text: str, **fields: Any) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"type": "message", "id": "m", "role": "assistant", "status": "completed"}
    return {"status": "completed", "output": [{**message, "content": content}], **fields}


async def test_a_model_that_calls_the_responses_api_is_asked_by_the_prompt_alone() -> None:
    with SearchServer(responding(response('{"year": 1871}'))) as server:
        chat = ChatOpenAI(
            model="responding",
            base_url=f"{server.endpoint}/v1",
            api_key=SecretStr("k"),
            max_retries=0,
            use_responses_api=True,
        )
        assert await ask_json(from_chat_model(chat)) == 1871
    assert not server.requests[-1].json.keys() & {"response_format", "tools"}


class TestLetter:
    async def test_every_letter_gets_its_logprob_with_or_without_a_space_before_it(self) -> None:
        meter = UsageMeter()
        scores = {"A": -0.1, " B": -2.5, "C": -4.0, " A": -6.0, "The": -7.0}
        with OpenAIServer(script(Reply("A", logprobs=scores))) as server:
            assert await ask_letter(calling(server), meter) == {"A": -0.1, "B": -2.5, "C": -4.0}
        body = server.requests[0].body
        asked = (body["logprobs"], body["top_logprobs"], body["max_completion_tokens"])
        assert asked == (True, 20, 1)
        assert meter.usage.calls == 1

    async def test_letters_may_be_reported_in_any_order(self) -> None:
        scores = {"A": -6.0, "B": -2.5, " A": -0.1, "C": -4.0}
        with OpenAIServer(script(Reply("A", logprobs=scores))) as server:
            values = await ask_letter(calling(server))
        assert values == {"A": -0.1, "B": -2.5, "C": -4.0}

    async def test_a_letter_that_is_not_reported_gets_the_lowest_value_that_is(self) -> None:
        scores = {"A": -0.01, "Yes": -6.0, "B": -8.0}
        with OpenAIServer(script(Reply("A", logprobs=scores))) as server:
            values = await ask_letter(calling(server))
        assert values == {"A": -0.01, "B": -8.0, "C": -8.0}
        assert all(map(isfinite, values.values()))

    async def test_a_reply_that_is_not_one_of_the_letters_is_requested_once_more(self) -> None:
        prose = Reply("The", logprobs={"The": -0.1, "It": -3.0})
        letter = Reply("B", logprobs={"B": -0.1, "A": -3.0, "C": -3.0})
        with OpenAIServer(script(prose, letter)) as server:
            assert (await ask_letter(calling(server)))["B"] == -0.1
        assert conversation(server.requests[1])[1:] == [
            ("assistant", "The"),
            ("user", PROMPTS.render("retry", reason="it was not one of A, B, C")),
        ]

    async def test_a_server_without_logprobs_is_named_with_what_to_do(self) -> None:
        with (
            OpenAIServer(then("A")) as server,
            pytest.raises(
                ConfigurationError, match=r"test-model returns no log-prob.*labeler 'json'"
            ),
        ):
            await ask_letter(calling(server))
        assert len(server.requests) == 1

    async def test_what_holds_a_server_to_the_letters_goes_into_the_request(self) -> None:
        with OpenAIServer(script(Reply("A", logprobs={"A": -0.1}))) as server:
            await ask_letter(calling(server, has_grammars=True))
        assert server.requests[0].body["grammar"] == "root ::= [ABC]"

    async def test_words_are_asked_for_like_letters(self) -> None:
        scores = {"Yes": -0.4, " No": -1.2, "It": -3.0}
        with OpenAIServer(script(Reply("Yes", logprobs=scores))) as server:
            values = await calling(server, has_grammars=True).ask_letter(
                PROMPT, ("Yes", "No"), dict, prompts=PROMPTS, meter=UsageMeter()
            )
        assert values == {"Yes": -0.4, "No": -1.2}
        assert server.requests[0].body["grammar"] == 'root ::= "Yes" | "No"'


class _State(TypedDict):
    said: str


def steps(run: Callable[[], Awaitable[object]]) -> Any:
    async def step(state: _State) -> _State:
        return {"said": str(await run())}

    return StateGraph(_State).add_node("step", step).add_edge(START, "step").compile()


class TestInsideAGraph:
    """LangGraph's ``messages`` stream makes every model in a node stream, including ours."""

    @pytest.mark.parametrize(
        ("question", "reply", "expected"),
        [
            (ask, Reply("In the year 1871.", input_tokens=9, output_tokens=4), 1871),
            (ask_json, Reply('{"year": 1871}', input_tokens=9, output_tokens=4), 1871),
            (
                ask_letter,
                Reply("A", logprobs={"A": -0.5, "B": -2.0}, input_tokens=9, output_tokens=4),
                {"A": -0.5, "B": -2.0, "C": -2.0},
            ),
        ],
        ids=["text", "json", "letter"],
    )
    async def test_a_draft_is_not_streamed_to_the_user_and_reads_and_costs_the_same(
        self, question: Callable[..., Awaitable[object]], reply: Reply, expected: object
    ) -> None:
        meter, answers = UsageMeter(), []

        async def run() -> None:
            answers.append(await question(model, meter))

        with OpenAIServer(script(reply)) as server:
            model = calling(server)
            stream = steps(run).astream({"said": ""}, stream_mode="messages")
            assert [event async for event in stream] == []
        assert answers == [expected]
        assert meter.usage == Usage(calls=1, input_tokens=9, output_tokens=4)
