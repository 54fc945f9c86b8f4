"""A cancelled call ends at once, even while its models are still being opened."""

import asyncio
import threading
import time
from collections.abc import Callable, Coroutine
from contextlib import suppress
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError
from conflictscore.middleware import SelfCorrectingChatModel, self_correct
from tests.fakes.openai_server import OpenAIServer
from tests.middleware.agents import AgentWorld, agent_of
from tests.talking import Shelf
from tests.world import DISAGREEING, scripted_model

QUESTION = "When was the lamp lit?"
OPENING_S = 20.0
"""How long the opening takes at most; a caller that waits for it waits this long."""

Call = Callable[[], Coroutine[Any, Any, Any]]


def agent_call(model: Any, labeler: Any) -> Call:
    agent = agent_of(model, labeler=labeler)
    return lambda: agent.ainvoke({"messages": [("user", QUESTION)]})


def chat_call(model: Any, labeler: Any) -> Call:
    chat = SelfCorrectingChatModel(model, Shelf(), content_cache=False, labeler=labeler)
    return lambda: chat.ainvoke(QUESTION)


def function_call(model: Any, labeler: Any) -> Call:
    async def answer(question: str, documents: Any) -> str:
        return "In 1871."

    function = self_correct(judge=model, cache=False, labeler=labeler)(answer)
    return lambda: function(QUESTION, documents=DISAGREEING)


@pytest.mark.parametrize("call_of", [agent_call, chat_call, function_call])
def test_a_cancelled_call_does_not_wait_for_the_opening(
    call_of: Callable[[Any, Any], Call],
) -> None:
    opening, released = threading.Event(), threading.Event()

    def slow_labeler(model: Any, prompts: Any) -> Any:
        opening.set()
        released.wait(OPENING_S)
        raise ConfigurationError("the call was cancelled before this")

    async def cancelled(call: Call) -> None:
        task = asyncio.create_task(call())
        while not opening.is_set():
            assert not task.done()
            await asyncio.sleep(0.01)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with OpenAIServer(AgentWorld(tools=("search",))) as server:
        start = time.monotonic()
        asyncio.run(cancelled(call_of(scripted_model(server), slow_labeler)))
        seconds = time.monotonic() - start
        released.set()

    assert seconds < OPENING_S / 2
