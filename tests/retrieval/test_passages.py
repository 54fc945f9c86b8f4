import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document as Retrieved
from langchain_core.retrievers import BaseRetriever
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from conflictscore.errors import InputError
from conflictscore.records import Document
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.passages import PassageRetriever
from conflictscore.retrieval.ranking import BM25Ranker
from conflictscore.tokens import count_tokens

QUESTION = "When was the lighthouse lamp lit?"
NEEDLE = "The lighthouse lamp was lit in 1871."
FILLER = " ".join(f"The committee met on day {n} and adjourned." for n in range(20))
"""About 200 tokens without a word of the question."""


class Fixed(BaseRetriever):
    """Returns these documents, and takes no options."""

    documents: list[Retrieved]
    awaited: int = 0

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Retrieved]:
        return self.documents

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun
    ) -> list[Retrieved]:
        self.awaited += 1
        return self.documents


def passages(*texts: str, **settings: Any) -> list[Retrieved]:
    documents = [Retrieved(text, metadata={"url": f"u{n}"}) for n, text in enumerate(texts)]
    settings = {"tokens": 64, **settings}
    return PassageRetriever(retriever=Fixed(documents=documents), **settings).invoke(QUESTION)


def corpus(texts: Sequence[str], k: int = 10) -> CorpusRetriever:
    return CorpusRetriever.from_documents(
        [Document(number=n, text=text) for n, text in enumerate(texts, 1)], k
    )


class TestPassagesAreALangChainRetriever(RetrieversIntegrationTests):
    retriever_constructor = PassageRetriever
    retriever_query_example = QUESTION

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        long = [f"{FILLER} {NEEDLE} {FILLER} {n}" for n in range(5)]
        return {"retriever": corpus(long), "tokens": 64}


def test_the_best_window_of_a_long_document_becomes_its_text() -> None:
    (found,) = passages(f"{FILLER} {NEEDLE} {FILLER}")
    assert NEEDLE in found.page_content
    assert count_tokens(found.page_content) <= 64
    assert found.page_content.strip() == found.page_content
    whole = f"{FILLER} {NEEDLE} {FILLER}"
    words, span, rest = found.metadata["passage"].split(" ", 2)
    first, last = map(int, span.split("–"))
    assert (words, rest) == ("characters", f"of {len(whole)}")
    assert whole[first:last].strip() == found.page_content


def test_a_document_that_fits_is_unchanged() -> None:
    text = f"  {NEEDLE}\n"
    short, long = passages(text, FILLER)
    assert short == Retrieved(text, metadata={"url": "u0"})
    assert "passage" in long.metadata


def test_a_document_with_nothing_of_the_question_keeps_how_it_begins() -> None:
    match, other = passages(f"{FILLER} {NEEDLE}", FILLER)
    assert NEEDLE in match.page_content
    assert FILLER.startswith(other.page_content)
    assert other.metadata["passage"].startswith("characters 0–")


def test_leading_white_space_is_not_a_passage() -> None:
    blank = " \n" * 20_000
    (found,) = passages(f"{blank}{FILLER}")
    assert found.page_content.startswith("The committee met on day 0")


def test_a_word_that_every_window_contains_decides_nothing() -> None:
    lamps = "The lamp is a lamp and the lamp of lamps. " * 12
    (found, *_) = passages(f"{lamps} Lit in 1871. {lamps}", *[lamps] * 6)
    assert "Lit in 1871." in found.page_content


def test_k_reaches_a_retriever_that_takes_it_and_cuts_what_another_finds() -> None:
    texts = [f"{NEEDLE} {n}" for n in range(9)]
    around_corpus = PassageRetriever(retriever=corpus(texts, k=2), k=5)
    assert len(around_corpus.invoke(QUESTION)) == 5
    assert len(around_corpus.invoke(QUESTION, k=7)) == 7
    fixed = Fixed(documents=[Retrieved(text) for text in texts])
    assert [d.page_content for d in PassageRetriever(retriever=fixed, k=3).invoke("?")] == texts[:3]
    assert len(PassageRetriever(retriever=fixed).invoke("?", k=8)) == 8


async def test_when_awaited_it_awaits_the_other_and_ranks_off_the_event_loop(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ranked_in = []
    scores = BM25Ranker.scores

    def listen(self: BM25Ranker, query: str) -> Any:
        ranked_in.append(threading.get_ident())
        return scores(self, query)

    monkeypatch.setattr(BM25Ranker, "scores", listen)
    fixed = Fixed(documents=[Retrieved(f"{FILLER} {NEEDLE}")] * 3)
    retriever = PassageRetriever(retriever=fixed, tokens=64)
    awaited = await retriever.ainvoke(QUESTION, k=2)
    assert fixed.awaited == 1
    assert len(ranked_in) == 1
    assert threading.get_ident() not in ranked_in
    assert awaited == retriever.invoke(QUESTION, k=2)
    assert NEEDLE in awaited[0].page_content


def test_notes_of_the_other_retriever_stay_visible(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(NEEDLE)
    (tmp_path / "b.txt").write_text("")
    retriever = CorpusRetriever.from_paths([tmp_path])
    assert PassageRetriever(retriever=retriever).notes == retriever.notes != ()
    assert PassageRetriever(retriever=Fixed(documents=[])).notes == ()


def test_a_setting_out_of_range_is_refused_when_it_is_built() -> None:
    with pytest.raises(ValidationError, match="greater than or equal to 16"):
        PassageRetriever(retriever=Fixed(documents=[]), tokens=8)
    with pytest.raises(InputError, match="k is 0"):
        PassageRetriever(retriever=Fixed(documents=[]), k=0)
