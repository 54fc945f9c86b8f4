"""Replies and errors of other providers, through LangChain's clients for them."""

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import pytest
from langchain_core.language_models import BaseChatModel
from langchain_openai import AzureChatOpenAI
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, ProviderError, UnreadableReplyError
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.models.capabilities import Capabilities
from conflictscore.models.endpoint_chat import EndpointChat
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.spec import from_chat_model
from conflictscore.models.usage import UsageMeter
from conflictscore.records import EvidenceLabel, Label
from tests.fakes.dialects import Body, DialectServer, anthropic, gemini, openai
from tests.labelers.judging import PROMPTS, claim, document, verdict

KEY = SecretStr("hush-hush-0123456789")


class Dialect(NamedTuple):
    chat: Callable[[str], BaseChatModel]
    """The client of a server at an address."""
    says: Callable[..., dict[str, Any]]
    filtered: str = "content_filter"
    cut: str = "length"


def ollama(body: Body, text: str, stop: str = "stop") -> dict[str, Any]:
    message = {"role": "assistant", "content": text, "thinking": "It says so."}
    counts = {"prompt_eval_count": 10, "eval_count": 3}
    return {"model": "m", "message": message, "done": True, "done_reason": stop, **counts}


def endpoint(url: str) -> BaseChatModel:
    """Our own client of OpenAI-compatible endpoints."""
    return EndpointChat(model="m", base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def vllm(body: Body, text: str, stop: str = "stop") -> dict[str, Any]:
    """vLLM with its reasoning parser, which may take grammar-constrained JSON for reasoning."""
    said = openai(body, text, stop)
    [choice] = said["choices"]
    choice |= {"stop_reason": None, "token_ids": None}
    asks_json = "response_format" in body
    choice["message"] |= (
        {"content": None, "reasoning": text, "reasoning_content": text}
        if asks_json
        else {"reasoning": "It says so."}
    )
    return said | {"prompt_logprobs": None, "kv_transfer_params": None}


def lm_studio(body: Body, text: str, stop: str = "stop") -> dict[str, Any]:
    """LM Studio leaves the reasoning in the text, and adds its own statistics."""
    said = openai(body, f"<think>\nIt says so: {{x}}.\n</think>\n\n{text}", stop)
    return said | {"stats": {}, "system_fingerprint": "m"}


def openrouter(body: Body, text: str, stop: str = "stop") -> dict[str, Any]:
    """OpenRouter gives the provider's reason besides its own."""
    said = openai(body, text, stop)
    said["choices"][0] |= {"native_finish_reason": stop, "logprobs": None}
    said["choices"][0]["message"] |= {"refusal": None, "reasoning": "It says so."}
    return said | {"provider": "Acme", "usage": said["usage"] | {"cost": 0.1}}


def llama_cpp(body: Body, text: str, stop: str = "stop") -> dict[str, Any]:
    said = openai(body, text, stop)
    return said | {"timings": {"prompt_n": 10, "predicted_n": 3}, "system_fingerprint": "b1"}


# Each of these packages takes up to 1.5 s to import, so it is imported only where it is tested.
def claude(url: str) -> BaseChatModel:
    from langchain_anthropic import ChatAnthropic

    return ChatAnthropic(
        model_name="claude", base_url=url, api_key=KEY, max_retries=0, timeout=60, stop=None
    )


def google(url: str) -> BaseChatModel:
    from langchain_google_genai import ChatGoogleGenerativeAI

    return ChatGoogleGenerativeAI(model="gemini", base_url=url, api_key=KEY, max_retries=1)


def mistral(url: str) -> BaseChatModel:
    from langchain_mistralai import ChatMistralAI

    return ChatMistralAI(model_name="mistral", base_url=f"{url}/v1", api_key=KEY, max_retries=1)


def deepseek(url: str) -> BaseChatModel:
    from langchain_deepseek import ChatDeepSeek

    return ChatDeepSeek(model="deepseek", base_url=f"{url}/v1", api_key=KEY, max_retries=0)


def azure(url: str) -> BaseChatModel:
    return AzureChatOpenAI(
        azure_deployment="prod",
        azure_endpoint=url,
        api_version="2024-10-21",
        api_key=KEY,
        max_retries=0,
    )


def llama(url: str) -> BaseChatModel:
    from langchain_ollama import ChatOllama

    return ChatOllama(model="llama", base_url=url)


DIALECTS: Mapping[str, Dialect] = {
    "vllm": Dialect(endpoint, vllm, "abort"),
    "lm-studio": Dialect(endpoint, lm_studio),
    "openrouter": Dialect(endpoint, openrouter, "error"),
    "llama.cpp": Dialect(endpoint, llama_cpp),
    "anthropic": Dialect(claude, anthropic, "refusal", "max_tokens"),
    "gemini": Dialect(google, gemini, "SAFETY", "MAX_TOKENS"),
    "mistral": Dialect(mistral, openai),
    "deepseek": Dialect(deepseek, openai),
    "azure": Dialect(azure, openai),
    "ollama": Dialect(llama, ollama, "load"),
}


@pytest.fixture(params=DIALECTS)
def dialect(request: pytest.FixtureRequest) -> Dialect:
    return DIALECTS[request.param]


def opened(dialect: Dialect, server: DialectServer) -> LanguageModel:
    return replace(from_chat_model(dialect.chat(server.endpoint)), capabilities=Capabilities())


async def judged(model: LanguageModel) -> EvidenceLabel:
    return await JsonJudge(model, PROMPTS).label(claim(), document(), UsageMeter())


async def text(model: LanguageModel) -> str:
    return await model.ask("hi", str, prompts=PROMPTS, meter=UsageMeter(), max_tokens=50)


async def test_a_verdict_and_a_text_are_read_in_the_clients_own_way(dialect: Dialect) -> None:
    with DialectServer(lambda body: (200, dialect.says(body, verdict()))) as server:
        model = opened(dialect, server)
        assert (await judged(model)).label is Label.SUPPORTS
        assert await text(model) == verdict()
    assert len(server.bodies) == 2


@pytest.mark.parametrize("ask", [judged, text])
@pytest.mark.parametrize("ending", ["filtered", "cut"])
async def test_a_reply_that_did_not_end_normally_does_not_count(
    dialect: Dialect, ask: Callable[[LanguageModel], Any], ending: str
) -> None:
    stop = getattr(dialect, ending)
    with DialectServer(lambda body: (200, dialect.says(body, verdict(), stop))) as server:
        with pytest.raises(UnreadableReplyError) as caught:
            await ask(opened(dialect, server))
        assert len(server.bodies) <= 2
    known = (stop, "cut off", "a refusal", "content filter")
    assert any(words in str(caught.value) for words in known)


async def test_what_the_provider_says_survives_its_client(dialect: Dialect) -> None:
    error = {"type": "invalid_request_error", "code": 402, "message": "no credit left"}
    with (
        DialectServer(lambda body: (402, {"error": error})) as server,
        pytest.raises(ProviderError, match=r"HTTP 402: no credit left") as caught,
    ):
        await judged(opened(dialect, server))
    assert caught.value.status == 402


@pytest.mark.parametrize(
    ("refused", "said"),
    [
        ("json_schema", "response_format.type must be one of json_object"),  # Together
        ("json_schema", "This model does not support response format `json_schema`"),  # Groq
        ("json_object", "'response_format.type' must be 'json_schema' or 'text'"),  # LM Studio
        ("max_completion_tokens", "max_completion_tokens: Extra inputs are not permitted"),
        ("temperature", "Unsupported value: 'temperature' does not support 0"),  # OpenAI
        ("temperature", "Unrecognized request argument supplied: temperature"),  # Azure
        ("temperature", 'Unknown name "temperature": Cannot find field'),  # Gemini
        ("temperature", "[{'loc': ('body', 'temperature'), 'msg': 'not allowed'}]"),  # vLLM
    ],
)
async def test_what_a_400_names_is_left_out_from_then_on(refused: str, said: str) -> None:
    def answer(body: Body) -> tuple[int, Any]:
        if f'"{refused}"' in json.dumps(body):
            return 400, {"object": "error", "message": said, "code": 400}
        return 200, openai(body, verdict())

    with DialectServer(answer) as server:
        chat = endpoint(server.endpoint).model_copy(update={"temperature": 0.0})
        model = replace(from_chat_model(chat), capabilities=Capabilities())
        for _ in range(2):
            assert (await judged(model)).label is Label.SUPPORTS
    assert sum(f'"{refused}"' in json.dumps(body) for body in server.bodies) <= 1


async def test_a_key_that_is_refused_is_a_wrong_setting(dialect: Dialect) -> None:
    error = {"code": 401, "message": "this key is unknown"}
    with (
        DialectServer(lambda body: (401, {"error": error})) as server,
        pytest.raises(ConfigurationError, match=r"refused the key .*this key is unknown"),
    ):
        await judged(opened(dialect, server))


async def test_a_model_without_structured_output_is_asked_by_the_prompt_alone(
    dialect: Dialect,
) -> None:
    marks = ("tools", "response_format", "responseSchema", "responseJsonSchema", "format")

    def answer(body: Body) -> tuple[int, Any]:
        fields = {**body, **body.get("generationConfig", {})}
        asked = {name for name, value in fields.items() if value}
        if asked.isdisjoint(marks):
            return 200, dialect.says(body, verdict())
        return 400, {"error": {"code": 400, "message": "tools or response_format: not here"}}

    with DialectServer(answer) as server:
        model = opened(dialect, server)
        assert (await judged(model)).label is Label.SUPPORTS
        refused = len(server.bodies) - 1
        assert (await judged(model)).label is Label.SUPPORTS
    assert refused >= 1
    assert len(server.bodies) == refused + 2, "it was found out once"
