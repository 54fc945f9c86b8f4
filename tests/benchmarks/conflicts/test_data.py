from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.conflicts.benchmark import Conflicts, read_conflicts
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.errors import InputError
from tests.benchmarks.conflicts.lines import TYPES, official, result, shortened
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl


def read(file: Path, *lines: object) -> Conflicts:
    return read_conflicts(write_jsonl(file, lines))


def test_the_official_file_is_read_as_people_and_models_were_shown_it(file: Path) -> None:
    other = result(title=None, snippet=None, date="NA", url="https://log.test/b")
    [question] = read(file, official(result(), other)).questions

    assert question.question == "When was the lamp lit?"
    assert question.conflict_type is ConflictType.OUTDATED
    assert question.correct == ("1874",)
    first, second = question.documents
    assert first == {
        "text": "Lit in 1871 ...\nThe lamp was lit in 1871.",
        "title": "Gazette",
        "url": "https://gazette.test/a",
        "metadata": {"date": "2019-05-01"},
    }
    assert (second["title"], second["text"]) == ("", "The lamp was lit in 1871.")
    assert second["metadata"] == {}


def test_the_shortened_file_gives_the_same_question(file: Path) -> None:
    [long] = read(file, official()).questions
    [short] = read(file, shortened()).questions

    assert (short.id, short.question, short.conflict_type, short.correct) == (
        *(long.id, long.question, long.conflict_type, long.correct),
    )
    assert [document["text"] for document in short.documents] == ["Lit in 1871."]
    assert short.documents[0]["metadata"] == {}


@pytest.mark.parametrize("kind", ConflictType)
def test_a_gold_answer_is_trusted_only_where_people_were_asked_for_it(
    file: Path, kind: ConflictType
) -> None:
    [question] = read(file, official(conflict_type=TYPES[kind])).questions

    assert question.conflict_type is kind
    trusted = {"no-conflict", "outdated", "misinformation"}
    assert question.correct == (("1874",) if kind in trusted else ())


def test_a_gold_answer_that_is_not_there_is_none(file: Path) -> None:
    for absent in (None, " "):
        assert read(file, official(correct_answer=absent)).questions[0].correct == ()


def test_opinions_are_called_by_either_name(file: Path) -> None:
    for words in ("Conflicting opinions and", "conflicting  opinions or"):
        line = shortened(conflict_type=f"{words} research outcomes")
        [question] = read(file, line).questions
        assert question.conflict_type is ConflictType.CONFLICTING_OPINIONS


def test_a_result_without_text_is_left_out_and_counted(file: Path) -> None:
    empty = result(snippet="", short_text=" ")
    made = read(file, official(empty, result(), empty, result(url=None)))

    assert made.empty_documents == 2
    assert len(made.questions[0].documents) == 2


def test_a_question_that_is_there_twice_has_two_ids(file: Path) -> None:
    ids = [question.id for question in read(file, official(), shortened(), official()).questions]
    assert ids == [ids[0], f"{ids[0]}-2", f"{ids[0]}-3"]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        (official(question=" "), "field question: a non-empty string is needed"),
        (
            official(conflict_type="Quarrel"),
            "field conflict_type: 'Quarrel' is not one of 'no conf",
        ),
        (official(search_results=[]), "field search_results: no document in it has text"),
        (shortened("x"), "field docs.0: Input should be a valid dictionary"),
        (official(result(date=2019)), "field search_results.0.date: Input should be a valid"),
        ({"question": "When?"}, "field conflict_type: Field required"),
    ],
)
def test_a_broken_line_names_file_row_and_field(file: Path, line: Any, problem: str) -> None:
    with pytest.raises(InputError) as refused:
        read(file, official(), line)
    assert str(refused.value).startswith(f"{file}, row 2, {problem}")


def test_an_empty_file_is_refused(file: Path) -> None:
    with pytest.raises(InputError, match="contains no questions"):
        read(file)


@needs_real_data
def test_the_real_lines_are_read() -> None:
    questions, empty = read_conflicts(REAL / "conflicts" / "conflicts.jsonl")

    assert (len(questions), empty) == (106, 0)
    assert len({question.id for question in questions}) == 106
    assert Counter(question.conflict_type for question in questions) == {
        ConflictType.NO_CONFLICT: 39,
        ConflictType.COMPLEMENTARY: 25,
        ConflictType.CONFLICTING_OPINIONS: 27,
        ConflictType.OUTDATED: 12,
        ConflictType.MISINFORMATION: 3,
    }
    assert sum(bool(question.correct) for question in questions) == 39 + 12 + 3
    documents = [document for question in questions for document in question.documents]
    assert len(documents) == 979
    assert sum("date" in document["metadata"] for document in documents) == 446
