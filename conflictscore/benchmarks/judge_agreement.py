"""Compares a benchmark's judge with annotators who rated the same answers.

Answers to the same question are not independent, so intervals are computed by resampling questions.
The exceptions are Wilson intervals, which assume that answers are independent. If the judge could
not rate an answer, the answer counts as unrated, and is left out of all other figures.
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
from conflictscore.benchmarks.judging import Judge
from conflictscore.records import Record
from conflictscore.threads import at_once

_Count = Annotated[int, Field(ge=0)]


class RatedAnswer(NamedTuple):
    """An answer to a question, and the rating that annotators gave the answer."""

    question: Question
    answer: str
    rating: str
    method: str = ""
    """The source of the answer, such as a prompt template; empty if the file does not name it."""


class JudgeRating(NamedTuple):
    """A judge's rating of an answer; if the judge failed, there is an error instead."""

    rating: str | None
    error: str | None = None


class RatedSet(NamedTuple):
    """Answers that annotators rated, and the function with which a judge rates them."""

    name: str
    scale: tuple[str, ...]
    """The possible ratings, from worst to best.

    In the share of correct answers, only the best rating counts as correct.
    """
    answers: tuple[RatedAnswer, ...]
    rate: Callable[[RatedAnswer, Judge], Awaitable[JudgeRating]]
    left_out: Mapping[str, int] = {}
    """The number of rows that were left out, by reason."""


class RatingBias(Record):
    """How often annotators gave a particular rating, and how often the judge gave it."""

    rating: str
    people: Proportion
    judge: Proportion
    difference: Interval
    """How often the judge gave this rating minus how often annotators did, in [-1, 1]."""
    recall: Proportion
    """The share of answers to which the judge gave this rating, among those to which annotators
    gave it."""


class MethodDifference(Record):
    """The difference in the share of correct answers between two methods.

    Only questions that both methods answered are compared.
    """

    method: str
    against: str
    people: Interval
    """The difference according to the annotators' ratings, in [-1, 1]."""
    judge: Interval
    """The difference according to the judge's ratings, in [-1, 1]."""


class RatingAgreement(Record):
    """The comparison of a judge with annotators on one set of answers."""

    name: str
    answers: _Count
    unrated: _Count
    """The number of answers that the judge did not rate."""
    left_out: dict[str, int]
    agreement: Proportion
    """The share of answers to which the judge and the annotators gave the same rating.

    The Wilson interval of this share assumes that answers are independent.
    """
    agreement_by_question: Interval
    """The share of equal ratings, with an interval computed by resampling questions."""
    commonest: Proportion
    """The agreement of a judge that always gives the annotators' most frequent rating."""
    kappa: float | None
    """Cohen's kappa, in [-1, 1]; None if undefined."""
    kappa_linear: float | None
    """Cohen's kappa with linear weights, which count neighbouring ratings as partial agreement.

    None if undefined, or if the scale has only two ratings.
    """
    confusion: dict[str, dict[str, int]]
    """The number of answers, by the annotators' rating and then by the judge's rating."""
    bias: tuple[RatingBias, ...]
    retained_difference: Interval
    """The share of a true difference between two methods that remains in the judge's ratings.

    The difference is between the methods' shares of correct answers. The retained share equals the
    judge's true positive rate minus its false positive rate. If the retained share is d, a study
    with this judge needs 1 / d² times as many questions as a study with annotators. If d is 0, the
    judge's ratings show no difference.
    """
    differences: tuple[MethodDifference, ...]
    """A comparison of each pair of methods in the file."""
    failures: dict[str, int]
    """The number of answers that were not rated, by reason."""


async def rated_by_judge(
    rated_set: RatedSet, judge: Judge, on_answer: Callable[[str | None, str], object]
) -> list[JudgeRating]:
    """Have the judge rate each answer.

    After each answer, ``on_answer`` is called with the error, or None, and the question's id.
    """

    async def rate(row: RatedAnswer) -> JudgeRating:
        rating = await rated_set.rate(row, judge)
        on_answer(rating.error, row.question.id)
        return rating

    return list(await at_once([partial(rate, row) for row in rated_set.answers]))


def rating_agreement(rated_set: RatedSet, ratings: Sequence[JudgeRating]) -> RatingAgreement:
    """Compute all figures; ``ratings`` contains the judge's rating of each answer, in order."""
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
            lambda cells: ratio(*cells.T),  # the columns: equal ratings, and answers
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
    """An answer with two ratings on the same scale: the annotators' and the judge's."""

    row: RatedAnswer
    judge: str


def _by_question(
    pairs: Sequence[_RatedPair], cells_of: Callable[[_RatedPair], tuple[int, ...]]
) -> list[list[int]]:
    """For each question, add up the cells of its answers."""
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
    """Return four cells, each 1 or 0, about whether annotators and the judge call an answer right.

    The cells are: right according to both, right according to annotators, right according to the
    judge alone, and wrong according to annotators.
    """
    right, judged_right = pair.row.rating == best, pair.judge == best
    return (
        int(right and judged_right),
        int(right),
        int(judged_right and not right),
        int(not right),
    )


def _youden(cells: Numbers) -> Numbers:
    """Compute the judge's true positive rate minus its false positive rate (Youden's J)."""
    both, right, judge_alone, wrong = cells.T
    return ratio(both, right) - ratio(judge_alone, wrong)


def _differences(pairs: Sequence[_RatedPair], best: str) -> list[MethodDifference]:
    """Compare each pair of methods on the questions that both of them answered.

    A method can have several answers to a question, for example by different models. So its ratings
    are averaged for each question first.
    """
    shares: dict[str, dict[str, list[tuple[float, float]]]] = {}
    for pair in pairs:
        if pair.row.method:
            right_by_side = float(pair.row.rating == best), float(pair.judge == best)
            by_question = shares.setdefault(pair.row.method, {})
            by_question.setdefault(pair.row.question.id, []).append(right_by_side)
    differences = []
    # sorted, so that the sign of a difference does not depend on the order of the file
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
    """Compute Cohen's kappa; return None if there are no ratings or all ratings are equal.

    ``weights`` is ``linear`` or, for unweighted kappa, None.
    """
    from statsmodels.stats.inter_rater import cohens_kappa

    if not people or len({*people, *judge}) < 2:
        return None
    counts = Counter(zip(people, judge, strict=True))
    table = [[counts[theirs, ours] for ours in scale] for theirs in scale]
    kappa: Any = cohens_kappa(table, wt=weights, return_results=False)
    return float(kappa)
