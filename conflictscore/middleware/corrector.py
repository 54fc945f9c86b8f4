"""``correct``: takes an answer and documents, and returns the corrected answer with evidence.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import os
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import replace
from functools import lru_cache, partial
from typing import Any, Unpack, cast
from uuid import uuid4

from langchain_core.language_models import BaseChatModel

from conflictscore.errors import InputError, UncheckedAnswerError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.graph.create import run_context
from conflictscore.graph.keywords import CorrectionOptions, Model, explicit_kwargs
from conflictscore.loop.inputs import NO_QUESTION, given_documents
from conflictscore.loop.state import RagInput, RunContext
from conflictscore.middleware import entrypoints
from conflictscore.middleware.entrypoints import OnEvent, listener
from conflictscore.middleware.requirement import Require, check_require, meets, refuse, why_refused
from conflictscore.records import GapKind, Run
from conflictscore.retrieval.documents import DocumentLike, document_list
from conflictscore.threads import in_thread, together

_AT_ONCE = 8  # Answers at once; each makes several calls, and the endpoint's limit is 16.
_MOST_NAMED = 10  # An error names at most this many further refused rows, and counts the rest.
_FIELDS = ("answer", "documents", "question")


@explicit_kwargs(CorrectionOptions)
def correct(
    answer: str,
    documents: Iterable[DocumentLike] | str,
    question: str | None = None,
    *,
    model: Model | None = None,
    require: Require | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[CorrectionOptions],
) -> Run:
    """Check an answer against documents, and correct what they dispute.

    ```python
    run = correct("The lamp was lit in 1871.", documents, "When was the lamp lit?")
    print(run.answer, run.checked, run.changes)
    ```

    The answer may come from any chatbot. Text that no document disputes is kept byte for byte.

    Args:
        answer: The answer to check.
        documents: The documents to check against: strings, LangChain ``Document``s, or mappings
            with ``text``. A single string or mapping is one document.
        question: The question that was answered, if known.
        model: The model that corrects the answer and, if there is no ``judge``, also checks it: a
            spec such as ``"openai:gpt-4.1-mini"`` or a LangChain chat model. The default is
            OpenAI's model if ``OPENAI_API_KEY`` is set, and the embedded local model otherwise.
        require: How much of the answer must be checked, ``"fully"`` or ``"partly"``. If less was
            checked, an ``UncheckedAnswerError`` is raised, unless the answer states nothing.
        on_event: A function that is called with each event of the run, such as
            ``{"event": "label", …}``, in a separate thread.
        **settings: See below.

    Returns:
        The run: ``answer`` is the corrected text, ``checked`` is ``fully``, ``partly`` or ``no``,
        and ``notes`` says why the answer was not fully checked.

    Raises:
        InputError: The answer or a document is empty, or a setting is out of range.
        ConfigurationError: A model, key, prompt folder or labeler is missing or invalid.
        UncheckedAnswerError: Less of the answer was checked than ``require`` demands.
    """
    check_require(require)
    start = correction_input(answer, documents, question)
    tell = listener(on_event)
    run = run_for_sync_caller(_correct(_opened(None, model, settings), start, tell))
    return _required(run, require)


@explicit_kwargs(CorrectionOptions)
async def acorrect(
    answer: str,
    documents: Iterable[DocumentLike] | str,
    question: str | None = None,
    *,
    model: Model | None = None,
    require: Require | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[CorrectionOptions],
) -> Run:
    """Async version of :func:`correct`."""
    check_require(require)
    start, loop = correction_input(answer, documents, question), asyncio.get_running_loop()
    context = await in_thread(lambda: _opened(loop, model, settings))
    return _required(await _correct(context, start, listener(on_event)), require)


@explicit_kwargs(CorrectionOptions)
def correct_batch(
    rows: Iterable[Mapping[str, Any]],
    *,
    model: Model | None = None,
    concurrency: int = _AT_ONCE,
    require: Require | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[CorrectionOptions],
) -> list[Run]:
    """Correct many answers; the arguments and errors are those of :func:`correct`.

    Args:
        rows: Mappings with ``answer``, ``documents`` and, if known, ``question``. A row with an
            empty answer yields an unchecked run with a note. For a malformed row, an InputError
            with the row's number is raised before any model is called.
        model: As for :func:`correct`.
        concurrency: Number of answers to correct at once.
        require: As for :func:`correct`. All rows are corrected first. Then an
            ``UncheckedAnswerError`` names each row whose answer was not checked enough. To get the
            runs of the other rows, call the function again without ``require``: verdicts are
            cached.
        on_event: A function that is called with each event of the runs; the event's field ``row``
            is the number of the row, counted from 1.
        **settings: As for :func:`correct`.

    Returns:
        The runs, in the order of the rows.
    """
    check_require(require)
    starts, tell = _starts(rows, concurrency), listener(on_event)
    context = _opened(None, model, settings)
    runs = run_for_sync_caller(_correct_all(context, starts, concurrency, tell))
    return _all_required(runs, require)


@explicit_kwargs(CorrectionOptions)
async def acorrect_batch(
    rows: Iterable[Mapping[str, Any]],
    *,
    model: Model | None = None,
    concurrency: int = _AT_ONCE,
    require: Require | None = None,
    on_event: OnEvent | None = None,
    **settings: Unpack[CorrectionOptions],
) -> list[Run]:
    """Async version of :func:`correct_batch`."""
    check_require(require)
    starts, loop = _starts(rows, concurrency), asyncio.get_running_loop()
    context = await in_thread(lambda: _opened(loop, model, settings))
    runs = await _correct_all(context, starts, concurrency, listener(on_event))
    return _all_required(runs, require)


def correction_input(
    answer: str, documents: Iterable[DocumentLike] | str, question: str | None
) -> RagInput:
    """Make the loop's input; raise InputError if the answer is empty or there are no documents."""
    # callers without a type checker pass other types too
    if not isinstance(cast("object", answer), str) or not answer.strip():
        raise InputError("answer is empty; give the text to check")
    if not isinstance(cast("object", question), str | None):
        raise InputError(f"question is {type(question).__name__}, not a string")
    listed = document_list(documents)
    read_documents = given_documents({"documents": listed})
    if not read_documents:
        raise InputError(
            "documents is empty; give at least one document to check the answer against"
        )
    is_asked = bool(question and question.strip())
    # the loop notes how many documents have no text, so it gets them too
    without_text = [{"text": ""}] * (len(listed) - len(read_documents))
    return {
        "question": question if question and is_asked else NO_QUESTION,
        "is_question_clear": is_asked,
        "draft_answer": answer,
        "documents": [*(document.to_json() for document in read_documents), *without_text],
    }


def _required(run: Run, require: Require | None) -> Run:
    if not meets(run, require):
        refuse(run, require)
    return run


def _all_required(runs: list[Run], require: Require | None) -> list[Run]:
    """Return the runs; raise UncheckedAnswerError if any answer was checked less than required.

    The error has the reason and the verdict of the first refused row.
    """
    refused = [number for number, run in enumerate(runs, 1) if not meets(run, require)]
    if not refused:
        return runs
    first, *rest = refused
    run = runs[first - 1]
    message = f"row {first}: {why_refused(run, require)}"
    if rest:
        numbers = ", ".join(map(str, rest[:_MOST_NAMED]))
        more = f" and {len(rest) - _MOST_NAMED} more" if len(rest) > _MOST_NAMED else ""
        message += f"; rows refused too: {numbers}{more}"
    raise UncheckedAnswerError(message, run.verdict())


def _starts(rows: Iterable[Mapping[str, Any]], concurrency: int) -> list[RagInput | Run]:
    """Return the loop's input for each row; for an empty answer, the unchecked run."""
    if concurrency < 1:
        raise InputError(f"concurrency is {concurrency}; it must be at least 1")
    starts: list[RagInput | Run] = []
    for number, row in enumerate(rows, 1):
        unknown = [name for name in row if name not in _FIELDS]
        if unknown or "answer" not in row or "documents" not in row:
            wrong = f"has an unknown field {unknown[0]!r}" if unknown else "lacks a field"
            raise InputError(
                f"row {number} {wrong}; give answer, documents and optionally question"
            )
        if isinstance(row["answer"], str) and not row["answer"].strip():
            note = f"row {number}: the answer is empty, so it has no score"
            run = Run(run_id=uuid4().hex)
            starts.append(run.unchecked(row["answer"], note, GapKind.EMPTY_ANSWER))
            continue
        try:
            starts.append(correction_input(row["answer"], row["documents"], row.get("question")))
        except InputError as error:
            raise InputError(f"row {number}: {error}") from error
    return starts


async def _correct(context: RunContext, start: RagInput, on_event: OnEvent | None) -> Run:
    return await entrypoints.correct(replace(context, on_event=on_event), start)


async def _correct_all(
    context: RunContext, starts: list[RagInput | Run], concurrency: int, on_event: OnEvent | None
) -> list[Run]:
    places = asyncio.Semaphore(concurrency)
    runs: dict[int, Run] = {}

    async def one(number: int, start: RagInput) -> None:
        def tell(event: Mapping[str, Any]) -> None:
            if on_event is not None:
                on_event({**event, "row": number + 1})

        async with places:
            runs[number] = await _correct(context, start, tell)

    async with together() as begin:
        for number, start in enumerate(starts):
            if isinstance(start, Run):
                runs[number] = start
            else:
                begin(partial(one, number, start))
    return [runs[number] for number in range(len(starts))]


def _opened(
    loop: asyncio.AbstractEventLoop | None, model: Model | None, settings: Mapping[str, Any]
) -> RunContext:
    """Open the models and labeler for these settings, and keep them for this event loop's calls."""
    # chat models are not kept: their fields may change, and they keep their own connections open
    if not any(isinstance(value, BaseChatModel) for value in (model, *settings.values())):
        hashable = {name: tuple(v) if isinstance(v, list) else v for name, v in settings.items()}
        with suppress(TypeError):  # a setting is not hashable
            # a program may replace a wrong key or address in the environment, and try again
            environment = hash(frozenset(os.environ.items()))
            return _kept_open(loop, environment, model, *sorted(hashable.items()))
    return run_context(model, **settings)


# a program seldom uses more than eight combinations of models and settings at a time
@lru_cache(maxsize=8)
def _kept_open(
    loop: asyncio.AbstractEventLoop | None,
    environment: int,
    model: Model | None,
    *settings: tuple[str, Any],
) -> RunContext:
    return run_context(model, **dict(settings))
