"""The study of weights for documents, on a few questions."""

import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from conflictscore.prompts import PromptSet
from measurements.people_labels import SETS, LabelledQuestion, Spoiler
from measurements.refuting_rules import PlayedQuestion
from measurements.trust import METHODS, main, outcome, outnumbered, side_taken, sided

RIGHT, WRONG = "1874", "1871"
KNOWN = METHODS["table, 100% right"]
PEOPLE = Spoiler()


def row(right: int, wrong: int) -> dict[str, object]:
    kinds = [("correct", RIGHT)] * right + [("misinfo", WRONG)] * wrong
    return {
        "question": f"When was lamp {right}.{wrong} lit?",
        "documents": [
            {"text": f"Log {n} of {right}.{wrong}: {year}.", "type": kind, "answer": year}
            for n, (kind, year) in enumerate(kinds)
        ],
        "disambig_entity": ["the lamp"],
        "gold_answers": [RIGHT],
        "wrong_answers": [WRONG],
    }


def labelled(tmp_path: Path, *counts: tuple[int, int]) -> list[LabelledQuestion]:
    file = tmp_path / "ramdocs.jsonl"
    file.write_text("\n".join(json.dumps(row(*pair)) for pair in counts), "utf-8")
    return SETS["ramdocs"](file)


def question(tmp_path: Path, right: int, wrong: int) -> PlayedQuestion:
    [one] = labelled(tmp_path, (right, wrong))
    return PlayedQuestion(one, PromptSet.load())


@pytest.mark.parametrize("method", ["nobody", "truthfinder", "accu"])
@pytest.mark.parametrize(
    ("right", "wrong", "side", "score"),
    [(2, 1, "more documents", 1), (1, 1, "as many", 0.5), (1, 2, "fewer documents", 0)],
)
def test_agreement_sides_with_the_majority(
    tmp_path: Path, method: str, right: int, wrong: int, side: str, score: float
) -> None:
    claims = list(sided(question(tmp_path, right, wrong), METHODS[method], PEOPLE))
    assert [(c.documents, c.right) for c in claims] == [(side, score)] * 2
    assert sorted(c.holds for c in claims) == [False, True]


def test_a_table_that_knows_the_documents_finds_the_minority(tmp_path: Path) -> None:
    assert [c.right for c in sided(question(tmp_path, 1, 2), KNOWN, PEOPLE)] == [1, 1]


def test_a_guard_by_a_table_prevents_a_harm_and_a_model_by_it_corrects(tmp_path: Path) -> None:
    few = question(tmp_path, 1, 2)
    assert not few.is_right(few.first), "the first answer names both years"
    assert outcome(few, METHODS["nobody"], PEOPLE, follows=False) == 0
    assert outcome(few, KNOWN, PEOPLE, follows=True) == 1
    few.first = f"One answer is {RIGHT}."
    assert outcome(few, METHODS["nobody"], PEOPLE, follows=False) == -1
    assert outcome(few, METHODS["accu"], PEOPLE, follows=True) == -1, "it sides with the majority"
    assert outcome(few, KNOWN, PEOPLE, follows=False) == 0


def test_who_follows_the_trusted_side_sees_no_other(tmp_path: Path) -> None:
    one = question(tmp_path, 1, 2)
    [claim] = one.claims(f"One answer is {RIGHT}.", PEOPLE)
    weights = KNOWN(one, [claim], 0)
    assert (side_taken(claim, weights).supports, side_taken(claim, weights).contradicts) == (
        (1,),
        (),
    )
    assert side_taken(claim, {}).contradicts == (2, 3)
    tied = {1: 2.0, 2: 1.0, 3: 1.0}
    assert side_taken(claim, tied) == claim


def test_one_right_document_is_left_against_two(tmp_path: Path) -> None:
    known = labelled(tmp_path, (3, 2), (3, 1))
    [left] = outnumbered(known)
    gives = [document["metadata"]["gives"] for document in left.question.documents]
    assert gives == [RIGHT, WRONG, WRONG]


def test_the_tables_have_a_row_a_method(tmp_path: Path) -> None:
    labelled(tmp_path, (2, 1), (1, 2))
    data = f"ramdocs={tmp_path / 'ramdocs.jsonl'}"
    told = CliRunner().invoke(main, ["--data", data, "--draws", "1"]).output
    assert "ramdocs, 2 questions, people's labels, 1 draws" in told
    rows = [line.split(" | ")[0].removeprefix("| ") for line in told.splitlines()]
    assert all(rows.count(method) == 4 for method in METHODS), "sides and outcomes, twice"
    few = CliRunner().invoke(main, ["--data", data, "--draws", "1", "--outnumbered"]).output
    assert "ramdocs, 1 questions" in few
    assert "NAME=FILE" in CliRunner().invoke(main, ["--data", "lamps=x"]).output
