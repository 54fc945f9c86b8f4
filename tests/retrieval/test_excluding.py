import asyncio

from conflictscore.retrieval import CorpusRetriever
from conflictscore.retrieval.excluding import ExcludingRetriever
from conflictscore.retrieval.search_notes import collecting

QUESTION = "What happens if you swallow gum?"
ANSWERS = ("It passes through your body", "Nothing", "It stays for seven years")
PAGES = {
    "https://truthful.test/list": f"{QUESTION} It passes through your body.",
    "https://blog.test/gum": "If you swallow gum, it passes through your body in days.",
    "https://copies.test/a": "Q: what HAPPENS if you swallow gum; A: (it stays for seven years!)",
    "https://forum.test/b": f"{QUESTION} Nothing.",
    "https://en.wiki.test/Gum": "Gum that you swallow leaves the body like other food.",
}


def retriever(**settings: object) -> ExcludingRetriever:
    documents = [{"text": text, "url": url} for url, text in PAGES.items()]
    found = CorpusRetriever.from_documents(documents)
    return ExcludingRetriever(retriever=found, **settings)  # type: ignore[arg-type]


def addresses(asked: ExcludingRetriever, question: str = QUESTION) -> set[str]:
    return {document.metadata["source"] for document in asked.invoke(question)}


def test_a_page_with_the_question_and_an_answer_is_left_out_whatever_its_punctuation() -> None:
    left = addresses(retriever(references={QUESTION: ANSWERS}))

    assert left == PAGES.keys() - {"https://truthful.test/list", "https://copies.test/a"}


def test_an_answer_in_the_questions_own_words_gives_nothing_away() -> None:
    left = addresses(retriever(references={QUESTION: ("you swallow gum", "if you swallow gum")}))

    assert left == set(PAGES)


def test_a_page_with_the_question_or_the_answer_only_in_its_title_is_left_out() -> None:
    answer = "It passes through your body."
    pages = [
        {"title": QUESTION, "text": answer, "url": "https://answers.test/a"},
        {"title": answer, "text": QUESTION, "url": "https://answers.test/b"},
        {"title": "What happens if you", "text": f"swallow gum? {answer}", "url": "https://c.test"},
    ]
    pages_retriever = CorpusRetriever.from_documents(pages)
    asked = ExcludingRetriever(retriever=pages_retriever, references={QUESTION: ANSWERS})

    assert addresses(asked) == {"https://c.test"}


def test_another_question_is_not_touched() -> None:
    asked = retriever(references={"Is gum sweet?": ANSWERS})

    assert addresses(asked) == set(PAGES)
    assert not asked.left_out


def test_what_was_left_out_is_noted_and_counted_sync_and_async() -> None:
    asked = retriever(references={QUESTION: ANSWERS})
    with collecting() as notes:
        asked.invoke(QUESTION)
    asyncio.run(asked.ainvoke(QUESTION))

    assert notes == ["documents left out that contain the question and a reference answer: 2"]
    assert list(asked.left_out.values()) == [4]
