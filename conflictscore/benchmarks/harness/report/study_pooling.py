"""Pools levels, transitions, categories and scores over the runs of a study.

The question is the statistical unit. A question's values are averaged over the runs first, and
intervals are computed by resampling questions. Sections and tables are those of the paper on
ConflictScore.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS
from conflictscore.benchmarks.harness.records import QuestionResult, scored_methods
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.statistics import (
    changes,
    holm,
    mean_interval,
    mean_sign_flip,
    ratio_interval,
    wilcoxon_pratt,
)
from conflictscore.benchmarks.harness.transition_counts import (
    ConflictOutcome,
    conflict_outcomes,
    judged_both,
)
from conflictscore.records import Record


class PooledLevel(Record):
    """A method's share of correct answers, or its mean grade, over all runs (Tables 4 and 5)."""

    method: str
    measure: str
    level: Interval
    """The level, in [0, 1], averaged over runs and then over questions. The interval is computed by
    resampling questions.
    """
    runs: dict[str, float | None]
    """The method's level in each run, by name of the run."""
    between: float | None
    """The standard deviation of the individual runs' levels; None if there is only one run."""


class PooledTransitions(Record):
    """The figures of the paper's section 6.4, over all runs of a study.

    A question has one answer in every run.

    Each share is a ratio of sums over the runs. The interval of a share is computed by resampling
    questions.
    """

    method: str
    measure: str
    questions: int
    """The number of questions whose first answer has a conflict in at least one run."""
    answers: int
    """The number of first answers with a conflict, summed over the runs.

    Only questions that the method answered are counted.
    """
    retained: Interval
    """The share of unchanged answers, among ``answers``."""
    revised: Interval
    """The share of changed answers, among ``answers``."""
    corrected: Interval
    """The share of changes from wrong to right, among revised answers judged before and after."""
    harmed: Interval
    """The share of changes from right to wrong, among revised answers judged before and after."""
    harmed_of_conflict: Interval
    """The share of harmed answers, among the answers with a conflict judged before and after."""


class CategoryGain(Record):
    """The comparison of a method with the baseline in one category, by the first measure."""

    category: str
    method: str
    difference: Interval
    """The gain over the baseline, pooled in the same way as the difference of a pair."""
    corrected: int
    """The number of corrections, summed over all runs."""
    harmed: int
    """The number of harms, summed over all runs."""
    p_value: float | None
    """The p-value of the test that is used for pairs of the study."""
    p_holm: float | None = None
    """The p-value after Holm's adjustment over all categories and methods of the study."""


class PooledScores(Record):
    """The mean CS-C and CS-R of a method's scored answers; lower is better."""

    method: str
    cs_c: Interval
    cs_r: Interval


def pooled_levels(runs: Sequence[ReportRun]) -> Iterator[PooledLevel]:
    """Compute every method's level on every measure.

    Each question contributes its mean over the runs that judged it, whatever their number.
    """
    for method in _methods(runs):
        for measure in runs[0].figures.measures:
            by_question = defaultdict[str, list[float]](list)
            levels: dict[str, float | None] = {}
            for run in runs:
                verdicts = {
                    question_result.question.id: float(verdict)
                    for question_result in run.results
                    if method in question_result.methods
                    if (verdict := question_result.methods[method].value(measure)) is not None
                }
                levels[run.name] = fmean(verdicts.values()) if verdicts else None
                for question, verdict in verdicts.items():
                    by_question[question].append(verdict)
            single = [level for level in levels.values() if level is not None]
            yield PooledLevel(
                method=method,
                measure=measure,
                level=mean_interval([fmean(verdicts) for verdicts in by_question.values()]),
                runs=levels,
                between=stdev(single) if len(single) > 1 else None,
            )


@dataclass
class _Tally:
    """Counts, over all runs, what became of a question's first answers with a conflict."""

    answers: int = 0
    revised: int = 0
    judged: int = 0
    """The number of answers judged before and after; the counts below are parts of this number."""
    judged_revised: int = 0
    corrected: int = 0
    harmed: int = 0

    def add(self, outcome: ConflictOutcome, sign: int) -> None:
        """Count the outcome of one run; ``sign`` is -1 if lower is better."""
        self.answers += outcome.answered
        self.revised += outcome.revised
        if outcome.before is None or outcome.after is None:
            return
        # rounded as in ``statistics.changes``, since a rounding error would look like a change
        move = sign * round(outcome.after - outcome.before, 12)
        # as in ``transition_counts``, a grade that moves without a revision is neither a correction
        # nor a harm, but its answer counts among the judged ones
        self.judged += 1
        self.judged_revised += outcome.revised
        self.corrected += outcome.revised and move > 0
        self.harmed += outcome.revised and move < 0


def pooled_transitions(runs: Sequence[ReportRun]) -> Iterator[PooledTransitions]:
    """Compute the figures of the paper's section 6.4 for every method paired with the baseline."""
    measure, sign = runs[0].first_measure, -1 if runs[0].falls else 1
    for method in _paired_methods(runs):
        by_question = defaultdict[str, _Tally](_Tally)
        for run in runs:
            for outcome in conflict_outcomes(run.results, method, measure):
                by_question[outcome.question].add(outcome, sign)
        tallies = list(by_question.values())
        if any(tally.answers for tally in tallies):
            yield _pooled_transitions(method, measure, tallies)


def _pooled_transitions(method: str, measure: str, tallies: Sequence[_Tally]) -> PooledTransitions:
    return PooledTransitions(
        method=method,
        measure=measure,
        questions=len(tallies),
        answers=sum(tally.answers for tally in tallies),
        retained=ratio_interval([(t.answers - t.revised, t.answers) for t in tallies]),
        revised=ratio_interval([(t.revised, t.answers) for t in tallies]),
        corrected=ratio_interval([(t.corrected, t.judged_revised) for t in tallies]),
        harmed=ratio_interval([(t.harmed, t.judged_revised) for t in tallies]),
        harmed_of_conflict=ratio_interval([(t.harmed, t.judged) for t in tallies]),
    )


def category_gains(runs: Sequence[ReportRun]) -> tuple[CategoryGain, ...]:
    """Compute each method's gain in each category; empty if there are fewer than two categories."""
    categories = {r.question.id: r.question.category for run in runs for r in run.results}
    if len(set(categories.values())) < 2:
        return ()
    gains = [
        _gain(runs, method, category, categories)
        for category in sorted(set(categories.values()))
        for method in _paired_methods(runs)
    ]
    p_values = [gain.p_value for gain in gains if gain.p_value is not None]
    holm_values = iter(holm(p_values))
    return tuple(
        gain if gain.p_value is None else gain.model_copy(update={"p_holm": next(holm_values)})
        for gain in gains
    )


def _gain(
    runs: Sequence[ReportRun], method: str, category: str, categories: dict[str, str]
) -> CategoryGain:
    """Compute the gain of one method in one category, with the question as the unit.

    ``corrected`` and ``harmed`` count each run separately. If lower is better, the signs of
    differences are reversed for these counts.
    """
    measure, sign = runs[0].first_measure, -1 if runs[0].falls else 1
    by_question = defaultdict[str, list[float]](list)
    for run in runs:
        pairs = judged_both(run.results, method, measure)
        for question, difference in zip(pairs, changes(pairs.values()), strict=True):
            if categories[question] == category:
                by_question[question].append(difference)
    moves = [
        sign * difference for differences in by_question.values() for difference in differences
    ]
    # averaging may bring back the rounding errors that ``changes`` removed
    means = [round(fmean(differences), 12) for differences in by_question.values()]
    is_graded = runs[0].figures.is_graded(measure)
    return CategoryGain(
        category=category,
        method=method,
        difference=mean_interval(means),
        corrected=sum(move > 0 for move in moves),
        harmed=sum(move < 0 for move in moves),
        p_value=(
            wilcoxon_pratt(means) if is_graded else mean_sign_flip(list(by_question.values()))
        ),
    )


def pooled_scores(runs: Sequence[ReportRun]) -> Iterator[PooledScores]:
    """Compute the mean CS-C and CS-R of every method whose answers were all scored."""
    for method in scored_methods(list(_results(runs)), _methods(runs)):
        cs_c, cs_r = defaultdict[str, list[float]](list), defaultdict[str, list[float]](list)
        for question_result in _results(runs):
            report = (
                question_result.methods[method].report
                if method in question_result.methods
                else None
            )
            if report is not None and report.cs_c is not None and report.cs_r is not None:
                cs_c[question_result.question.id].append(report.cs_c)
                cs_r[question_result.question.id].append(report.cs_r)
        if cs_c:
            yield PooledScores(
                method=method,
                cs_c=mean_interval([fmean(scores) for scores in cs_c.values()]),
                cs_r=mean_interval([fmean(scores) for scores in cs_r.values()]),
            )


def _results(runs: Iterable[ReportRun]) -> Iterator[QuestionResult]:
    for run in runs:
        yield from run.results


def _methods(runs: Sequence[ReportRun]) -> list[str]:
    """Return the methods of all runs without repetitions, in the order of tables."""
    names = {each.method for run in runs for each in run.figures.methods}
    return [name for name in METHODS if name in names]


def _paired_methods(runs: Sequence[ReportRun]) -> list[str]:
    """Return the methods, other than the baseline, that are judged by the baseline's criterion."""
    methods = _methods(runs)
    if BASELINE not in methods:
        return []
    return [name for name in methods if name != BASELINE and not method_of(name).own_judge]
