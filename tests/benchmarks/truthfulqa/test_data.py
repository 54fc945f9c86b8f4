import json
from collections import Counter
from pathlib import Path

import pytest

from conflictscore.benchmarks.harness.definition import Form
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.truthfulqa.benchmark import read_truthfulqa
from conflictscore.errors import InputError
from tests.benchmarks.truthfulqa.files import COLUMNS, REAL, needs_real_data, row, write_csv

V1 = [column for column in COLUMNS if column != "Best Incorrect Answer"]
MANY = [row(f"Is lamp {number} lit?") for number in range(40)]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "t.csv"


def read(path: Path, form: Form = "multiple-choice", seed: int = 0) -> tuple[Question, ...]:
    return read_truthfulqa(path, form=form, seed=seed)


def refusal(path: Path, form: Form = "multiple-choice") -> str:
    with pytest.raises(InputError) as refused:
        read(path, form)
    message = str(refused.value)
    assert "\n" not in message
    assert message.startswith(path.as_posix())
    return message.removeprefix(path.as_posix())


def orders(questions: tuple[Question, ...]) -> dict[str, tuple[str, ...]]:
    return {question.question: question.options for question in questions}


def test_a_choice_is_the_best_answer_against_the_best_incorrect_one(file: Path) -> None:
    [question] = read(write_csv(file, [row()]))
    assert set(question.options) == {"It is lit, at night", "It is never lit"}
    assert question.gold is not None
    assert question.options[question.gold] == "It is lit, at night"
    assert question.category == "Lamps"


def test_free_form_has_the_answers_of_both_lists_and_no_options(file: Path) -> None:
    [question] = read(write_csv(file, [row()], V1), "free-form")
    assert (question.options, question.gold) == ((), None)
    assert question.correct == ("It is lit, at night", "At night")
    assert question.incorrect == ("It is never lit", "By day")


def test_lists_hold_each_answer_once_and_may_end_in_a_semicolon(file: Path) -> None:
    cells = {"best_answer": "No", "correct_answers": "Not now;No; No ; ;Not now;"}
    [question] = read(write_csv(file, [row(**cells)]), "free-form")
    assert question.correct == ("No", "Not now")


def test_a_mark_at_the_beginning_blank_lines_and_another_order_of_columns_change_nothing(
    file: Path, tmp_path: Path
) -> None:
    plain = read(write_csv(file, MANY[:2]))
    other = write_csv(tmp_path / "other.csv", MANY[:2], COLUMNS[::-1])
    other.write_bytes(b"\xef\xbb\xbf" + other.read_bytes().replace(b"\r\n", b"\r\n\r\n"))
    assert read(other) == plain


def test_a_cell_in_quotes_may_hold_commas_quotes_and_line_ends(file: Path) -> None:
    [question] = read(write_csv(file, [row('Is "it",\nthe lamp, lit?')]))
    assert question.question == 'Is "it",\nthe lamp, lit?'


def test_both_versions_have_the_same_ids(file: Path, tmp_path: Path) -> None:
    original = write_csv(tmp_path / "v1.csv", MANY[::-1], V1)
    ids = {question.id for question in read(original, "free-form")}
    assert ids == {question.id for question in read(write_csv(file, MANY))}
    assert len(ids) == len(MANY)


def test_the_order_of_options_depends_on_seed_and_question_and_nothing_else(
    file: Path, tmp_path: Path
) -> None:
    whole = orders(read(write_csv(file, MANY), seed=3))
    part = orders(read(write_csv(tmp_path / "part.csv", MANY[30:4:-3]), seed=3))
    assert part.items() <= whole.items()
    assert orders(read(file, seed=4)) != whole


def test_the_right_option_stands_first_about_as_often_as_second(file: Path) -> None:
    rows = [row(f"Is lamp {number} lit?") for number in range(400)]
    first = Counter(question.gold for question in read(write_csv(file, rows)))
    assert 150 < first[0] < 250


def test_multiple_choice_of_the_original_version_is_one_clear_line(file: Path) -> None:
    message = refusal(write_csv(file, [row()], V1))
    assert "multiple choice needs the column Best Incorrect Answer" in message
    assert "the version of January 2025" in message


@pytest.mark.parametrize("column", ["Question", "Best Incorrect Answer", "Correct Answers"])
def test_an_empty_cell_or_a_missing_column_names_row_and_field(file: Path, column: str) -> None:
    write_csv(file, [*MANY[:2], row(**{column.lower().replace(" ", "_"): " "})])
    assert refusal(file).startswith(f", row 4, field {column}: a non-empty string is needed")
    write_csv(file, [row()], [name for name in V1 if name != column])
    if column != "Best Incorrect Answer":
        assert refusal(file, "free-form") == f", row 2, field {column}: Field required"


@pytest.mark.parametrize("end", ["Adversarial,Lamps,Is it?,Yes\r\n", "a,b,c,d,e,f,g,h,i\r\n"])
def test_a_row_of_another_length_is_refused_with_its_number_of_cells(file: Path, end: str) -> None:
    write_csv(file, MANY[:2])
    file.write_text(file.read_text("utf-8") + end, "utf-8")
    cells = end.count(",") + 1
    assert refusal(file).startswith(f", row 4: the row has {cells} cells, but the header has 8")


def test_a_file_that_is_no_utf_8_is_refused(file: Path) -> None:
    write_csv(file, [MANY[0], row("Is the fête lit?"), MANY[1]])
    file.write_bytes(file.read_bytes().replace("ê".encode(), "ê".encode("latin-1")))
    assert refusal(file).startswith(": cannot be read as UTF-8 text")


def test_the_same_question_twice_names_both_rows(file: Path) -> None:
    write_csv(file, [row(), MANY[0], row("Is  the lamp lit?")])
    assert refusal(file) == ", row 4, field Question: the same as in row 2"


def test_answers_that_cannot_be_told_apart_or_are_missing_are_refused(file: Path) -> None:
    missing = row(correct_answers=" ; ;")
    problem = ", row 2, field Correct Answers: contains no answer"
    assert problem in refusal(write_csv(file, [missing]))
    same = row(best_incorrect_answer="IT is lit, at night")
    assert "must differ from Best Answer" in refusal(write_csv(file, [same]))


def test_what_is_no_such_file_is_refused(file: Path) -> None:
    assert refusal(file).startswith(": cannot be read")
    file.write_text(",".join(COLUMNS), "utf-8")
    assert refusal(file).startswith(": no row can be used")
    file.write_text(",".join(COLUMNS) + '\r\nA,B,"no end', "utf-8")
    assert refusal(file).startswith(", row 2: not CSV")


@needs_real_data
def test_the_version_of_january_2025_has_790_binary_choices() -> None:
    folder = REAL / "truthfulqa"
    questions = read(folder / "TruthfulQA.csv")
    targets = {
        item["question"]: item["mc0_targets"]
        for item in json.loads((folder / "mc_task.json").read_text("utf-8"))
    }
    assert len(questions) == 790
    # the owners' own binary choice is identical
    for question in questions:
        scores = targets[question.question]
        assert sorted(question.options) == sorted(scores)
        assert question.gold is not None
        assert scores[question.options[question.gold]] == 1


@needs_real_data
def test_the_original_version_has_817_questions_of_which_788_are_in_the_new_one() -> None:
    original = read(REAL / "truthfulqa" / "TruthfulQA-v1.csv", "free-form")
    new = read(REAL / "truthfulqa" / "TruthfulQA.csv", "free-form")
    assert len(original) == 817
    assert len({q.id for q in original} & {q.id for q in new}) == 788
    both = [q for q in original if set(q.correct) & set(q.incorrect)]
    assert [set(q.correct) & set(q.incorrect) for q in both] == [{"Unknown"}] * 2
