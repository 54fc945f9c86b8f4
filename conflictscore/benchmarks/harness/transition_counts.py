"""Counts and averages the results of a run; ``harness.figures`` documents each figure."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from typing import NamedTuple

from conflictscore.benchmarks.harness.costs import Money, run_cost
from conflictscore.benchmarks.harness.figures import (
    CategoryFigures,
    Figures,
    Interval,
    MethodFigures,
    MethodScores,
    Paired,
    Proportion,
    Transitions,
    TypeAccuracy,
)
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE, COMPARED, METHODS
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult, scored_methods
from conflictscore.benchmarks.harness.statistics import (
    changes,
    holm,
    mcnemar,
    mean_interval,
    proportion,
    wilcoxon_pratt,
)


class Measure(NamedTuple):
    """A measure, and how to interpret its values."""

    name: str
    graded: bool
    """Whether the measure's values are numbers in [0, 1] instead of yes or no."""
    falls: bool
    """Whether lower values are better."""


def figures(
    question_results: Sequence[QuestionResult],
    *,
    methods: Collection[str],
    measures: Sequence[str],
    money: Money,
    total_questions: int,
    graded: Collection[str] = (),
    falling: Collection[str] = (),
    compare: Sequence[tuple[str, str]] = COMPARED,
) -> Figures:
    """Count and average the results of a run. The order of the results does not matter.

    Paired comparisons, transitions and other figures about the first answer exist only if the
    baseline is among the methods.
    """
    ordered_methods = [method for method in METHODS if method in methods]
    others = _paired_with_baseline(ordered_methods)
    kinds = [Measure(name, name in graded, name in falling) for name in measures]
    baseline_pairs, other_pairs = _all_pairs(question_results, ordered_methods, kinds, compare)
    net = {p.method: p.corrected - p.harmed for p in baseline_pairs if p.measure == measures[0]}
    return Figures(
        questions=total_questions,
        ended=sum(all(_ended(r, method) for method in ordered_methods) for r in question_results),
        failed=sum(
            any(method_result.answer is None for method_result in r.methods.values())
            for r in question_results
        ),
        measures=tuple(measures),
        falling=tuple(measure for measure in measures if measure in falling),
        methods=tuple(
            _method(_of(question_results, method), method, kinds) for method in ordered_methods
        ),
        paired=tuple(baseline_pairs),
        compared=tuple(other_pairs),
        transitions=tuple(_transitions(question_results, method, kinds[0]) for method in others),
        categories=_categories(question_results, ordered_methods, kinds),
        types=_predicted_types(question_results, ordered_methods),
        scores=tuple(_scores(question_results, ordered_methods)),
        coverage=mean_interval(list(_coverages(question_results))),
        cost=run_cost(question_results, net, money=money),
    )


def _paired_with_baseline(methods: Sequence[str]) -> list[str]:
    """Return the methods that are compared with the baseline, or none if the baseline was not run.

    Methods that are judged by a different criterion are left out, since they neither correct nor
    harm the baseline's answers.
    """
    if BASELINE not in methods:
        return []
    return [name for name in methods if name != BASELINE and not method_of(name).own_judge]


def _all_pairs(
    question_results: Sequence[QuestionResult],
    methods: Sequence[str],
    measures: Sequence[Measure],
    compare: Sequence[tuple[str, str]],
) -> tuple[list[Paired], ...]:
    """Compare methods with the baseline and in other pairs; adjust all p-values together.

    A pair that is named twice, in either order, is tested once, so that Holm's adjustment does not
    count it twice. Reversing twice keeps the first naming of such a pair, and its place.
    """
    baseline_pairs = [
        paired_figures(question_results, method, measure)
        for method in _paired_with_baseline(methods)
        for measure in measures
    ]
    tested = {frozenset((pair.method, pair.against)) for pair in baseline_pairs}
    pairs_by_names = {frozenset(pair): pair for pair in reversed(compare)}
    other_pairs = [
        paired_figures(question_results, method, measure, against)
        for names, (method, against) in reversed(pairs_by_names.items())
        if names <= {*methods} and names not in tested
        for measure in measures
    ]
    return _adjusted(baseline_pairs, other_pairs)


def _coverages(question_results: Sequence[QuestionResult]) -> Iterator[float]:
    """Yield, for each first answer with a score, the share of its pairs that were labelled."""
    for first in _of(question_results, BASELINE):
        if first.report is not None and first.report.coverage is not None:
            yield first.report.coverage


def _scores(
    question_results: Sequence[QuestionResult], methods: Sequence[str]
) -> Iterator[MethodScores]:
    """Yield the mean CS-C and CS-R of each method whose answers were all scored."""
    for method in scored_methods(question_results, methods):
        reports = [
            method_result.report
            for method_result in _of(question_results, method)
            if method_result.report is not None
        ]
        scores = [(r.cs_c, r.cs_r) for r in reports if r.cs_c is not None and r.cs_r is not None]
        if scores:
            yield MethodScores(
                method=method,
                cs_c=mean_interval([cs_c for cs_c, _ in scores]),
                cs_r=mean_interval([cs_r for _, cs_r in scores]),
            )


def _adjusted(*families: Sequence[Paired]) -> tuple[list[Paired], ...]:
    """Return the same pairs, with p-values Holm-adjusted across all pairs."""
    pairs_with_p = [pair for pairs in families for pair in pairs if pair.p_value is not None]
    holm_values = iter(holm([pair.p_value for pair in pairs_with_p if pair.p_value is not None]))

    def with_holm(pair: Paired) -> Paired:
        if pair.p_value is None or len(pairs_with_p) < 2:
            return pair
        return pair.model_copy(update={"p_holm": next(holm_values)})

    return tuple([with_holm(pair) for pair in pairs] for pairs in families)


def _ended(question_result: QuestionResult, method: str) -> bool:
    """Return whether a result is final; a free-form answer must have been graded.

    A grade may lack measures that do not apply to the question.
    """
    of = question_result.methods.get(method)
    return of is not None and (of.answer is None or bool(of.verdicts))


def _of(question_results: Iterable[QuestionResult], method: str) -> list[MethodResult]:
    return [
        question_result.methods[method]
        for question_result in question_results
        if method in question_result.methods
    ]


def _figure(method_results: Iterable[MethodResult], measure: Measure) -> Proportion | Interval:
    verdicts = [
        verdict
        for method_result in method_results
        if (verdict := method_result.value(measure.name)) is not None
    ]
    if measure.graded:
        return mean_interval(verdicts)
    return proportion(verdicts.count(True), len(verdicts))


def _method(
    method_results: Sequence[MethodResult], method: str, measures: Sequence[Measure]
) -> MethodFigures:
    def unjudged(measure: str) -> int:
        return sum(measure in r.verdicts and r.value(measure) is None for r in method_results)

    return MethodFigures(
        method=method,
        questions=len(method_results),
        failed=sum(method_result.answer is None for method_result in method_results),
        measures={measure.name: _figure(method_results, measure) for measure in measures},
        unjudged={measure.name: unjudged(measure.name) for measure in measures},
    )


def judged_both(
    question_results: Iterable[QuestionResult], method: str, measure: str, against: str = BASELINE
) -> dict[str, tuple[float, float]]:
    """Return, by id, both grades (``against`` first, 0 to 1) of questions judged for both."""
    return {
        question_result.question.id: (float(before), float(after))
        for question_result in question_results
        if against in question_result.methods and method in question_result.methods
        if (before := question_result.methods[against].value(measure)) is not None
        if (after := question_result.methods[method].value(measure)) is not None
    }


def _moved(pairs: Collection[tuple[float, float]], *, falls: bool) -> tuple[int, int]:
    """Count how many grades are better than before, and how many are worse."""
    moves = [-move if falls else move for move in changes(pairs)]
    return sum(move > 0 for move in moves), sum(move < 0 for move in moves)


def paired_figures(
    question_results: Sequence[QuestionResult],
    method: str,
    measure: Measure,
    against: str = BASELINE,
) -> Paired:
    """Compare two methods on one measure, over the questions judged for both; p is not adjusted."""
    pairs = list(judged_both(question_results, method, measure.name, against).values())
    corrections, harms = _moved(pairs, falls=measure.falls)
    if measure.graded:
        p_value = wilcoxon_pratt(changes(pairs))
    else:
        p_value = mcnemar(corrections, harms) if pairs else None
    return Paired(
        method=method,
        against=against,
        measure=measure.name,
        n=len(pairs),
        both_right=None if measure.graded else pairs.count((1, 1)),
        both_wrong=None if measure.graded else pairs.count((0, 0)),
        corrected=corrections,
        harmed=harms,
        p_value=p_value,
        difference=mean_interval(changes(pairs)),
    )


def _transitions(
    question_results: Sequence[QuestionResult],
    method: str,
    measure: Measure,
    *,
    by_wording: bool = False,
) -> Transitions:
    """Compute the figures of the paper's section 6.4 for one method.

    Answers are compared by their claims or by their wording.
    """
    outcomes = conflict_outcomes(question_results, method, measure.name, by_wording=by_wording)
    answers = [outcome for outcome in outcomes if outcome.answered]
    revisions = [outcome for outcome in answers if outcome.revised]
    pairs = _judged(revisions)
    corrections, harms = _moved(pairs, falls=measure.falls)
    judged_count = len(pairs)
    first_judged = [before for before, _ in _judged(answers)]
    claims_are_compared = not by_wording and any(
        question_result.same_claims for question_result in question_results
    )
    return Transitions(
        method=method,
        measure=measure.name,
        conflict=len(outcomes),
        failed=len(outcomes) - len(answers),
        retained=proportion(len(answers) - len(revisions), len(answers)),
        revised=proportion(len(revisions), len(answers)),
        corrections=proportion(corrections, judged_count),
        harms=proportion(harms, judged_count),
        neutral=proportion(judged_count - corrections - harms, judged_count),
        unjudged=len(revisions) - judged_count,
        harms_of_conflict=proportion(harms, len(first_judged)),
        recovered_of_wrong=(
            None if measure.graded else proportion(corrections, first_judged.count(0))
        ),
        by_wording=(
            _transitions(question_results, method, measure, by_wording=True)
            if claims_are_compared
            else None
        ),
        unread=sum(outcome.unread for outcome in answers) if claims_are_compared else 0,
    )


class ConflictOutcome(NamedTuple):
    """The outcome of a first answer with a conflict after a method has run (section 6.4)."""

    question: str
    answered: bool
    """Whether the method gave an answer."""
    revised: bool
    """Whether the claims of the method's answer differ from those of the first answer.

    If answers are compared by wording, this field says whether the wording differs.
    """
    unread: bool
    """Whether the wording differs and the claims could not be compared."""
    before: float | None
    """The grade of the first answer, from 0 to 1; None if it was not judged."""
    after: float | None


def _judged(outcomes: Iterable[ConflictOutcome]) -> list[tuple[float, float]]:
    """Return the grades before and after for answers that were judged both times."""
    return [(o.before, o.after) for o in outcomes if o.before is not None and o.after is not None]


def conflict_outcomes(
    question_results: Iterable[QuestionResult],
    method: str,
    measure: str,
    *,
    by_wording: bool = False,
) -> list[ConflictOutcome]:
    """List the outcomes of the questions with a conflict that the method finished.

    Answers are compared by their claims or, with ``by_wording``, by their words.
    """
    outcomes = []
    for question_result in question_results:
        if not question_result.conflict or not {BASELINE, method} <= question_result.methods.keys():
            continue
        has_answer = question_result.methods[method].answer is not None
        is_reworded = has_answer and bool(question_result.reworded(method))
        alike = question_result.alike(method) if is_reworded else None
        before, after = (question_result.methods[m].value(measure) for m in (BASELINE, method))
        outcomes.append(
            ConflictOutcome(
                question=question_result.question.id,
                answered=has_answer,
                revised=is_reworded and (by_wording or not alike),
                unread=is_reworded and alike is None,
                before=None if before is None else float(before),
                after=None if after is None else float(after),
            )
        )
    return outcomes


def _categories(
    question_results: Sequence[QuestionResult], methods: Sequence[str], measures: Sequence[Measure]
) -> tuple[CategoryFigures, ...]:
    """Compute the figures for each category, sorted by name; empty if there are no categories."""
    members = defaultdict[str, list[QuestionResult]](list)
    for question_result in question_results:
        members[question_result.question.category].append(question_result)
    if set(members) <= {""}:
        return ()
    return tuple(
        CategoryFigures(
            category=category,
            questions=len(members[category]),
            measures={
                method: {m.name: _figure(_of(members[category], method), m) for m in measures}
                for method in methods
            },
        )
        for category in sorted(members)
    )


def _predicted_types(
    question_results: Sequence[QuestionResult], methods: Sequence[str]
) -> tuple[TypeAccuracy, ...]:
    """Compute the accuracy of methods that name a conflict type; empty if no type was annotated."""
    results_with_type = [
        question_result
        for question_result in question_results
        if question_result.question.conflict_type
    ]
    if not results_with_type:
        return ()
    return tuple(
        _accuracy(results_with_type, name) for name in methods if method_of(name).tells_type
    )


def _accuracy(results_with_type: Sequence[QuestionResult], method: str) -> TypeAccuracy:
    pairs = [
        (question_result.question.conflict_type, question_result.predicted[method])
        for question_result in results_with_type
        if method in question_result.predicted
    ]
    return TypeAccuracy(
        method=method,
        accuracy=proportion(sum(people is model for people, model in pairs), len(pairs)),
        untold=sum(model is None for _, model in pairs),
    )
