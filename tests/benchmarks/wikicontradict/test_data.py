"""The published files of WikiContradict: what is read, and what is refused."""

from pathlib import Path

import pytest

from conflictscore.benchmarks.wikicontradict.data import read_questions
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl
from tests.benchmarks.wikicontradict.records import FLAT

FOLDER = REAL / "wikicontradict"


def test_a_question_has_its_passages_and_the_answer_of_each(file: Path) -> None:
    [question] = read_questions(write_jsonl(file, [FLAT]))
    assert question.question == "When was the lamp lit?"
    assert question.contexts == ("The lamp was lit in 1871.", "Lit: 1874")
    assert question.answers == ("1871", "1874")
    assert question.contradiction_type == "Explicit"
    assert question.contexts_self_contained[1] == "Lamp Head, lit: 1874"


def test_an_unknown_contradiction_type_and_a_question_twice_are_named(file: Path) -> None:
    with pytest.raises(InputError, match="row 1, field contradiction_type: Input should be 'Expl"):
        read_questions(write_jsonl(file, [FLAT | {"contradiction_type": "Odd"}]))


@needs_real_data
def test_the_real_questions_are_read() -> None:
    questions = read_questions(FOLDER / "questions.jsonl")
    assert len(questions) == 129
    assert {len(question.contexts) for question in questions} == {2}
    assert {len(question.answers) for question in questions} == {2}
    assert {question.contradiction_type for question in questions} == {
        "Explicit",
        "Implicit (reasoning required)",
    }
