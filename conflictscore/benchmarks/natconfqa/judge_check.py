"""How well the judge follows people, by ``human_judgments.jsonl`` (appendix G, Table 7)."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Annotated, NamedTuple

from pydantic import Field

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.json_lines import PublishedRow, Text, read_items
from conflictscore.benchmarks.judging import Judge, at_once
from conflictscore.benchmarks.natconfqa.data import AnswerPair, NatConfQuestion
from conflictscore.benchmarks.natconfqa.judges import Judgement, judge_natconfqa
from conflictscore.benchmarks.natconfqa.metrics import verdicts_of, with_f1
from conflictscore.errors import InputError
from conflictscore.records import Record
from conflictscore.reporting.figure_text import percent
from conflictscore.reporting.plain_table import Card

_PUBLISHED = {
    "answers recall": 0.6645,
    "answers precision": 0.6221,
    "conflicts recall": 0.6744,
    "conflicts precision": 0.6371,
}
_FEWEST = 4
"""Of three points without any correlation, Pearson's |r| is above .9 in 29 % of draws."""

_Natural = Annotated[int, Field(ge=0)]


class Correlation(Record):
    """A measure by the judge beside the same by people, answer by answer."""

    n: _Natural
    """Answers with a value on both sides; the other figures are of these."""
    left_out: _Natural
    """Answers on which the measure is undefined, or a decision is missing on one side."""
    people_mean: float | None
    judge_mean: float | None
    pearson: float | None
    """In [-1, 1]; None with fewer than 4 answers, or where one side gives all the same value."""
    p_value: float | None


class JudgeAgreement(Record):
    """A judge beside people."""

    answers: _Natural
    failures: dict[str, tuple[str, ...]]
    """Why the judge could not decide everything, by answer."""
    measures: dict[str, Correlation]


class JudgedByPeople(NamedTuple):
    """One answer of a model, and what people decided about it."""

    question: NatConfQuestion
    model: str
    prompt: str
    """``Normal`` or ``ContradictAware``, as published."""
    answer: str
    verdicts: Mapping[str, Verdict]
    """By measure; an error where people's decisions cannot be counted."""

    @property
    def id(self) -> str:
        """Names the answer: question, model and prompt."""
        return f"{self.question.id}/{self.model}/{self.prompt}"


async def check_judge(
    people: Sequence[JudgedByPeople],
    judge: Judge,
    on_answer: Callable[[str | None, str], object],
) -> JudgeAgreement:
    """Have a model judge the answers that people judged, and compare.

    ``on_answer`` is told why a decision failed, if one did, and the name of the answer.
    """

    async def judged(row: JudgedByPeople) -> Judgement:
        ours = await judge_natconfqa(row.question, row.answer, judge)
        on_answer("; ".join(ours.errors) or None, row.id)
        return ours

    return agreement(people, await at_once([partial(judged, row) for row in people]))


def agreement(people: Sequence[JudgedByPeople], judged: Sequence[Judgement]) -> JudgeAgreement:
    """Correlate the measures of each answer.

    The paper correlates "labels". Here it is measures, since people and judge take an answer apart
    in their own ways, and only the recalls consist of decisions on the same things.
    """
    pairs = list(zip(people, judged, strict=True))
    ours = [verdicts_of(row.question, judgement) for row, judgement in pairs]
    theirs = [row.verdicts for row in people]
    return JudgeAgreement(
        answers=len(pairs),
        failures={row.id: judgement.errors for row, judgement in pairs if judgement.errors},
        measures={m: _correlation(_values(theirs, m), _values(ours, m)) for m in _PUBLISHED},
    )


def _values(answers: Sequence[Mapping[str, Verdict]], measure: str) -> list[float | None]:
    return [one[measure].value if measure in one else None for one in answers]


def agreement_card(figures: JudgeAgreement, judge: str) -> Card:
    """The figures as a table beside the paper's."""
    return Card(
        title=f"Judge of natconfqa beside people: {judge}",
        columns=("measure", "n", "left out", "people %", "judge %", "Pearson's r", "p", "paper r"),
        rows=tuple(
            (
                measure,
                str(row.n),
                str(row.left_out),
                percent(row.people_mean),
                percent(row.judge_mean),
                "-" if row.pearson is None else f"{row.pearson:.3f}",
                "-" if row.p_value is None else f"{row.p_value:.2g}",
                f"{_PUBLISHED[measure]:.3f}",
            )
            for measure, row in figures.measures.items()
        ),
        note=f"{figures.answers} answers; paper: Table 7, o4-mini on 120 answers\n"
        "left out: undefined for the answer, or not decided on one side",
        after=tuple(f"{answer}: {'; '.join(why)}" for answer, why in figures.failures.items()),
    )


def _correlation(people: Sequence[float | None], judge: Sequence[float | None]) -> Correlation:
    both = [(x, y) for x, y in zip(people, judge, strict=True) if x is not None and y is not None]
    theirs, ours = ([pair[side] for pair in both] for side in (0, 1))
    pearson, p_value = correlation(theirs, ours) or (None, None)
    return Correlation(
        n=len(both),
        left_out=len(people) - len(both),
        people_mean=fmean(theirs) if theirs else None,
        judge_mean=fmean(ours) if ours else None,
        pearson=pearson,
        p_value=p_value,
    )


def correlation(people: Sequence[float], judge: Sequence[float]) -> tuple[float, float] | None:
    """Pearson's r and its two-sided p; None where there is no correlation to compute."""
    if len(people) < _FEWEST or len(set(people)) == 1 or len(set(judge)) == 1:
        return None
    from scipy.stats import pearsonr

    found = pearsonr(people, judge)
    return min(1.0, max(-1.0, float(found.statistic))), float(found.pvalue)


_PAIR = r"\(\s*\d+\s*,\s*\d+\s*\)"
_JUDGED_PAIR = re.compile(r"\(\s*(\d+)\s*,\s*(\d+)\s*\)\s*:\s*([01])")
_Indices = Annotated[str, Field(pattern=r"^\s*\[\s*(\d+(\s*,\s*\d+)*\s*,?)?\s*\]\s*$")]
_Pairs = Annotated[str, Field(pattern=rf"^\s*{_PAIR}(\s*,\s*{_PAIR})*\s*$")]
_Judged = Annotated[
    str, Field(pattern=rf"^\s*\[\s*({_PAIR}\s*:\s*[01](\s*,\s*{_PAIR}\s*:\s*[01])*)?\s*\]\s*$")
]


class _Published(PublishedRow):
    question_id: Text
    model: Text
    prompt_template: Text
    answer: Text = Field(alias="model_answer.1")
    reference_answers: Text
    reference_pairs: _Pairs | None = Field(alias="conflicting_answer_pairs")
    short_answers: Text = Field(alias="Model Answers Decomposed")
    found: _Indices = Field(alias="Found Reference Answers in Model Answer (Recall Answer)")
    supported: _Indices = Field(
        alias="Found Model Sub-Answers in Reference Answers/Passages (Precision Answer)"
    )
    found_pairs: _Pairs | None = Field(
        alias="Conflicting Reference Answer Pairs Found (Recall Conflict)"
    )
    judged_pairs: _Judged = Field(
        alias="Found Conflicting Model's Sub-Answers (Conflict Precision)"
    )


def read_people(
    path: str | Path, questions: Sequence[NatConfQuestion]
) -> tuple[JudgedByPeople, ...]:
    """Read people's judgements, one a line, in the order of the file.

    A list that names an answer which is not there, as one of the published ones does, counts in no
    figure and is an error: what was meant cannot be known.
    """
    asked = {question.id: question for question in questions}
    return read_items(path, _Published, partial(_judged, asked=asked), id_field="question_id").items


def _judged(row: _Published, where: str, asked: Mapping[str, NatConfQuestion]) -> JudgedByPeople:
    if (question := asked.get(row.question_id)) is None:
        raise InputError(f"{where}, field question_id: there is no question {row.question_id!r}")
    # people judged by the references of that day; they must be those of the questions
    there = len(row.reference_answers.splitlines())
    if there != len(question.answers) or _pairs(row.reference_pairs) != set(question.conflicts):
        raise InputError(
            f"{where}, field reference_answers: they, or their conflicting pairs, are not those of"
            " the question"
        )
    conflicts = _pairs(row.found_pairs)
    if not conflicts <= set(question.conflicts):
        raise InputError(f"{where}, field Recall Conflict: a pair is no conflict of the question")
    short_answers = len(row.short_answers.splitlines())
    found, supported = _indices(row.found), _indices(row.supported)
    judged = {
        _ascending(int(one), int(other)): right == "1"
        for one, other, right in _JUDGED_PAIR.findall(row.judged_pairs)
    }
    named = [index for pair in judged for index in pair]
    shares = {
        "answers recall": _share(len(found), found, len(question.answers), "reference answers"),
        "answers precision": _share(len(supported), supported, short_answers, "short answers"),
        "conflicts recall": _share(len(conflicts), (), len(question.conflicts), "conflicts"),
        "conflicts precision": _share(
            sum(judged.values()), named, short_answers, "short answers", of=len(judged)
        ),
    }
    return JudgedByPeople(
        question=question,
        model=row.model,
        prompt=row.prompt_template,
        answer=row.answer,
        verdicts=with_f1(shares),
    )


def _share(
    hits: int, named: Iterable[int], there: int, what: str, *, of: int | None = None
) -> Verdict | None:
    if beyond := sorted({index for index in named if index >= there}):
        names = ", ".join(map(str, beyond))
        why = f"it names {names}, counted from 0, and there are {there} {what}"
        return Verdict(value=None, error=why)
    n = there if of is None else of
    return Verdict(value=hits / n) if n else None


def _indices(text: str) -> frozenset[int]:
    return frozenset(map(int, re.findall(r"\d+", text)))


def _pairs(text: str | None) -> frozenset[AnswerPair]:
    numbers = [int(number) for number in re.findall(r"\d+", text or "")]
    return frozenset(map(_ascending, numbers[::2], numbers[1::2]))


def _ascending(one: int, other: int) -> AnswerPair:
    return min(one, other), max(one, other)
