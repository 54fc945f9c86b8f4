"""How well the judge's figures follow people's (paper, appendix G, Table 7)."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Any

from pydantic import Field
from typing_extensions import override

from conflictscore.benchmarks.agreement import JudgeCheck, Request, drawn
from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.statistics import accuracy, cohen_kappa, require_statistics
from conflictscore.benchmarks.natconfqa.data import read_natconfqa
from conflictscore.benchmarks.natconfqa.judges import JUDGE_TEMPLATES, Judgement, judge_natconfqa
from conflictscore.benchmarks.natconfqa.metrics import Measure, values
from conflictscore.benchmarks.natconfqa.people import JudgedByPeople, read_people
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Record, Usage

_CHECKED: tuple[Measure, ...] = (
    "answer_recall",
    "answer_precision",
    "conflict_recall",
    "conflict_precision",
)
_FEWEST = 4
"""Of three points without any correlation, Pearson's |r| is above .9 in 29 % of draws."""

_Natural = Annotated[int, Field(ge=0)]


class Coefficient(Record):
    """A coefficient of correlation, with the p of the test that there is none (two-sided)."""

    value: float
    """In [-1, 1]."""
    p_value: float


class Correlation(Record):
    """A measure by the judge beside the same by people, answer by answer."""

    n: _Natural
    """Answers with a value on both sides; the rest of the figures is of these."""
    undefined: _Natural
    """Answers on which the measure has no value for one of them, such as a precision of conflicts
    where it saw none."""
    unjudged: _Natural
    """Answers on which a decision of the judge could not be had."""
    uncounted: _Natural
    """Answers on which people's decisions cannot be counted."""
    people_mean: float | None
    judge_mean: float | None
    pearson: Coefficient | None
    """None where there are fewer than 4 answers, or one side gives all of them the same value."""
    spearman: Coefficient | None
    kendall: Coefficient | None
    """Tau-b."""


class DecisionAgreement(Record):
    """Decisions that people and judge made on the very same thing."""

    agreement: Proportion
    cohen_kappa: float | None
    """In [-1, 1]; 0 is what chance would give."""


class JudgeAgreement(Record):
    """A judge beside people."""

    answers: _Natural
    with_failures: _Natural
    """Answers of which at least one decision of the judge could not be had."""
    measures: dict[Measure, Correlation]
    references: DecisionAgreement
    """Is this reference answer in the answer? One decision a reference answer."""
    reference_conflicts: DecisionAgreement
    """Does the answer tell of this conflict? One decision a conflict of the question."""


class NatConfQACheck(JudgeCheck[JudgedByPeople, Judgement, JudgeAgreement]):
    """The judge beside people, answer by answer."""

    key_fields = ("id", "answer")
    holds = "a judgement of this check"

    def __init__(self, request: Request) -> None:
        """Read the files, and open the judge."""
        self.rows: Sequence[JudgedByPeople] = read_people(
            request.answers, read_natconfqa(request.questions()).questions
        )
        if request.sample is not None:
            self.rows = drawn(
                self.rows,
                request.sample,
                request.seed,
                purpose="natconfqa judge check",
                name=lambda row: row.id,
            )
        self._request, self._model = request, request.open_judge()
        self.judge: Mapping[str, Any] = {
            "check": "natconfqa",
            "judge": self._model.name,
            "endpoint": self._model.endpoint,
            "context_window": self._model.context_window,
            "prompts": request.prompts.sha256_of(*JUDGE_TEMPLATES, "document", "cut"),
        }

    @override
    def key(self, row: JudgedByPeople) -> Sequence[str]:
        return row.id, row.answer

    @override
    def kept(self, row: JudgedByPeople, said: Judgement, usage: Usage) -> Mapping[str, Any]:
        return {"judgement": said.to_json(), "usage": usage.to_json()}

    @override
    def read(self, row: Mapping[str, Any]) -> Judgement:
        return Judgement.model_validate(row["judgement"])

    @override
    def failure(self, said: Judgement) -> str | None:
        return next(iter(said.errors), None)

    @override
    async def ask(self, row: JudgedByPeople, meter: UsageMeter) -> Judgement:
        return await judge_natconfqa(
            row.question, row.answer, model=self._model, prompts=self._request.prompts, meter=meter
        )

    @override
    def agreement(self, judged: Sequence[Judgement]) -> JudgeAgreement:
        return agreement(self.rows, judged)

    @override
    def about(self, judged: Sequence[Judgement]) -> dict[str, Any]:
        pairs = zip(self.rows, judged, strict=True)
        return {
            **self._request.about(self._model),
            "uncounted": {row.id: dict(row.problems) for row in self.rows if row.problems},
            "failures": {row.id: list(ours.errors) for row, ours in pairs if ours.errors},
        }

    @override
    def lines(self, about: Mapping[str, Any], figures: JudgeAgreement) -> Iterator[str]:
        yield f"judge of natconfqa: {about['judge']} at {about['endpoint']}"
        yield f"{figures.answers} answers, judged by it and by people\n"
        yield (
            f"{'':20} {'n':>4} {'undefined':>9} {'unjudged':>8} {'uncounted':>9} {'people':>7}"
            f" {'judge':>7}"
        )
        for name, row in figures.measures.items():
            yield (
                f"{_named(name):20} {row.n:4} {row.undefined:9} {row.unjudged:8}"
                f" {row.uncounted:9} {_number(row.people_mean):>7} {_number(row.judge_mean):>7}"
            )
        yield "people, judge: the means of the measure over the n answers with both\n"
        yield f"{'correlation':20} {'Pearson':>17} {'Spearman':>17} {'Kendall':>17}"
        for name, row in figures.measures.items():
            coefficients = map(_shown, (row.pearson, row.spearman, row.kendall))
            yield f"{_named(name):20} " + " ".join(f"{one:>17}" for one in coefficients)
        yield ""
        for what, made in (
            ("reference answers", figures.references),
            ("conflicts of the questions", figures.reference_conflicts),
        ):
            same = made.agreement
            yield (
                f"{what}: {same.count} of {same.n} decisions the same"
                f" ({_number(same.value)} [{_number(same.low)}, {_number(same.high)}]),"
                f" Cohen's kappa {_number(made.cohen_kappa)}"
            )
        for answer, reasons in about["uncounted"].items():
            for measure, reason in reasons.items():
                yield f"people's {_named(measure)} of {answer} is not counted: {reason}"
        for answer, errors in about["failures"].items():
            yield f"{answer}: {'; '.join(errors)}"


def agreement(people: Sequence[JudgedByPeople], judged: Sequence[Judgement]) -> JudgeAgreement:
    """Compare a judge with people.

    The paper says no more than that it correlates "labels" of the judge with those of people. Here
    it is the measures of each answer, since the two take an answer apart in their own ways and only
    the recalls consist of decisions on the same things; those are compared one by one as well.

    Args:
        people: People's decisions.
        judged: The judge's on the same answers, in the same order.
    """
    pairs = list(zip(people, judged, strict=True))
    references = [
        (index in row.references_found, verdict.value)
        for row, ours in pairs
        if row.references_found is not None
        for index, verdict in enumerate(ours.references)
    ]
    conflicts = [
        (pair in row.conflicts_found, verdict.value)
        for row, ours in pairs
        for pair, verdict in zip(row.question.conflicts, ours.reference_conflicts, strict=True)
    ]
    return JudgeAgreement(
        answers=len(pairs),
        with_failures=sum(bool(ours.errors) for ours in judged),
        measures={measure: _correlation(measure, pairs) for measure in _CHECKED},
        references=_decisions(references),
        reference_conflicts=_decisions(conflicts),
    )


def correlation(
    people: Sequence[float], judge: Sequence[float]
) -> tuple[Coefficient | None, Coefficient | None, Coefficient | None]:
    """Pearson's r, Spearman's rho and Kendall's tau-b, or None for each where there is none.

    Args:
        people: One value an answer.
        judge: As many, of the same answers.
    """
    if len(people) < _FEWEST or len(set(people)) == 1 or len(set(judge)) == 1:
        return None, None, None
    require_statistics()
    from scipy.stats import kendalltau, pearsonr, spearmanr

    pearson, spearman, kendall = (
        Coefficient(
            value=min(1.0, max(-1.0, float(result.statistic))), p_value=float(result.pvalue)
        )
        for result in (test(people, judge) for test in (pearsonr, spearmanr, kendalltau))
    )
    return pearson, spearman, kendall


def _correlation(
    measure: Measure, pairs: Sequence[tuple[JudgedByPeople, Judgement]]
) -> Correlation:
    people, judge = list[float](), list[float]()
    undefined = unjudged = uncounted = 0
    for row, ours in pairs:
        theirs, mine = values(row.counts)[measure], values(ours.counts)[measure]
        if theirs.value is not None and mine.value is not None:
            people.append(theirs.value)
            judge.append(mine.value)
        elif theirs.unjudged:
            uncounted += 1
        elif mine.unjudged:
            unjudged += 1
        else:
            undefined += 1
    pearson, spearman, kendall = correlation(people, judge)
    return Correlation(
        n=len(people),
        undefined=undefined,
        unjudged=unjudged,
        uncounted=uncounted,
        people_mean=_mean(people),
        judge_mean=_mean(judge),
        pearson=pearson,
        spearman=spearman,
        kendall=kendall,
    )


def _decisions(decisions: Sequence[tuple[bool, bool | float | None]]) -> DecisionAgreement:
    made = [(theirs, bool(ours)) for theirs, ours in decisions if ours is not None]
    labels, verdicts = [theirs for theirs, _ in made], [ours for _, ours in made]
    return DecisionAgreement(
        agreement=accuracy(labels, verdicts), cohen_kappa=cohen_kappa(labels, verdicts)
    )


def _mean(numbers: Sequence[float]) -> float | None:
    return sum(numbers) / len(numbers) if numbers else None


def _named(measure: str) -> str:
    return measure.replace("_", " ")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _shown(coefficient: Coefficient | None) -> str:
    if coefficient is None:
        return "-"
    return f"{coefficient.value:.3f} (p {coefficient.p_value:.2g})"
