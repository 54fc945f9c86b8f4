"""Usage, failure and time of the model calls that an agent makes."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context

from conflictscore.middleware.entrypoints import HIDDEN
from conflictscore.models.usage import UsageMeter

__all__ = ["CallWatch"]

In = TypeVar("In")
Out = TypeVar("Out")


class CallWatch(UsageMeter):
    """Watches every model call that the agent makes for us, whichever model it goes to.

    The calls are reached through the config that LangChain hands down, not through the model: a
    middleware further in may put another model in its place. ``failure`` is what the last call
    raised, if any; ``seconds`` the time of all.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failure: BaseException | None = None
        self.seconds = 0.0

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count a call that was answered."""
        super().on_llm_end(response, **kwargs)
        self.failure = None

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Keep what a call raised."""
        self.failure = error

    def call(self, work: Callable[[In], Out], value: In, *, hidden: bool) -> Out:
        """Call something that calls models; ``hidden`` keeps tokens out of ``messages`` streams."""
        with self._timed(), set_config_context(self._config(hidden)) as context:
            return context.run(work, value)

    async def call_async(
        self, work: Callable[[In], Awaitable[Out]], value: In, *, hidden: bool
    ) -> Out:
        """:meth:`call` for asynchronous work."""

        async def working() -> Out:
            return await work(value)

        with self._timed(), set_config_context(self._config(hidden)) as context:
            return await asyncio.create_task(working(), context=context)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        started = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - started

    def _config(self, hidden: bool) -> RunnableConfig:
        return merge_configs(ensure_config(), {"callbacks": [self]}, HIDDEN if hidden else None)
