"""Self-correction for a plain function that answers a question from documents."""

import asyncio
import inspect
import threading
from collections.abc import (
    AsyncGenerator,
    AsyncIterator,
    Awaitable,
    Callable,
    Generator,
    Iterable,
    Iterator,
)
from contextlib import AbstractContextManager, aclosing, closing
from contextvars import Context
from dataclasses import dataclass, replace
from functools import cached_property, partial, update_wrapper
from typing import Any, Generic, Protocol, TypeVar, Unpack, cast, overload

from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables.config import ensure_config, merge_configs, set_config_context
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConfigurationError,
    InputError,
    ProviderError,
    UnreadableReplyError,
    brief_reason,
)
from conflictscore.graph.binding import in_callers_thread, run_for_sync_caller
from conflictscore.graph.create import open_run
from conflictscore.graph.keywords import CorrectionOptions, explicit_kwargs, split_options
from conflictscore.middleware.entrypoints import (
    HIDDEN,
    PassedOnError,
    correct,
    reconsider_prompt,
    whole,
)
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.answering import GeneratedAnswer, RevisionRequest
from conflictscore.nodes.state import RagInput, RagState, RunContext, documents_of
from conflictscore.prompts import PromptSet
from conflictscore.records import Answer, Document, Run
from conflictscore.retrieval.documents import DocumentLike

__all__ = [
    "AsyncSelfCorrecting",
    "AsyncSelfCorrectingStream",
    "CheckedText",
    "SelfCorrecting",
    "SelfCorrectingStream",
    "self_correct",
]

Documents = tuple[Document, ...]
Sources = Iterable[DocumentLike]
F = TypeVar("F", bound=Callable[..., Any])
T = TypeVar("T")


class _Decorator(Protocol):
    """Functions that :func:`self_correct` returns."""

    @overload
    def __call__(
        self, function: Callable[[str, Documents], AsyncIterator[str]], /
    ) -> "AsyncSelfCorrectingStream": ...
    @overload
    def __call__(
        self, function: Callable[[str, Documents], Awaitable[str]], /
    ) -> "AsyncSelfCorrecting": ...
    @overload
    def __call__(
        self, function: Callable[[str, Documents], Iterator[str]], /
    ) -> "SelfCorrectingStream": ...
    @overload
    def __call__(self, function: Callable[[str, Documents], str], /) -> "SelfCorrecting": ...


@explicit_kwargs(CorrectionOptions)
def self_correct(
    function: None = None,
    /,
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

    The decorated function takes the question; ``documents=`` (texts, LangChain ``Document``s,
    records, or mappings with a ``text``) take the place of retrieval. Its answer is scored by the
    judge. Where a claim has evidence on both sides, the function is called again with the same
    documents, and with a question that holds the first answer and that evidence (template
    ``reconsider``). What the function raises then leaves the first answer, with a note. The judge
    says why an answer changed. Inside a LangGraph graph, the words of a model that the function
    calls are not streamed, since its answer may be replaced.

    A coroutine function stays one, and its ``run`` is awaited as well. A generator function that
    yields pieces of its answer stays one too, asynchronous or not: its pieces are held back until
    the answer stands, which is then yielded in one piece; an answer that may be replaced is never
    streamed. Functions only: to decorate a method, decorate the bound method where the object is
    made.

    Args:
        function: Nothing: the parentheses of ``@self_correct()`` are needed, and hold settings.
        retriever: Any LangChain retriever; not needed where every call brings documents.
        **settings: See below. The judge, which also gives the reasons, is opened at the first
            call.

    Raises:
        ConfigurationError: What is decorated does not take a question and documents. From a call:
            a model, key or template is missing or wrong, or there is nothing to answer from.
        InputError: A setting is out of range. From a call: the question or a document is empty, or
            the function returned something other than text.
        NoDocumentsError: From a call: the retriever found nothing.
    """
    if function is not None:
        raise ConfigurationError("write @self_correct(), with parentheses; they hold its settings")
    chosen, models = split_options(settings)
    open_context = partial(open_run, models.pop("judge", None), retriever, chosen, **models)

    def decorate(function: Callable[[str, Documents], Any]) -> Any:
        called = [function, type(function).__call__]
        for is_one, face in _FACES.items():
            if any(map(is_one, called)):
                return face(function, open_context)
        return SelfCorrecting(function, open_context)

    return cast("_Decorator", decorate)


class _Decorated(Generic[F]):
    """Base of the synchronous and the asynchronous wrapper.

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
        added = HIDDEN if self._context.settings.max_rounds else None
        return set_config_context(merge_configs(ensure_config(), added))

    async def _corrected(
        self, question: str, documents: Sources | None, call: Callable[..., Awaitable[object]]
    ) -> Run:
        context = self._context
        answerer = _Function(self._name, context.prompts, call)
        start: RagInput = {"question": question, "documents": tuple(documents or ())}
        return await correct(replace(context, answerer=answerer), start)


@dataclass(frozen=True)
class _Function:
    """A function as who answers."""

    name: str
    prompts: PromptSet
    call: Callable[[str, Documents], Awaitable[object]]

    async def first(self, state: RagState, meter: UsageMeter) -> GeneratedAnswer:
        """Call the function; what it raises ends the run and reaches the caller unchanged."""
        try:
            answer = await self.call(state["question"], documents_of(state))
        except Exception as error:
            raise PassedOnError(error) from error
        if not isinstance(answer, str):
            raise InputError(self._no_text(answer))
        return GeneratedAnswer(Answer(text=answer))

    async def again(
        self, state: RagState, request: RevisionRequest, meter: UsageMeter
    ) -> GeneratedAnswer:
        """Call it once more with a question that holds the evidence.

        Raises:
            ProviderError: It failed; the first answer stands.
        """
        prompt = reconsider_prompt(state, request, self.prompts)
        return GeneratedAnswer(Answer(text=await self._asked(prompt, state)))

    async def reply(
        self,
        state: RagState,
        prompt: str,
        read: Callable[[str], T],
        meter: UsageMeter,
        *,
        max_tokens: int,
    ) -> T:
        """Call it with the request in place of the question.

        Raises:
            ProviderError: It failed, or what it returned cannot be read.
        """
        said = await self._asked(prompt, state)
        try:
            return read(said)
        except ValueError as error:
            raise UnreadableReplyError(str(error), provider=self.name) from error

    async def _asked(self, question: str, state: RagState) -> str:
        try:
            answer = await self.call(question, documents_of(state))
        except GraphBubbleUp as error:
            raise PassedOnError(error) from error
        except Exception as error:
            problem = f"{self.name} failed: {brief_reason(error)}"
            raise ProviderError(problem, provider=self.name) from error
        if not isinstance(answer, str):
            raise ProviderError(self._no_text(answer), provider=self.name)
        return answer

    def _no_text(self, answer: object) -> str:
        given = f"{self.name} returned {type(answer).__name__}, not text"
        if isinstance(answer, Iterator | AsyncIterator):
            given += "; a function that passes pieces on must be a generator function, with yield"
        return given


class CheckedText(str):
    """An answer, which is a text like any other, with the run that it came from.

    Attributes:
        run: The run; its ``checked`` is ``fully``, ``partly`` or ``no``.
    """

    __slots__ = ("run",)
    run: Run

    @classmethod
    def of(cls, run: Run) -> "CheckedText":
        """The answer that stands at the end of a run."""
        text = cls(run.answer or "")
        text.run = run
        return text


class _Synchronous(_Decorated[F]):
    """The faces that wait."""

    def run(self, question: str, documents: Sources | None = None) -> dict[str, Any]:
        """The whole run, with the corrected answer, the first one and the scores."""
        return whole(self._run(question, documents))

    def _answered(self, question: str, documents: Documents) -> object:
        """Complete result of the function."""
        return self.function(question, documents)

    def _run(self, question: str, documents: Sources | None) -> Run:
        self._opened()

        def answer(*asked: Any) -> object:
            with self._unseen() as context:
                return context.run(self._answered, *asked)

        async def call(*asked: Any) -> object:
            return await in_callers_thread(partial(answer, *asked))

        return run_for_sync_caller(self._corrected(question, documents, call))


class SelfCorrecting(_Synchronous[Callable[[str, Documents], str]]):
    """A function that looks again at its answer where its documents disagree."""

    def __call__(self, question: str, documents: Sources | None = None) -> CheckedText:
        """The corrected answer; its ``run.checked`` says whether it could be checked."""
        return CheckedText.of(self._run(question, documents))


class SelfCorrectingStream(_Synchronous[Callable[[str, Documents], Iterator[str]]]):
    """A generator function that looks again at its answer where its documents disagree."""

    def __call__(
        self, question: str, documents: Sources | None = None
    ) -> Generator[CheckedText, None, None]:
        """The corrected answer in one piece, once it stands; its ``run`` is the run."""
        yield CheckedText.of(self._run(question, documents))

    def _answered(self, question: str, documents: Documents) -> str:
        pieces = cast("Generator[str]", self.function(question, documents))
        with closing(pieces):
            return "".join(_checked_piece(piece, self._name) for piece in pieces)


class _Asynchronous(_Decorated[F]):
    """The faces that are awaited."""

    async def run(self, question: str, documents: Sources | None = None) -> dict[str, Any]:
        """The whole run, with the corrected answer, the first one and the scores."""
        return whole(await self._run(question, documents))

    async def _answered(self, question: str, documents: Documents) -> object:
        """Complete result of the function."""
        return await self.function(question, documents)

    async def _run(self, question: str, documents: Sources | None) -> Run:
        await asyncio.to_thread(self._opened)
        with self._unseen() as context:  # the caller's, not that of a node of the loop

            async def call(*asked: Any) -> object:
                return await asyncio.create_task(self._answered(*asked), context=context.copy())

            return await self._corrected(question, documents, call)


class AsyncSelfCorrecting(_Asynchronous[Callable[[str, Documents], Awaitable[str]]]):
    """A coroutine function that looks again at its answer where its documents disagree."""

    async def __call__(self, question: str, documents: Sources | None = None) -> CheckedText:
        """The corrected answer; its ``run.checked`` says whether it could be checked."""
        return CheckedText.of(await self._run(question, documents))


class AsyncSelfCorrectingStream(_Asynchronous[Callable[[str, Documents], AsyncIterator[str]]]):
    """An async generator function that looks again where its documents disagree."""

    async def __call__(
        self, question: str, documents: Sources | None = None
    ) -> AsyncGenerator[CheckedText, None]:
        """The corrected answer in one piece, once it stands; its ``run`` is the run."""
        yield CheckedText.of(await self._run(question, documents))

    async def _answered(self, question: str, documents: Documents) -> str:
        pieces = cast("AsyncGenerator[str]", self.function(question, documents))
        async with aclosing(pieces):
            return "".join([_checked_piece(piece, self._name) async for piece in pieces])


def _checked_piece(piece: object, name: str) -> str:
    if not isinstance(piece, str):
        raise InputError(f"{name} yielded {type(piece).__name__}, not text")
    return piece


_FACES: dict[Callable[[Any], bool], Callable[..., Any]] = {
    inspect.isasyncgenfunction: AsyncSelfCorrectingStream,
    inspect.iscoroutinefunction: AsyncSelfCorrecting,
    inspect.isgeneratorfunction: SelfCorrectingStream,
}
