"""The published files of WikiContradict: what is read, and what is refused."""

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

from conflictscore.benchmarks.agreement import drawn
from conflictscore.benchmarks.wikicontradict.data import (
    ContradictionType,
    Prompt,
    read_questions,
    read_rated,
)
from conflictscore.benchmarks.wikicontradict.judge import Rating
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl
from tests.benchmarks.wikicontradict.records import FLAT, RATED

FOLDER = REAL / "wikicontradict"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "w.jsonl"


# Flat questions


def test_a_question_has_its_passages_and_the_answer_of_each(file: Path) -> None:
    [question] = read_questions(write_jsonl(file, [FLAT]))
    assert question.question == "When was the lamp lit?"
    assert question.contexts == ("The lamp was lit in 1871.", "Lit: 1874")
    assert question.answers == ("1871", "1874")
    assert question.contradiction_type is ContradictionType.EXPLICIT
    assert question.contexts_self_contained[1] == "Lamp Head, lit: 1874"
    assert question.answers_self_contained[1] == "It was lit in 1874."


@pytest.mark.parametrize("field", sorted(set(FLAT) - {"context1_info", "context2_info"}))
@pytest.mark.parametrize("value", ["", 7, None])
def test_a_field_of_a_question_that_is_no_text_is_named(
    file: Path, field: str, value: object
) -> None:
    write_jsonl(file, [FLAT | {"question": "Another?"}, FLAT | {field: value}])
    with pytest.raises(InputError, match=f"w.jsonl, row 2, field {field}: a text"):
        read_questions(file)


def test_an_unknown_contradiction_type_and_a_question_twice_are_named(file: Path) -> None:
    with pytest.raises(InputError, match="row 1, field contradiction_type: 'Odd' is none of Expl"):
        read_questions(write_jsonl(file, [FLAT | {"contradiction_type": "Odd"}]))
    with pytest.raises(InputError, match="row 2, field question: the same question as in row 1"):
        read_questions(write_jsonl(file, [FLAT, FLAT]))
    with pytest.raises(InputError, match="no question"):
        read_questions(write_jsonl(file, []))


def test_a_row_has_an_answer_to_each_prompt_with_what_is_right_for_it(file: Path) -> None:
    questions = read_questions(write_jsonl(file, [FLAT]))
    answers = read_rated(write_jsonl(file, [RATED]), questions)
    assert [(a.prompt, a.right, a.rating) for a in answers] == [
        (Prompt.NO_PASSAGE, ("1871", "1874"), Rating.INCORRECT),
        (Prompt.FIRST_PASSAGE, ("1871",), Rating.CORRECT),
        (Prompt.SECOND_PASSAGE, ("1874",), Rating.CORRECT),
        (Prompt.BOTH_PASSAGES, ("1871", "1874"), Rating.PARTIALLY_CORRECT),
        (Prompt.BOTH_VIEWS, ("1871", "1874"), Rating.CORRECT),
    ]
    assert {a.contradiction_type for a in answers} == {"Explicit"}
    assert {a.contradiction_type for a in read_rated(file)} == {None}


@pytest.mark.parametrize(
    ("field", "value"),
    [("label3", "Right"), ("label0", ""), ("answer4", None), ("gt_answer_2", ""), ("model", 4)],
)
def test_a_rated_row_that_cannot_be_used_is_named(file: Path, field: str, value: object) -> None:
    write_jsonl(file, [RATED | {"model": "llm-b"}, RATED | {field: value}])
    with pytest.raises(InputError, match=f"w.jsonl, row 2, field {field}"):
        read_rated(file)


def test_a_model_rates_a_question_once(file: Path) -> None:
    with pytest.raises(InputError, match="row 2, field question: llm-a answered it in row 1 too"):
        read_rated(write_jsonl(file, [RATED, RATED]))
    with pytest.raises(InputError, match="no rated answer"):
        read_rated(write_jsonl(file, []))


def test_a_larger_sample_holds_the_smaller_and_keeps_the_order(file: Path) -> None:
    answers = read_rated(write_jsonl(file, [RATED, RATED | {"model": "b"}, RATED | {"model": "c"}]))
    draw = partial(drawn, purpose="rated", name=lambda row: row.id)
    small, large = draw(answers, 4, seed=1), draw(answers, 9, seed=1)
    assert set(small) < set(large)
    assert list(large) == [answer for answer in answers if answer in large]
    assert draw(answers, 4, seed=2) != small
    with pytest.raises(InputError, match="sample is 16; there are 15 answers, give 1 to 15"):
        draw(answers, 16, seed=1)


# The real files


@needs_real_data
def test_the_real_questions_and_ratings_fit_together() -> None:
    questions = read_questions(FOLDER / "questions.jsonl")
    answers = read_rated(FOLDER / "human_eval.jsonl", questions)
    assert (len(questions), len(answers)) == (129, 850)
    assert Counter(a.rating for a in answers) == {
        Rating.CORRECT: 342,
        Rating.PARTIALLY_CORRECT: 357,
        Rating.INCORRECT: 151,
    }
    assert sum(a.contradiction_type is None for a in answers) == 25  # one question of the 34
