"""Answers that people judged, and made ones."""

from pathlib import Path

from conflictscore.benchmarks.validity.judged_answers import (
    FORMS,
    claim_groups,
    first_questions,
    made_answers,
    natconfqa_answers,
    wikicontradict_answers,
)
from conflictscore.benchmarks.wikicontradict.data import read_questions
from tests.benchmarks.natconfqa.lamps import PASSAGES, people_row, row, write
from tests.benchmarks.wikicontradict.records import FLAT, RATED


def test_a_rated_answer_is_held_against_both_passages_sentence_by_sentence(tmp_path: Path) -> None:
    rated = {**RATED, "answer4": "In 1871, says one.\nOr in 1874, it seems. Who knows?"}
    answers = wikicontradict_answers(write(tmp_path / "rated.jsonl", [rated]))
    assert [answer.value for answer in answers] == [0.0, 1.0, 1.0, 0.5, 1.0]
    last = answers[-1]
    assert (last.part, last.documents) == ("template 5", ("The lamp was lit in 1871.", "Lit: 1874"))
    assert [group.claim for group in last.claims] == [
        "In 1871, says one.",
        "Or in 1874, it seems.",
        "Who knows?",
    ]
    assert last.whole.claim == "In 1871, says one. Or in 1874, it seems. Who knows?"
    # An answer of one sentence is one claim, which is labelled once.
    assert len(claim_groups(answers[:4])) == 4


def test_peoples_recall_of_conflicts_is_the_value(tmp_path: Path) -> None:
    questions = write(tmp_path / "questions.jsonl", [row()])
    people = write(tmp_path / "people.jsonl", [people_row()])
    [answer] = natconfqa_answers(questions, people)
    assert (answer.value, answer.part, answer.documents) == (0.5, "Normal", PASSAGES)


def test_made_answers_say_the_same_in_every_form(tmp_path: Path) -> None:
    asked = [
        FLAT,
        FLAT
        | {
            "question": "Was it lit?",
            "answer1_self_contained": "Yes, the lamp was lit.",
            "answer2_self_contained": "No one lit it.",
        },
        FLAT | {"question": "Is it lit?", "answer2_self_contained": "No."},
    ]
    made = made_answers(read_questions(write(tmp_path / "flat.jsonl", asked)))
    assert len({answer.question for answer in made}) == 2, "a bare no says nothing in a sentence"
    assert [answer.part for answer in made] == [*FORMS] * 2
    texts = {answer.part: answer.text for answer in made[len(FORMS) :]}
    assert texts["one-sided"] == "The lamp was lit."
    assert texts["side by side"] == "The lamp was lit. No one lit it."
    assert texts["hedged"] == "It is possible that the lamp was lit."
    assert texts["attributed"] == (
        "One source says that the lamp was lit, and another source says that no one lit it."
    )
    assert {answer.question for answer in first_questions(made, 1)} == {made[0].question}
