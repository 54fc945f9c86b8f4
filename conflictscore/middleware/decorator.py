"""Self-correction for a plain function that answers a question from documents."""

import asyncio
import inspect
import threading
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from contextvars import Context
from dataclasses import replace
from functools import cached_property, partial, update_wrapper
from typing import Any, Generic, Protocol, TypeVar, Unpack, cast, overload

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import ConfigurationError, ConflictScoreError, InputError, ProviderError
from conflictscore.graph.create import run_context
from conflictscore.graph.settings import CorrectionOptions, LoopSettings, takes
from conflictscore.middleware.calls import HIDDEN
from conflictscore.middleware.steps import (
    AnswerAgain,
    AnswerFirst,
    Given,
    Steps,
    correction,
    drive,
    drive_async,
)
from conflictscore.nodes.state import RunContext
from conflictscore.records import Document, Run

__all__ = ["AsyncSelfCorrecting", "SelfCorrecting", "self_correct"]

Documents = tuple[Document, ...]
Sources = Iterable[Document | Mapping[str, Any]]
F = TypeVar("F", bound=Callable[..., Any])


class _Decorator(Protocol):
    """What :func:`self_correct` gives."""

    @overload
    def __call__(
        self, function: Callable[[str, Documents], Awaitable[str]], /
    ) -> "AsyncSelfCorrecting": ...
    @overload
    def __call__(self, function: Callable[[str, Documents], str], /) -> "SelfCorrecting": ...


@takes(CorrectionOptions)
def self_correct(
    *,
    retriever: BaseRetriever | None = None,
    **settings: Unpack[CorrectionOptions],
) -> _Decorator:
    """Decorate a function of a question and documents, so that it looks again where they disagree.

    ```python
    @self_correct(retriever=GoogleRetriever(), judge="openai:gpt-4.1-mini")
    def answer(question: str, documents: tuple[Document, ...]) -> str: ...


    answer("Is it safe to reheat rice?")  # the corrected text
    answer.run("Is it safe to reheat rice?")  # the whole run, as plain JSON
    ```

    The decorated function takes the question; ``documents=`` (:class:`Document`, or mappings with a
    ``text``) take the place of retrieval. Its answer is scored by the judge. Where a claim has
    evidence on both sides, the function is called again with the same documents, and with a
    question that holds the first answer and that evidence (template ``reconsider``). What the
    function raises then leaves the first answer, with a note. The judge says why an answer changed.
    Inside a LangGraph graph, the words of a model that the function calls are not streamed, since
    its answer may be replaced.

    A coroutine function stays one, and ``run`` is to be awaited as well. Functions only: to
    decorate a method, decorate the bound one where the object is made.

    Args:
        retriever: Any LangChain retriever; not needed where every call brings documents.
        judge: The model that decomposes, labels and gives reasons: a spec, a LangChain chat model,
            or a model that is open already. By default OpenAI's where ``OPENAI_API_KEY`` is set,
            otherwise the embedded local one. It is opened at the first call.
        labeler: the name of one, or your own; see :func:`create_self_correcting_rag`.
        base_url: An OpenAI-compatible endpoint for a judge's spec.
        context_window: Tokens of prompt and reply; by default what is known of the judge.
        prompts: A folder of templates that override the default ones, or a prompt set.
        max_rounds: The most times that the function is called again, 0 to 20.
        cache: Where verdicts are kept; True is the user's cache, False keeps none.
        duplicates: Whether near-identical documents ``vote`` each, or count ``once`` on each side.
        budget_seconds: The time that a call may take, above 0; labelling ends in time.
        max_claims: The most claims of an answer to label, at least 1.

    Raises:
        ConfigurationError: What is decorated takes something else than a question and documents.
            From a call: a setting, model or key is missing or wrong, or there is nothing to
            answer from.
        InputError: From a call: the question or a document is empty, a setting is out of range,
            or the function gave something else than text.
        NoDocumentsError: From a call: the retriever found nothing.
    """
    shaped = LoopSettings(**settings)
    open_context = partial(run_context, shaped.judge, retriever, replace(shaped, judge=None))

    def decorate(function: Callable[[str, Documents], Any]) -> Any:
        called = [function, type(function).__call__]
        asynchronous = any(map(inspect.iscoroutinefunction, called))
        face = AsyncSelfCorrecting if asynchronous else SelfCorrecting
        return face(function, open_context)

    return cast("_Decorator", decorate)


class _Decorated(Generic[F]):
    """What both faces share.

    Attributes:
        function: The function as it was before.
    """

    def __init__(self, function: F, open_context: Callable[[], RunContext]) -> None:
        update_wrapper(cast("Callable[..., Any]", self), function)
        self.function, self._open_context = function, open_context
        self._opening = threading.Lock()
        self._name = getattr(function, "__name__", type(function).__name__)
        try:
            inspect.signature(function).bind("question", ())
        except TypeError:
            raise ConfigurationError(
                f"self_correct decorates a function of a question and documents, and {self._name}"
                f" takes {inspect.signature(function)}"
            ) from None

    @cached_property
    def _context(self) -> RunContext:
        return self._open_context()

    def _opened(self) -> RunContext:
        with self._opening:  # the first calls may come from several threads at once
            return self._context

    def _unseen(self) -> AbstractContextManager[Context]:
        """Where the tokens of an answer that may be replaced are not streamed."""
        added = HIDDEN if self._context.max_rounds else None
        return set_config_context(merge_configs(ensure_config(), added))

    def _steps(self, question: str, documents: Sources | None) -> Steps:
        given = [d.to_json() if isinstance(d, Document) else d for d in documents or ()]
        return correction(question, given)

    def _question(self, step: AnswerFirst | AnswerAgain) -> str:
        if isinstance(step, AnswerFirst):
            return step.question
        return step.prompt(self._context.prompts)

    def _given(self, step: AnswerFirst | AnswerAgain, answer: object) -> Given:
        if isinstance(answer, str):
            return Given(answer)
        problem = f"{self._name} gave {type(answer).__name__}, and not text"
        if isinstance(step, AnswerFirst):
            raise InputError(problem)
        raise ProviderError(problem, provider=self._name)

    @contextmanager
    def _failures(self, step: AnswerFirst | AnswerAgain) -> Iterator[None]:
        """Let the first answer stand where the function fails at another; else its error ends all.

        Raises:
            ProviderError: It failed at another answer.
        """
        try:
            yield
        except GraphBubbleUp:
            raise
        except Exception as error:
            if isinstance(step, AnswerFirst):
                raise
            # an error of another library may quote an address with a key in it
            reason = str(error) if isinstance(error, ConflictScoreError) else type(error).__name__
            raise ProviderError(f"{self._name} failed: {reason}", provider=self._name) from error


class SelfCorrecting(_Decorated[Callable[[str, Documents], str]]):
    """A function that looks again at its answer where its documents disagree."""

    def __call__(self, question: str, documents: Sources | None = None) -> str:
        """The corrected answer."""
        return cast("str", self._run(question, documents).answer)

    def run(self, question: str, documents: Sources | None = None) -> dict[str, Any]:
        """The whole run, with the corrected answer, the first one and the scores."""
        return _shown(self._run(question, documents))

    def _run(self, question: str, documents: Sources | None) -> Run:
        return drive(self._steps(question, documents), self._opened(), self._answer)

    def _answer(self, step: AnswerFirst | AnswerAgain) -> Given:
        with self._failures(step), self._unseen() as context:
            answer = context.run(self.function, self._question(step), step.documents)
        return self._given(step, answer)


class AsyncSelfCorrecting(_Decorated[Callable[[str, Documents], Awaitable[str]]]):
    """A coroutine function that looks again at its answer where its documents disagree."""

    async def __call__(self, question: str, documents: Sources | None = None) -> str:
        """The corrected answer."""
        return cast("str", (await self._run(question, documents)).answer)

    async def run(self, question: str, documents: Sources | None = None) -> dict[str, Any]:
        """The whole run, with the corrected answer, the first one and the scores."""
        return _shown(await self._run(question, documents))

    async def _run(self, question: str, documents: Sources | None) -> Run:
        context = await asyncio.to_thread(self._opened)
        return await drive_async(self._steps(question, documents), context, self._answer)

    async def _answer(self, step: AnswerFirst | AnswerAgain) -> Given:

        async def answering() -> object:
            return await self.function(self._question(step), step.documents)

        with self._failures(step), self._unseen() as context:
            answer = await asyncio.create_task(answering(), context=context)
        return self._given(step, answer)


def _shown(run: Run) -> dict[str, Any]:
    return run.summary("flip", "attempts", "reason")
