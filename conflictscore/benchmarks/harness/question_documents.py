"""Prepares the questions' documents: checks that they are available, and shortens long documents.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Sequence
from typing import Any, Literal

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.passages import cut_to_passages
from conflictscore.retrieval.recording import RecordedRetriever

_SHOWN = 3
"""The maximum number of questions without documents that an error message shows."""


def with_documents(
    questions: Sequence[Question],
    retriever: BaseRetriever | None,
    missing: Literal["fail", "skip"],
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """Return the questions that have documents, and the texts of the questions that have none.

    Only recordings are checked, since a live search runs only when a method reaches the question.

    Raises:
        ConfigurationError: A question needs a search, but there is no retriever.
        InputError: A question is not in the recording, and ``missing`` is ``fail``.
    """
    to_search = [question for question in questions if not question.documents]
    if to_search and retriever is None:
        raise ConfigurationError(
            "the questions come without documents: say where to search with --search or --docs, or"
            " give a retriever from Python"
        )
    recording = _recording(retriever)
    if recording is None:
        return tuple(questions), ()
    missing_texts = set(recording.missing([question.question for question in to_search]))
    absent = tuple(q.question for q in to_search if q.question in missing_texts)
    if absent and missing == "fail":
        raise _not_recorded(recording.path.as_posix(), absent, len(to_search))
    available = tuple(q for q in questions if q.documents or q.question not in missing_texts)
    return available, absent


def _not_recorded(path: str, absent: Sequence[str], search_count: int) -> InputError:
    examples = "; ".join(repr(text) for text in absent[:_SHOWN])
    more = f"; and {len(absent) - _SHOWN} more" if len(absent) > _SHOWN else ""
    return InputError(
        f"{path}: {len(absent)} of {search_count} questions are not recorded ({examples}{more});"
        " record them with conflictscore record, or leave them out with --missing skip"
    )


def _recording(retriever: BaseRetriever | None) -> RecordedRetriever | None:
    """Return the recording behind a retriever; None if it does not read one.

    Retrievers that read pages or cut passages wrap the retriever that searches.
    """
    while retriever is not None and not isinstance(retriever, RecordedRetriever):
        retriever = getattr(retriever, "retriever", None)
    return retriever


def shortened(questions: Sequence[Question], tokens: int) -> tuple[Question, ...]:
    """Return the questions, with long documents cut to the passage that fits the question best.

    Methods and judges then read the same passages.
    """
    return tuple(_shortened(question, tokens) for question in questions)


def _shortened(question: Question, tokens: int) -> Question:
    if not question.documents:
        return question
    whole = [Document(document["text"]) for document in question.documents]
    passages = cut_to_passages(question.question, whole, tokens)
    documents: list[dict[str, Any]] = [
        {**document, "text": passage.page_content}
        for document, passage in zip(question.documents, passages, strict=True)
    ]
    return question.model_copy(update={"documents": tuple(documents)})
