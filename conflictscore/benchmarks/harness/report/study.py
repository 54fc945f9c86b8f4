"""Combines several runs of a benchmark into a study, which compares methods over all runs.

The question is the statistical unit. A question's values are averaged over the runs before any
test, so ten runs with different seeds do not count as ten times as many questions.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations
from math import fsum, sqrt
from statistics import fmean, stdev

from conflictscore.benchmarks.harness.figures import Interval, Paired
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.report.flips import second_looks
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study_pooling import (
    CategoryGain,
    PooledLevel,
    PooledScores,
    PooledTransitions,
    category_gains,
    pooled_levels,
    pooled_scores,
    pooled_transitions,
)
from conflictscore.benchmarks.harness.statistics import (
    ALPHA,
    changes,
    holm,
    krippendorff_alpha,
    mean_interval,
    mean_sign_flip,
    questions_needed_graded,
    wilcoxon_pratt,
)
from conflictscore.benchmarks.harness.transition_counts import (
    Measure,
    judged_both,
    paired_figures,
)
from conflictscore.records import Record

_PairKey = tuple[str, str, str]
"""The key of a pair: the method, the method that it is compared with, and the measure."""


class PooledPair(Record):
    """The comparison of two methods over all runs of a study."""

    method: str
    against: str
    measure: str
    runs: dict[str, Paired]
    """The comparison in each run that judged both methods, by name of the run."""
    difference: Interval
    """The difference, averaged over runs and then over questions. The bootstrap interval is
    computed by resampling questions.
    """
    p_value: float | None
    """The p-value of a two-sided test, with the question as the unit.

    The test is the sign-flip test, which is equal to the exact McNemar test if there is only one
    run. For a graded measure, the test is Wilcoxon's test of the means.
    """
    p_holm: float | None = None
    """The p-value after Holm's adjustment over all pairs of the study."""
    between: float | None
    """The standard deviation of the individual runs' differences.

    Only questions that were judged in all runs are included. The deviation is None if there is only
    one run.
    """
    by_chance: float | None
    """The value that ``between`` would have if runs differed only by chance on single questions.

    This value is computed from the mean square of the residuals of questions by runs.
    """
    needed: int | None = None
    """The number of questions with which a study has an 80 % chance of showing the difference.

    The number is computed for a paired t-test of the questions' means, and for as many runs as in
    the present study. The number is None if the difference is already significant, or if no
    more questions are needed.
    """


class FlipAgreement(Record):
    """How far runs agree on which answers change when a method reconsiders them."""

    method: str
    questions: int
    """The number of questions with a first answer and an answer of the method in all runs."""
    ever: int
    """The number of compared questions whose answer changed in at least one run."""
    always: int
    """The number of compared questions whose answer changed in all runs."""
    alpha: float | None
    """Krippendorff's alpha for "changed or not"; None if nothing or everything changed."""


class JudgeNoise(Record):
    """How often two judgements disagree on the same text, and how often on the same change.

    Runs with different judges or seeds judge independently. Among runs with the same judge, a
    verdict from a cache is not an independent judgement.
    """

    measure: str
    answers: Interval
    """The share of differing judgements, averaged over equally worded answers that at least two
    runs judged."""
    flips: Interval
    """The share of differing judgements of the same change (from one text to another), averaged
    over the changes. For example, a change may be judged a correction in one run but not in
    another.
    """


class Study(Record):
    """A study: runs of the same benchmark in the same form."""

    benchmark: str
    form: str
    runs: tuple[str, ...]
    temperatures: tuple[float | None, ...] = ()
    """The temperature at which each run answered; None if the run did not set it."""
    questions: int
    """The number of distinct questions."""
    in_all: int
    """The number of questions that occur in all runs."""
    levels: tuple[PooledLevel, ...] = ()
    """Every method's pooled level on every measure."""
    pairs: tuple[PooledPair, ...]
    transitions: tuple[PooledTransitions, ...] = ()
    categories: tuple[CategoryGain, ...] = ()
    scores: tuple[PooledScores, ...] = ()
    flips: tuple[FlipAgreement, ...]
    noise: tuple[JudgeNoise, ...]


def study_groups(runs: Sequence[ReportRun]) -> list[list[ReportRun]]:
    """Group runs into studies: runs of the same benchmark and form that share questions.

    Logged runs belong to no study, and neither do runs that have no question in common with the
    other runs of their group.
    """
    return [
        sharing
        for group in _groups(runs)
        if len(sharing := [run for run in group if _shares_a_question(run, group)]) > 1
    ]


def questions_apart(runs: Sequence[ReportRun]) -> list[str]:
    """Name each run that is in no study because no other run has any of its questions."""
    return [
        f"{run.name}: none of its questions is in another run of {run.benchmark}, so it is not"
        " compared"
        for group in _groups(runs)
        if len(group) > 1
        for run in group
        if not _shares_a_question(run, group)
    ]


def _groups(runs: Sequence[ReportRun]) -> list[list[ReportRun]]:
    groups = defaultdict[tuple[str, ...], list[ReportRun]](list)
    for run in runs:
        if run.figures.measures:
            groups[run.benchmark, run.form, *run.figures.measures].append(run)
    return list(groups.values())


def _shares_a_question(run: ReportRun, group: Sequence[ReportRun]) -> bool:
    ids = {question_result.question.id for question_result in run.results}
    return any(
        question_result.question.id in ids
        for fellow in group
        if fellow is not run
        for question_result in fellow.results
    )


def study_of(runs: Sequence[ReportRun]) -> Study:
    """Combine these runs, which must have the same benchmark and form, into a study."""
    ids = [{question_result.question.id for question_result in run.results} for run in runs]
    keys = dict.fromkeys(
        (pair.method, pair.against, pair.measure) for run in runs for pair in run.figures.tests
    )
    pairs = [_pooled(runs, key) for key in keys]
    return Study(
        benchmark=runs[0].benchmark,
        form=runs[0].form,
        runs=tuple(run.name for run in runs),
        temperatures=tuple(_temperature(run) for run in runs),
        questions=len(set.union(*ids)),
        in_all=len(set.intersection(*ids)),
        levels=tuple(pooled_levels(runs)),
        pairs=tuple(_with_holm(pairs)),
        transitions=tuple(pooled_transitions(runs)),
        categories=category_gains(runs),
        scores=tuple(pooled_scores(runs)),
        flips=tuple(_agreements(runs)),
        noise=tuple(_noise(runs, measure) for measure in runs[0].figures.measures),
    )


def _temperature(run: ReportRun) -> float | None:
    return (run.manifest.get("configuration") or {}).get("temperature")


def _with_holm(pairs: Sequence[PooledPair]) -> Iterator[PooledPair]:
    """Yield the pairs with Holm's adjustment; a significant pair needs no more questions."""
    p_values = [pair.p_value for pair in pairs if pair.p_value is not None]
    holm_values = iter(holm(p_values))
    for pair in pairs:
        if pair.p_value is None:
            yield pair
            continue
        p_holm = next(holm_values) if len(p_values) > 1 else None
        is_significant = (pair.p_value if p_holm is None else p_holm) < ALPHA
        yield pair.model_copy(
            update={"p_holm": p_holm, **({"needed": None} if is_significant else {})}
        )


def _pooled(runs: Sequence[ReportRun], key: _PairKey) -> PooledPair:
    """Compare two methods on one measure, over all runs of a study.

    The unit is the question. A question's differences are averaged over the runs first, so several
    runs of a question do not count as several questions.
    """
    method, against, measure = key
    by_run: list[dict[str, float]] = []
    for run in runs:
        pairs_by_question = judged_both(run.results, method, measure, against)
        by_run.append(
            dict(zip(pairs_by_question, changes(pairs_by_question.values()), strict=True))
        )
    by_question = defaultdict[str, list[float]](list)
    for differences in by_run:
        for question, difference_of_question in differences.items():
            by_question[question].append(difference_of_question)
    # averaging may bring back the rounding errors that ``changes`` removed
    means = [round(fmean(differences), 12) for differences in by_question.values()]
    if runs[0].figures.is_graded(measure):
        p = wilcoxon_pratt(means)
    else:
        p = mean_sign_flip(list(by_question.values()))
    difference = mean_interval(means)
    between, by_chance = _between(by_run)
    spread = stdev(means) if len(means) > 1 else 0.0  # 0 means that no number can be computed
    questions_to_show = questions_needed_graded(spread, difference.value or 0.0)
    return PooledPair(
        method=method,
        against=against,
        measure=measure,
        runs={
            run.name: _comparison(run, key)
            for run, differences in zip(runs, by_run, strict=True)
            if differences
        },
        difference=difference,
        p_value=p,
        between=between,
        by_chance=by_chance,
        needed=questions_to_show if questions_to_show and questions_to_show > len(means) else None,
    )


def _comparison(run: ReportRun, key: _PairKey) -> Paired:
    """Return the comparison from a run's figures; compute it if the figures do not have it."""
    method, against, measure = key
    for pair in run.figures.tests:
        if (pair.method, pair.against, pair.measure) == key:
            return pair
    falls, is_graded = run.figures.falls(measure), run.figures.is_graded(measure)
    return paired_figures(run.results, method, Measure(measure, is_graded, falls), against)


def _between(runs: Sequence[Mapping[str, float]]) -> tuple[float | None, float | None]:
    """Compute the deviation between runs, and the deviation that residuals alone would cause.

    The residuals are what remains of each question's difference in each run after subtracting the
    run's mean and the question's mean (two-way layout). Both results are None if there are fewer
    than two runs or two common questions.
    """
    runs = [run for run in runs if run]
    questions = set.intersection(*map(set, runs)) if len(runs) > 1 else set()
    if len(questions) < 2:
        return None, None
    table = [[run[question] for question in sorted(questions)] for run in runs]
    of_runs = [fmean(row) for row in table]
    of_questions = [fmean(column) for column in zip(*table, strict=True)]
    mean = fmean(of_runs)
    residuals = fsum(
        (cell - of_run - of_question + mean) ** 2
        for row, of_run in zip(table, of_runs, strict=True)
        for cell, of_question in zip(row, of_questions, strict=True)
    ) / ((len(runs) - 1) * (len(questions) - 1))
    return stdev(of_runs), sqrt(residuals / len(questions))


def _agreements(runs: Sequence[ReportRun]) -> Iterator[FlipAgreement]:
    """For each method that occurs in at least two runs, yield the agreement between those runs."""
    for method in second_looks():
        flips_by_question = defaultdict[str, list[bool]](list)
        # an answer can only have changed if the run has first answers too
        having = [
            run for run in runs if {BASELINE, method} <= {m.method for m in run.figures.methods}
        ]
        for question_result in (
            question_result for run in having for question_result in run.results
        ):
            if (is_flip := question_result.flipped(method)) is not None:
                flips_by_question[question_result.question.id].append(is_flip)
        whole = [flips for flips in flips_by_question.values() if len(flips) == len(having)]
        if len(having) > 1:
            yield FlipAgreement(
                method=method,
                questions=len(whole),
                ever=sum(map(any, whole)),
                always=sum(map(all, whole)),
                alpha=krippendorff_alpha(whole),
            )


def _noise(runs: Sequence[ReportRun], measure: str) -> JudgeNoise:
    """Compare the verdicts of different runs on the same texts and on the same changes."""
    answers = defaultdict[tuple[str, ...], list[float]](list)
    flips = defaultdict[tuple[str, ...], list[float]](list)
    counted_judgements: set[tuple[str, ...]] = set()
    for run in runs:
        of = run.manifest.get("configuration") or {}
        # a repetition of a run samples its verdicts again, so its judge counts as a different one
        judge = f"{of.get('answer_judge')} {of.get('replicate')}"
        for question_result in run.results:
            verdict_by_text = {}
            for text, verdict, is_copy in _verdicts(question_result, measure):
                place = question_result.question.id, text
                if is_copy and (judge, *place) in counted_judgements:
                    continue  # the cache returned a judgement that is already counted
                counted_judgements.add((judge, *place))
                verdict_by_text[text] = verdict
                answers[place].append(verdict)
            for before, after in _flips(question_result):
                if before in verdict_by_text and after in verdict_by_text:
                    # without rounding errors, so that equal differences compare as equal
                    difference = round(verdict_by_text[after] - verdict_by_text[before], 12)
                    flips[question_result.question.id, before, after].append(difference)
    return JudgeNoise(measure=measure, answers=_disagreement(answers), flips=_disagreement(flips))


def _verdicts(question_result: QuestionResult, measure: str) -> set[tuple[str, float, bool]]:
    """Return each text that was judged, its verdict, and whether the verdict came from a cache.

    Chosen options are left out, since an option needs no judge. Answers that are judged by a
    separate criterion are left out too. Methods with the same text share a verdict; it is counted
    once.
    """
    return {
        (_text(method_result), float(verdict), method_result.judged_by_copy)
        for name, method_result in question_result.methods.items()
        if method_result.answer is not None and method_result.answer.option is None
        if not method_of(name).own_judge and (verdict := method_result.value(measure)) is not None
    }


def _flips(question_result: QuestionResult) -> set[tuple[str, str]]:
    """Return the texts before and after each change."""
    return {
        (_text(question_result.methods[BASELINE]), _text(question_result.methods[method]))
        for method in second_looks()
        if question_result.flipped(method)
    }


def _text(method_result: MethodResult) -> str:
    return method_result.answer.text if method_result.answer else ""


def _disagreement(judgements: Mapping[tuple[str, ...], Sequence[float]]) -> Interval:
    """Compute the average chance that two judgements of the same text or change differ."""
    pairs = [
        list(combinations(verdicts, 2)) for verdicts in judgements.values() if len(verdicts) > 1
    ]
    return mean_interval([fmean(first != second for first, second in of_one) for of_one in pairs])
