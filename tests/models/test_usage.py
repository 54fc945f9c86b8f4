"""Counting what calls cost."""

import pytest
from langchain_core.language_models import FakeListChatModel
from langchain_core.messages import AIMessage, UsageMetadata
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Usage
from tests.fakes.openai_server import OpenAIServer, Reply, then

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
