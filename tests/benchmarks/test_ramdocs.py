"""RAMDocs as a binary multiple choice."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import Items
from conflictscore.benchmarks.ramdocs.benchmark import ramdocs, read_ramdocs
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl

_KINDS = {"c": "correct", "m": "misinfo", "n": "noise"}


def line(
    *documents: str, gold: list[str], wrong: list[str], question: str = "What is Ada?"
) -> dict[str, Any]:
    """A question; a document such as ``c:Poet`` is correct and gives that answer."""
    return {
        "question": question,
        "documents": [
            {"text": f"Text {number}: {said}", "type": _KINDS[kind], "answer": said}
            for number, (kind, _, said) in enumerate((d.partition(":") for d in documents), 1)
        ],
        "disambig_entity": ["Ada"],
        "gold_answers": gold,
        "wrong_answers": wrong,
    }


PLAIN = line("c:Poet", "c:poet.", "m:Clerk", "n:unknown", gold=["Poet"], wrong=["Clerk"])


def read(file: Path, *lines: Mapping[str, Any]) -> Items[Question]:
    return read_ramdocs(write_jsonl(file, lines), seed=0)


def wrong_option(read: Items[Question]) -> str:
    [question] = read.items
    assert question.gold is not None
    return question.options[1 - question.gold]


def test_an_option_is_a_whole_statement_that_a_document_can_contradict(file: Path) -> None:
    [question] = read(file, PLAIN).items
    assert question.gold is not None
    assert question.options[question.gold] == 'The answer to "What is Ada?" is Poet.'
    assert question.options[1 - question.gold] == 'The answer to "What is Ada?" is Clerk.'
    assert (question.correct, question.incorrect) == (("Poet",), ("Clerk",))


def test_a_statement_has_one_full_stop_and_no_quotes_within_quotes(file: Path) -> None:
    asked = 'Who made "Lamp"?'
    made = read(file, line("c:A", "m:B Inc.", gold=["A"], wrong=["B Inc."], question=asked))
    assert wrong_option(made) == "The answer to \"Who made 'Lamp'?\" is B Inc."


def test_all_documents_are_attached_in_order_and_without_their_type(file: Path) -> None:
    [question] = read(file, PLAIN).items
    assert question.documents == (
        {"text": "Text 1: Poet"},
        {"text": "Text 2: poet."},
        {"text": "Text 3: Clerk"},
        {"text": "Text 4: unknown"},
    )


def test_the_wrong_option_is_the_one_that_most_documents_give(file: Path) -> None:
    more = line("c:P", "m:Clerk", "m:cook", "m:Cook", gold=["P"], wrong=["Clerk", "Cook", "Cook"])
    assert wrong_option(read(file, more)).endswith("is Cook.")
    assert read(file, more).items[0].category == "2 marked as misinforming"
    none = line("c:P", gold=["P"], wrong=["Clerk", "Cook"])
    assert wrong_option(read(file, none)).endswith("is Clerk.")
    assert read(file, none).items[0].category == "0 marked as misinforming"


def test_what_makes_no_choice_is_left_out_and_counted_by_reason(file: Path) -> None:
    made = read(
        file,
        PLAIN,
        line("c:Poet", "m:POET", gold=["Poet"], wrong=["poet."], question="2?"),
        line("c:Poet", gold=["Poet"], wrong=[], question="3?"),
        line("c:Poet", "m:Nurse", gold=["Poet", "Nurse"], wrong=["nurse"], question="4?"),
        line("n:unknown", gold=["Poet"], wrong=["Cook"], question="5?"),
    )
    assert len(made.items) == 1
    assert made.left_out == {
        "there is no wrong answer": 3,
        "no document gives a correct answer": 1,
    }


def test_a_name_of_several_entities_has_the_documents_of_one(file: Path) -> None:
    several = line(
        "c:Nurse", "c:Poet", "m:Cook", "c:poet", "n:unknown", gold=["Nurse", "Poet"], wrong=["Cook"]
    )
    [question] = read(file, several).items
    assert question.correct == ("Poet",)
    assert [d["text"][:6] for d in question.documents] == ["Text 2", "Text 3", "Text 4", "Text 5"]
    assert question.category == "1 marked as misinforming, one of several entities"


def test_the_harness_is_told_what_was_left_out(file: Path) -> None:
    write_jsonl(file, [PLAIN, line("c:Poet", gold=["Poet"], wrong=[], question="1?")])
    benchmark = ramdocs(file, "multiple-choice", 0)
    assert len(benchmark.questions) == 1
    assert benchmark.notes == ("questions left out: 1, there is no wrong answer",)


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"question": " "}, "row 2, field question: a text is needed"),
        ({"documents": []}, "row 2, field documents: a list of documents is needed"),
        ({"documents": ["x"]}, "row 2, document 1, field type: None is none of correct"),
        (
            {"documents": [{"text": "x", "type": "rumour", "answer": "y"}]},
            "row 2, document 1, field type: 'rumour' is none of correct, misinfo, noise",
        ),
        (
            {"documents": [{"type": "noise", "answer": "y"}]},
            "row 2, document 1, field text: a text is needed",
        ),
        ({"gold_answers": "Poet"}, "row 2, field gold_answers: a list of texts is needed"),
        ({"wrong_answers": [1]}, "row 2, field wrong_answers: a list of texts is needed"),
        ({}, "row 2, field question: the same as in row 1"),
    ],
)
def test_a_broken_line_names_file_row_and_field(
    file: Path, change: dict[str, Any], problem: str
) -> None:
    with pytest.raises(InputError) as refused:
        read(file, PLAIN, PLAIN | change)
    assert str(refused.value).startswith(f"{file}, {problem}")


def test_a_file_without_a_choice_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match=r"nothing in it to use \(there is no wrong answer\)"):
        read(file, line("c:Poet", gold=["Poet"], wrong=[]))
    with pytest.raises(InputError, match="row 1, field question"):
        read_ramdocs(write_jsonl(file, [["no", "object"]]), seed=0)


@needs_real_data
def test_of_the_published_lines_143_make_a_choice_36_of_them_with_one_answer() -> None:
    read = read_ramdocs(REAL / "ramdocs" / "ramdocs.jsonl", seed=0)
    several = sum(", one of several entities" in q.category for q in read.items)
    assert (len(read.items), several) == (143, 107)
    assert sum(read.left_out.values()) == 252 - 143
