"""Ranking by meaning: in a corpus, over long texts, with embeddings kept for the next run."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from langchain_tests.integration_tests import RetrieversIntegrationTests

from conflictscore.records import Document
from conflictscore.retrieval import dense
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.dense import DenseRanker, SentenceEncoder
from conflictscore.storage.cache import ContentCache

TEXTS = [
    "The grass is green.",
    "The sky is blue because short waves scatter more.",
    "Bread needs flour and water.",
    "At dusk the heavens turn red.",
    "A loaf is kneaded, proved and put in the oven.",
]

pytestmark = pytest.mark.usefixtures("minilm_path")


def documents(texts: Sequence[str] = TEXTS) -> tuple[Document, ...]:
    return tuple(
        Document(number=n, text=text, url=f"file{n}.txt") for n, text in enumerate(texts, 1)
    )


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that the model reads from here on."""
    texts: list[str] = []
    encode = SentenceEncoder.encode

    def listen(self: SentenceEncoder, given: Sequence[str]) -> Iterator[Any]:
        texts.extend(given)
        return encode(self, given)

    monkeypatch.setattr(SentenceEncoder, "encode", listen)
    return texts


class _Corpus(RetrieversIntegrationTests):
    @property
    def retriever_constructor(self) -> type[CorpusRetriever]:
        return CorpusRetriever

    @property
    def retriever_query_example(self) -> str:
        return "why is the sky blue?"


class TestDenseCorpusIsALangChainRetriever(_Corpus):
    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"documents": documents(), "ranking": "dense"}


class TestFusedCorpusIsALangChainRetriever(_Corpus):
    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"documents": documents(), "ranking": "both"}


def test_documents_are_found_that_share_no_word_with_the_question() -> None:
    dense = CorpusRetriever.from_documents(documents(), k=2, ranking="dense")
    found = dense.invoke("How do bakers make dough?")
    assert {doc.metadata["source"] for doc in found} == {"file3.txt", "file5.txt"}
    scores = [doc.metadata["score"] for doc in found]
    assert 1 > scores[0] >= scores[1] > 0
    assert [doc.metadata["rank"] for doc in found] == [1, 2]


def test_both_finds_what_either_finds(tmp_path: Path) -> None:
    for name, text in {"a": "flour", "b": "Zyxol 9 is a code.", "c": "grass", "d": "sea"}.items():
        (tmp_path / f"{name}.txt").write_text(text)
    both = CorpusRetriever.from_paths([tmp_path], k=2, ranking="both")
    by_word, by_meaning = both.invoke("What is zyxol?")[0], both.invoke("What is bread made of?")[0]
    assert by_word.page_content == "Zyxol 9 is a code."
    assert by_word.metadata["score"] == pytest.approx(2 / 61)  # first in both orders
    assert by_meaning.page_content == "flour"
    assert by_meaning.metadata["score"] == pytest.approx(1 / 61)  # first in one, in no other


def test_a_long_text_counts_by_its_closest_part() -> None:
    rest = "The committee met again on Tuesday. " * 80
    texts = [rest, f"{rest}Bread needs flour.", f"Bread needs flour.{rest}", "Bread needs flour."]
    scores = DenseRanker([*texts, rest]).scores("What does bread need?")
    assert scores[0] == scores[4]
    assert scores[3] > max(scores[:3])
    assert min(scores[1:3]) > scores[0] + 0.1


def test_texts_are_read_once_and_the_same_text_only_once(read: list[str]) -> None:
    ranker = DenseRanker([*TEXTS, TEXTS[0]])
    assert read == []
    with ThreadPoolExecutor(20) as threads:
        scores = list(threads.map(ranker.scores, ["sky"] * 20))
    assert sorted(read) == sorted([*TEXTS, *["sky"] * 20])
    for other in scores:
        assert other == pytest.approx(scores[0], abs=1e-6)
        assert other[0] == other[5]


def test_embeddings_are_kept_and_used_again(read: list[str], tmp_path: Path) -> None:
    long = "The keeper of the lighthouse lit the lamp. " * 60
    first = DenseRanker([*TEXTS, long], cache=ContentCache(tmp_path / "c.sqlite")).scores("oven")
    read.clear()
    cache = ContentCache(tmp_path / "c.sqlite")
    again = DenseRanker([long, "A new text.", *TEXTS], cache=cache).scores("oven")
    assert read == ["A new text.", "oven"]
    assert again[[2, 3, 4, 5, 6, 0]] == pytest.approx(first, abs=1e-6)


def test_a_corpus_takes_the_cache_that_it_is_given(read: list[str], tmp_path: Path) -> None:
    for _ in range(2):
        CorpusRetriever.from_documents(
            documents(), ranking="dense", cache=ContentCache(tmp_path / "c.sqlite")
        ).invoke("oven")
    assert read == [*(f"\n{text}" for text in TEXTS), "oven", "oven"]


def test_reading_that_takes_long_is_told_in_the_log(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    DenseRanker(TEXTS).scores("sky")
    assert not caplog.messages
    clock = SimpleNamespace(monotonic=count(0, 4).__next__)  # 4 s pass at each look at it
    monkeypatch.setattr(dense, "time", clock)
    DenseRanker(TEXTS).scores("sky")
    assert caplog.messages == ["read 3 of 5 texts for ranking by meaning"]
