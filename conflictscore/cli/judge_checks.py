"""The judge check of each benchmark: from files to agreement with people, and how it is shown."""

import asyncio
from collections.abc import Callable, Coroutine, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, TypeVar

from rich.console import Console

from conflictscore.benchmarks.at_once import judge_all
from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.benchmarks.natconfqa.correlation import agreement as natconfqa_agreement
from conflictscore.benchmarks.natconfqa.data import read_natconfqa
from conflictscore.benchmarks.natconfqa.judge_log import JudgementLog
from conflictscore.benchmarks.natconfqa.judging import judge_natconfqa
from conflictscore.benchmarks.natconfqa.people import drawn, read_people
from conflictscore.benchmarks.truthfulqa import judge_check as truthfulqa
from conflictscore.benchmarks.truthfulqa.data import read_truthfulqa
from conflictscore.benchmarks.truthfulqa.judge_log import JudgeLog
from conflictscore.benchmarks.truthfulqa.labelled_answers import (
    LabelledAnswer,
    balanced_sample,
    read_labelled,
)
from conflictscore.benchmarks.wikicontradict.agreement import check_figures
from conflictscore.benchmarks.wikicontradict.data import read_questions
from conflictscore.benchmarks.wikicontradict.judge import Judgement, judge_answer
from conflictscore.benchmarks.wikicontradict.judge_log import RatingLog, judge_of
from conflictscore.benchmarks.wikicontradict.nli_rating import NliRating
from conflictscore.benchmarks.wikicontradict.rated_answers import RatedAnswer, draw, read_rated
from conflictscore.errors import InputError
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Usage
from conflictscore.reporting.judge_check import JudgeBar, print_judge_check
from conflictscore.reporting.judge_check_natconfqa import print_natconfqa_check
from conflictscore.reporting.judge_check_wikicontradict import print_wikicontradict_check

__all__ = ["CHECKS", "Checked", "Request"]

_R = TypeVar("_R")
_V = TypeVar("_V")
_Keep = Callable[[_R, _V, Usage], None]


@dataclass(frozen=True)
class Request:
    """What a check is made with."""

    answers: str
    references: str | None
    sample: int | None
    seed: int
    prompts: PromptSet
    out: str | None
    nli_judge: bool
    """Whether the NLI model rates, and no language model is opened."""
    open_judge: Callable[[], LanguageModel]
    """Opens it; called once the files were read."""

    def questions(self) -> str:
        """The file of the questions.

        Raises:
            InputError: It was not given.
        """
        if self.references is None:
            raise InputError("--references FILE is needed, with the questions of the benchmark")
        return self.references


class Checked(NamedTuple):
    """What came of a check."""

    shown: dict[str, Any]
    """All of it, as plain JSON."""
    print: Callable[[], None]
    """Shows it as text."""
    failure: str | None
    """Why no answer could be judged at all; None where one was."""


def _judged(
    rows: Sequence[_R],
    get: Callable[[_R], _V | None],
    add: _Keep[_R, _V],
    ask: Callable[[Sequence[_R], _Keep[_R, _V]], Coroutine[Any, Any, Sequence[_V]]],
    failed: Callable[[_V], bool],
) -> tuple[list[_V], Usage]:
    """What the judge says of each answer, from its log or by asking it, and what that cost."""
    known = [get(row) for row in rows]
    missing = [row for row, had in zip(rows, known, strict=True) if had is None]
    spent = Usage()
    console = Console(stderr=True, highlight=False)
    with JudgeBar(console, done=len(rows) - len(missing), total=len(rows)) as bar:

        def keep(row: _R, said: _V, usage: Usage) -> None:
            nonlocal spent
            add(row, said, usage)
            spent += usage
            bar.advance(unjudged=failed(said))

        asked = iter(asyncio.run(ask(missing, keep)))
    return [next(asked) if had is None else had for had in known], spent


def _about(model: LanguageModel, request: Request) -> dict[str, Any]:
    return {
        "judge": model.name,
        "endpoint": model.endpoint,
        "prompts": request.prompts.name,
        "sample_seed": None if request.sample is None else request.seed,
    }


def _truthfulqa(request: Request) -> Checked:
    references = request.questions()
    read = read_labelled(request.answers, read_truthfulqa(references, form="free-form", seed=0))
    chosen = read.answers
    if request.sample is not None:
        chosen = balanced_sample(read.answers, request.sample, request.seed)
    if not chosen:
        raise InputError(f"{request.answers}: no answer in it can be judged with {references}")
    model, meter = request.open_judge(), UsageMeter()

    def ask(
        rows: Sequence[LabelledAnswer], keep: _Keep[LabelledAnswer, Verdict]
    ) -> Coroutine[Any, Any, Sequence[Verdict]]:
        return truthfulqa.check_judge(
            rows,
            measure=read.measure,
            model=model,
            prompts=request.prompts,
            meter=meter,
            on_verdict=lambda row, verdict: keep(row, verdict, Usage()),
        )

    log = None
    if request.out is not None:
        log = JudgeLog(request.out, measure=read.measure, model=model, prompts=request.prompts)
    with log or nullcontext():
        verdicts, _ = _judged(
            chosen,
            lambda row: log.get(row) if log else None,
            lambda row, verdict, _: log.add(row, verdict) if log else None,
            ask,
            lambda verdict: verdict.value is None,
        )
    figures = truthfulqa.agreement([answer.label for answer in chosen], verdicts)
    about = {
        "measure": read.measure,
        **_about(model, request),
        "rows": read.rows,
        "answers": len(read.answers),
        "left_out": read.left_out,
        "without_references": list(read.without_references),
    }
    return Checked(
        {**about, **figures.to_json(), "usage": meter.usage.to_json()},
        partial(print_judge_check, about, figures, meter.usage),
        verdicts[0].error if figures.unjudged == figures.n else None,
    )


def _natconfqa(request: Request) -> Checked:
    rows = read_people(request.answers, read_natconfqa(request.questions()).questions)
    if request.sample is not None:
        rows = drawn(rows, request.sample, request.seed)
    model = request.open_judge()
    with _opened(model, request) as log:
        judged, usage = _judged(
            rows,
            lambda row: log.get(row) if log else None,
            lambda row, said, usage: log.add(row, said, usage) if log else None,
            lambda missing, keep: judge_all(
                missing,
                lambda row, meter: judge_natconfqa(
                    row.question, row.answer, model=model, prompts=request.prompts, meter=meter
                ),
                keep,
            ),
            lambda judgement: bool(judgement.errors),
        )
    figures = natconfqa_agreement(rows, judged)
    pairs = list(zip(rows, judged, strict=True))
    about = {
        **_about(model, request),
        "uncounted": {row.id: dict(row.problems) for row in rows if row.problems},
        "failures": {row.id: list(ours.errors) for row, ours in pairs if ours.errors},
    }
    return Checked(
        {**about, **figures.to_json(), "usage": usage.to_json()},
        partial(print_natconfqa_check, about, figures, usage),
        judged[0].errors[0] if figures.with_failures == figures.answers else None,
    )


def _wikicontradict(request: Request) -> Checked:
    questions = () if request.references is None else read_questions(request.references)
    answers = read_rated(request.answers, questions)
    if request.sample is not None:
        answers = draw(answers, request.sample, request.seed)
    rate, judge, about = _rater(request)
    with nullcontext() if request.out is None else RatingLog(request.out, judge=judge) as log:
        judged, usage = _judged(
            answers,
            lambda row: log.get(row) if log else None,
            lambda row, said, usage: log.add(row, said, usage) if log else None,
            lambda missing, keep: judge_all(missing, rate, keep),
            lambda judgement: judgement.rating is None,
        )
    figures = check_figures(answers, judged)
    return Checked(
        {**about, **figures.to_json(), "usage": usage.to_json()},
        partial(print_wikicontradict_check, about, figures, usage),
        judged[0].error if figures.overall.unjudged == figures.overall.n else None,
    )


_Rate = Callable[[RatedAnswer, UsageMeter], Coroutine[Any, Any, Judgement]]


def _rater(request: Request) -> tuple[_Rate, Mapping[str, Any], dict[str, Any]]:
    """What rates an answer, what tells it from other judges, and what is shown of it."""
    if request.nli_judge:
        rating = NliRating(NliLabeler.open())
        shown = {"judge": rating.labeler.name, "endpoint": "this machine"}
        seed = None if request.sample is None else request.seed
        return (
            lambda row, meter: rating.rate(row.question, row.right, row.answer, meter),
            rating.about,
            {**shown, "prompts": None, "sample_seed": seed},
        )
    model, prompts = request.open_judge(), request.prompts
    return (
        lambda row, meter: judge_answer(
            row.question, row.right, row.answer, model=model, prompts=prompts, meter=meter
        ),
        judge_of(model, prompts),
        _about(model, request),
    )


def _opened(model: LanguageModel, request: Request) -> "JudgementLog | nullcontext[None]":
    """The log of this judge, or none, to be used in a ``with``."""
    if request.out is None:
        return nullcontext()
    return JudgementLog(request.out, model=model, prompts=request.prompts)


CHECKS: Mapping[str, Callable[[Request], Checked]] = {
    "truthfulqa": _truthfulqa,
    "natconfqa": _natconfqa,
    "wikicontradict": _wikicontradict,
}
"""The check of each benchmark; it raises InputError for files that cannot be used, and
ConfigurationError where the judge cannot be had."""
