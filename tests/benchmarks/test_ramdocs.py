from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.ramdocs.benchmark import (
    MEASURES,
    exact_match,
    judge_exact_match,
    normalised,
    ramdocs,
    read_questions,
)
from conflictscore.errors import InputError
from tests.benchmarks.harness.quiz import run_quiz
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl
from tests.world import World

LINE: dict[str, Any] = {
    "question": "What is Ada?",
    "documents": [
        {"text": "Ada is a poet.", "type": "correct", "answer": "Poet"},
        {"text": "Ada is a town.", "type": "correct", "answer": "Town"},
        {"text": "Ada is a clerk.", "type": "misinfo", "answer": "Clerk"},
    ],
    "disambig_entity": ["Ada (writer)", "Ada, Ohio"],
    "gold_answers": ["Poet", "Town"],
    "wrong_answers": ["Clerk", "clerk.", "town"],
}
WORDS = st.lists(
    st.sampled_from(["lamp", "tower", "mast", "oil", "keeper"]), min_size=1, max_size=3
)
ANSWERS = st.lists(WORDS.map(" ".join), min_size=1, max_size=4)


@pytest.mark.parametrize(
    ("answer", "exact"),
    [
        ("The poet Ada, and the town.", True),
        ("POET; Town", True),
        ("Ada is a poet.", False),
        ("A poet, a town and a clerk.", False),
        ("A poetess and a townhouse.", False),
        ("", False),
    ],
)
def test_an_exact_match_gives_all_right_answers_and_no_wrong_one(answer: str, exact: bool) -> None:
    assert exact_match(answer, ["Poet", "Town"], ["Clerk"]).exact is exact


def test_what_is_given_missing_and_wrong_is_told_as_it_was_written() -> None:
    match = exact_match("a CLERK in town", ["Poet", "Town"], ["The Clerk", "Baker"])
    assert (match.given, match.missing, match.wrong) == (("Town",), ("Poet",), ("The Clerk",))


def test_a_wrong_answer_within_a_right_one_is_not_given() -> None:
    right, wrong = ["American football"], ["Football"]
    assert exact_match("He played American football.", right, wrong).exact
    assert not exact_match("American football, or plain football.", right, wrong).exact
    assert not exact_match("American football football", right, wrong).exact


def test_a_right_answer_within_a_wrong_one_does_not_hide_it() -> None:
    right, wrong = ["Football"], ["American football"]
    match = exact_match("He played American football.", right, wrong)
    assert (match.given, match.wrong) == (("Football",), ("American football",))
    assert exact_match("He played football.", right, wrong).exact
    assert exact_match("New York City", ["New York", "City"], ["York City"]).exact


def test_taking_a_right_answer_out_makes_no_wrong_one_of_what_stands_around_it() -> None:
    assert exact_match("red lamp tower", ["lamp"], ["red tower"]).exact


def test_what_is_right_for_another_entity_is_not_wrong() -> None:
    assert exact_match("Film and novel", ["Film", "Novel"], ["novel"]).exact


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("4,624", "4624"),
        ("the  1960s", "1960S"),
        ("Cross-country skiing.", "cross country skiing"),
        ("ﬁlm", "Film"),
        ("Avdira () ", "avdira"),
    ],
)
def test_forms_that_differ_in_nothing_that_matters_are_the_same(one: str, other: str) -> None:
    assert normalised(one) == normalised(other) != ""


def test_commas_between_numbers_of_a_list_stay_apart() -> None:
    assert normalised("1,2 and 12,3456") == "1 2 and 12 3456"


@pytest.mark.parametrize("right", [[], ["..."], ["Poet", "the"]])
def test_without_anything_to_compare_by_there_is_no_match(right: list[str]) -> None:
    with pytest.raises(ValueError, match="correct answer"):
        exact_match("Poet", right, [])


@given(ANSWERS, ANSWERS)
def test_the_right_answers_in_a_row_are_an_exact_match(right: list[str], wrong: list[str]) -> None:
    match = exact_match("; and ".join(right), right, [])
    assert match.exact
    assert set(match.given) <= set(right)
    alone = exact_match("nothing of it", right, wrong)
    assert (alone.given, alone.wrong) == ((), ())


@given(ANSWERS, ANSWERS)
def test_a_wrong_answer_spoils_a_match_unless_it_is_right(
    right: list[str], wrong: list[str]
) -> None:
    assume(not any(f" {w} " in f" {r} " or f" {r} " in f" {w} " for w in wrong for r in right))
    match = exact_match(". x ".join([*right, *wrong]), right, wrong)
    assert set(match.wrong) == set(wrong)
    assert not match.exact


@given(st.text(), ANSWERS, ANSWERS)
def test_more_wrong_answers_never_make_a_match(
    answer: str, right: list[str], wrong: list[str]
) -> None:
    match = exact_match(answer, right, wrong)
    assert match.exact <= exact_match(answer, right, wrong[1:]).exact
    assert set(match.given).isdisjoint(match.missing)
    assert {*match.given, *match.missing} == set(right)


async def test_the_verdicts_say_what_is_missing_and_what_is_wrong() -> None:
    asks_no_model: Any = {"model": None, "prompts": None, "meter": None}
    question = Question(id="q", question="What?", correct=("Poet", "Town"), incorrect=("Clerk",))
    said = await judge_exact_match(question, "A poet and a clerk.", **asks_no_model)
    assert list(said) == list(MEASURES)
    assert [verdict.value for verdict in said.values()] == [False, False, False]
    assert said["exact match"].explanation == "missing: Town; wrong: Clerk"
    good = await judge_exact_match(question, "A poet, and a town.", **asks_no_model)
    assert all(verdict.value and verdict.explanation is None for verdict in good.values())


def test_a_question_names_its_entities_and_keeps_every_document(file: Path) -> None:
    [question] = read_questions(write_jsonl(file, [LINE]))
    assert question.question == (
        "What is Ada? Answer for each of these, by name: Ada (writer); Ada, Ohio."
    )
    assert (question.correct, question.incorrect) == (("Poet", "Town"), ("Clerk",))
    assert [d["text"] for d in question.documents] == [d["text"] for d in LINE["documents"]]
    assert all(set(d) == {"text"} for d in question.documents)
    assert question.category == "2 entities, misinformation"


def test_without_names_the_question_is_the_published_one(file: Path) -> None:
    write_jsonl(file, [LINE])
    [plain], [named] = read_questions(file, name_entities=False), read_questions(file)
    assert plain.question == "What is Ada?"
    assert plain.id == named.id


def test_a_name_that_gives_the_answer_away_is_told_by_the_category(file: Path) -> None:
    line = LINE | {"disambig_entity": ["Ada (poet)"], "documents": LINE["documents"][:1]}
    [question] = read_questions(write_jsonl(file, [line]))
    assert question.question == "What is Ada? Answer for this one: Ada (poet)."
    assert question.category == "one entity, no misinformation, an answer in the question"


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"gold_answers": []}, "field gold_answers"),
        ({"gold_answers": ["..."]}, "field gold_answers"),
        ({"disambig_entity": []}, "field disambig_entity"),
        ({"documents": []}, "field documents"),
        ({"documents": [{"type": "noise"}]}, r"field documents\.0\.text"),
    ],
)
def test_a_file_that_cannot_be_used_is_named_by_row_and_field(
    file: Path, fields: dict[str, object], told: str
) -> None:
    write_jsonl(file, [LINE | {"question": "Another?"}, LINE | fields])
    with pytest.raises(InputError, match=f"data.jsonl, row 2, {told}"):
        read_questions(file)


@needs_real_data
def test_the_published_file_reads_and_its_own_right_answers_match() -> None:
    questions = read_questions(REAL / "ramdocs" / "ramdocs.jsonl")
    assert len(questions) == 252
    assert all(exact_match("; ".join(q.correct), q.correct, q.incorrect).exact for q in questions)
    wrong = [q for q in questions if q.incorrect]
    assert len(wrong) > 100
    for question in wrong:
        everything = "; ".join([*question.correct, *question.incorrect])
        assert not exact_match(everything, question.correct, question.incorrect).exact
    assert sum("answer in the question" in q.category for q in questions) == 77


async def test_a_run_in_free_form_is_judged_and_no_model_is_asked_to(file: Path) -> None:
    benchmark = ramdocs(write_jsonl(file, [LINE]), "free-form", 0)
    world = World(answer="Ada (writer) is a poet, and Ada, Ohio is a town.")
    run = await run_quiz(file.parent / "run", world, benchmark, methods=("rag",))
    assert benchmark.measures == MEASURES
    [method] = run.figures.methods
    assert {name: figure.value for name, figure in method.measures.items()} == dict.fromkeys(
        MEASURES, 1
    )
    assert set(world.asked) == {"generate", "decompose", "choice"}
    [result] = run.results
    assert "grade" not in result.usage
    assert "Answer for each of these, by name: Ada (writer)" in world.prompts["generate"][0]
