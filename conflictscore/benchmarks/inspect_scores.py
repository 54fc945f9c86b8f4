"""What Inspect shows of a question, and of all of them, from the harness's own results."""

import re
from collections.abc import Sequence
from math import nan
from typing import Any

from inspect_ai.scorer import (
    Metric,
    SampleScore,
    Score,
    Scorer,
    Target,
    Value,
    accuracy,
    mean,
    metric,
    scorer,
    stderr,
)
from inspect_ai.solver import TaskState
from pydantic import BaseModel

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult, Verdict
from conflictscore.benchmarks.harness.summarise import figures
from conflictscore.nodes.conflict_details import witnesses
from conflictscore.records import ConflictReport, Label

__all__ = ["RESULT", "Kept", "Measured", "against_rag", "metrics_of", "verdicts"]

RESULT = "conflictscore"
"""Where a sample's store holds its :class:`Kept`."""

_MAIN = ("regenerated-rag", "guarded-rag", BASELINE)


class Measured(BaseModel):
    """What the scores of a task are of."""

    methods: tuple[str, ...]
    """The methods of the run, ended or not."""
    measures: tuple[str, ...]
    """What answers are judged by."""
    graded: tuple[str, ...]
    """Those of the measures whose values are numbers in [0, 1] rather than yes or no."""

    @property
    def named(self) -> dict[str, tuple[str, str]]:
        """Method and measure of every value, by its name."""
        return {
            self.name(method, measure): (method, measure)
            for method in self.methods
            for measure in self.measures
        }

    def name(self, method: str, measure: str) -> str:
        """What a value is called: by its method, and where there are several by its measure."""
        return f"{method} {measure}" if len(self.measures) > 1 else method


class Kept(BaseModel):
    """What a sample leaves behind for its score, and a score for the metrics."""

    measured: Measured
    result: QuestionResult

    @property
    def answer(self) -> str | None:
        """What the second look ended with, or else the first answer; None where there is none."""
        ended = (self.result.methods.get(method) for method in _MAIN)
        return next((one.answer.text for one in ended if one and one.answer), None)


@metric
def against_rag() -> Metric:
    """Every method beside ``rag``: counts, p-values, and what became of conflicts.

    The figures are those of ``harness.summarise``, under ``METHOD NAME``; where there are several
    measures pairs are under ``METHOD MEASURE NAME``, and conflicts are of the first measure. One
    that cannot be had is absent. Where questions are asked in several epochs, they are of the first
    of them, so that each question counts once.
    """

    def compute(scores: list[SampleScore]) -> Value:
        kept = [Kept.model_validate(s.score.metadata) for s in scores if s.score.metadata]
        return _figures(kept) if kept else {}

    return compute


def metrics_of(measured: Measured) -> list[Metric | dict[str, list[Metric]]]:
    """The metrics of a task: of graded measures the mean, of the others the share that is right."""

    def of_value(measure: str) -> list[Metric]:
        return [mean() if measure in measured.graded else accuracy(), stderr()]

    each = {name: of_value(measure) for name, (_, measure) in measured.named.items()}
    return [each, against_rag()]


@scorer(metrics=[{"*": [accuracy(), stderr()]}, against_rag()], name=RESULT)
def verdicts() -> Scorer:
    """One value a method: 1 right, 0 wrong, or how far right, as the benchmark's judge has it.

    Where it has several measures, there is one for each method and measure, ``METHOD MEASURE``.
    Inspect wants all of them of every sample: NaN, which is in none of its means, stands where a
    method failed, where an answer could not be judged, and where a measure is not defined on it.
    A sample that a limit ended before its first step is unscored.
    """

    async def score(state: TaskState, target: Target) -> Score:
        stored = state.store.get(RESULT)
        if stored is None:
            return Score.unscored(
                reason="no_response", explanation="it ended before anything was asked"
            )
        return _score(Kept.model_validate(stored))

    return score


def _score(kept: Kept) -> Score:
    result = kept.result
    values: dict[str, str | int | float | bool | None] = {}
    unjudged = False
    for name, (method, measure) in kept.measured.named.items():
        ended = result.methods.get(method)
        right = ended.value(measure) if ended else None
        values[name] = nan if right is None else float(right)
        unjudged |= right is None and not _undefined(ended, measure)
    return Score(
        value=values,
        answer=kept.answer,
        explanation=_explanation(kept),
        reason=_reason(kept) if unjudged else None,
        metadata=Kept(measured=kept.measured, result=_judged_only(result)).model_dump(mode="json"),
    )


def _undefined(ended: MethodResult | None, measure: str) -> bool:
    """Whether an answer was judged, and its judge has nothing to say by this measure."""
    return ended is not None and bool(ended.verdicts) and measure not in ended.verdicts


def _reason(kept: Kept) -> str:
    ended = [kept.result.methods.get(method) for method in kept.measured.methods]
    return "grader_failed" if all(e and e.answer for e in ended) else "no_response"


def _judged_only(result: QuestionResult) -> QuestionResult:
    """As much as the figures are counted from: Inspect copies it many times."""
    return QuestionResult(
        question=result.question.model_copy(update={"documents": (), "category": ""}),
        methods={
            method: MethodResult(
                answer=ended.answer,
                error=ended.error,
                verdicts={
                    measure: Verdict(value=verdict.value, error=verdict.error)
                    for measure, verdict in ended.verdicts.items()
                },
            )
            for method, ended in result.methods.items()
        },
        conflict=result.conflict,
        predicted=result.predicted,
    )


def _figures(kept: Sequence[Kept]) -> dict[str, Any]:
    measured, results = kept[0].measured, [one.result for one in kept]
    run = figures(
        results,
        methods=measured.methods,
        measures=measured.measures,
        graded=measured.graded,
        money=None,
        total_questions=len(kept),
    )
    found: dict[str, Any] = {}
    for of_method in run.methods:
        found[f"{of_method.method} failed"] = of_method.failed
        for measure, count in of_method.unjudged.items():
            name = measured.name(of_method.method, measure)
            found[f"{name} unjudged"] = count
            ended = [result.methods.get(of_method.method) for result in results]
            if undefined := sum(_undefined(one, measure) for one in ended):
                found[f"{name} undefined"] = undefined
    for pair in run.paired:
        name = measured.name(pair.method, pair.measure)
        better, worse, test = (
            ("higher", "lower", "wilcoxon_p")
            if pair.measure in measured.graded
            else ("corrected", "harmed", "mcnemar_p")
        )
        found |= {
            f"{name} pairs": pair.n,
            f"{name} {better}": pair.corrected,
            f"{name} {worse}": pair.harmed,
            f"{name} difference": pair.difference.value,
            f"{name} {test}": pair.p_value,
        }
    for change in run.transitions:
        found |= {
            f"{change.method} conflicts": change.conflict,
            f"{change.method} revised": change.revised.count,
            f"{change.method} corrections": change.corrections.count,
            f"{change.method} harms": change.harms.count,
        }
    for told in run.types:
        found |= {
            f"{told.method} types": told.accuracy.n,
            f"{told.method} type_accuracy": told.accuracy.value,
        }
    return {name: value for name, value in found.items() if value is not None}


def _explanation(kept: Kept) -> str:
    """What a reviewer reads of a question, as Markdown that its texts cannot break out of."""
    result, measured = kept.result, kept.measured
    lines = [f"- **{m}**: {_ended(result.methods.get(m), measured)}" for m in measured.methods]
    if result.reconsidered is not None:
        lines += ["", f"**Reconsidered**: {_plain(result.reconsidered.claim.text)}"]
        for label, said in ((Label.SUPPORTS, "supports it"), (Label.CONTRADICTS, "contradicts it")):
            for witness in witnesses(result.reconsidered, label, result.documents):
                shown = filter(None, (_plain(witness.source), _plain(witness.passage)))
                lines.append(f"- Doc {witness.document.number} {said}: {' – '.join(shown)}")
    if result.justification:
        lines += ["", f"**Justification**: {_plain(result.justification)}"]
    if result.guard is not None and "guarded-rag" in measured.methods:
        note = result.guard.note
        lines += ["", f"**Guard**: the flip is {f'refused: {note}' if note else 'accepted'}"]
    first = result.methods.get(BASELINE)
    if first and first.report:
        lines += ["", _scores(first.report)]
    return "\n".join(lines)


def _ended(ended: MethodResult | None, measured: Measured) -> str:
    if ended is None:
        return "not reached"
    if ended.answer is None:
        return f"failed: {_plain(ended.error or '')}"
    said = []
    for measure in measured.measures:
        verdict = ended.verdicts.get(measure)
        if _undefined(ended, measure):
            said.append(f"{measure}: not defined")
        elif verdict is None or verdict.value is None:
            why = verdict.error if verdict else None
            said.append(f"{measure}: unjudged ({_plain(why or 'not reached')})")
        elif measure in measured.graded:
            said.append(f"{measure}: {float(verdict.value):.2f}")
        else:
            said.append(f"{measure}: {'yes' if verdict.value else 'no'}")
    return f"{_plain(ended.answer.text)} ({'; '.join(said)})"


def _scores(report: ConflictReport) -> str:
    if report.cs_c is None or report.cs_r is None:
        return "The first answer has no ConflictScore."
    coverage = "unknown" if report.coverage is None else f"{report.coverage:.2f}"
    return f"First answer: CS-C {report.cs_c:.2f}, CS-R {report.cs_r:.2f}, coverage {coverage}"


def _plain(text: str) -> str:
    """One line in which nothing is Markdown, HTML, a link or a picture."""
    return re.sub(r"[\\`*_\[\]<>&!|~#]", r"\\\g<0>", " ".join(text.split()))
