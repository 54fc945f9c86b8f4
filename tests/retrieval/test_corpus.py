import asyncio
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.documents import Document as Retrieved
from langchain_tests.integration_tests import RetrieversIntegrationTests

from conflictscore.errors import InputError, NoDocumentsError
from conflictscore.records import Document
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.documents import to_documents
from conflictscore.retrieval.ranking import BM25Ranker

TEXTS = [
    "The grass is green.",
    "The sky is blue because short waves scatter more.",
    "Sky and sea are blue; the sky reflects in the sea.",
    "At dusk the sky turns red.",
    "Bread needs flour and water.",
]


def documents(texts: Sequence[str] = TEXTS) -> tuple[Document, ...]:
    return tuple(
        Document(number=n, text=text, url=f"file{n}.txt") for n, text in enumerate(texts, 1)
    )


class TestCorpusIsALangChainRetriever(RetrieversIntegrationTests):
    retriever_constructor = CorpusRetriever
    retriever_query_example = "why is the sky blue?"

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"documents": documents()}


def test_documents_that_share_more_of_the_question_come_first() -> None:
    found = CorpusRetriever.from_documents(documents(), k=3).invoke("Why is the sky blue?")
    sources = [doc.metadata["source"] for doc in found]
    assert set(sources[:2]) == {"file2.txt", "file3.txt"}
    assert sources[2] == "file4.txt"
    assert [doc.metadata["rank"] for doc in found] == [1, 2, 3]
    scores = [doc.metadata["score"] for doc in found]
    assert scores == sorted(scores, reverse=True)
    assert scores[-1] > 0


def test_a_small_corpus_is_returned_whole_with_the_matches_first() -> None:
    found = CorpusRetriever.from_documents(documents(), k=5).invoke("bread")
    assert [doc.metadata["source"] for doc in found] == [f"file{n}.txt" for n in (5, 1, 2, 3, 4)]
    assert [doc.metadata["score"] for doc in found[1:]] == [0.0] * 4


def test_a_larger_corpus_gives_only_documents_that_match() -> None:
    retriever = CorpusRetriever.from_documents(documents(), k=4)
    assert [doc.metadata["source"] for doc in retriever.invoke("bread")] == ["file5.txt"]
    assert retriever.invoke("quantum") == []
    assert retriever.invoke("what is the") == []


def test_documents_with_the_same_score_keep_their_order() -> None:
    found = CorpusRetriever.from_documents(documents(["sky blue"] * 30), k=7).invoke("sky")
    assert [doc.metadata["source"] for doc in found] == [f"file{n}.txt" for n in range(1, 8)]


def test_the_title_is_searched_too() -> None:
    titled = Document(number=6, text="It depends.", title="Rayleigh scattering", url="r.txt")
    found = CorpusRetriever.from_documents((*documents(), titled), k=2).invoke("rayleigh")
    assert [doc.metadata["source"] for doc in found] == ["r.txt"]


def test_what_is_known_of_a_document_comes_back_with_it() -> None:
    known = Document(number=1, text="sky", title="T", url="u", metadata={"year": 2024, "score": 9})
    (found,) = CorpusRetriever.from_documents([known]).invoke("sky")
    score = found.metadata.pop("score")
    assert score != 9
    ours = {"title": "T", "source": "u", "rank": 1, "provider": "corpus"}
    assert found.metadata == {"year": 2024, **ours}


def test_files_are_searched_and_a_note_names_what_was_left_out(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("# Sky\nblue")
    (tmp_path / "b.txt").write_text("")
    retriever = CorpusRetriever.from_paths([tmp_path], k=2)
    (document,) = to_documents(retriever.invoke("sky"))
    assert (document.number, document.title, document.text) == (1, "Sky", "# Sky\nblue")
    assert document.url == f"{tmp_path.as_posix()}/a.md"
    assert [note.rpartition("/")[2] for note in retriever.notes] == ["b.txt: has no text, left out"]


def test_no_documents_and_a_wrong_k_are_refused() -> None:
    with pytest.raises(NoDocumentsError):
        CorpusRetriever.from_documents([])
    with pytest.raises(InputError, match="k is 0"):
        CorpusRetriever.from_documents(documents(), k=0)


@given(
    texts=st.lists(st.text(), min_size=1, max_size=5),
    query=st.text().filter(clean_text),
    k=st.integers(1, 6),
)
def test_any_texts_and_question_give_ranked_documents(texts: list[str], query: str, k: int) -> None:
    retriever = CorpusRetriever.from_documents(documents(texts), k=k)
    found = retriever.invoke(query)
    assert len(found) <= k
    if len(texts) <= k:
        assert len(found) == len(texts)
    assert [doc.metadata["rank"] for doc in found] == list(range(1, len(found) + 1))
    scores = [doc.metadata["score"] for doc in found]
    assert scores == sorted(scores, reverse=True)


def test_a_text_without_a_word_of_the_question_scores_zero_by_words() -> None:
    scores = BM25Ranker(["The sky is blue.", "Bread.", "The", ""]).scores("What is the sky?")
    assert scores[0] > 0
    assert scores[1:].tolist() == [0, 0, 0]


@pytest.mark.parametrize("texts", [["", "the"], ["sky"]])
def test_nothing_scores_if_one_side_has_no_words(texts: list[str]) -> None:
    assert BM25Ranker(texts).scores("the?").tolist() == [0.0] * len(texts)


FOUND_THOUGH_WRITTEN_ANOTHER_WAY = {
    "Arabic vowels": ("افتُتِحَ الجِسْرُ", "متى افتتح الجسر؟"),
    "Arabic letters": ("أُنشئ الميناء", "انشئ الميناء"),
    "the Arabic article": ("افتتح الجسر والميناء", "جسر"),
    "an Arabic word with its article and a preposition": ("وقف بالميناء", "الميناء"),
    "Persian letters": ("کتابخانه ی شهر", "كتابخانه ي شهر"),
    "Hebrew vowels": ("הַגֶּשֶׁר נִפְתַּח", "מתי נפתח הגשר?"),
    "Hindi words": ("पुल १९३२ में खुला", "पुल कब खुला?"),
    "Arabic digits": ("في سنة ١٩٣٢", "1932"),
    "Devanagari digits": ("सन १९३२ में", "1932"),
    "full-width digits": ("１９３２年", "1932"),
    "commas": ("It cost 1,250,000 in all.", "What cost 1250000?"),
    "points": ("Es kostete 1.250.000 Mark.", "1250000 Mark"),
    "spaces": ("Il coûta 1 250 000 francs.", "1250000 francs"),
    "apostrophes": ("Er kostete 1’250’000 Franken.", "1250000"),
    "lakhs": ("It cost 12,50,000 rupees.", "1250000"),
    "accents": ("Český Krumlov", "cesky krumlov"),
    "IT": ("IT is short for information technology.", "What is IT?"),
    "C": ("C is a language of 1972.", "What is C?"),
    "C++": ("C++ is a language of 1985.", "what is c++?"),
    "vitamin K": ("Vitamin K helps blood to clot.", "K or B?"),
    "The Who": ("The Who are a band.", "Who are The Who?"),
    "It": ("It is a novel by King, 1986.", "Who wrote It?"),
    "US": ("The US is a country.", "What is the US?"),
    "a hyphen": ("It needs co-operation.", "cooperation"),
    "no hyphen": ("It needs cooperation.", "co-operation"),
    "a hyphen and digits": ("The F-16 flew first.", "F16"),
    "no hyphen before digits": ("Covid19 spread fast.", "Covid-19"),
    "a formula": ("H₂O boils.", "H2O"),
    "full stops": ("The U.S. grew.", "What did the US do?"),
    "no full stops": ("The USA grew.", "U.S.A."),
    "an apostrophe inside": ("The Quran was copied.", "Qur’an"),
    "a letter of Hawaii": ("Hawaiʻi has eight islands.", "Hawaii"),
    "ue": ("Frau Mueller kam.", "Müller"),
    "ü": ("Goethe schrieb Faust.", "Göthe"),
    "aa": ("Aarhus is a port.", "Århus"),
    "thorn": ("Thorshofn liegt dort.", "Þórshöfn"),
    "a nasal of Hindi": ("हिंदी भाषा", "हिन्दी"),
    "a digit": ("Apollo 8 flew in 1968.", "8?"),
}


@pytest.mark.parametrize("way", FOUND_THOUGH_WRITTEN_ANOTHER_WAY)
def test_what_is_written_another_way_is_found(way: str) -> None:
    text, question = FOUND_THOUGH_WRITTEN_ANOTHER_WAY[way]
    others = ["The tower, forty metres high.", "A mill at the river, 1,999 years old.", "Nothing."]
    found = CorpusRetriever.from_documents(documents([*others, text]), k=1).invoke(question)
    assert [document.page_content for document in found] == [text]


def test_stop_words_in_small_letters_and_after_apostrophes_find_nothing() -> None:
    found = CorpusRetriever.from_documents(documents(), k=1).invoke("It isn't. What is it to us?")
    assert found == []


def test_a_single_document_is_a_corpus_of_one() -> None:
    assert len(CorpusRetriever.from_documents("The sky is blue.").documents) == 1


@pytest.mark.parametrize(
    ("question", "text"),
    [
        ("Chanel No. 5", "a scent, №5"),
        ("rule nº 5", "it is No. 5"),
        ("clause n° 12", "No12"),
        ("the 10th president", "the tenth man"),
        ("the tenth president", "number 10"),
        ("twenty-first amendment", "the 21st"),
        ("fortieth day", "day 40"),
        ("10e arrondissement", "the 10th one"),
    ],
)
def test_a_number_is_found_in_another_spelling(question: str, text: str) -> None:
    score, other = BM25Ranker([text, "Bread needs flour."]).scores(question)
    assert score > other == 0


class SlowRetriever(TopKRetriever):
    released: threading.Event
    ended: threading.Event

    def search(self, query: str, k: int) -> list[Retrieved]:
        self.released.wait(3)
        self.ended.set()
        return []


def test_a_search_that_does_not_answer_does_not_keep_a_cancelled_run_from_ending() -> None:
    slow = SlowRetriever(released=threading.Event(), ended=threading.Event())

    async def ask() -> None:
        with suppress(TimeoutError):
            async with asyncio.timeout(0.01):
                await slow.ainvoke("why is the sky blue?")

    asyncio.run(ask())
    assert not slow.ended.is_set()
    slow.released.set()
