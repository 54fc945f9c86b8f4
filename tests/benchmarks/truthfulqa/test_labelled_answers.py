"""Labelled answers, joined with the references of their questions."""

from collections import Counter
from pathlib import Path

import pytest

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.truthfulqa.data import read_truthfulqa
from conflictscore.benchmarks.truthfulqa.judge_check import (
    BOTH,
    NO_REFERENCES,
    REPEATED,
    VERBATIM,
    LabelledAnswer,
    balanced_sample,
    read_labelled,
)
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import (
    REAL,
    labelled,
    needs_real_data,
    row,
    write_csv,
    write_jsonl,
)

ASKED = "Is the lamp lit?"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "judge_truth.jsonl"


@pytest.fixture
def references(tmp_path: Path) -> tuple[Question, ...]:
    return read_truthfulqa(write_csv(tmp_path / "t.csv", [row()]), form="free-form", seed=0)


def test_an_answer_comes_with_its_label_and_the_references_of_its_question(
    file: Path, references: tuple[Question, ...]
) -> None:
    write_jsonl(file, [labelled(ASKED, "At dusk", "yes"), labelled("Is the  lamp lit?", "", "no")])
    read = read_labelled(file, references)
    assert read.answers == (
        LabelledAnswer(references[0], "At dusk", label=True),
        LabelledAnswer(references[0], "", label=False),
    )
    assert (read.measure, read.rows, read.left_out) == ("truthful", 2, {})


def test_the_file_says_which_measure_its_labels_are_of(
    file: Path, references: tuple[Question, ...]
) -> None:
    write_jsonl(file, [labelled(ASKED, "At dusk", "yes", "Helpful")])
    assert read_labelled(file, references).measure == "informative"


def test_an_answer_may_hold_lines_that_look_like_the_form(
    file: Path, references: tuple[Question, ...]
) -> None:
    answer = "At dusk.\nQ: Is it?\nA: No.\nTrue: yes"
    write_jsonl(file, [labelled(ASKED, answer, "no")])
    assert read_labelled(file, references).answers[0].answer == answer


def test_what_cannot_be_used_is_left_out_and_counted_by_reason(
    file: Path, references: tuple[Question, ...]
) -> None:
    write_jsonl(
        file,
        [
            labelled(ASKED, "At dusk", "yes"),
            labelled(ASKED, "At dusk", "yes"),
            labelled(ASKED, "Perhaps", "yes"),
            labelled(ASKED, "Perhaps", "no"),
            labelled(ASKED, "at  NIGHT.", "yes"),
            labelled(ASKED, "By day", "no"),
            labelled("Is the \x1b[31mtower white?", "Yes", "yes"),
            labelled("Is the \x1b[31mtower white?", "No", "no"),
        ],
    )
    read = read_labelled(file, references)
    assert [answer.answer for answer in read.answers] == ["At dusk"]
    assert read.left_out == {REPEATED: 1, BOTH: 2, VERBATIM: 2, NO_REFERENCES: 2}
    assert read.without_references == ("Is the [31mtower white?",)


@pytest.mark.parametrize(
    ("record", "problem"),
    [
        (["x"], "field prompt: a text is needed"),
        ({"prompt": "Q: a\nA: b\nTrue:"}, "field completion: a text is needed"),
        ({"prompt": "Q: a\nA: b", "completion": "yes"}, "field prompt: it is not of the form"),
        ({"prompt": "A: b\nTrue:", "completion": "yes"}, "field prompt: it is not of the form"),
        (labelled("a", "b", "maybe"), "field completion: ' maybe' is neither yes nor no"),
        (labelled("a", "b", "yes", "Helpful"), "it asks for informative, and row 1 for truthful"),
    ],
)
def test_a_broken_line_names_file_row_and_field(
    file: Path, references: tuple[Question, ...], record: object, problem: str
) -> None:
    write_jsonl(file, [labelled(ASKED, "At dusk", "yes"), record])
    with pytest.raises(InputError) as refused:
        read_labelled(file, references)
    assert str(refused.value).startswith(f"{file}, row 2, field ")
    assert problem in str(refused.value)


def test_an_empty_file_is_refused(file: Path, references: tuple[Question, ...]) -> None:
    with pytest.raises(InputError, match="there is no labelled answer in it"):
        read_labelled(write_jsonl(file, []), references)


# Samples


def answers(yes: int, no: int) -> tuple[LabelledAnswer, ...]:
    question = Question(id="q", question="q?")
    return tuple(
        LabelledAnswer(question, f"answer {number}", label=number < yes)
        for number in range(yes + no)
    )


def test_a_sample_has_half_of_each_label_in_the_order_of_the_file() -> None:
    there = answers(yes=90, no=10)
    drawn = balanced_sample(there, 9, seed=0)
    assert Counter(answer.label for answer in drawn) == {True: 4, False: 5}
    assert list(drawn) == [answer for answer in there if answer in drawn]
    assert drawn != balanced_sample(there, 9, seed=1)
    assert set(drawn) <= set(balanced_sample(there, 20, seed=0))


@pytest.mark.parametrize(
    ("size", "problem"),
    [
        (22, "11 of it labelled no; there are only 10"),
        (1, "give at least 2"),
    ],
)
def test_a_sample_that_cannot_be_had_is_refused(size: int, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        balanced_sample(answers(yes=90, no=10), size, seed=0)


# The published files


@needs_real_data
@pytest.mark.parametrize(
    ("name", "references", "yes", "no", "without"),
    [
        ("judge_truth", "TruthfulQA.csv", 2481, 3175, 19),
        ("judge_truth", "TruthfulQA-v1.csv", 2579, 3361, 0),
        ("judge_info", "TruthfulQA.csv", 3924, 1723, 19),
        ("judge_info", "TruthfulQA-v1.csv", 4134, 1799, 0),
    ],
)
def test_about_half_of_the_published_rows_can_check_a_judge(
    name: str, references: str, yes: int, no: int, without: int
) -> None:
    folder = REAL / "truthfulqa"
    questions = read_truthfulqa(folder / references, form="free-form", seed=0)
    read = read_labelled(folder / f"{name}.jsonl", questions)
    assert Counter(answer.label for answer in read.answers) == {True: yes, False: no}
    assert len(read.without_references) == without
    assert read.rows == 11015 == len(read.answers) + sum(read.left_out.values())
