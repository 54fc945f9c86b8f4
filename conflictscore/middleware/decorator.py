"""Self-correction for a plain function that answers a question from documents."""

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Iterable
from contextlib import AbstractContextManager
from contextvars import Context
from dataclasses import dataclass, replace
from functools import partial, update_wrapper
from typing import Any, Unpack, cast, overload

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import ConfigurationError, InputError, ProviderError, brief_reason
from conflictscore.graph.binding import in_callers_thread, run_for_sync_caller
from conflictscore.graph.create import open_run
from conflictscore.graph.keywords import CorrectionOptions, explicit_kwargs, split_options
from conflictscore.loop.state import GeneratedAnswer, RagState, RunContext, documents_of
from conflictscore.middleware.answer_forms import (
    answer_text,
    ending_in,
    in_its_form,
    no_text,
    why_not_rebuilt,
)
from conflictscore.middleware.chains import function_of
from conflictscore.middleware.entrypoints import (
    HIDDEN,
    OnEvent,
    PassedOnError,
    correct,
    listener,
)
from conflictscore.middleware.own_answer import Chatbot
from conflictscore.middleware.requirement import Require, check_require, meets, refuse
from conflictscore.middleware.run_views import whole
from conflictscore.records import Answer, Document, Run
from conflictscore.retrieval.documents import DocumentLike
from conflictscore.threads import in_thread, on_home_loop, run_once

Documents = tuple[Document, ...]
Sources = Iterable[DocumentLike]


@overload
def self_correct(
    chain: None = None,
    /,
    *,
    retriever: BaseRetriever | None = None,
    require: Require | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[CorrectionOptions],
) -> Callable[[Callable[..., Any] | Runnable[Any, Any]], Any]: ...


@overload
def self_correct(
    chain: Runnable[Any, Any],
    /,
    *,
    retriever: BaseRetriever | None = None,
    require: Require | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[CorrectionOptions],
) -> Any: ...


@explicit_kwargs(CorrectionOptions)
def self_correct(
    chain: Runnable[Any, Any] | None = None,
    /,
    *,
    retriever: BaseRetriever | None = None,
    require: Require | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[CorrectionOptions],
) -> Any:
    """Decorate a function that answers from documents, so that disputed answers are corrected.

    ```python
    @self_correct(retriever=GoogleRetriever(), judge="openai:gpt-4.1-mini")
    def answer(question: str, documents: tuple[Document, ...]) -> str: ...


    answer("Is it safe to reheat rice?")  # the corrected text
    answer.run("Is it safe to reheat rice?")  # the whole run, as plain JSON
    ```

    Callers pass the question to the decorated function. If callers also pass ``documents=``
    (strings, LangChain ``Document``s, records, or mappings with ``text``), there is no search.
    Other arguments are passed to the function. One of them may be ``history=``, the messages before
    the question, which the search uses too.

    The function may return a string, a message, or a mapping with a string under a key such as
    ``answer`` or ``output``. The caller gets the same type with the corrected text. The run is
    under ``conflictscore``; if the function returns a string, the run is in the string's attribute
    ``run``. JSON, mappings of values and pydantic models are checked value by value.

    If a claim has evidence on both sides, the function is called again. The function then gets the
    same documents, and a question that includes the first answer and the evidence (template
    ``reconsider``). If the second call raises an error, the first answer is kept, with a note.
    Inside a LangGraph graph, tokens from models that the function calls are not streamed if the
    answer may be replaced or refused.

    A decorated coroutine function is still awaited, and so is its ``run``. Methods can be decorated
    too.

    Args:
        chain: A LangChain chain instead of a function: ``self_correct(prompt | model, …)`` returns
            a function like a decorated one. The chain is invoked synchronously, with ``question``
            (also as ``query`` and ``input``) and ``documents`` (also as ``context``). A chain that
            takes a single value gets only the question. Omit ``chain`` to decorate a function:
            ``@self_correct(…)``.
        retriever: Any LangChain retriever; not needed if every call passes documents.
        require: How much of an answer must be checked, ``"fully"`` or ``"partly"``. If less was
            checked, an ``UncheckedAnswerError`` is raised, unless the answer states nothing.
        on_event: A function that is called with each event of a run, in a separate thread. Inside a
            LangGraph graph, ``stream_mode="custom"`` yields the same events.
        **settings: See below. The judge also writes the reasons for changes. The judge is opened at
          the first call.

    Raises:
        ConfigurationError: The decorated object does not take a question and documents. A call also
            raises it if a model, key or template is missing or invalid, or if there are neither
            documents nor a retriever.
        InputError: A setting is out of range, or the question, a document or the answer has no
            text.
        NoDocumentsError: The retriever found nothing in a call.
    """
    if chain is not None and not isinstance(chain, Runnable):
        raise ConfigurationError("write @self_correct() with parentheses; settings go into them")
    check_require(require)
    run_settings, models = split_options(settings)
    open_context = run_once(
        partial(open_run, models.pop("judge", None), retriever, run_settings, **models)
    )

    def decorate(function: Callable[..., Any] | Runnable[Any, Any]) -> Any:
        function = function_of(function) if isinstance(function, Runnable) else function
        callables = (function, type(function).__call__)  # the object's __call__ may be async
        is_async = any(map(inspect.iscoroutinefunction, callables))
        face = AsyncSelfCorrecting if is_async else SelfCorrecting
        return face(function, open_context, on_event, require)

    return decorate if chain is None else decorate(chain)


class _Decorated:
    """Base of the synchronous and asynchronous wrappers of ``function``."""

    def __init__(
        self,
        function: Callable[..., Any],
        open_context: Callable[[], RunContext],
        on_event: OnEvent | None,
        require: Require | None = None,
    ) -> None:
        """Wrap a function; raise ConfigurationError unless it takes a question and documents."""
        update_wrapper(cast("Callable[..., Any]", self), function)
        self.function, self._opened, self._on_event = function, open_context, on_event
        self._require: Require | None = require
        self._name = getattr(function, "__name__", type(function).__name__)
        callables = (function, type(function).__call__)
        if any(map(inspect.isgeneratorfunction, callables)) or any(
            map(inspect.isasyncgenfunction, callables)
        ):
            raise ConfigurationError(
                f"{self._name} yields its answer in pieces, but no piece may be sent before the"
                " answer is checked; decorate a function that returns the whole answer"
            )
        parameters = list(inspect.signature(function).parameters.values())
        places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
        if len(places) < 2 and not any(p.kind is p.VAR_POSITIONAL for p in parameters):
            raise ConfigurationError(
                "self_correct decorates functions that take a question and documents, but"
                f" {self._name} takes {inspect.signature(function)}"
            )

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        bound = self.function.__get__(instance, owner)
        return type(self)(bound, self._opened, self._on_event, self._require)

    def _unseen(self) -> AbstractContextManager[Context]:
        """Stream no tokens inside the block if the answer may be replaced or refused."""
        may_change = self._opened().settings.max_rounds or self._require is not None
        config = HIDDEN if may_change else None
        return set_config_context(merge_configs(ensure_config(), config))

    async def _corrected(
        self, question: str, documents: Any, history: Any, call: Callable[..., Awaitable[object]]
    ) -> tuple[Run, object]:
        context = self._opened()

        async def at_home(*arguments: Any) -> object:
            return await on_home_loop(partial(call, *arguments))

        function = _Function(self._name, at_home)
        answerer = Chatbot(self._name, context.prompts, function.first, function.say)
        start: Any = {"question": question, "documents": documents, "history": history}
        on_event = listener(self._on_event)
        context = replace(
            context, answerer=answerer, on_event=on_event, answer_check=function.why_unfit
        )
        run = await correct(context, start)
        if not meets(run, self._require):
            refuse(run, self._require)
        return run, function.returned


@dataclass
class _Function:
    """Lets the decorated function act as the chatbot of one run."""

    name: str
    call: Callable[[str, Documents], Awaitable[object]]
    returned: object = None
    """The return value of the first call."""

    def why_unfit(self, text: str) -> str | None:
        return why_not_rebuilt(self.returned, text)

    async def first(self, state: RagState) -> GeneratedAnswer:
        """Call the function; its errors end the run and reach the caller unchanged."""
        try:
            # the question in the caller's words; the function itself interprets it with ``history``
            self.returned = await self.call(state["asked"], documents_of(state))
        except Exception as error:
            raise PassedOnError(error) from error
        text = answer_text(self.returned)
        if text is None:
            raise InputError(no_text(self.name, self.returned))
        return GeneratedAnswer(Answer(text=text, early_ending=ending_in(self.returned)))

    async def say(self, state: RagState, prompt: str) -> str:
        try:
            answer = await self.call(prompt, documents_of(state))
        except GraphBubbleUp as error:
            raise PassedOnError(error) from error
        except Exception as error:
            problem = f"{self.name} failed: {brief_reason(error)}"
            raise ProviderError(problem, provider=self.name) from error
        text = answer_text(answer)
        if text is None:
            raise ProviderError(no_text(self.name, answer), provider=self.name)
        return text


class SelfCorrecting(_Decorated):
    """A function whose answers are checked and corrected."""

    def __call__(
        self, question: str, documents: Sources | None = None, *more: Any, **named: Any
    ) -> Any:
        """Return the corrected answer; a string is returned as a :class:`CheckedText`."""
        return in_its_form(*self._run(question, documents, more, named))

    def run(
        self, question: str, documents: Sources | None = None, *more: Any, **named: Any
    ) -> dict[str, Any]:
        """Return the whole run, with the corrected answer, the first answer and the scores."""
        return whole(self._run(question, documents, more, named)[0])

    def _run(
        self, question: str, documents: Sources | None, more: Any, named: Any
    ) -> tuple[Run, object]:
        self._opened()  # in the caller's thread; the run below has a loop in another thread

        def answer(*arguments: Any) -> object:
            with self._unseen() as context:
                return context.run(partial(self.function, *arguments, *more, **named))

        async def call(*arguments: Any) -> object:
            return await in_callers_thread(partial(answer, *arguments))

        return run_for_sync_caller(self._corrected(question, documents, named.get("history"), call))


class AsyncSelfCorrecting(_Decorated):
    """A coroutine function whose answers are checked and corrected."""

    async def __call__(
        self, question: str, documents: Sources | None = None, *more: Any, **named: Any
    ) -> Any:
        """Return the corrected answer; a string is returned as a :class:`CheckedText`."""
        return in_its_form(*await self._run(question, documents, more, named))

    async def run(
        self, question: str, documents: Sources | None = None, *more: Any, **named: Any
    ) -> dict[str, Any]:
        """Return the whole run, with the corrected answer, the first answer and the scores."""
        return whole((await self._run(question, documents, more, named))[0])

    async def _run(
        self, question: str, documents: Sources | None, more: Any, named: Any
    ) -> tuple[Run, object]:
        await in_thread(self._opened)  # this may read and download files
        with self._unseen() as context:  # run in the caller's context, not in a node's

            async def call(*arguments: Any) -> object:
                answering = self.function(*arguments, *more, **named)
                # a context can be entered only once at a time, so each call gets a copy
                return await asyncio.create_task(answering, context=context.copy())

            return await self._corrected(question, documents, named.get("history"), call)
