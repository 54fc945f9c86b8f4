"""Counting what calls cost."""

import json
import math
from dataclasses import replace
from typing import Any
from urllib.parse import quote

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, UsageMetadata
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError
from conflictscore.models import open_model
from conflictscore.models.ledger import Ledger, attach
from conflictscore.models.usage import UsageMeter, known_tokens, whole_tokens
from conflictscore.prompts import PromptSet
from conflictscore.records import Usage
from tests.fakes.openai_server import Fault, OpenAIServer, Reply, then

PROMPTS = PromptSet.load()


def test_a_call_whose_provider_reports_no_tokens_counts_as_a_call() -> None:
    meter = UsageMeter()
    FakeListChatModel(responses=["hello"]).invoke("hi", {"callbacks": [meter]})
    assert meter.usage == Usage(calls=1)


@pytest.mark.parametrize("streaming", [False, True])
def test_what_a_provider_found_in_its_prompt_cache_is_counted(streaming: bool) -> None:
    meter = UsageMeter()
    reply = Reply("It was lit in 1871.", input_tokens=1200, output_tokens=7, cached_tokens=1024)
    with OpenAIServer(then(reply)) as server:
        chat = ChatOpenAI(
            model="any",
            base_url=server.base_url,
            api_key=SecretStr("any"),
            streaming=streaming,
            stream_usage=streaming,
        )
        for _ in range(2):
            chat.invoke("When?", {"callbacks": [meter]})
    assert [request.body.get("stream", False) for request in server.requests] == [streaming] * 2
    assert meter.usage == Usage(
        calls=2, input_tokens=2400, cache_read_tokens=2048, output_tokens=14
    )


@pytest.mark.parametrize(
    ("details", "counted"),
    [
        ({}, 0),
        ({"cache_read": 6}, 6),
        ({"flex_cache_read": 6, "flex": 4}, 6),  # another service tier of OpenAI
        ({"cache_creation": 6}, 0),
        ({"cache_read": 11}, 10),
        ({"cache_read": -1}, 0),
    ],
)
def test_no_more_is_counted_as_cached_than_was_read(details: dict[str, int], counted: int) -> None:
    tokens: UsageMetadata = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    tokens["input_token_details"] = details  # type: ignore[typeddict-item]
    meter = UsageMeter()
    generation = ChatGeneration(message=AIMessage("1871", usage_metadata=tokens))
    meter.on_llm_end(LLMResult(generations=[[generation]]))
    assert meter.usage.cache_read_tokens == counted


@pytest.mark.parametrize(
    ("reported", "counted"),
    [(12, 12), (12.0, 12), (12.5, 0), (math.nan, 0), (math.inf, 0), (True, 0), (-1, 0), ("12", 0)],
)
def test_whole_numbers_count_as_tokens_whatever_their_type(reported: object, counted: int) -> None:
    assert whole_tokens(reported) == counted
    valid_tokens = known_tokens({"prompt_tokens": reported}, "any") or {"prompt_tokens": 0}
    assert valid_tokens == {"prompt_tokens": counted}


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "twelve", "completion_tokens": 3, "total_tokens": 15},
        {"prompt_tokens": math.nan, "completion_tokens": math.inf, "total_tokens": -1},
        {"prompt_tokens": None, "completion_tokens": True, "total_tokens": "?"},
        {"prompt_tokens": -5, "completion_tokens": 10**400, "prompt_tokens_details": "many"},
        "many",
        [12],
    ],
)
async def test_an_invalid_token_count_fails_no_call_counts_as_unknown_and_is_logged_once(
    usage: Any, streamed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    name = quote(f"odd {usage} {streamed}")  # a question mark would start the model's options
    ledger, meter = Ledger(max_tokens=9), UsageMeter()
    said = {"role": "assistant", "content": "1871"}
    choices = [{"index": 0, "delta" if streamed else "message": said, "finish_reason": "stop"}]
    common = {"id": "chatcmpl-1", "object": "chat.completion", "created": 0, "model": name}
    body = json.dumps({**common, "choices": choices, "usage": usage})
    whole = f"data: {body}\n\ndata: [DONE]\n\n" if streamed else body
    with OpenAIServer(lambda request: Fault.raw(whole.encode())) as server:
        streaming = {"streaming": streamed, "disable_streaming": not streamed}
        model = open_model(name, base_url=server.base_url)
        model = replace(model, chat=model.chat.model_copy(update=streaming))
        for asked in (model, attach(model, ledger)):
            answered = await asked.ask("?", int, prompts=PROMPTS, meter=meter, max_tokens=9)
            assert answered == 1871
        with pytest.raises(ConfigurationError, match="does not report its tokens"):
            ledger.admit()
    assert meter.usage == Usage(calls=2)
    assert caplog.text.count("they count as unknown") == 1
