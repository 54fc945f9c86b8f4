"""Compares a benchmark's judge with annotators who rated the same answers.

Answers to the same question are dependent, so intervals resample questions. Answers that the judge
could not rate are counted, but are not part of any other figure.
"""

from collections import Counter
from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import combinations
from statistics import fmean
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.group_bootstrap import Numbers, group_interval, ratio
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.harness.statistics import mean_interval, proportion
from conflictscore.benchmarks.judging import Judge, at_once
from conflictscore.records import Record

_Count = Annotated[int, Field(ge=0)]


class RatedAnswer(NamedTuple):
    """An answer to a question, and the annotators' rating of it."""

    question: Question
    answer: str
    rating: str
    method: str = ""
    """The origin of the answer, such as a prompt template; empty if the file does not say."""


class JudgeRating(NamedTuple):
    """A judge's rating of an answer, or None and an error if the judge failed."""

    rating: str | None
    error: str | None = None


class RatedSet(NamedTuple):
    """Answers that annotators rated, and the judge that is compared with them."""

    name: str
    scale: tuple[str, ...]
    """The possible ratings, worst first.

    For shares of right answers, only the best rating counts as right.
    """
    answers: tuple[RatedAnswer, ...]
    rate: Callable[[RatedAnswer, Judge], Awaitable[JudgeRating]]
    left_out: Mapping[str, int] = {}
    """The number of rows of the file that were left out, by reason."""


class RatingBias(Record):
    """How often annotators and the judge give one particular rating."""

    rating: str
    people: Proportion
    judge: Proportion
    difference: Interval
    """The judge's share of this rating minus the annotators' share, in [-1, 1]."""
    recall: Proportion
    """Among the answers to which annotators gave this rating, the share to which the judge gave it
    too."""


class MethodDifference(Record):
    """The difference between two methods' shares of right answers, on their common questions."""

    method: str
    against: str
    people: Interval
    """The difference according to the annotators' ratings, in [-1, 1]."""
    judge: Interval
    """The difference according to the judge's ratings, in [-1, 1]."""


class RatingAgreement(Record):
    """A judge compared with annotators, on one set of answers."""

    name: str
    answers: _Count
    unrated: _Count
    """The number of answers that the judge did not rate."""
    left_out: dict[str, int]
    agreement: Proportion
    """The share of answers to which the judge and the annotators gave the same rating.

    Its Wilson interval treats answers as independent.
    """
    agreement_by_question: Interval
    """The same share, with an interval that resamples questions."""
    commonest: Proportion
    """The agreement of a judge that always gives the annotators' most frequent rating."""
    kappa: float | None
    """Cohen's kappa, in [-1, 1]; None if undefined."""
    kappa_linear: float | None
    """Cohen's kappa with linear weights, by which close ratings agree partly; None with two
    ratings."""
    confusion: dict[str, dict[str, int]]
    """The number of answers, by the annotators' rating and then by the judge's rating."""
    bias: tuple[RatingBias, ...]
    retained_difference: Interval
    """The share of a true difference between two methods that remains in the judge's ratings.

    This is the judge's true positive rate minus its false positive rate. If the share is d, a study
    needs 1 / d² times as many questions. If d is 0, the judge sees no difference.
    """
    differences: tuple[MethodDifference, ...]
    """The differences for every pair of methods in the file."""
    failures: dict[str, int]
    """How many answers were not rated, by the reason."""


async def rated_by_judge(
    rated_set: RatedSet, judge: Judge, on_answer: Callable[[str | None, str], object]
) -> list[JudgeRating]:
    """Have the judge rate each answer.

    ``on_answer`` is called for each answer with the error, if any, and the question's id.
    """

    async def rate(row: RatedAnswer) -> JudgeRating:
        rating = await rated_set.rate(row, judge)
        on_answer(rating.error, row.question.id)
        return rating

    return list(await at_once([partial(rate, row) for row in rated_set.answers]))


def rating_agreement(rated_set: RatedSet, ratings: Sequence[JudgeRating]) -> RatingAgreement:
    """Compute all figures, given the judge's ratings, one per answer in the same order."""
    pairs = [
        _RatedPair(row, rating.rating)
        for row, rating in zip(rated_set.answers, ratings, strict=True)
        if rating.rating is not None
    ]
    people, judge = [row.rating for row, _ in pairs], [rating for _, rating in pairs]
    counts = Counter(zip(people, judge, strict=True))
    equal = [row.rating == rating for row, rating in pairs]
    commonest = max(Counter(people).values(), default=0)
    best = rated_set.scale[-1]
    return RatingAgreement(
        name=rated_set.name,
        answers=len(ratings),
        unrated=len(ratings) - len(pairs),
        left_out=dict(rated_set.left_out),
        agreement=proportion(sum(equal), len(equal)),
        agreement_by_question=group_interval(
            _by_question(pairs, lambda pair: (int(pair.row.rating == pair.judge), 1)),
            lambda cells: ratio(*cells.T),
        ),
        commonest=proportion(commonest, len(people)),
        kappa=cohen_kappa(people, judge, rated_set.scale),
        kappa_linear=(
            cohen_kappa(people, judge, rated_set.scale, weights="linear")
            if len(rated_set.scale) > 2
            else None
        ),
        confusion={
            theirs: {ours: counts[theirs, ours] for ours in rated_set.scale}
            for theirs in rated_set.scale
        },
        bias=tuple(_bias(pairs, rating) for rating in rated_set.scale),
        retained_difference=group_interval(
            _by_question(pairs, lambda pair: _right_cells(pair, best)), _youden
        ),
        differences=tuple(_differences(pairs, best)),
        failures=dict(Counter(rating.error for rating in ratings if rating.error)),
    )


class _RatedPair(NamedTuple):
    """An answer that annotators rated, with the judge's rating of it on the same scale."""

    row: RatedAnswer
    judge: str


def _by_question(
    pairs: Sequence[_RatedPair], cells_of: Callable[[_RatedPair], tuple[int, ...]]
) -> list[list[int]]:
    """Add up the cells of the answers to each question."""
    sums: dict[str, list[int]] = {}
    for pair in pairs:
        cells = cells_of(pair)
        total = sums.setdefault(pair.row.question.id, [0] * len(cells))
        for place, cell in enumerate(cells):
            total[place] += cell
    return [*sums.values()]


def _bias(pairs: Sequence[_RatedPair], rating: str) -> RatingBias:
    people = [pair.row.rating == rating for pair in pairs]
    judge = [pair.judge == rating for pair in pairs]

    def cells_of(pair: _RatedPair) -> tuple[int, int, int]:
        return int(pair.judge == rating), int(pair.row.rating == rating), 1

    def difference(cells: Numbers) -> Numbers:
        by_judge, by_people, answers = cells.T
        return ratio(by_judge - by_people, answers)

    both = sum(theirs and ours for theirs, ours in zip(people, judge, strict=True))
    return RatingBias(
        rating=rating,
        people=proportion(sum(people), len(people)),
        judge=proportion(sum(judge), len(judge)),
        difference=group_interval(_by_question(pairs, cells_of), difference),
        recall=proportion(both, sum(people)),
    )


def _right_cells(pair: _RatedPair, best: str) -> tuple[int, int, int, int]:
    """Return the cells: right by both, by annotators, only by the judge; wrong by annotators."""
    right, judged_right = pair.row.rating == best, pair.judge == best
    return (
        int(right and judged_right),
        int(right),
        int(judged_right and not right),
        int(not right),
    )


def _youden(cells: Numbers) -> Numbers:
    both, right, judge_alone, wrong = cells.T
    return ratio(both, right) - ratio(judge_alone, wrong)


def _differences(pairs: Sequence[_RatedPair], best: str) -> list[MethodDifference]:
    """Compare every two methods, by the mean of each question's answers."""
    shares: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for pair in pairs:
        if pair.row.method:
            right_by_side = float(pair.row.rating == best), float(pair.judge == best)
            by_question = shares.setdefault(pair.row.method, {})
            by_question.setdefault(pair.row.question.id, []).append(right_by_side)
    differences = []
    for against, method in combinations(sorted(shares), 2):
        common = [question for question in shares[method] if question in shares[against]]
        by_side = [
            mean_interval(
                [
                    fmean(right_by_side[side] for right_by_side in shares[method][question])
                    - fmean(right_by_side[side] for right_by_side in shares[against][question])
                    for question in common
                ]
            )
            for side in (0, 1)
        ]
        differences.append(
            MethodDifference(method=method, against=against, people=by_side[0], judge=by_side[1])
        )
    return differences


def cohen_kappa(
    people: Sequence[str],
    judge: Sequence[str],
    scale: Sequence[str],
    weights: str | None = None,
) -> float | None:
    """Compute Cohen's kappa with statsmodels; None without ratings, or if all are equal."""
    from statsmodels.stats.inter_rater import cohens_kappa

    if not people or len({*people, *judge}) < 2:
        return None
    counts = Counter(zip(people, judge, strict=True))
    table = [[counts[theirs, ours] for ours in scale] for theirs in scale]
    kappa: Any = cohens_kappa(table, wt=weights, return_results=False)
    return float(kappa)
