"""A judge beside people: their file, the coefficients, and the command over a loopback server."""

import json
import random
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.benchmarks.agreement import drawn
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.natconfqa.data import read_natconfqa
from conflictscore.benchmarks.natconfqa.judge_check import agreement, correlation
from conflictscore.benchmarks.natconfqa.judges import Decomposition, Judgement
from conflictscore.benchmarks.natconfqa.metrics import Count
from conflictscore.benchmarks.natconfqa.people import JudgedByPeople, read_people
from conflictscore.cli import OneLineErrors
from conflictscore.cli.judge_check import judge_check
from conflictscore.errors import InputError
from tests.benchmarks.natconfqa.lamps import (
    REAL,
    Judge,
    needs_real_data,
    people_row,
    row,
    write,
)
from tests.fakes.openai_server import OpenAIServer

RECALL = "Found Reference Answers in Model Answer (Recall Answer)"
PRECISION = "Found Model Sub-Answers in Reference Answers/Passages (Precision Answer)"
CONFLICT_RECALL = "Conflicting Reference Answer Pairs Found (Recall Conflict)"
CONFLICT_PRECISION = "Found Conflicting Model's Sub-Answers (Conflict Precision)"
TWO = "ANSWERS:\n1. in 1871\n2. in 1880\nCONFLICTS:\n1 - 2"


def read(folder: Path, *rows: dict[str, Any]) -> tuple[JudgedByPeople, ...]:
    questions = read_natconfqa(write(folder / "questions.jsonl", [row()])).questions
    return read_people(write(folder / "people.jsonl", rows), questions)


# People's judgements


def test_people_s_lists_become_counts(tmp_path: Path) -> None:
    [judged] = read(tmp_path, people_row())
    assert judged.id == "lamp.1/o3/Normal"
    assert judged.answer == "In 1871, but others say in 1874."
    assert judged.counts.answer_recall == Count(hits=2, n=3)
    assert judged.counts.answer_precision == Count(hits=1, n=2)
    assert judged.counts.conflict_recall == Count(hits=1, n=2)
    assert judged.counts.conflict_precision == Count(hits=1, n=1)
    assert judged.problems == {}


def test_people_s_lists_are_read_in_all_their_spellings(tmp_path: Path) -> None:
    spelled = {
        RECALL: "[0,]",
        PRECISION: "[]",
        CONFLICT_RECALL: None,
        CONFLICT_PRECISION: "[(1, 0): 0, (0,1) :1]",
    }
    [judged] = read(tmp_path, people_row(**spelled))
    assert judged.references_found == frozenset({0})
    assert judged.conflicts_found == frozenset()
    assert judged.counts.answer_precision == Count(hits=0, n=2)
    assert judged.counts.conflict_precision == Count(hits=1, n=1)


@pytest.mark.parametrize(
    ("fields", "measure"),
    [
        ({RECALL: "[0, 3]"}, "answer_recall"),
        ({PRECISION: "[2]"}, "answer_precision"),
        ({CONFLICT_PRECISION: "[(0, 2) :1]"}, "conflict_precision"),
    ],
)
def test_an_index_of_nothing_leaves_that_measure_uncounted(
    tmp_path: Path, fields: dict[str, str], measure: str
) -> None:
    [judged] = read(tmp_path, people_row(**fields))
    assert [*judged.problems] == [measure]
    assert "counted from 0, and there are" in next(iter(judged.problems.values()))
    assert [name for name, count in judged.counts if count is None] == [measure]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"question_id": "other"}, "field question_id: there is no question 'other'"),
        ({"model": None}, "field model: a text is needed"),
        ({"Model Answers Decomposed": "in 1871"}, 'field Model Answers Decomposed: "0: " and'),
        ({"Model Answers Decomposed": "0: a\n2: b"}, '"1: " and a short answer were expected'),
        ({RECALL: "0, 1"}, f"field {RECALL}: '0, 1' is no list such as [0, 1]"),
        ({CONFLICT_RECALL: "0-1"}, f"field {CONFLICT_RECALL}: '0-1' are no pairs"),
        ({CONFLICT_RECALL: "(1, 2)"}, "(1, 2) is no conflict of the question"),
        ({CONFLICT_PRECISION: "[(0, 1)]"}, f"field {CONFLICT_PRECISION}: '[(0, 1)]' is no list"),
        ({"reference_answers": "1871"}, "field reference_answers: there are 1, and the question"),
        ({"conflicting_answer_pairs": None}, "not the pairs of the question"),
    ],
)
def test_a_field_of_people_s_file_that_cannot_be_used_is_named(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, people_row(**fields))
    assert said in str(error.value)
    assert f"{tmp_path / 'people.jsonl'}, row 1" in str(error.value)


def test_an_answer_is_judged_once_in_people_s_file(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"row 2: the same question, model and prompt as in"):
        read(tmp_path, people_row(), people_row())


def test_a_sample_follows_from_its_seed_and_not_from_the_order(tmp_path: Path) -> None:
    rows = read(tmp_path, *(people_row(model=f"m{n}") for n in range(9)))
    draw = partial(drawn, purpose="natconfqa judge check", name=lambda row: row.id)
    chosen = draw(rows, 4, seed=1)
    assert {r.id for r in draw(rows[::-1], 4, seed=1)} == {r.id for r in chosen}
    assert {r.id for r in chosen} < {r.id for r in draw(rows, 6, seed=1)}
    assert {r.id for r in draw(rows, 4, seed=2)} != {r.id for r in chosen}
    with pytest.raises(InputError, match="sample is 10; there are 9 answers"):
        draw(rows, 10, seed=1)


@needs_real_data
def test_the_published_judgements_are_read() -> None:
    questions = read_natconfqa(REAL / "questions.jsonl").questions
    rows = read_people(REAL / "human_judgments.jsonl", questions)
    assert len(rows) == 52
    assert [(r.id, [*r.problems]) for r in rows if r.problems] == [
        ("healthver_63_claims_20.20.1/o3-high/Normal", ["answer_recall"])
    ]


# Agreement


def judgement(references: list[bool | None], conflicts: list[bool | None]) -> Judgement:
    """One that takes the answer apart into a true and an untrue part, without conflicts."""

    def verdicts(values: list[bool | None]) -> tuple[Verdict, ...]:
        return tuple(Verdict(value=v, error="ill" if v is None else None) for v in values)

    return Judgement(
        decomposition=Decomposition(answers=("1871", "1880"), conflicts=()),
        references=verdicts(references),
        answers=verdicts([True, False]),
        reference_conflicts=verdicts(conflicts),
    )


def test_a_judge_that_decides_as_people_do_has_a_correlation_of_one(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        people_row(),
        people_row(model="b", **{RECALL: "[0]", CONFLICT_RECALL: None}),
        people_row(model="c", **{RECALL: "[0,1,2]", CONFLICT_RECALL: "(0, 1),(0, 2)"}),
        people_row(model="d"),
    )
    judged = [
        judgement([True, True, False], [True, False]),
        judgement([True, False, False], [False, False]),
        judgement([True, True, True], [True, True]),
        judgement([True, True, False], [True, False]),
    ]
    assert agreement(rows[:3], judged[:3]).measures["answer_recall"].pearson is None, "too few"
    figures = agreement(rows, judged)
    for measure in ("answer_recall", "conflict_recall"):
        found = figures.measures[measure]
        assert found.n == 4
        for coefficient in (found.pearson, found.spearman, found.kendall):
            assert coefficient is not None
            assert coefficient.value == pytest.approx(1)
    assert figures.references.agreement.count == figures.references.agreement.n == 12
    assert figures.references.cohen_kappa == 1
    assert figures.reference_conflicts.agreement.n == 8
    precision = figures.measures["answer_precision"]
    assert (precision.n, precision.people_mean, precision.judge_mean) == (4, 0.5, 0.5)
    assert precision.pearson is None
    unseen = figures.measures["conflict_precision"]
    assert (unseen.n, unseen.undefined) == (0, 4)


def test_failures_and_uncounted_answers_are_counted_and_in_no_figure(tmp_path: Path) -> None:
    rows = read(tmp_path, people_row(), people_row(model="b", **{RECALL: "[0, 5]"}))
    judged = [
        judgement([True, True, None], [True, False]),
        judgement([True, True, False], [True, False]),
    ]
    figures = agreement(rows, judged)
    recall = figures.measures["answer_recall"]
    assert (recall.n, recall.unjudged, recall.uncounted, recall.undefined) == (0, 1, 1, 0)
    assert figures.with_failures == 1
    assert (figures.references.agreement.count, figures.references.agreement.n) == (2, 2)
    assert figures.measures["conflict_recall"].n == 2


def test_two_answers_or_a_side_that_never_changes_have_no_correlation() -> None:
    assert correlation([0, 1], [0, 1]) == (None, None, None)
    assert correlation([0, 1, 0.5], [1, 1, 1]) == (None, None, None)
    assert correlation([1, 1, 1], [0, 1, 0.5]) == (None, None, None)


def test_the_coefficients_are_the_textbook_s() -> None:
    # By hand: 0.203125 / sqrt(0.546875 * 0.171875); 3 / sqrt(5 * 4.5); (4 - 1) / sqrt(6 * 5).
    pearson, spearman, kendall = correlation([0, 0.25, 0.5, 1], [0, 0.5, 0.25, 0.5])
    assert pearson is not None
    assert spearman is not None
    assert kendall is not None
    assert pearson.value == pytest.approx(0.6625, abs=1e-4)
    assert spearman.value == pytest.approx(0.6325, abs=1e-4)
    assert kendall.value == pytest.approx(0.5477, abs=1e-4)


@settings(max_examples=20)
@given(
    st.lists(st.tuples(st.integers(0, 4), st.integers(0, 4)), min_size=3, max_size=8),
    st.randoms(use_true_random=False),
)
def test_the_order_of_answers_makes_no_difference_to_a_correlation(
    pairs: list[tuple[int, int]], shuffler: random.Random
) -> None:
    turned = list(pairs)
    shuffler.shuffle(turned)
    first, second = (
        correlation([a / 4 for a, _ in rows], [b / 4 for _, b in rows]) for rows in (pairs, turned)
    )
    for one, other in zip(first, second, strict=True):
        assert (one is None) == (other is None)
        if one is not None and other is not None:
            assert one.value == pytest.approx(other.value)
            assert -1 <= one.value <= 1


# The command


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Questions, and people's judgements of four answers."""
    write(tmp_path / "questions.jsonl", [row()])
    write(tmp_path / "people.jsonl", [people_row(model=f"m{n}") for n in range(4)])
    return tmp_path


def check(folder: Path, server: OpenAIServer, *more: str) -> Result:
    files_ = ["--answers", f"{folder}/people.jsonl", "--references", f"{folder}/questions.jsonl"]
    judge = ["--model", "m", "--base-url", server.base_url, "--no-cache"]
    command = ["judge-check", "--benchmark", "natconfqa", *files_, *judge]
    return CliRunner().invoke(
        OneLineErrors("conflictscore", [judge_check]),
        [*command, "--out", f"{folder}/out.jsonl", *more],
    )


def test_the_command_shows_every_measure_beside_people_s(files: Path) -> None:
    with OpenAIServer(Judge(TWO)) as server:
        shown = check(files, server)
    assert shown.exit_code == 0, shown.output
    assert "4 answers, judged by" in shown.stdout
    line = next(text for text in shown.stdout.splitlines() if text.startswith("answer recall"))
    assert line.split()[2:8] == ["4", "0", "0", "0", "0.667", "1.000"]
    assert "reference answers: 8 of 12 decisions the same" in shown.stdout
    assert "4 of 4 answers" in shown.stderr


def test_the_same_command_goes_on_after_a_kill_and_asks_failures_again(files: Path) -> None:
    with OpenAIServer(Judge(TWO)) as server:
        check(files, server)
        lines = (files / "out.jsonl").read_text().splitlines(keepends=True)
        (files / "out.jsonl").write_text("".join(lines[:3]) + lines[3][:40])
        before = len(server.requests)
        shown = check(files, server, "--json")
        assert len(server.requests) - before == before / 4
        check(files, server)
        assert len(server.requests) - before == before / 4
    assert json.loads(shown.stdout)["measures"]["answer_recall"]["n"] == 4
    assert len((files / "out.jsonl").read_text().splitlines()) == 4


def test_an_answer_with_a_failure_is_judged_again_the_next_time(files: Path) -> None:
    judge = Judge(TWO, fails="found in passages")
    with OpenAIServer(lambda request: judge(request)) as server:
        shown = check(files, server)
        assert shown.exit_code == 1
        assert "no answer could be judged: m failed with HTTP 400" in shown.stderr
        assert "4 unjudged" in shown.stderr
        judge = Judge(TWO)
        again = check(files, server, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["with_failures"] == 0


def test_another_judge_takes_nothing_from_the_first_one_s_lines(files: Path) -> None:
    with OpenAIServer(Judge(TWO)) as server:
        check(files, server)
        first = len(server.requests)
        check(files, server, "--context-window", "4096")
        assert len(server.requests) == 2 * first


def test_a_sample_judges_only_so_many_answers(files: Path) -> None:
    with OpenAIServer(Judge(TWO)) as server:
        shown = check(files, server, "--sample", "2", "--seed", "3", "--json")
    figures = json.loads(shown.stdout)
    assert (figures["answers"], figures["sample_seed"]) == (2, 3)


def test_what_people_left_uncounted_is_told(files: Path) -> None:
    write(files / "people.jsonl", [people_row(**{RECALL: "[0, 7]"})])
    with OpenAIServer(Judge(TWO)) as server:
        shown = check(files, server)
    assert "people's answer recall of lamp.1/o3/Normal is not counted: it names 7" in shown.stdout


def test_somebody_else_s_file_is_refused_and_left_as_it_is(files: Path) -> None:
    (files / "out.jsonl").write_text("a letter to my aunt")
    with OpenAIServer(Judge(TWO)) as server:
        shown = check(files, server)
        assert server.requests == []
    assert shown.exit_code == 2
    assert "out.jsonl, row 1: not a judgement of this check" in shown.stderr
    assert (files / "out.jsonl").read_text() == "a letter to my aunt"


def test_a_sample_that_cannot_be_drawn_is_an_input_error(files: Path) -> None:
    with OpenAIServer(Judge(TWO)) as server:
        shown = check(files, server, "--sample", "5")
    assert shown.exit_code == 2
    assert "sample is 5; there are 4 answers, give 1 to 4" in shown.stderr
