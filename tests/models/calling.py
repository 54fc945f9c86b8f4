"""A language model that calls a loopback server with the real client, and three ways to ask it."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from conflictscore.errors import ConflictScoreError
from conflictscore.models.calls import SYNCHRONOUS
from conflictscore.models.endpoint_chat import EndpointChat
from conflictscore.models.http_clients import http_clients
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.fakes.openai_server import OpenAIServer

PROMPTS = PromptSet.load()
SCHEMA = {
    "title": "dating",
    "type": "object",
    "properties": {"year": {"type": "integer"}},
    "required": ["year"],
    "additionalProperties": False,
}

KEY = "zaphod-0042-beeblebrox"
"""A key that no pattern for keys recognises."""


def calling(
    server: OpenAIServer, *, retries: int = 0, timeout: float = 30, key: str = KEY, **fields: Any
) -> LanguageModel:
    """A deterministic model at this server, over the transport of :func:`open_model`.

    With ``retries`` it is a user's own LangChain model, whose client itself retries.
    """
    settings: dict[str, Any] = {
        "model": "test-model",
        "api_key": SecretStr(key),
        "base_url": server.base_url,
        "temperature": 0.0,
        "timeout": timeout,
    }
    chat: ChatOpenAI
    if retries:
        chat = ChatOpenAI(
            **settings, max_retries=retries, stream_usage=True, use_responses_api=False
        )
    else:
        chat = EndpointChat.over(http_clients(server.base_url), **settings)
    known: dict[str, Any] = {
        "chat": chat,
        "name": "test-model",
        "endpoint": server.base_url,
        "context_window": 8192,
        "limit": ConcurrencyLimit(4),
        "parameters": {"temperature": 0},
        "deterministic": True,
    }
    return LanguageModel(**{**known, **fields})


async def ask(
    model: LanguageModel, meter: UsageMeter | None = None, prompt: str = "hi", most: int = 9
) -> str:
    meter = meter or UsageMeter()
    return await model.ask(prompt, str, prompts=PROMPTS, meter=meter, max_tokens=most)


async def ask_json(model: LanguageModel, meter: UsageMeter | None = None) -> object:
    meter = meter or UsageMeter()
    return await model.ask_json("hi", SCHEMA, dict, prompts=PROMPTS, meter=meter, max_tokens=9)


async def ask_letter(model: LanguageModel, meter: UsageMeter | None = None) -> object:
    meter = meter or UsageMeter()
    return await model.ask_letter("hi", ("A", "B"), dict, prompts=PROMPTS, meter=meter)


@contextmanager
def face(synchronous: bool) -> Iterator[None]:
    """Make calls within through the synchronous client, or the asynchronous one."""
    token = SYNCHRONOUS.set(synchronous)
    try:
        yield
    finally:
        SYNCHRONOUS.reset(token)


async def failure(
    model: LanguageModel, question: Callable[[LanguageModel], Awaitable[object]] = ask
) -> ConflictScoreError:
    with pytest.raises(ConflictScoreError) as caught:
        await question(model)
    return caught.value
