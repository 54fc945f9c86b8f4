"""Questions of a run: ids, samples, the order of options, and the documents they are asked over.

Ids, samples and the order of options follow from the text of a question, not from the order of a
file or from which other questions are in it.
"""

import hashlib
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.passages import cut_to_passages
from conflictscore.retrieval.questions import question_key

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.definition import Benchmark


def question_id(prefix: str, question: str) -> str:
    """The id of a question: a prefix, and a hash of its text in 12 hexadecimal digits.

    Two texts that a recording of search results takes for the same question have the same id.
    """
    digest = hashlib.sha256(question_key(question).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}-{digest[:12]}"


def lot(purpose: str, seed: int, text: str) -> bytes:
    """The lot that a seed gives to a text: 32 bytes, unlike those for another purpose."""
    return hashlib.sha256(f"{purpose}:{seed}:{text}".encode("utf-8", "surrogatepass")).digest()


def shuffled_options(
    right: str, wrong: str, *, question: str, seed: int
) -> tuple[tuple[str, str], int]:
    """The two options in the order they are shown, and the index of the right one.

    The order depends on the seed and the text of the question alone.
    """
    gold = lot("options", seed, question_key(question))[0] % 2
    return ((wrong, right) if gold else (right, wrong)), gold


def drawn_order(options: Sequence[str], *, question: str, seed: int) -> tuple[str, ...]:
    """Several options in an order that depends on the seed, the question and their texts alone."""
    key = question_key(question)
    return tuple(sorted(options, key=lambda option: lot("options", seed, f"{key}\n{option}")))


def drawn(questions: Sequence[Question], sample: int, seed: int) -> tuple[Question, ...]:
    """So many questions drawn by seed, in the order of the file."""
    if not 1 <= sample <= len(questions):
        raise InputError(f"sample is {sample}; there are {len(questions)} questions, give 1 to all")
    lots = sorted(questions, key=lambda question: lot("sample", seed, question.id))
    ids = {question.id for question in lots[:sample]}
    return tuple(question for question in questions if question.id in ids)


def with_documents(
    questions: Sequence[Question],
    retriever: BaseRetriever | None,
    missing: Literal["fail", "skip"],
) -> tuple[tuple[Question, ...], tuple[str, ...]]:
    """The questions that documents can be had for, and the texts of those that have none."""
    searched = [q for q in questions if not q.documents]
    if searched and retriever is None:
        raise ConfigurationError(
            "the questions bring no documents: say where to search with --search or --docs"
        )
    recording = _recording(retriever)
    lacking = set(recording.missing([q.question for q in searched])) if recording else set()
    if not lacking:
        return tuple(questions), ()
    absent = tuple(q.question for q in searched if q.question in lacking)
    if missing == "fail":
        shown = "; ".join(repr(text) for text in absent[:3])
        more = f"; and {len(absent) - 3} more" if len(absent) > 3 else ""
        raise InputError(
            f"{recording.path.as_posix()}: {len(absent)} of {len(searched)} questions are not"
            f" recorded ({shown}{more}); record them with conflictscore record, or leave them out"
            " with --missing skip"
        )
    return tuple(q for q in questions if q.documents or q.question not in lacking), absent


def _recording(retriever: Any) -> Any:
    """The recording that a retriever reads, inside what cuts or fetches its documents."""
    while retriever is not None and not hasattr(retriever, "missing"):
        retriever = getattr(retriever, "retriever", None)
    return retriever


def shortened(benchmark: "Benchmark", tokens: int) -> "Benchmark":
    """The benchmark with each long document cut to the passage that fits its question best.

    Methods and judges then read the same passages. A passage has at least 16 tokens.
    """

    def cut(question: Question) -> Question:
        whole = [Document(document["text"]) for document in question.documents]
        kept = cut_to_passages(question.question, whole, tokens)
        documents: list[dict[str, Any]] = [
            {**document, "text": passage.page_content}
            for document, passage in zip(question.documents, kept, strict=True)
        ]
        return question.model_copy(update={"documents": tuple(documents)})

    questions = tuple(cut(q) if q.documents else q for q in benchmark.questions)
    return replace(benchmark, questions=questions)
