"""The published files of WikiContradict: what is read, and what is refused."""

import re
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


@pytest.mark.parametrize(
    "field", sorted(name for name in FLAT if not re.search("_info|answer._self", name))
)
@pytest.mark.parametrize("value", ["", 7, None])
def test_a_field_of_a_question_that_is_no_text_is_named(
    file: Path, field: str, value: object
) -> None:
    write_jsonl(file, [FLAT | {"question": "Another?"}, FLAT | {field: value}])
    with pytest.raises(InputError, match=f"data.jsonl, row 2, field {field}: "):
        read_questions(file)


def test_an_unknown_contradiction_type_and_a_question_twice_are_named(file: Path) -> None:
    with pytest.raises(InputError, match="row 1, field contradiction_type: 'Odd' is none of Expl"):
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
