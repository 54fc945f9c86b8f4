"""Errors for a caller when a provider fails: one clear line, and never the key."""

import traceback
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel
from langgraph.errors import GraphInterrupt
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, InputError, ProviderError, UnreadableReplyError
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from tests.fakes.openai_server import Fault, OpenAIServer, then
from tests.models.calling import KEY, ask, ask_json, ask_letter, calling, failure

every_way = pytest.mark.parametrize(
    "question", [ask, ask_json, ask_letter], ids=["text", "json", "letter"]
)
Question = Callable[[LanguageModel], Awaitable[object]]


def everything_shown(error: BaseException) -> str:
    return "\n".join([str(error), repr(error), *traceback.format_exception(error)])


class TestServerFailure:
    @every_way
    async def test_a_server_that_keeps_failing_is_named_with_its_status(
        self, question: Question
    ) -> None:
        broken = Fault(503, retry_after="0.01", message="out of\n order")
        with OpenAIServer(then(broken)) as server:
            error = await failure(calling(server, retries=1), question)
        assert isinstance(error, ProviderError)
        assert not isinstance(error, UnreadableReplyError)
        assert error.status == 503
        assert "out of order" in str(error)
        assert len(server.requests) == 2

    @every_way
    async def test_a_dropped_connection_names_the_endpoint(self, question: Question) -> None:
        with OpenAIServer(then(Fault.drop())) as server:
            error = await failure(calling(server), question)
            assert isinstance(error, ProviderError)
            assert str(error) == f"test-model cannot be reached at {server.base_url}"

    @every_way
    @pytest.mark.parametrize(
        "body",
        [
            *(b'{"id": "chatcmpl-1", "choices": [{"mess', b"", b"<html>", b"\xff\xfe"),
            *(b"{}", b"[]", b"null", b'"hello"'),
            *(b'{"choices": null}', b'{"choices": []}', b'{"choices": [{"index": 0}]}'),
        ],
    )
    async def test_a_body_that_is_not_a_completion_is_requested_once_more_and_then_an_error(
        self, question: Question, body: bytes
    ) -> None:
        with OpenAIServer(then(Fault.raw(body))) as server:
            error = await failure(calling(server), question)
        assert isinstance(error, UnreadableReplyError)
        assert str(error) == "unreadable reply from test-model: it was not a valid chat completion"
        assert len(server.requests) == 2


class TestWrongSetting:
    @every_way
    async def test_a_key_that_is_refused_is_the_users_to_mend_and_is_shown_nowhere(
        self, question: Question
    ) -> None:
        with OpenAIServer(then("welcome"), api_key="another") as server:
            error = await failure(calling(server), question)
        assert isinstance(error, ConfigurationError)
        assert (error.exit_code, isinstance(error, InputError)) == (2, True)
        assert "refused the key" in str(error)
        assert "OPENAI_API_KEY" in str(error)
        assert KEY not in everything_shown(error)
        assert len(server.requests) == 1

    @every_way
    async def test_a_model_that_is_not_there_is_named(self, question: Question) -> None:
        with OpenAIServer(then("hello"), models=["small"]) as server:
            error = await failure(calling(server), question)
        assert isinstance(error, ConfigurationError)
        assert "does not know the model test-model" in str(error)
        assert "name of the model" in str(error)


class TestSecrets:
    @pytest.mark.parametrize("status", [400, 429, 500])
    @pytest.mark.parametrize("key", [KEY, "sk-proj-AbC_123-xyz", "sk-or-v1-0123456789abcdef"])
    async def test_a_key_that_a_careless_server_quotes_is_blotted_out(
        self, status: int, key: str
    ) -> None:
        careless = Fault(status, message=f"The API key provided: {key} (Bearer {key}) is no good")
        with OpenAIServer(then(careless)) as server:
            error = await failure(calling(server, key=key))
        assert key not in everything_shown(error)
        assert "[secret]" in str(error)
        assert "is no good" in str(error)

    async def test_somebody_elses_key_is_blotted_out_too(self) -> None:
        quoted = Fault(500, message="upstream said: invalid key sk-upstream-1234567890")
        with OpenAIServer(then(quoted)) as server:
            error = await failure(calling(server))
        assert "sk-upstream" not in everything_shown(error)
        assert "upstream said: invalid key [secret]" in str(error)

    async def test_a_stand_in_for_no_key_does_not_eat_words(self) -> None:
        with OpenAIServer(then(Fault(400, message="none of the fields fits"))) as server:
            error = await failure(calling(server, key="none"))
        assert "none of the fields fits" in str(error)


class _Plugged(FakeListChatModel):
    """Somebody else's model with a key of its own, which it quotes when it fails."""

    their_key: SecretStr
    error: Any

    def _call(self, *args: Any, **kwargs: Any) -> str:
        raise self.error


async def plugged(error: BaseException) -> None:
    chat = _Plugged(responses=[], their_key=SecretStr(KEY), error=error)
    await ask(from_chat_model(chat))


class TestPluggedInModel:
    async def test_what_it_raises_is_one_line_with_its_type_and_without_its_key(self) -> None:
        with pytest.raises(ProviderError, match="RuntimeError: GPU lost for") as caught:
            await plugged(RuntimeError(f"GPU lost\nfor {KEY}"))
        assert KEY not in everything_shown(caught.value)

    @pytest.mark.parametrize(
        "error",
        [GraphInterrupt(()), ConfigurationError("their own")],
        ids=lambda e: type(e).__name__,
    )
    async def test_langgraphs_control_flow_and_our_own_errors_pass_as_they_are(
        self, error: Exception
    ) -> None:
        with pytest.raises(type(error)) as caught:
            await plugged(error)
        assert caught.value is error
