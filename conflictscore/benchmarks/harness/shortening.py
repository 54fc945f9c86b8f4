"""Documents that questions bring, cut to their best passages, as those of a search are."""

from dataclasses import replace
from functools import partial
from typing import Any

from langchain_core.documents import Document

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import InputError
from conflictscore.retrieval.passages import cut_to_passages
from conflictscore.retrieval.ranking import Ranking, open_ranker
from conflictscore.retrieval.token_windows import check_size
from conflictscore.storage.cache import ContentCache

__all__ = ["shortened"]


def shortened(
    benchmark: Benchmark,
    tokens: int,
    *,
    passages: int = 1,
    ranking: Ranking = "bm25",
    cache: ContentCache | None = None,
) -> Benchmark:
    """The benchmark with each question's long documents cut to what fits the question best.

    Methods and judges then read the same passages.

    Args:
        benchmark: Its questions bring documents; one that brings none stays as it is.
        tokens: The most tokens of a passage, at least 16; a document that fits stays whole.
        passages: The most passages of a document that are kept, at least 1.
        ranking: How passages are ranked; ``dense`` and ``both`` need the extra ``dense``.
        cache: Where embeddings are kept for ``dense`` and ``both``.

    Raises:
        InputError: A number is out of range.
        ConfigurationError: The extra ``dense`` is needed and not installed.
        ProviderError: The embedding model cannot be fetched.
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
            rank=partial(open_ranker, ranking, cache=cache),
        )
        documents: list[dict[str, Any]] = [
            {**document, "text": passage.page_content}
            for document, passage in zip(question.documents, kept, strict=True)
        ]
        return question.model_copy(update={"documents": tuple(documents)})

    questions = tuple(cut(q) if q.documents else q for q in benchmark.questions)
    return replace(benchmark, questions=questions)
