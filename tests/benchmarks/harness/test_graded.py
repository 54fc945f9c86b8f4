"""Figures for measures with values from 0 to 1, and for types of conflict."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.figures import Figures, Interval
from conflictscore.benchmarks.harness.methods.registry import METHODS
from conflictscore.benchmarks.harness.records import Question, StepRecord, Verdict
from conflictscore.errors import InputError
from tests.benchmarks.harness.quiz import Quiz, lamps, run_quiz
from tests.benchmarks.harness.recorded import (
    answered,
    attempt,
    figures_of,
    free,
    graded,
    loop,
    record,
    report,
    text,
)

RAG, CONTROL, REGENERATED = tuple(METHODS)[:3]
PIPELINE = "pipeline"
SPLIT, SUPPORTED = report("+-"), report("++")
OUTDATED, OPINIONS = ConflictType.OUTDATED, ConflictType.CONFLICTING_OPINIONS


def summed(
    questions: Sequence[Question],
    records: Sequence[StepRecord],
    *methods: str,
    measures: Sequence[str] = ("recall",),
    **options: Any,
) -> Figures:
    known = {"graded": ("recall",), **options}
    made = figures_of(questions, records, methods, measures, **known)
    assert Figures.model_validate_json(made.model_dump_json()) == made
    return made


def pairs(*values: tuple[float | None, float | None]) -> tuple[list[Question], list[StepRecord]]:
    """Questions whose answers by ``rag`` and ``control-rag`` have these recalls."""
    questions = [free(f"q{number}") for number in range(len(values))]
    records: list[StepRecord] = []
    for q, (before, after) in zip(questions, values, strict=True):
        records += [
            loop(q, attempt(text("Old."), SUPPORTED)),
            answered(q, "control-rag", text("New.")),
            graded(q, "Old.", recall=before),
            graded(q, "New.", recall=after),
        ]
    return questions, records


def test_a_graded_measure_has_a_mean_with_an_interval_and_pairs_by_wilcoxon() -> None:
    from scipy.stats import wilcoxon

    values = [(0.5, 1.0), (0.25, 0.5), (1.0, 0.75), (0.0, 0.9), (0.5, 0.5), (0.2, 0.4)]
    made = summed(*pairs(*values, (None, 1.0)), RAG, CONTROL)
    rag, control = (method.measures["recall"] for method in made.methods)
    assert isinstance(rag, Interval)
    assert rag.value == pytest.approx(2.45 / 6)
    assert rag.low is not None
    assert rag.high is not None
    assert 0 < rag.low < 2.45 / 6 < rag.high < 1
    assert (rag.n, control.n, made.methods[0].unjudged) == (6, 7, {"recall": 1})

    (paired,) = made.paired
    assert (paired.n, paired.corrected, paired.harmed) == (6, 4, 1)
    assert paired.both_right is paired.both_wrong is None
    assert paired.difference.value == pytest.approx((4.05 - 2.45) / 6)
    changes = [0.5, 0.25, -0.25, 0.9, 0.0, 0.2]
    assert paired.p_value == pytest.approx(wilcoxon(changes, zero_method="pratt").pvalue)
    assert made.cost.net_corrections == {CONTROL: 3}


def test_where_less_is_better_what_falls_is_corrected_and_the_difference_stays_as_it_is() -> None:
    values = [(0.5, 1.0), (0.5, 0.25), (0.75, 0.5), (0.5, 0.5)]
    made = summed(*pairs(*values), RAG, CONTROL, falling=("recall",))
    (paired,) = made.paired
    assert (paired.corrected, paired.harmed, made.falling) == (2, 1, ("recall",))
    assert paired.difference.value == pytest.approx(0.0)
    assert paired.p_value == summed(*pairs(*values), RAG, CONTROL).paired[0].p_value
    assert made.cost.net_corrections == {CONTROL: 1}
    second = attempt(text("New."), SUPPORTED, after=SPLIT)
    q = free("split")
    records = [loop(q, attempt(text("Old."), SPLIT), second)]
    records += [graded(q, "Old.", recall=0.5), graded(q, "New.", recall=0.25)]
    (moved,) = summed([q], records, RAG, REGENERATED, falling=("recall",)).transitions
    assert (moved.corrections.count, moved.harms.count) == (1, 0)


def test_a_measure_that_does_not_apply_is_waited_for_by_nobody_and_in_no_count() -> None:
    q = free("one")
    records = [loop(q, attempt(text("Old."), SUPPORTED)), graded(q, "Old.", correct=False)]
    made = summed([q], records, RAG, measures=("correct", "recall"))
    assert made.ended == 1
    assert (made.methods[0].unjudged["recall"], made.methods[0].measures["recall"].n) == (0, 0)


@pytest.mark.parametrize(
    ("value", "graded_by", "words"),
    [
        (0.7, (), "gave 0.7 for the measure 'truthful', which takes yes or no, since"),
        (70.0, ("truthful",), "gave 70.0 for the measure 'truthful', which takes a number from 0"),
    ],
)
async def test_a_value_that_would_be_counted_as_another_is_no_verdict(
    tmp_path: Path, value: float, graded_by: tuple[str, ...], words: str
) -> None:
    async def judge(*_: Any, **__: Any) -> dict[str, Verdict]:
        return {"truthful": Verdict(value=value)}

    asked = replace(lamps(1, free_form=True), judge=judge, graded=frozenset(graded_by))
    run = await run_quiz(tmp_path / "run", Quiz(), asked, methods=("rag",))
    verdict = run.results[0].methods[RAG].verdicts["truthful"]
    assert verdict.value is None
    assert words in str(verdict.error)


def test_a_type_is_right_where_it_is_peoples_and_wrong_where_there_is_none() -> None:
    kinds = [OUTDATED, OUTDATED, OPINIONS, OPINIONS, None]
    said: list[ConflictType | None] = [OUTDATED, OPINIONS, None, OPINIONS, OUTDATED]
    questions = [free(f"q{number}", kind=kind) for number, kind in enumerate(kinds)]
    records = [
        answered(q, "pipeline", text("So. [1]"), conflict_type=kind)
        for q, kind in zip(questions, said, strict=True)
    ]
    failed = free("failed", kind=OUTDATED)
    records.append(record(failed, "pipeline", None, error="no reply"))
    waiting = free("waiting", kind=OUTDATED)
    (pipeline,) = summed([*questions, failed, waiting], records, RAG, PIPELINE).types
    assert (pipeline.method, pipeline.untold) == (PIPELINE, 2)
    assert (pipeline.accuracy.count, pipeline.accuracy.n) == (2, 5)


def test_lower_can_be_better_only_for_a_graded_measure() -> None:
    made_up = replace(lamps(1, free_form=True), measures=("made-up",))
    with pytest.raises(InputError, match="falling contains made-up, but graded does not"):
        replace(made_up, falling=frozenset({"made-up"}))
    both = frozenset({"made-up"})
    assert replace(made_up, falling=both, graded=both).falling == both
