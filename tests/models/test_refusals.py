"""Requests refused because of their form are repeated once in another form, which is remembered."""

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from conflictscore.errors import FailureKind, ProviderError, UnreadableReplyError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.prompt_turns import plain_turns
from conflictscore.models.spec import open_model
from conflictscore.models.usage import UsageMeter
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply, then
from tests.models.calling import PROMPTS, SCHEMA

ALTERNATE = (
    "After the optional system message, conversation roles must alternate"
    " user/assistant/user/assistant/..."
)


def opened(server: OpenAIServer, name: str = "test-model") -> LanguageModel:
    return open_model(name, base_url=server.base_url)


async def said(
    model: LanguageModel, history: list[BaseMessage] | None = None, most: int = 20
) -> str:
    return await model.ask(
        "When?", str, prompts=PROMPTS, meter=UsageMeter(), max_tokens=most, history=history or []
    )


async def year(model: LanguageModel) -> Any:
    return await model.ask_json(
        "When?",
        SCHEMA,
        lambda fields: fields["year"],
        prompts=PROMPTS,
        meter=UsageMeter(),
        max_tokens=20,
    )


def roles(request: ChatRequest) -> list[str]:
    return [message["role"] for message in request.messages]


def by_turns(status: int, message: str) -> Callable[[ChatRequest], Reply | Fault]:
    """An endpoint whose template needs alternating user and assistant turns, none of them empty."""

    def answer(request: ChatRequest) -> Reply | Fault:
        sent = roles(request)
        wanted = (["user", "assistant"] * len(sent))[: len(sent)]
        if sent != wanted or not all(one["content"] for one in request.messages):
            return Fault(status, message=message)
        return Reply("In 1871.")

    return answer


class TestTurns:
    @pytest.mark.parametrize(
        ("status", "message"),
        [
            (400, ALTERNATE),
            (500, f"Jinja Exception: {ALTERNATE}"),
            (422, "all messages must have non-empty content"),
            (400, "The first message must have the role user"),
            # servers say it in their own ways: Mistral, Bedrock, Gemini, Gemma, DeepSeek, Cohere,
            # FastAPI, Baidu, Zhipu, and some without a reason
            (400, "Expected last role User or Tool for serving but got assistant"),
            (400, "Unexpected role 'user' after role 'user'"),
            (400, "A conversation must start with a user message."),
            (400, "The text field in the ContentBlock object at messages.1.content.0 is blank."),
            (400, "Please ensure that multiturn requests alternate between user and model."),
            (500, "Jinja Exception: Only user and assistant roles are supported!"),
            (500, "row 1, column 7: raise_exception('The user must speak first')"),
            (500, "Server error: conversation roles alternate"),
            (500, "Cannot have 2 or more assistant messages at the end of the list."),
            (400, "does not support successive user or assistant messages"),
            (400, "invalid request: all elements in history must have a message."),
            (422, "body.messages.1.content: String should have at least 1 character"),
            (400, "the length of messages must be an odd number"),
            (400, "messages 参数非法。请检查文档。"),
            (400, "Bad Request"),
        ],
    )
    @pytest.mark.parametrize(
        "history",
        [
            [HumanMessage("Tell me of the gate."), AIMessage("")],
            [AIMessage("Hello, what may I look up?")],
            [HumanMessage("Well?"), HumanMessage("Tell me."), AIMessage("Of what?")],
        ],
    )
    async def test_a_conversation_is_put_by_turns_and_stays_so(
        self, status: int, message: str, history: list[BaseMessage]
    ) -> None:
        with OpenAIServer(by_turns(status, message)) as server:
            assert await said(opened(server), history) == "In 1871."
            assert await said(opened(server), history) == "In 1871."
        assert len(server.requests) == 3, "the second call knew"
        texts = " ".join(one["content"] for one in server.requests[-1].messages)
        assert all(turn.text in texts for turn in history)

    async def test_a_refusal_of_length_or_content_is_not_one_of_turns(self) -> None:
        for message in ("This model's maximum context length is 9.", "It was flagged."):
            with OpenAIServer(then(Fault(400, message=message))) as server:
                with pytest.raises(ProviderError):
                    await said(opened(server), [AIMessage("Hello.")])
                assert len(server.requests) == 1

    async def test_another_model_of_the_endpoint_is_asked_as_before(self) -> None:
        with OpenAIServer(by_turns(400, ALTERNATE)) as server:
            history: list[BaseMessage] = [AIMessage("Hello.")]
            await said(opened(server), history)
            await said(opened(server, "another-model"), history)
        assert [roles(request)[0] for request in server.requests] == ["assistant", "user"] * 2

    @pytest.mark.parametrize(("history", "requests"), [([AIMessage("Hello.")], 2), ([], 1)])
    async def test_what_is_refused_by_turns_too_is_the_providers_error(
        self, history: list[BaseMessage], requests: int
    ) -> None:
        with OpenAIServer(then(Fault(400, message=ALTERNATE))) as server:
            with pytest.raises(ProviderError, match="must alternate"):
                await said(opened(server), history)
            assert len(server.requests) == requests, "the same turns are not sent twice"

    def test_system_messages_stand_at_the_top_of_the_first_turn(self) -> None:
        turns = plain_turns(
            [SystemMessage("Be brief."), HumanMessage("Hi."), SystemMessage("Be kind.")], "Hello."
        )
        assert [(turn.type, turn.text) for turn in turns] == [
            ("human", "Be brief.\n\nBe kind.\n\nHi.")
        ]

    def test_a_greeting_after_a_system_message_needs_no_opening(self) -> None:
        turns = plain_turns(
            [SystemMessage("Be brief."), AIMessage("Hi."), HumanMessage("When?")], "Hello."
        )
        assert [turn.text for turn in turns] == ["Be brief.", "Hi.", "When?"]


class TestLeastTokens:
    @pytest.mark.parametrize(
        ("message", "least"),
        [
            (
                "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16",
                16,
            ),
            ("max_tokens must be at least 64", 64),
            ("max_completion_tokens is too small", 16),
            ("Range of max_tokens should be [16, 8192]", 16),
            ("max_completion_tokens must be between 1,024 and 65,536", 1024),
            ("max_tokens=5 should be larger than 15", 16),
            ("maxOutputTokens must be at least 20", 20),
            ("max output tokens must be 16 or more", 16),
            ("max_tokens 的取值范围为 [16, 8192]", 16),
            (
                "Could not finish the message because max_tokens or model output limit was"
                " reached. Please try again with higher max_tokens.",
                4096,
            ),
            ("Invalid value for max_tokens", 16),
        ],
    )
    async def test_the_least_that_an_endpoint_takes_is_sent(self, message: str, least: int) -> None:
        def answer(request: ChatRequest) -> Reply | Fault:
            if request.body["max_completion_tokens"] < least:
                return Fault(400, message=message)
            return Reply("In 1871.")

        with OpenAIServer(answer) as server:
            assert [await said(opened(server), most=5) for _ in range(2)] == ["In 1871."] * 2
        sent = [request.body["max_completion_tokens"] for request in server.requests]
        assert sent == [5, least, least]

    async def test_a_greatest_limit_is_not_taken_for_a_least_one(self) -> None:
        with OpenAIServer(
            then(Fault(400, message="max_completion_tokens is greater than the maximum of 8"))
        ) as server:
            with pytest.raises(ProviderError):
                await said(opened(server), most=20)
            assert {request.body.get("max_completion_tokens") for request in server.requests} <= {
                20,
                None,
            }


class TestMostTokens:
    @pytest.mark.parametrize(
        "message",
        [
            "max_tokens is too large: 9000. This model supports at most 4096 completion tokens",
            "`max_tokens` must be less than or equal to `4096`, which is below `context_window`",
            "Invalid max_tokens value, the valid range of max_tokens is [1, 4096]",
            "max_tokens: 9000 > 4096, which is the maximum allowed number of output tokens",
            "max_tokens=9000 cannot be greater than max_model_len=4096",
            "max_completion_tokens must not exceed 4096",
        ],
    )
    async def test_the_most_that_an_endpoint_takes_is_sent(self, message: str) -> None:
        def answer(request: ChatRequest) -> Reply | Fault:
            if request.body["max_completion_tokens"] > 4096:
                return Fault(400, message=message)
            return Reply("In 1871.")

        with OpenAIServer(answer) as server:
            assert [await said(opened(server), most=9000) for _ in range(2)] == ["In 1871."] * 2
        sent = [request.body["max_completion_tokens"] for request in server.requests]
        assert sent == [9000, 4096, 4096]


class TestJson:
    UNMADE = Fault.raw(
        json.dumps(
            {
                "error": {
                    "message": "Failed to generate JSON. See 'failed_generation'.",
                    "type": "invalid_request_error",
                    "code": "json_validate_failed",
                    "failed_generation": '{"year": 18',
                }
            }
        ).encode(),
        400,
    )

    async def test_a_reply_that_its_server_made_no_json_of_is_asked_for_again(self) -> None:
        with OpenAIServer(then(self.UNMADE, '{"year": 1871}')) as server:
            assert await year(opened(server)) == 1871
        assert len(server.requests) == 2
        assert '{"year": 18' in str(server.requests[1].messages[1]["content"])

    @pytest.mark.parametrize(
        "fault",
        [
            Fault(
                400,
                message='GroqException - {"error":{"message":"Failed to generate JSON. Please'
                ' adjust your prompt.","code":"json_validate_failed"}}',
            ),
            Fault(400, code="output_parse_failed", message="Parsing failed."),
            Fault(400, message="The model generated output that could not be parsed."),
            Fault(400, message="Unexpected token 12606 while expecting start token 200006"),
            Fault(400, message="error parsing tool call: raw='{', err=unexpected end"),
            Fault(422, message="The model did not produce valid JSON"),
        ],
    )
    async def test_so_is_one_whose_server_says_it_otherwise(self, fault: Fault) -> None:
        with OpenAIServer(then('{"year": 1871}', fault, '{"year": 1874}')) as server:
            model = opened(server)
            assert [await year(model), await year(model)] == [1871, 1874]
        assert len(server.requests) == 3
        assert all("response_format" in request.body for request in server.requests)

    async def test_one_that_never_can_be_made_is_unreadable(self) -> None:
        with OpenAIServer(then(self.UNMADE)) as server:
            with pytest.raises(UnreadableReplyError) as caught:
                await year(opened(server))
            assert caught.value.failure is FailureKind.UNREADABLE
            assert len(server.requests) == 2

    @pytest.mark.parametrize(
        ("spoilt", "requests"),
        [
            (Reply(""), 3),
            (UNMADE, 3),
            (Reply("\n" * 50, finish_reason="length"), 3),
            (Reply("{}"), 4),
            (Reply("null"), 4),
            (Reply("```json\n```"), 4),
            (Reply("{\n\n\n", finish_reason="length"), 4),
        ],
    )
    async def test_a_form_that_spoils_every_reply_is_left_for_good(
        self, spoilt: Reply | Fault, requests: int
    ) -> None:
        def answer(request: ChatRequest) -> Reply | Fault:
            return spoilt if "response_format" in request.body else Reply('{"year": 1871}')

        with OpenAIServer(answer) as server:
            model = opened(server)
            assert [await year(model), await year(model)] == [1871, 1871]
        assert len(server.requests) == requests

    @pytest.mark.parametrize("ignoring", ["It says so.", '{"score": 5}', "Year of 1871"])
    async def test_where_a_server_ignores_a_schema_the_prompt_states_it(
        self, ignoring: str
    ) -> None:
        def answer(request: ChatRequest) -> Reply:
            return Reply(ignoring if "response_format" in request.body else '{"year": 1871}')

        with OpenAIServer(answer) as server:
            model = opened(server)
            assert [await year(model) for _ in range(4)] == [1871] * 4
        assert ["response_format" in request.body for request in server.requests] == [
            True,
            *([False] * 4),
        ]
        assert "integer" in str(server.requests[1].messages[-1]["content"])

    async def test_where_a_server_ignores_a_schema_yaml_with_its_fields_is_read(self) -> None:
        with OpenAIServer(lambda request: Reply("year: 1871")) as server:
            model = opened(server)
            assert [await year(model) for _ in range(4)] == [1871] * 4
        assert len(server.requests) == 4

    async def test_many_calls_to_a_server_that_ignores_a_schema_are_all_read(self) -> None:
        def answer(request: ChatRequest) -> Reply:
            return Reply("It says so." if "response_format" in request.body else '{"year": 1871}')

        with OpenAIServer(answer) as server:
            model = opened(server)
            assert await asyncio.gather(*(year(model) for _ in range(12))) == [1871] * 12

    async def test_a_form_that_has_worked_is_kept_after_a_reply_in_other_words(self) -> None:
        with OpenAIServer(then('{"year": 1871}', "It says so.", '{"year": 1874}')) as server:
            model = opened(server)
            assert [await year(model), await year(model)] == [1871, 1874]
        assert all("response_format" in request.body for request in server.requests)

    async def test_a_form_that_comes_to_spoil_every_reply_is_left_after_a_few(self) -> None:
        """The server loads another model, for instance."""
        changed: list[bool] = []

        def answer(request: ChatRequest) -> Reply:
            spoilt = changed and "response_format" in request.body
            return Reply("") if spoilt else Reply('{"year": 1871}')

        with OpenAIServer(answer) as server:
            model = opened(server)
            assert await year(model) == 1871
            changed.append(True)
            for _ in range(2):
                with pytest.raises(UnreadableReplyError):
                    await year(model)
            before = len(server.requests)
            years = await asyncio.gather(*(year(model) for _ in range(4)))
            assert [*years, await year(model)] == [1871] * 5
        assert "response_format" not in server.requests[-1].body
        assert len(server.requests) <= before + 2 * 4 + 1

    async def test_one_empty_reply_among_good_ones_changes_no_form(self) -> None:
        with OpenAIServer(then('{"year": 1871}', "", '{"year": 1874}')) as server:
            model = opened(server)
            assert [await year(model), await year(model)] == [1871, 1874]
        assert all("response_format" in request.body for request in server.requests)


@pytest.mark.parametrize(
    "ending", ["error", "ERROR", "abort", "engine_error", "timeout", "overloaded", "cancelled"]
)
async def test_an_ending_by_an_error_is_tried_again(ending: str) -> None:
    with OpenAIServer(then(Reply("In", finish_reason=ending), "In 1871.")) as server:
        assert await said(opened(server)) == "In 1871."


@pytest.mark.parametrize("ending", ["content_filter", "SAFETY", "PROHIBITED_CONTENT", "sensitive"])
async def test_an_ending_by_a_filter_is_not(ending: str) -> None:
    with OpenAIServer(then(Reply("In", finish_reason=ending), "In 1871.")) as server:
        with pytest.raises(UnreadableReplyError):
            await said(opened(server))
        assert len(server.requests) == 1


async def test_a_lasting_server_error_of_no_clear_words_is_met_by_plain_turns() -> None:
    def answer(request: ChatRequest) -> Reply | Fault:
        if roles(request)[0] == "assistant":
            return Fault(500, message="Vorlage fehlgeschlagen", retry_after="0.1")
        return Reply("In 1871.")

    with OpenAIServer(answer) as server:
        for _ in range(2):
            assert await said(opened(server), [AIMessage("Hello.")]) == "In 1871."
    assert [roles(request)[0] for request in server.requests] == ["assistant"] * 5 + ["user"] * 2


@pytest.mark.parametrize(
    ("status", "message"),
    [
        (404, "No endpoints found that can handle the requested parameters."),
        (405, "nothing here"),
        (415, "unsupported"),
    ],
)
async def test_an_endpoint_that_has_answered_may_refuse_json_in_any_words(
    status: int, message: str
) -> None:
    def answer(request: ChatRequest) -> Reply | Fault:
        if "response_format" in request.body:
            return Fault(status, message=message)
        return Reply('{"year": 1871}')

    with OpenAIServer(answer) as server:
        assert await said(opened(server)) == '{"year": 1871}'
        assert [await year(opened(server)) for _ in range(2)] == [1871, 1871]
    assert len(server.requests) == 4
