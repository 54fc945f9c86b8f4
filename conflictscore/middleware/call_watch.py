"""Observes an agent's model calls and their usage, and the retriever calls inside its tools."""

import asyncio
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, TypeVar

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.outputs import LLMResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context
from langchain_core.tracers.context import register_configure_hook

from conflictscore.middleware.entrypoints import HIDDEN
from conflictscore.middleware.outer_verdict import documents_behind
from conflictscore.middleware.tool_updates import ToolResult, message_of, with_message
from conflictscore.models.usage import UsageMeter

In = TypeVar("In")
Out = TypeVar("Out")


class CallWatch(UsageMeter):
    """Observes every model call of one step of an agent.

    The observer is passed in LangChain's config instead of being attached to the model, since inner
    middleware may substitute a different model. ``failure`` is the error of the last call, or None;
    ``seconds`` is the total time of all calls.
    """

    def __init__(self) -> None:
        super().__init__()
        self.failure: BaseException | None = None
        self.seconds = 0.0

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count the tokens of a call that succeeded."""
        super().on_llm_end(response, **kwargs)
        self.failure = None

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        """Store the error of a call that failed."""
        self.failure = error

    def call(self, work: Callable[[In], Out], value: In, *, hidden: bool) -> Out:
        """Call a function that uses models; ``hidden`` keeps tokens out of ``messages`` streams."""
        with self._timed(), set_config_context(self._config(hidden)) as context:
            return context.run(work, value)

    async def call_async(
        self, work: Callable[[In], Awaitable[Out]], value: In, *, hidden: bool
    ) -> Out:
        """Version of :meth:`call` for coroutines."""

        async def working() -> Out:
            return await work(value)

        with self._timed(), set_config_context(self._config(hidden)) as context:
            # a task, since only a task can run in a different context
            return await asyncio.create_task(working(), context=context)

    @contextmanager
    def _timed(self) -> Iterator[None]:
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds += time.perf_counter() - start

    def _config(self, hidden: bool) -> RunnableConfig:
        return merge_configs(ensure_config(), {"callbacks": [self]}, HIDDEN if hidden else None)


class _Found(BaseCallbackHandler):
    """Collects the documents that retrievers return."""

    run_inline = True  # documents must be collected before the retriever's call returns

    def __init__(self) -> None:
        self.documents: list[Document] = []

    def on_retriever_end(self, documents: Sequence[Document], **_: Any) -> None:
        self.documents += documents


_found: ContextVar[BaseCallbackHandler | None] = ContextVar("conflictscore_found", default=None)
# the agent calls tools with its own config, which cannot carry our callbacks
register_configure_hook(_found, True)


@contextmanager
def retrieved_documents() -> Iterator[list[Document]]:
    """Collect the documents that retrievers find in this block."""
    collector = _Found()
    token = _found.set(collector)
    try:
        yield collector.documents
    finally:
        _found.reset(token)


def with_artifact(
    result: ToolResult,
    call_id: str | None,
    documents: Sequence[Document],
    runs: Sequence[Mapping[str, Any]] = (),
) -> ToolResult:
    """Attach to a tool's message, as its artifact, the documents that it is based on.

    If the message is the answer of an agent that checked it, the documents of that agent's run are
    attached. Otherwise, the documents that the message quotes in full are attached. A message that
    already has an artifact is not changed.
    """
    message = message_of(result, call_id)
    if message is None or message.artifact is not None:
        return result
    whole_documents = [
        document
        for document in documents
        if document.page_content.strip() and document.page_content in str(message.text)
    ]
    whole_documents = documents_behind(message, runs) or whole_documents
    if not whole_documents:
        return result
    return with_message(result, message.model_copy(update={"artifact": whole_documents}))
