"""One call of the chat model: callbacks for the calls inside it, and the form of its answer."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import add_usage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import set_config_context
from langchain_core.tracers.langchain import LangChainTracer

from conflictscore.models.calls import call

__all__ = ["AnswerForm", "apart"]


@contextmanager
def apart(
    run: CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun | None, *, traced_only: bool
) -> Iterator[Context]:
    """Where runnables are children of this run, and have to do with nothing else around it.

    A graph that is called within another one would take its checkpoints, context and streams for
    its own.

    With ``traced_only`` the run's callbacks do not receive the children. A LangSmith trace does,
    since it would otherwise begin anew with each of them.
    """
    if run is None:
        with set_config_context({}) as context:
            yield context
        return
    children = CallbackManager(handlers=[], parent_run_id=run.run_id)
    children.set_handlers(
        [
            handler
            for handler in run.inheritable_handlers
            if not traced_only or isinstance(handler, LangChainTracer)
        ]
    )
    children.add_tags(run.inheritable_tags)
    # all but what says which model this is: the calls inside have models of their own
    metadata = run.inheritable_metadata.items()
    children.add_metadata({key: item for key, item in metadata if not key.startswith("ls_")})
    with set_config_context({"callbacks": children}) as context:
        if traced_only:  # LangChain also adds handlers that stand in a context variable
            for variable, value in list(context.items()):
                if isinstance(value, BaseCallbackHandler):
                    context.run(variable.set, None)
        yield context


class AnswerForm:
    """The form of one answer; the writer gives ``raw``, ``parsed`` and ``parsing_error``."""

    def __init__(self, writer: Runnable[LanguageModelInput, Any], ask: BaseMessage) -> None:
        self._writer, self._ask = writer, ask
        self._written: Mapping[str, Any] = {}

    async def fill(self, messages: Sequence[BaseMessage], answer: AIMessage) -> AIMessage:
        """The form of an answer to a conversation, with its run and the tokens of all calls."""
        self._written = await call(self._writer, [*messages, answer, self._ask])
        raw: AIMessage = self._written["raw"]
        known = {
            name: answer.response_metadata.get(name) for name in ("model_name", "conflictscore")
        }
        update = {
            "response_metadata": {**raw.response_metadata, **known},
            "usage_metadata": add_usage(answer.usage_metadata, raw.usage_metadata),
        }
        return raw.model_copy(update=update)

    def result(self, raw: AIMessage, *, include_raw: bool) -> Any:
        """Result of a structured call; without ``include_raw`` the value, or its error."""
        if include_raw:
            return {**self._written, "raw": raw}
        if (error := self._written["parsing_error"]) is not None:
            raise error
        return self._written["parsed"]
