"""Records of a benchmark run, written in a few letters."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.methods.registry import GRADE, LOOP
from conflictscore.benchmarks.harness.records import Question, StepRecord, Verdict
from conflictscore.benchmarks.harness.results import results
from conflictscore.benchmarks.harness.transition_counts import figures
from conflictscore.records import (
    Answer,
    Attempt,
    Change,
    ConflictReport,
    RevisionAction,
    Usage,
    differs,
)
from tests.nodes.steps import claim_with, scored

MODEL = "openai:gpt-test"


def choice(name: str, *, gold: int = 0) -> Question:
    return Question(
        id=name,
        question=f"What of {name}?",
        options=(f"{name} is so", f"{name} is not so"),
        gold=gold,
    )


def free(name: str, *, category: str = "", kind: ConflictType | None = None) -> Question:
    return Question(id=name, question=f"What of {name}?", category=category, conflict_type=kind)


def option(question: Question, number: int) -> Answer:
    return Answer(text=question.options[number], option=number)


def text(content: str) -> Answer:
    return Answer(text=content)


def report(*rows: str) -> ConflictReport:
    """One claim per row, with one letter per document, such as ``+`` (supports) or ``-``."""
    return scored(*(claim_with(row, f"claim {n}", n) for n, row in enumerate(rows, start=1)))


def attempt(
    answer: Answer, scores: ConflictReport | None, *, after: ConflictReport | None = None
) -> Attempt:
    """The first answer; with ``after``, the answer that followed this report's conflict."""
    if after is None:
        return Attempt(round=0, answer=answer, report=scores)
    if after.reconsider is None:
        raise ValueError("nothing is reconsidered without a conflict")
    return Attempt(round=1, answer=answer, report=scores)


def tokens(number: int, *, calls: int = 1) -> dict[str, Usage]:
    return {MODEL: Usage(calls=calls, input_tokens=number)}


def record(question: Question, step: str, value: dict[str, Any] | None, **rest: Any) -> StepRecord:
    return StepRecord(question=question.id, step=step, value=value, **rest)


def loop(
    question: Question,
    *attempts: Attempt,
    regeneration_error: str | None = None,
    first_usage: dict[str, Usage] | None = None,
    **rest: Any,
) -> StepRecord:
    value: dict[str, Any] = {
        "attempts": [one.to_json() for one in attempts],
        "changes": [_change(one, other) for one, other in pairwise(attempts)],
        "reason": "",
        "notes": [],
        "regeneration_error": regeneration_error,
    }
    if first_usage is not None:
        value["first_usage"] = {name: usage.to_json() for name, usage in first_usage.items()}
    return record(question, LOOP, value, **rest)


def _change(before: Attempt, after: Attempt) -> dict[str, Any]:
    """The second look that led from one answer to the next, with the claim to reconsider."""
    one, other = before.answer.text, after.answer.text
    number = before.report.reconsider if before.report else None
    claims = (before.report.evidence(number),) if before.report and number else ()
    return Change(
        round=after.round,
        start=0,
        end=len(one),
        before=one,
        after=other,
        action=RevisionAction.REPLACE if differs(one, other) else RevisionAction.KEEP,
        whole=True,
        claims=claims,
        reason=after.answer.justification,
    ).to_json()


def answered(question: Question, step: str, answer: Answer, **rest: Any) -> StepRecord:
    """The outcome of a step with one answer, in some cases with a ``conflict_type``."""
    value: dict[str, Any] = {"answer": answer.to_json(), "notes": []}
    value |= {name: rest.pop(name) for name in ("conflict_type",) if name in rest}
    return record(question, step, value, **rest)


def graded(question: Question, answer: str, **values: float | bool | None) -> StepRecord:
    """A grade by custom measures; None is a missing verdict."""
    verdicts = {
        name: Verdict(value=value, error="no reply" if value is None else None).to_json()
        for name, value in values.items()
    }
    return record(question, GRADE, {"verdicts": verdicts}, key=answer)


def grade(question: Question, answer: str, truthful: bool, informative: bool = True) -> StepRecord:
    return graded(question, answer, truthful=truthful, informative=informative)


def figures_of(
    questions: Sequence[Question],
    records: Sequence[StepRecord],
    methods: Sequence[str],
    measures: Sequence[str],
    **options: Any,
) -> Figures:
    """The figures of a run with these records."""
    return figures(
        results(questions, records, methods=methods, measures=measures),
        methods=methods,
        measures=measures,
        total_questions=len(questions),
        **{"money": unpriced, **options},
    )


def unpriced(usage: Mapping[str, Usage]) -> tuple[None, tuple[str, ...]]:
    """Prices of an unknown model."""
    return None, tuple(model for model, used in usage.items() if used.calls)
