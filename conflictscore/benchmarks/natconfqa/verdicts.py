"""A judgement as the harness keeps it: a verdict a measure, from which its counts come back.

The mean of these verdicts over questions is the paper's figure (section 4.3); the figures that pool
all decisions are made of the counts.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from conflictscore.benchmarks.harness.records import QuestionResult, Verdict
from conflictscore.benchmarks.natconfqa.data import NatConfQuestion, Pair, Subset
from conflictscore.benchmarks.natconfqa.judging import Judgement
from conflictscore.benchmarks.natconfqa.metrics import (
    Count,
    Counts,
    GroupFigures,
    Measure,
    group_figures,
    values,
)
from conflictscore.errors import InputError

__all__ = ["MEASURE_NAMES", "counts_of", "method_figures", "verdicts_of"]

MEASURE_NAMES: Mapping[str, Measure] = {
    "conflicts recall": "conflict_recall",
    "conflicts precision": "conflict_precision",
    "conflicts f1": "conflict_f1",
    "answers recall": "answer_recall",
    "answers precision": "answer_precision",
    "answers f1": "answer_f1",
}
"""The measures of the benchmark, each with the figure that it is. The first has a value on every
question of the benchmark whatever was answered, as each has a conflict to tell of. A precision, and
F1 with it, has none where an answer names nothing."""

_PARTS: Mapping[Measure, tuple[Measure, ...]] = {
    "conflict_f1": ("conflict_precision", "conflict_recall"),
    "answer_f1": ("answer_precision", "answer_recall"),
}
_TOLD = re.compile(r"(\d+) of (\d+)\b")


class _Decided(NamedTuple):
    """The decisions that a measure counts, and what each was about."""

    verdicts: Sequence[Verdict]
    names: Sequence[str]
    error: str | None = None


def verdicts_of(question: NatConfQuestion, judgement: Judgement) -> dict[str, Verdict]:
    """A verdict by each of :data:`MEASURE_NAMES` that has a value, or would if it could be judged.

    Args:
        question: What was asked.
        judgement: Every decision on an answer to it.

    Returns:
        Numbers in [0, 1]; in the explanation of a precision or recall stand its counts, as in
        ``2 of 3``, and what was not found. A measure that is not defined on this answer is absent;
        one of which a decision could not be had has no value but an error.
    """
    decided = _decided(question, judgement)
    made: dict[str, Verdict] = {}
    by_measure = values(judgement.counts)
    for name, measure in MEASURE_NAMES.items():
        given = by_measure[measure]
        if given.value is not None:
            told = _told(decided[measure]) if measure in decided else None
            made[name] = Verdict(value=float(given.value), explanation=told)
        elif given.unjudged:
            parts = _PARTS.get(measure, (measure,))
            reasons = [reason for part in parts for reason in _errors(decided[part])]
            made[name] = Verdict(value=None, error="; ".join(dict.fromkeys(reasons)))
    return made


def counts_of(verdicts: Mapping[str, Verdict]) -> Counts:
    """What the verdicts of :func:`verdicts_of` were made of.

    A count with a decision that could not be had does not come back; it is in no figure either way.

    Raises:
        InputError: They are not of that judge.
    """
    return Counts.model_validate(
        {
            measure: _count(name, verdicts.get(name))
            for name, measure in MEASURE_NAMES.items()
            if measure not in _PARTS
        }
    )


def method_figures(results: Iterable[QuestionResult], method: str) -> dict[str, GroupFigures]:
    """All figures of one method of a run, by group of questions.

    Beside the means over questions that the run's own figures have, these are pooled over all
    decisions, and count what is not defined apart from what could not be judged.

    Args:
        results: Those of a run, as :func:`~conflictscore.benchmarks.harness.outcome.read_run` has
            them.
        method: Whose answers; questions without a judged one are passed over.

    Raises:
        InputError: The run is of another benchmark.
        ConfigurationError: The extra [bench] is not installed.
    """
    subsets = {subset.value: subset for subset in Subset}
    rows = []
    for result in results:
        ended = result.methods.get(method)
        if ended is None or not ended.verdicts:
            continue
        if (subset := subsets.get(result.question.category)) is None:
            raise InputError(f"{result.question.id}: its category is none of natconfqa")
        rows.append((subset, counts_of(ended.verdicts)))
    return group_figures(rows)


def _decided(question: NatConfQuestion, judgement: Judgement) -> dict[Measure, _Decided]:
    references = [answer.text for answer in question.answers]
    parts = judgement.decomposition
    answers = parts.answers if parts else ()
    pairs = parts.conflicts if parts else ()
    return {
        "conflict_recall": _Decided(
            judgement.reference_conflicts, _pairs(question.conflicts, references)
        ),
        "conflict_precision": _Decided(
            judgement.conflicts, _pairs(pairs, answers), judgement.error
        ),
        "answer_recall": _Decided(judgement.references, references),
        "answer_precision": _Decided(judgement.answers, answers, judgement.error),
    }


def _pairs(pairs: Iterable[Pair], answers: Sequence[str]) -> list[str]:
    return [f"{answers[one]} / {answers[other]}" for one, other in pairs]


def _told(decided: _Decided) -> str:
    verdicts, names, _ = decided
    missing = [name for v, name in zip(verdicts, names, strict=True) if not v.value]
    rest = f"; not: {', '.join(missing)}" if missing else ""
    return f"{len(verdicts) - len(missing)} of {len(verdicts)}{rest}"


def _errors(decided: _Decided) -> list[str]:
    errors = [decided.error, *(verdict.error for verdict in decided.verdicts)]
    return [error for error in errors if error]


def _count(name: str, verdict: Verdict | None) -> Count | None:
    if verdict is None:
        return Count(hits=0, n=0)
    if verdict.value is None:
        return None
    if (told := _TOLD.match(verdict.explanation or "")) is None:
        raise InputError(f"a verdict by {name} has no counts: it is none of natconfqa's judge")
    return Count(hits=int(told[1]), n=int(told[2]))
