"""How many calls of ours lie between the node ``label`` and the client of a model."""

import asyncio
import gc
import sys
from pathlib import Path
from types import AsyncGeneratorType, CoroutineType, FrameType
from typing import Any

import pytest
from langchain_core.callbacks import AsyncCallbackManagerForLLMRun
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

import conflictscore
from conflictscore.graph.create import create_conflict_scorer
from conflictscore.storage.cache import ContentCache
from tests.fakes.openai_server import OpenAIServer
from tests.world import World

_OURS = str(Path(conflictscore.__file__).parent)
_MOST = 8


class Watched(ChatOpenAI):
    """Notes who is awaiting it when it is asked for a label, outermost task first."""

    seen: list[str] = []  # noqa: RUF012 - a field of the model

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: AsyncCallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        if "label" in " ".join(frames := [name for task in _tasks() for name in task]):
            self.seen[:] = frames[frames.index("label") :]
        return await super()._agenerate(messages, stop, run_manager, **kwargs)


def _tasks() -> list[list[str]]:
    """Our functions that wait in each task, in the order in which the tasks were begun."""
    current = asyncio.current_task()
    tasks = sorted(asyncio.all_tasks(), key=lambda task: int(task.get_name().split("-")[-1]))
    return [_running() if task is current else _waiting(task.get_coro()) for task in tasks]


def _running() -> list[str]:
    frame: FrameType | None = sys._getframe()
    names = []
    while frame is not None:
        if frame.f_code.co_filename.startswith(_OURS):
            names.append(frame.f_code.co_name)
        frame = frame.f_back
    return names[::-1]


def _waiting(awaited: Any) -> list[str]:
    names = []
    while awaited is not None:
        frame = None
        if isinstance(awaited, CoroutineType):
            frame, awaited = awaited.cr_frame, awaited.cr_await
        elif isinstance(awaited, AsyncGeneratorType):
            frame, awaited = awaited.ag_frame, awaited.ag_await
        else:  # what drives an async generator names it nowhere
            driven = gc.get_referents(awaited)
            awaited = next((one for one in driven if isinstance(one, AsyncGeneratorType)), None)
        if frame is not None and frame.f_code.co_filename.startswith(_OURS):
            names.append(frame.f_code.co_name)
    return names


@pytest.mark.parametrize("labeler", ["json", "choice"])
async def test_a_pair_passes_few_hands_from_the_node_to_the_client(
    labeler: Any, tmp_path: Path
) -> None:
    with OpenAIServer(World()) as server:
        model = Watched(
            model="scripted", base_url=server.base_url, api_key=SecretStr("key"), max_retries=0
        )
        scorer = create_conflict_scorer(
            model, labeler=labeler, cache=ContentCache(tmp_path / "kept.sqlite")
        )
        await scorer.ainvoke(
            {"answer": "It was lit in 1871.", "documents": [{"text": "Lit in 1871."}]}
        )
    assert 0 < len(model.seen) <= _MOST, model.seen
