"""The sentences of documents that a slow model reads to answer a question for a time."""

import pytest

from conflictscore.answering.time_questions import asks_for_time, stating_times
from conflictscore.records import Document
from conflictscore.retrieval.token_windows import MARK

WHOLE = "The first document stays whole. It has no time in it."
GAP = MARK.strip()


def shown(text: str, question: str = "In which year was it built?") -> str:
    """The sentences that are shown of a second document, with single spaces between the words."""
    first, second = (Document(number=n, text=each) for n, each in enumerate((WHOLE, text), 1))
    left, right = stating_times([first, second], question)
    assert left == first
    assert (right.number, right.title) == (2, second.title)
    return " ".join(right.text.split())


@pytest.mark.parametrize(
    "question",
    [
        "In which year did the lighthouse first light its lamp?",
        "When was the tower built?",
        "94 Squadron was formed in which year?",
        "On what day did she start?",
        "Since when is the quay closed",
    ],
)
def test_questions_for_a_time(question: str) -> None:
    assert asks_for_time(question)


@pytest.mark.parametrize(
    "question",
    [
        "When and where was he born?",
        "What happened when the dam broke?",
        "When was it built? Name its architect.",
        "When was it built? And by someone famous?",
        "How long did it last when it rained?",
        "Does it close when it rains?",
        "What was the best year of the club?",
        "Whenever it rains, is the quay closed?",
        "In welchem Jahr wurde der Turm gebaut?",
        "Which is the oldest tower?",
        "",
    ],
)
def test_questions_for_something_else_or_more(question: str) -> None:
    assert not asks_for_time(question)
    documents = [Document(number=number, text=f"{WHOLE} {number}") for number in (1, 2)]
    assert stating_times(documents, question) == documents


def test_sentences_without_a_year_are_left_out_and_marked() -> None:
    text = "The tower stands at the sea. The walls are of granite. Work ended in 1871. Dogs may in."

    assert shown(text) == f"The tower stands at the sea. {GAP} Work ended in 1871. {GAP}"


@pytest.mark.parametrize(
    "sentence",
    [
        "The masons left in eighteen seventy-one.",
        "The tower was never finished.",
        "The work took a decade.",
        "A king had the work done three centuries ago.",
        "The tower is of the ١٨٧١ plan.",
    ],
)
def test_a_year_may_be_in_words_other_digits_or_missing(sentence: str) -> None:
    assert sentence in shown(f"The tower is at the sea. The walls are of granite. {sentence}")


@pytest.mark.parametrize("sentence", ["It opens on Sundays.", "Visits end at dusk in May."])
def test_only_a_question_for_a_year_wants_years(sentence: str) -> None:
    text = f"The tower is at the sea. The walls are of granite. {sentence}"

    assert sentence in shown(text, "When is the tower open?")
    assert sentence not in shown(text)


def test_a_sentence_is_shown_with_the_one_to_which_it_refers() -> None:
    text = "The tower is at the sea. The old mill burned down. Then it was lost. It was so in 1871."

    assert shown(text) == (
        "The tower is at the sea. The old mill burned down. Then it was lost. It was so in 1871."
    )


def test_headings_tables_and_lines_before_a_list_are_shown() -> None:
    frame = ["# The mill", "The years of the mill:", "| event | year |"]
    text = "\n".join(["The tower is at the sea.", "The walls are of granite.", *frame])

    assert all(line in shown(text) for line in frame)
    assert "granite" not in shown(text)


@pytest.mark.parametrize(
    "text", ["", "Der Turm steht am Meer. Die Mauern sind aus Granit.", "灯台は古い。"]
)
def test_documents_that_are_not_in_english_stay_whole(text: str) -> None:
    assert shown(text) == text
