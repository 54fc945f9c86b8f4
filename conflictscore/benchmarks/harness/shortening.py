"""Documents that questions bring, cut to their best passages, as those of a search are."""

from dataclasses import replace
from typing import Any

from langchain_core.documents import Document

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import InputError
from conflictscore.retrieval.passages import cut_to_passages
from conflictscore.retrieval.token_windows import check_size

__all__ = ["shortened"]


def shortened(
    benchmark: Benchmark,
    tokens: int,
    *,
    passages: int = 1,
) -> Benchmark:
    """The benchmark with each question's long documents cut to what fits the question best.

    Methods and judges then read the same passages.

    Args:
        benchmark: Its questions bring documents; one that brings none stays as it is.
        tokens: The most tokens of a passage, at least 16; a document that fits stays whole.
        passages: The most passages of a document that are kept, at least 1.

    Raises:
        InputError: A number is out of range.
    """
    stride = tokens // 2
    check_size(tokens, stride)
    if passages < 1:
        raise InputError(f"a document keeps at least 1 passage, and passages is {passages}")

    def cut(question: Question) -> Question:
        whole = [Document(document["text"]) for document in question.documents]
        kept = cut_to_passages(
            question.question,
            whole,
            tokens=tokens,
            stride=stride,
            windows=passages,
        )
        documents: list[dict[str, Any]] = [
            {**document, "text": passage.page_content}
            for document, passage in zip(question.documents, kept, strict=True)
        ]
        return question.model_copy(update={"documents": tuple(documents)})

    questions = tuple(cut(q) if q.documents else q for q in benchmark.questions)
    return replace(benchmark, questions=questions)
