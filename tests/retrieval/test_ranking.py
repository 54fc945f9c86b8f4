"""The rankings that retrievers share: which there are, and how two are fused."""

import re
import sys
from collections.abc import Sequence

import numpy as np
import pytest
from langchain_core.retrievers import BaseRetriever
from numpy.typing import NDArray

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.records import Document
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.passages import PassageRetriever
from conflictscore.retrieval.ranking import BM25Ranker, FusedRanker

DOCUMENT = Document(number=1, text="The sky is blue.")


def _corpus(ranking: str) -> BaseRetriever:
    return CorpusRetriever(documents=(DOCUMENT,), ranking=ranking)  # type: ignore[arg-type]


def _passages(ranking: str) -> BaseRetriever:
    return PassageRetriever(retriever=_corpus("bm25"), ranking=ranking)  # type: ignore[arg-type]


class Fixed:
    def __init__(self, scores: Sequence[float]) -> None:
        self._scores = np.array(scores, np.float32)

    def scores(self, _query: str) -> NDArray[np.float32]:
        return self._scores


def test_a_text_without_a_word_of_the_question_scores_zero_by_words() -> None:
    scores = BM25Ranker(["The sky is blue.", "Bread.", "The", ""]).scores("What is the sky?")
    assert scores[0] > 0
    assert scores[1:].tolist() == [0, 0, 0]


@pytest.mark.parametrize("texts", [["", "the"], ["sky"]])
def test_nothing_scores_where_there_is_no_word_on_one_side(texts: list[str]) -> None:
    assert BM25Ranker(texts).scores("the?").tolist() == [0.0] * len(texts)


def test_fusing_adds_up_the_inverted_ranks_of_those_that_fit() -> None:
    fused = FusedRanker([Fixed([3, 0, 1, 0]), Fixed([0.1, 0.9, 0.3, -0.2])]).scores("?")
    assert fused.tolist() == pytest.approx([1 / 61 + 1 / 63, 1 / 61, 1 / 62 + 1 / 62, 0])


@pytest.mark.parametrize("build", [_corpus, _passages])
def test_an_unknown_ranking_is_refused_when_the_retriever_is_built(build: type) -> None:
    with pytest.raises(InputError, match="no ranking 'bm52'; choose from bm25, dense, both"):
        build("bm52")


@pytest.mark.parametrize("build", [_corpus, _passages])
@pytest.mark.parametrize("missing", ["tokenizers", "threadpoolctl"])
@pytest.mark.parametrize("ranking", ["dense", "both"])
def test_a_missing_package_is_named_when_the_retriever_is_built(
    build: type, missing: str, ranking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(ConfigurationError, match=re.escape(f"{missing}: {install_hint('dense')}")):
        build(ranking)
    build("bm25")
