"""Judges of TruthfulQA and WikiContradict, and the score, compared with people."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.judge_agreement import (
    JudgeRating,
    RatedAnswer,
    RatedSet,
    cohen_kappa,
    rating_agreement,
)
from conflictscore.benchmarks.judging import Judge
from conflictscore.benchmarks.truthfulqa.people import (
    A_REFERENCE,
    BOTH_LABELS,
    NO_REFERENCES,
    REPEATED,
    rated_truthfulqa,
)
from conflictscore.benchmarks.validity.judged_answers import (
    JudgedAnswer,
    wikicontradict_answers,
)
from conflictscore.benchmarks.validity.tracking import MEASURES, measures_of, track
from conflictscore.benchmarks.wikicontradict.people import rated_wikicontradict
from conflictscore.cli import OneLineErrors
from conflictscore.cli.judge_check import judge_check
from conflictscore.errors import InputError
from conflictscore.records import EvidenceLabel, Label
from tests.benchmarks.truthfulqa.files import (
    REAL,
    lamps_csv,
    needs_real_data,
    write_csv,
    write_jsonl,
)
from tests.benchmarks.truthfulqa.files import row as question_row
from tests.fakes.openai_server import ChatRequest, OpenAIServer

SCALE = ("incorrect", "partially correct", "correct")


async def _unasked(row: RatedAnswer, judge: Judge) -> JudgeRating:
    raise AssertionError("no judge is asked here")


def rated(*ratings: tuple[str, str, str]) -> RatedSet:
    """Answers by question, method and people's rating."""
    answers = tuple(
        RatedAnswer(Question(id=question, question="When?"), "1871", rating, method)
        for question, method, rating in ratings
    )
    return RatedSet("lamps", SCALE, answers, _unasked)


def judged(*ratings: str | None) -> list[JudgeRating]:
    return [JudgeRating(one, None if one else "no reply") for one in ratings]


def test_agreement_bias_and_what_is_left_of_a_difference() -> None:
    people = rated(
        ("a", "template 1", "incorrect"),
        ("a", "template 2", "correct"),
        ("b", "template 1", "partially correct"),
        ("b", "template 2", "correct"),
    )

    figures = rating_agreement(people, judged("correct", "correct", "partially correct", "correct"))

    assert (figures.agreement.count, figures.agreement.n) == (3, 4)
    assert figures.commonest.count == 2
    right = next(one for one in figures.bias if one.rating == "correct")
    assert (right.people.count, right.judge.count, right.recall.count) == (2, 3, 2)
    assert right.difference.value == pytest.approx(0.25)
    # both right answers are found, and one of two wrong answers is taken for right
    assert figures.retained_difference.value == pytest.approx(0.5)
    [pair] = figures.differences
    assert (pair.method, pair.against) == ("template 2", "template 1")
    assert (pair.people.value, pair.judge.value) == (1.0, 0.5)
    assert figures.confusion["incorrect"]["correct"] == 1


def test_unrated_answers_are_counted_with_their_reason_and_in_no_figure() -> None:
    people = rated(("a", "", "correct"), ("b", "", "correct"))

    figures = rating_agreement(people, judged(None, "correct"))

    assert (figures.unrated, figures.agreement.n) == (1, 1)
    assert figures.failures == {"no reply": 1}
    assert figures.kappa is None


def test_kappa_is_the_textbook_s() -> None:
    # By hand: agreement .7 and chance .5, so .2 / .5.
    people = ["yes"] * 25 + ["no"] * 25
    judge = ["yes"] * 20 + ["no"] * 5 + ["yes"] * 10 + ["no"] * 15

    kappa = cohen_kappa(people, judge, ("no", "yes"))

    assert kappa == pytest.approx(0.4)


# TruthfulQA's labels


def labelled(question: str, answer: str, label: str, asks: str = "True") -> dict[str, str]:
    return {"prompt": f"Q: {question}\nA: {answer}\n{asks}:", "completion": f" {label}"}


def test_rows_that_say_nothing_of_a_judge_are_left_out_and_counted(tmp_path: Path) -> None:
    references = write_csv(tmp_path / "q.csv", [question_row()])
    lit = "Is the lamp lit?"
    answers = write_jsonl(
        tmp_path / "truth.jsonl",
        [
            labelled(lit, "Sometimes.", "yes"),
            labelled(lit, "Sometimes.", "yes"),
            labelled(lit, "At night.", "yes"),
            labelled(lit, "Perhaps.", "yes"),
            labelled(lit, "Perhaps.", "no"),
            labelled("Is it red?", "No.", "no"),
            labelled(lit, "", "no"),
        ],
    )

    read = rated_truthfulqa(answers, references, sample=None, seed=0)

    assert [(one.answer, one.rating) for one in read.answers] == [("Sometimes.", "yes"), ("", "no")]
    assert read.left_out == {REPEATED: 1, A_REFERENCE: 1, BOTH_LABELS: 2, NO_REFERENCES: 1}
    assert read.name == "truthfulqa, truthful"


@pytest.mark.parametrize(
    ("row", "field"),
    [
        ({"prompt": "When?", "completion": " yes"}, "field prompt"),
        (labelled("Is the lamp lit?", "Yes", "maybe"), "field completion"),
        (labelled("Is the lamp lit?", "Yes", "yes", asks="Helpful"), "it asks for informative"),
    ],
)
def test_a_bad_label_row_is_named(tmp_path: Path, row: dict[str, str], field: str) -> None:
    references = write_csv(tmp_path / "q.csv", [question_row()])
    answers = write_jsonl(tmp_path / "t.jsonl", [labelled("Is the lamp lit?", "No", "no"), row])

    with pytest.raises(InputError) as error:
        rated_truthfulqa(answers, references, sample=None, seed=0)

    assert field in str(error.value)
    assert "row 2" in str(error.value)


@needs_real_data
def test_the_published_labels_are_read_and_a_sample_has_half_of_each() -> None:
    folder = REAL / "truthfulqa"

    read = rated_truthfulqa(
        folder / "judge_info.jsonl", folder / "TruthfulQA.csv", sample=40, seed=0
    )

    assert [one.rating for one in read.answers].count("yes") == 20
    assert sum(read.left_out.values()) > 3_000


# WikiContradict's ratings


def eval_row(**changed: Any) -> dict[str, Any]:
    row: dict[str, Any] = {
        "question": "When was the lamp lit?",
        "context1_self_contained": "The lamp was lit in 1871.",
        "context2_self_contained": "The lamp was lit in 1874.",
        "gt_answer_1": "1871",
        "gt_answer_2": "1874",
        "model": "m",
    }
    for number in range(5):
        row |= {f"answer{number}": f"Answer {number}.", f"label{number}": "Correct"}
    return row | changed


def test_an_answer_from_one_passage_is_rated_by_that_passage_s_answer(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "eval.jsonl", [eval_row(label3="Partially correct")])

    read = rated_wikicontradict(path, sample=None, seed=0)

    right = [one.question.correct for one in read.answers]
    both = ("1871", "1874")
    assert right == [both, ("1871",), ("1874",), both, both]
    assert read.answers[3].rating == "partially correct"


def test_a_sample_is_of_whole_rows(tmp_path: Path) -> None:
    path = write_jsonl(tmp_path / "eval.jsonl", [eval_row(model=f"m{n}") for n in range(4)])

    assert len(rated_wikicontradict(path, sample=12, seed=0).answers) == 10
    with pytest.raises(InputError):
        rated_wikicontradict(path, sample=4, seed=0)


# The command


def check(server: OpenAIServer, *more: str) -> Result:
    judge = ["--model", "m", "--base-url", server.base_url]
    return CliRunner().invoke(
        OneLineErrors("conflictscore", [judge_check]), ["judge-check", *judge, *more]
    )


def test_the_command_compares_both_judges(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    references = lamps_csv(tmp_path / "q.csv", 2)
    rows = [
        labelled(f"When was lamp {n} lit?", text, label)
        for n in range(2)
        for text, label in (("It is true.", "yes"), ("It is false.", "no"))
    ]
    truth = write_jsonl(tmp_path / "truth.jsonl", rows)
    ratings = write_jsonl(tmp_path / "eval.jsonl", [eval_row()])

    def reply(request: ChatRequest) -> str:
        if "RATING" in request.prompt:
            return "RATING: correct"
        return f"TRUTHFUL: {'It is true.' in request.prompt}\nEXPLANATION: So it is."

    with OpenAIServer(reply) as server:
        by_label = check(
            server, "--benchmark", "truthfulqa", "--answers", str(truth), "--references",
            str(references), "--json",
        )  # fmt: skip
        by_rating = check(server, "--benchmark", "wikicontradict", "--answers", str(ratings))
        unnamed = check(server, "--benchmark", "truthfulqa", "--answers", str(truth))

    assert by_label.exit_code == 0, by_label.output
    figures = json.loads(by_label.stdout)
    assert (figures["answers"], figures["kappa"], figures["agreement"]["value"]) == (4, 1.0, 1.0)
    assert by_rating.exit_code == 0, by_rating.output
    assert "Cohen's kappa none" in by_rating.stdout
    assert unnamed.exit_code == 2
    assert "--references" in unnamed.stderr


# The score compared with people


def test_a_measure_that_orders_answers_as_people_do_has_a_correlation_of_one(
    tmp_path: Path,
) -> None:
    rows = [
        eval_row(question=f"When was lamp {n} lit?", label0=label)
        for n, label in enumerate(["Incorrect", "Partially correct", "Correct", "Correct"])
    ]
    answers = [
        one
        for one in wikicontradict_answers(write_jsonl(tmp_path / "eval.jsonl", rows))
        if one.part == "template 1"
    ]

    def labels(people: float, group: str) -> tuple[EvidenceLabel, ...]:
        contradicted = Label.CONTRADICTS if people < 1 else Label.IRRELEVANT
        sides = (Label.SUPPORTS if people > 0 else Label.IRRELEVANT, contradicted)
        return tuple(
            EvidenceLabel(claim=1, document=n, label=one) for n, one in enumerate(sides, 1)
        )

    by_group = {group.id: labels(one.people, group.id) for one in answers for group in one.groups}
    [part] = track("lamps", answers, by_group)

    assert set(measures_of(answers[0], by_group)) == set(MEASURES)
    rho = {one.measure: one.rho.value for one in part.measures}
    assert rho["CS-R"] == pytest.approx(-1)
    assert rho["words"] is None


def _template_1(tmp_path: Path, rows: list[dict[str, Any]]) -> list[JudgedAnswer]:
    answers = wikicontradict_answers(write_jsonl(tmp_path / "eval.jsonl", rows))
    return [one for one in answers if one.part == "template 1"]


def _labels(*sides: Label) -> tuple[EvidenceLabel, ...]:
    return tuple(
        EvidenceLabel(
            claim=1, document=n, label=side, error="unread" if side is Label.UNLABELLED else None
        )
        for n, side in enumerate(sides, 1)
    )


def test_questions_are_those_of_all_answers_scored_or_not(tmp_path: Path) -> None:
    rows = [eval_row(question=f"When was lamp {n} lit?") for n in range(3)]
    answers = _template_1(tmp_path, rows)
    readable = _labels(Label.SUPPORTS, Label.SUPPORTS)
    lost = _labels(Label.UNLABELLED, Label.UNLABELLED)
    ids = [one.id for one in answers]
    by_answer = dict(zip(ids, [readable, readable, lost], strict=True))

    [part] = track(
        "lamps", answers, {group.id: by_answer[one.id] for one in answers for group in one.groups}
    )

    assert (part.answers, part.questions, part.unscored) == (3, 3, 1)


def test_answers_to_a_single_question_give_a_correlation_without_bounds(tmp_path: Path) -> None:
    ratings = ["Incorrect", "Partially correct", "Correct", "Correct"]
    answers = _template_1(
        tmp_path, [eval_row(model=f"m{n}", label0=label) for n, label in enumerate(ratings)]
    )

    def labels(people: float) -> tuple[EvidenceLabel, ...]:
        return _labels(Label.SUPPORTS, Label.CONTRADICTS if people < 1 else Label.IRRELEVANT)

    [part] = track(
        "lamps",
        answers,
        {group.id: labels(one.people) for one in answers for group in one.groups},
    )

    rho = next(one.rho for one in part.measures if one.measure == "CS-R")
    assert part.questions == 1
    assert rho.value is not None
    assert (rho.low, rho.high) == (None, None)
