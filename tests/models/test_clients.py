"""A reply that was cut off is recognised, whichever client reports it."""

import json
from typing import Any

import pytest
from langchain_core.language_models import FakeListChatModel, FakeMessagesListChatModel
from langchain_core.messages import AIMessage

from conflictscore.errors import UnreadableReplyError
from conflictscore.models.clients import with_max_tokens
from conflictscore.models.spec import from_chat_model, open_model
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import Fault, OpenAIServer, then
from tests.models.calling import ask_json


@pytest.mark.parametrize(
    "said",
    [
        {"finish_reason": "length"},
        {"finish_reason": "max_tokens"},
        {"finish_reason": "MAX_TOKENS"},
        {"finish_reason": "FINISH_REASON_MAX_TOKENS"},
        {"stop_reason": "max_tokens"},
        {"stopReason": "max_tokens"},
        {"done_reason": "length"},
        {"status": "incomplete", "incomplete_details": {"reason": "max_output_tokens"}},
    ],
    ids=str,
)
async def test_a_reply_that_its_client_calls_cut_off_is_not_read(said: dict[str, Any]) -> None:
    half = AIMessage("Claims:\n- The lamp was", response_metadata=said)
    model = from_chat_model(FakeMessagesListChatModel(responses=[half]))
    with pytest.raises(UnreadableReplyError, match="cut off after 20 tokens"):
        await model.ask("List.", str, prompts=PromptSet.load(), meter=UsageMeter(), max_tokens=20)


class Gemini(FakeListChatModel):
    """Has the field from which LangChain's Gemini client reads the limit."""

    max_output_tokens: int | None = None


def test_a_client_gets_the_reply_limit_under_its_own_name() -> None:
    gemini, plain = Gemini(responses=[]), FakeListChatModel(responses=[])

    assert with_max_tokens(gemini, {"max_tokens": 9})[1] == {"max_output_tokens": 9}
    assert with_max_tokens(gemini, {"stop": ["x"]})[1] == {"stop": ["x"]}
    assert with_max_tokens(plain, {"max_tokens": 9}) == (plain, {"max_tokens": 9})


@pytest.mark.parametrize("role", ["user", "tool", "model", None])
async def test_a_reply_is_the_models_whatever_its_role(role: str | None) -> None:
    message = {"role": role, "content": '{"year": 1871}'}
    body = json.dumps({"choices": [{"message": message}]}).encode()
    with OpenAIServer(then(Fault.raw(body))) as server:
        model = open_model("test-model", base_url=server.base_url)
        assert await ask_json(model) == {"year": 1871}
