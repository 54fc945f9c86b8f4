"""One call of the chat model: callbacks for the calls inside it, and the form of its answer."""

import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Any, cast

from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun,
    BaseCallbackHandler,
    CallbackManager,
    CallbackManagerForLLMRun,
)
from langchain_core.language_models import BaseChatModel, LanguageModelInput
from langchain_core.messages import AIMessage, BaseMessage, UsageMetadata
from langchain_core.messages.ai import add_usage
from langchain_core.outputs import ChatGeneration, LLMResult
from langchain_core.runnables import (
    Runnable,
    RunnableBinding,
    RunnableParallel,
    RunnableSequence,
)
from langchain_core.runnables.config import set_config_context
from langchain_core.tracers.langchain import LangChainTracer

from conflictscore.models.calls import call
from conflictscore.models.usage import tokens_of

__all__ = ["AnswerForm", "apart", "running", "with_parameters"]

_Call = CallbackManagerForLLMRun | AsyncCallbackManagerForLLMRun

_run: ContextVar[_Call | None] = ContextVar("conflictscore_chat_run", default=None)
"""The run that a message is made for; LangChain does not hand it to ``_stream``."""


@contextmanager
def running(run: _Call | None) -> Iterator[None]:
    """Make this the run that a message is made for."""
    token = _run.set(run)
    try:
        yield
    finally:
        _run.reset(token)


@contextmanager
def apart(run: _Call | None, only: BaseCallbackHandler | None = None) -> Iterator[Context]:
    """Where runnables are children of this run, and have to do with nothing else around it.

    A graph that is called within another one would take its checkpoints, context and streams for
    its own.

    Args:
        run: The run; without one, that of the message that is being made.
        only: The one callback that receives the children, beside a LangSmith trace, which would
            otherwise begin anew with each of them; None for all callbacks of the run.
    """
    parent = run or _run.get()
    if parent is None:
        with set_config_context({}) as context:
            yield context
        return
    handlers = parent.inheritable_handlers
    if only is not None:
        handlers = [only, *(tracer for tracer in handlers if isinstance(tracer, LangChainTracer))]
    children = CallbackManager(handlers=[], parent_run_id=parent.run_id)
    children.set_handlers(handlers)
    children.add_tags(parent.inheritable_tags)
    # all but what says which model this is: the calls inside have models of their own
    metadata = parent.inheritable_metadata.items()
    children.add_metadata({key: item for key, item in metadata if not key.startswith("ls_")})
    with set_config_context({"callbacks": children}) as context:
        if only is not None:
            _forget_handlers(context)
        yield context


def _forget_handlers(context: Context) -> None:
    """LangChain also adds handlers that stand in a context variable, to every run."""
    for variable, value in list(context.items()):
        if isinstance(value, BaseCallbackHandler):
            context.run(variable.set, None)


class Spent(BaseCallbackHandler):
    """Adds up the tokens of the calls it receives, in full detail.

    Attributes:
        usage: The tokens; None where no call has reported any.
        models: What the models that answered call themselves.
    """

    run_inline = True

    def __init__(self) -> None:
        self.usage: UsageMetadata | None = None
        self.models: set[str] = set()
        self._lock = threading.Lock()  # LangChain calls back from several threads at once

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count a call that was answered."""
        generation = response.generations[0][0] if response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        if not isinstance(message, AIMessage):
            return
        with self._lock:
            self.models.add(_model_name(message))
            if known := tokens_of(message):
                self.usage = add_usage(self.usage, cast("UsageMetadata", known))


class AnswerForm:
    """The form of one answer.

    Attributes:
        spent: Cost of all calls for it, if it receives them.
    """

    def __init__(self, writer: Runnable[LanguageModelInput, Any], ask: BaseMessage) -> None:
        """Begin with a form that is empty.

        Args:
            writer: Gives ``raw``, ``parsed`` and ``parsing_error`` for a conversation.
            ask: What the conversation ends with.
        """
        self.spent = Spent()
        self._writer, self._ask = writer, ask
        self._written: Mapping[str, Any] = {}

    async def fill(
        self, messages: Sequence[BaseMessage], answer: AIMessage, *, name: str
    ) -> AIMessage:
        """Put the answer to a conversation into the form.

        Args:
            messages: The conversation, oldest first.
            answer: The answer, in words.
            name: What to call the model in the metadata where several have been asked.

        Returns:
            The form as it was written, with what is known of the answer, and with all tokens.
        """
        self._written = await call(self._writer, [*messages, answer, self._ask])
        raw: AIMessage = self._written["raw"]
        alone = self.spent.models == {_model_name(raw)}
        return _formed(raw, answer, usage=self.spent.usage, name=None if alone else name)

    def result(self, raw: AIMessage, *, include_raw: bool) -> Any:
        """Result of a structured call.

        Args:
            raw: The message that :meth:`fill` has come to.
            include_raw: Whether to give the message too, and a form that cannot be read as a value.

        Raises:
            Exception: The form cannot be read.
        """
        if include_raw:
            return {**self._written, "raw": raw}
        if (error := self._written["parsing_error"]) is not None:
            raise error
        return self._written["parsed"]


def with_parameters(
    chain: Runnable[Any, Any], parameters: Mapping[str, Any]
) -> Runnable[LanguageModelInput, Any]:
    """Give call parameters to the model at the head of a chain; the chain's own win.

    Args:
        chain: What a model's ``with_structured_output`` gives.
        parameters: The call parameters.

    Raises:
        NotImplementedError: There are parameters, and the model cannot be found.
    """
    if not parameters:
        return chain
    if isinstance(chain, RunnableSequence):
        head, *rest = chain.steps
        return RunnableSequence(with_parameters(head, parameters), *rest)
    if isinstance(chain, RunnableParallel):
        steps = chain.steps__.items()
        return RunnableParallel({key: with_parameters(step, parameters) for key, step in steps})
    if isinstance(chain, RunnableBinding) and isinstance(chain.bound, BaseChatModel):
        return chain.bind(**{**parameters, **chain.kwargs})
    raise NotImplementedError(
        f"{', '.join(parameters)}: the model's structured output takes no call parameters from"
        " outside; set them on the model itself"
    )


def _model_name(message: AIMessage) -> str:
    return str(message.response_metadata.get("model_name", ""))


def _formed(
    form: AIMessage, answer: AIMessage, *, usage: UsageMetadata | None, name: str | None
) -> AIMessage:
    """An answer's form, with what is known of the answer."""
    metadata = {
        **form.response_metadata,
        "conflictscore": answer.response_metadata.get("conflictscore"),
    }
    if name is not None:
        metadata["model_name"] = name
    return form.model_copy(update={"response_metadata": metadata, "usage_metadata": usage})
