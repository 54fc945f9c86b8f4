import json
import math
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conflictscore.benchmarks.natconfqa.agreement import agreement, correlation
from conflictscore.benchmarks.natconfqa.data import read_natconfqa
from conflictscore.benchmarks.natconfqa.judges import Decomposition, Judgement
from conflictscore.benchmarks.natconfqa.people import JudgedByPeople, read_people
from conflictscore.cli import OneLineErrors
from conflictscore.cli.judge_check import judge_check
from conflictscore.errors import InputError
from tests.benchmarks.natconfqa.lamps import Judge, decided, people_row, row
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl
from tests.fakes.openai_server import OpenAIServer

RECALL = "Found Reference Answers in Model Answer (Recall Answer)"
PRECISION = "Found Model Sub-Answers in Reference Answers/Passages (Precision Answer)"
CONFLICT_RECALL = "Conflicting Reference Answer Pairs Found (Recall Conflict)"
CONFLICT_PRECISION = "Found Conflicting Model's Sub-Answers (Conflict Precision)"
TWO = "ANSWERS:\n1. in 1871\n2. in 1880\nCONFLICTS:\n1 - 2"


def read(folder: Path, *rows: dict[str, Any]) -> tuple[JudgedByPeople, ...]:
    questions = read_natconfqa(write_jsonl(folder / "questions.jsonl", [row()])).items
    return read_people(write_jsonl(folder / "people.jsonl", rows), questions)


SPELLED = {
    RECALL: "[0,]",
    PRECISION: "[]",
    CONFLICT_RECALL: None,
    CONFLICT_PRECISION: "[(1, 0): 0, (0,1) :1]",
}


@pytest.mark.parametrize(
    ("fields", "counts"), [({}, [1 / 2, 1, 2 / 3, 1 / 2]), (SPELLED, [0, 1, 1 / 3, 0])]
)
def test_people_s_lists_become_counts_in_all_their_spellings(
    tmp_path: Path, fields: dict[str, Any], counts: list[float]
) -> None:
    [judged] = read(tmp_path, people_row(**fields))
    assert judged.id == "lamp.1/o3/Normal"
    assert judged.answer == "In 1871, but others say in 1874."
    of = [f"{kind} {part}" for kind in ("conflicts", "answers") for part in ("recall", "precision")]
    found = {name: one.value for name, one in judged.verdicts.items() if "f1" not in name}
    assert found == dict(zip(of, counts, strict=True))


@pytest.mark.parametrize(
    ("fields", "measure"),
    [
        ({RECALL: "[0, 3]"}, "answers recall"),
        ({PRECISION: "[2]"}, "answers precision"),
        ({CONFLICT_PRECISION: "[(0, 2) :1]"}, "conflicts precision"),
    ],
)
def test_an_index_of_nothing_leaves_that_measure_uncounted(
    tmp_path: Path, fields: dict[str, str], measure: str
) -> None:
    [judged] = read(tmp_path, people_row(**fields))
    f1 = f"{measure.split()[0]} f1"
    undefined = {name for name, one in judged.verdicts.items() if one.value is None}
    assert undefined == {measure, f1, f"{f1} with zeros"}
    assert "(counted from 0), but there are only" in (judged.verdicts[measure].error or "")


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"question_id": "other"}, "field question_id: there is no question 'other'"),
        ({RECALL: "0, 1"}, f"field {RECALL}: String should match"),
        ({CONFLICT_RECALL: "0-1"}, f"field {CONFLICT_RECALL}: String should match"),
        ({CONFLICT_RECALL: "(1, 2)"}, "a pair is not among the question's conflicts"),
        ({CONFLICT_PRECISION: "[(0, 1)]"}, f"field {CONFLICT_PRECISION}: String should match"),
        ({"reference_answers": "1871"}, "field reference_answers: the answers or their"),
        ({"conflicting_answer_pairs": None}, "or their conflicting pairs differ from those of"),
    ],
)
def test_a_field_of_people_s_file_that_cannot_be_used_is_named(
    tmp_path: Path, fields: dict[str, Any], said: str
) -> None:
    with pytest.raises(InputError) as error:
        read(tmp_path, people_row(**fields))
    assert said in str(error.value)
    assert f"{tmp_path / 'people.jsonl'}, row 1" in str(error.value)


@needs_real_data
def test_the_published_judgements_are_read() -> None:
    questions = read_natconfqa(REAL / "natconfqa" / "questions.jsonl").items
    rows = read_people(REAL / "natconfqa" / "human_judgments.jsonl", questions)
    assert len(rows) == 52
    assert [(r.id, name) for r in rows for name, one in r.verdicts.items() if one.error] == [
        ("healthver_63_claims_20.20.1/o3-high/Normal", "answers recall"),
        ("healthver_63_claims_20.20.1/o3-high/Normal", "answers f1"),
        ("healthver_63_claims_20.20.1/o3-high/Normal", "answers f1 with zeros"),
    ]


def as_in_the_authors_code(row: dict[str, Any]) -> dict[str, float]:
    """The measures of a published line by the formulas of the authors' code; NaN is undefined."""

    def share(part: int, whole: int) -> float:
        return part / whole if whole else math.nan

    def f1(precision: float, recall: float) -> float:
        total = precision + recall
        return 2 * precision * recall / total if total else math.nan

    pairs = re.findall(r"\(\d, ?\d\)", row[CONFLICT_RECALL] or "")
    of_question = re.findall(r"\(\d, ?\d\)", row["conflicting_answer_pairs"] or "")
    presented = re.findall(r"\d\) ?: ?(\d)", row[CONFLICT_PRECISION] or "")
    answers = (
        share(
            len(re.findall(r"\d+", row[PRECISION])),
            len(row["Model Answers Decomposed"].splitlines()),
        ),
        share(len(re.findall(r"\d+", row[RECALL])), len(row["reference_answers"].splitlines())),
    )
    conflicts = share(presented.count("1"), len(presented)), share(len(pairs), len(of_question))
    return {
        "answers precision": answers[0],
        "answers recall": answers[1],
        "answers f1": f1(*answers),
        "conflicts precision": conflicts[0],
        "conflicts recall": conflicts[1],
        "conflicts f1": f1(*conflicts),
    }


@needs_real_data
def test_published_judgements_have_the_measures_of_the_authors_code() -> None:
    path = REAL / "natconfqa" / "human_judgments.jsonl"
    questions = read_natconfqa(REAL / "natconfqa" / "questions.jsonl").items
    lines = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    different = []
    for judged, line in zip(read_people(path, questions), lines, strict=True):
        for name, theirs in as_in_the_authors_code(line).items():
            ours = judged.verdicts[name].value if name in judged.verdicts else math.nan
            if ours is None or ours != pytest.approx(theirs, nan_ok=True):
                different.append((judged.id, name, theirs))
    # a line names a third of two reference answers; we count nothing that is not there
    odd = "healthver_63_claims_20.20.1/o3-high/Normal"
    assert different == [(odd, "answers recall", 1.5), (odd, "answers f1", pytest.approx(1.2))]


def judgement(references: list[bool | None], conflicts: list[bool | None]) -> Judgement:
    """A judgement that splits the answer into a true and an untrue part, without conflicts."""
    return Judgement(
        decomposition=Decomposition(answers=("1871", "1880"), conflicts=()),
        references=decided(references),
        answers=decided([True, False]),
        reference_conflicts=decided(conflicts),
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
    assert agreement(rows[:3], judged[:3]).measures["answers recall"].pearson is None, "too few"
    figures = agreement(rows, judged)
    for measure in ("answers recall", "conflicts recall"):
        found = figures.measures[measure]
        assert found.n == 4
        assert found.pearson == pytest.approx(1)
    precision = figures.measures["answers precision"]
    assert (precision.n, precision.people_mean, precision.judge_mean) == (4, 0.5, 0.5)
    assert precision.pearson is None
    unseen = figures.measures["conflicts precision"]
    assert (unseen.n, unseen.left_out) == (0, 4)


def test_decisions_and_what_a_prompt_changes_stand_beside_people_s(tmp_path: Path) -> None:
    rows = read(
        tmp_path,
        people_row(),
        people_row(prompt_template="ContradictAware", **{RECALL: "[0,1,2]"}),
    )
    judged = [
        judgement([True, True, False], [True, False]),
        judgement([True, False, None], [True, False]),
    ]

    figures = agreement(rows, judged)

    found = figures.decisions["reference answers"]
    assert (found.decisions, found.undecided, found.agreement.count) == (6, 1, 4)
    assert (found.people_yes.count, found.judge_yes.count) == (4, 3)
    assert figures.decisions["reference conflicts"].kappa == 1
    told = figures.measures["conflicts recall"]
    assert (told.people_difference.value, told.judge_difference.value) == (0, 0)
    assert figures.measures["answers recall"].people_difference.value is None, "one has no value"


def test_failures_are_named_and_they_and_uncounted_answers_are_in_no_figure(tmp_path: Path) -> None:
    rows = read(tmp_path, people_row(), people_row(model="b", **{RECALL: "[0, 5]"}))
    judged = [
        judgement([True, True, None], [True, False]),
        judgement([True, True, False], [True, False]),
    ]
    figures = agreement(rows, judged)
    recall = figures.measures["answers recall"]
    assert (recall.n, recall.left_out) == (0, 2)
    assert [*figures.failures] == [rows[0].id]
    assert figures.measures["conflicts recall"].n == 2


@pytest.mark.parametrize(
    ("people", "judge"),
    [([0, 1], [0, 1]), ([0, 1, 0.5, 0], [1, 1, 1, 1]), ([1, 1, 1, 1], [0, 1, 0.5, 0])],
)
def test_few_answers_or_a_side_that_never_changes_have_no_correlation(
    people: list[float], judge: list[float]
) -> None:
    assert correlation(people, judge) is None


def test_the_coefficient_is_the_textbook_s() -> None:
    # By hand: 0.203125 / sqrt(0.546875 * 0.171875).
    found = correlation([0, 0.25, 0.5, 1], [0, 0.5, 0.25, 0.5])
    assert found is not None
    assert found[0] == pytest.approx(0.6625, abs=1e-4)


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Questions, and people's judgements of four answers."""
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    write_jsonl(tmp_path / "questions.jsonl", [row()])
    write_jsonl(tmp_path / "people.jsonl", [people_row(model=f"m{n}") for n in range(4)])
    return tmp_path


def check(folder: Path, server: OpenAIServer, *more: str) -> Result:
    files = ["--answers", f"{folder}/people.jsonl", "--references", f"{folder}/questions.jsonl"]
    judge = ["--model", "m", "--base-url", server.base_url]
    return CliRunner().invoke(
        OneLineErrors("conflictscore", [judge_check]), ["judge-check", *files, *judge, *more]
    )


def test_the_command_shows_every_measure_beside_people_s(files: Path) -> None:
    with OpenAIServer(Judge(TWO)) as server:
        shown = check(files, server)
    assert shown.exit_code == 0, shown.output
    line = next(text for text in shown.stdout.splitlines() if text.startswith("answers recall"))
    assert line.split()[2:] == [
        "4",
        "0",
        "66.7",
        "100.0",
        "+33.3",
        "none",
        "none",
        "-",
        "-",
        "0.664",
    ]
    assert "4 of 4 answers" in shown.stderr


def test_the_same_command_resumes_from_the_cache_and_asks_failures_again(files: Path) -> None:
    judge = Judge(TWO, fails="found in passages")
    with OpenAIServer(lambda request: judge(request)) as server:
        shown = check(files, server)
        assert shown.exit_code == 1
        assert "no answer could be judged: m failed with HTTP 400" in shown.stderr
        assert "4 failed" in shown.stderr
        judge = Judge(TWO)
        again = check(files, server, "--json")
    assert again.exit_code == 0
    assert json.loads(again.stdout)["failures"] == {}
    assert [*judge.asked] == ["found in passages"]


@pytest.mark.parametrize(
    ("more", "line"),
    [
        (["--answers", "none"], "none: cannot be read"),
        (["--references", "none"], "none: cannot be read"),
        (["--prompts", "none"], "prompt folder none is not a folder"),
    ],
)
def test_bad_input_is_one_line_and_asks_nobody(files: Path, more: list[str], line: str) -> None:
    with OpenAIServer(Judge(TWO)) as server:
        shown = check(files, server, *more)
        assert server.requests == []
    assert shown.exit_code == 2
    assert line in shown.stderr
    assert len(shown.stderr.splitlines()) == 1
