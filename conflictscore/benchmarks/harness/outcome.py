"""The outcome of a run: its results and figures, read from its folder."""

import json
from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

from conflictscore.benchmarks.harness.costs import Money, run_cost
from conflictscore.benchmarks.harness.figures import (
    CategoryFigures,
    Figures,
    Interval,
    MethodFigures,
    Paired,
    Proportion,
    Transitions,
    TypeAccuracy,
)
from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.methods.opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE, COMPARED, METHODS
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.results import results
from conflictscore.benchmarks.harness.statistics import (
    changes,
    holm,
    mcnemar,
    mean_interval,
    proportion,
    wilcoxon_pratt,
)
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.errors import BudgetError, InputError
from conflictscore.models.prices import PriceTable
from conflictscore.storage.private_files import write_whole


@dataclass(frozen=True)
class BenchmarkRun:
    """A run as far as it went."""

    folder: Path
    manifest: Manifest
    results: tuple[QuestionResult, ...]
    figures: Figures
    stopped: BudgetError | None = None
    """Why it stopped before its end; the same command with a higher limit goes on."""
    notes: tuple[str, ...] = ()


def read_run(
    folder: str | Path, prices: PriceTable, compare: Sequence[tuple[str, str]] = ()
) -> BenchmarkRun:
    """A run as far as it went, ended or at work; nothing in its folder changes.

    Raises:
        InputError: There is no run in the folder, or it is damaged or of another format.
        ConfigurationError: The extra ``[bench]`` is not installed.
    """
    store = RunStore.read(folder)
    compare = compare or store.manifest.compare
    notes = (*store.notes, *store.lacking())
    return summarised(store, prices, stopped=None, notes=notes, compare=compare)


def summarised(
    store: RunStore,
    prices: PriceTable,
    *,
    stopped: BudgetError | None,
    notes: Sequence[str],
    compare: Sequence[tuple[str, str]] = (),
) -> BenchmarkRun:
    """The results and figures of what a store holds."""
    configuration, records = store.manifest.configuration, store.records()
    methods = tuple(name for name in configuration["methods"])
    found = results(
        store.questions,
        records,
        methods=methods,
        measures=configuration["measures"],
    )
    endpoints = {
        described["name"]: described["endpoint"]
        for role in ("model", "judge", "answer_judge")
        if (described := configuration[role])
    }
    return BenchmarkRun(
        folder=store.folder,
        manifest=store.manifest,
        results=tuple(found),
        figures=figures(
            found,
            methods=methods,
            measures=configuration["measures"],
            graded=configuration.get("graded", ()),
            falling=configuration.get("falling", ()),
            money=partial(prices.cost, endpoints=endpoints),
            total_questions=len(store.questions),
            compare=compared_of(compare, methods) or COMPARED,
        ),
        stopped=stopped,
        notes=tuple(notes),
    )


def compared_of(
    pairs: Sequence[tuple[str, str]], methods: Sequence[str]
) -> Sequence[tuple[str, str]]:
    """The pairs, each of two methods of the run."""
    for one, other in pairs:
        for name in (one, other):
            if name not in methods:
                raise InputError(
                    f"--compare {one}:{other}: the run has no method {name!r}; it has"
                    f" {', '.join(methods)}"
                )
            if method_of(name).own_judge:
                raise InputError(f"--compare {one}:{other}: {name} is judged by another measure")
    return pairs


def write_figures(run: BenchmarkRun) -> None:
    """Write ``figures.json`` into the run's folder."""
    text = json.dumps(run.figures.to_json(), indent=2) + "\n"
    write_whole(run.folder / "figures.json", text.encode())


class _Measure(NamedTuple):
    name: str
    graded: bool
    """Whether its values are numbers in [0, 1] rather than yes or no."""
    falls: bool
    """Whether less is better."""


def figures(
    results: Sequence[QuestionResult],
    *,
    methods: Collection[str],
    measures: Sequence[str],
    money: Money,
    total_questions: int,
    graded: Collection[str] = (),
    falling: Collection[str] = (),
    compare: Sequence[tuple[str, str]] = COMPARED,
) -> Figures:
    """Count and average the results of a run; the order of the results does not matter.

    Pairs, transitions and all that speaks of the first answer need the baseline among the methods.
    """
    ordered = [method for method in METHODS if method in methods]
    # an answer that is right by another thing is not the baseline's corrected or harmed
    alike = [m for m in ordered if m != BASELINE and not method_of(m).own_judge]
    others = alike if BASELINE in ordered else []

    kinds = [_Measure(name, name in graded, name in falling) for name in measures]
    paired = [_paired(results, method, kind) for method in others for kind in kinds]
    wanted = [(one, other, kind) for one, other in compare for kind in kinds]
    compared = [
        _paired(results, one, kind, other)
        for one, other, kind in wanted
        if {one, other} <= set(ordered)
    ]
    paired, compared = _adjusted(paired, compared)
    net = {p.method: p.corrected - p.harmed for p in paired if p.measure == measures[0]}
    return Figures(
        questions=total_questions,
        ended=sum(all(_ended(r, method) for method in ordered) for r in results),
        failed=sum(any(result.answer is None for result in r.methods.values()) for r in results),
        measures=tuple(measures),
        falling=tuple(measure for measure in measures if measure in falling),
        methods=tuple(_method(_of(results, method), method, kinds) for method in ordered),
        paired=tuple(paired),
        compared=tuple(compared),
        transitions=tuple(_transitions(results, method, kinds[0]) for method in others),
        categories=_categories(results, ordered, kinds),
        types=_told_types(results, ordered),
        coverage=mean_interval(
            [
                first.report.coverage
                for first in _of(results, BASELINE)
                if first.report is not None and first.report.coverage is not None
            ]
        ),
        cost=run_cost(results, net, money=money),
    )


def _adjusted(*families: Sequence[Paired]) -> list[list[Paired]]:
    """The same pairs with their p adjusted by Holm over all of them together."""
    known = [pair for pairs in families for pair in pairs if pair.p_value is not None]
    adjusted = iter(holm([pair.p_value for pair in known if pair.p_value is not None]))

    def with_holm(pair: Paired) -> Paired:
        if pair.p_value is None or len(known) < 2:
            return pair
        return pair.model_copy(update={"p_holm": next(adjusted)})

    return [[with_holm(pair) for pair in pairs] for pairs in families]


def _ended(result: QuestionResult, method: str) -> bool:
    """Whether nothing is still to come: an answer in free form waits for its grade.

    A grade may leave out measures that do not apply to the question.
    """
    of = result.methods.get(method)
    return of is not None and (of.answer is None or bool(of.verdicts))


def _of(results: Iterable[QuestionResult], method: str) -> list[MethodResult]:
    return [result.methods[method] for result in results if method in result.methods]


def _figure(ended: Iterable[MethodResult], measure: _Measure) -> Proportion | Interval:
    values = [value for result in ended if (value := result.value(measure.name)) is not None]
    if measure.graded:
        return mean_interval(values)
    return proportion(values.count(True), len(values))


def _method(
    ended: Sequence[MethodResult], method: str, measures: Sequence[_Measure]
) -> MethodFigures:
    def unjudged(measure: str) -> int:
        return sum(measure in r.verdicts and r.value(measure) is None for r in ended)

    return MethodFigures(
        method=method,
        questions=len(ended),
        failed=sum(result.answer is None for result in ended),
        measures={measure.name: _figure(ended, measure) for measure in measures},
        unjudged={measure.name: unjudged(measure.name) for measure in measures},
    )


def judged_both(
    results: Iterable[QuestionResult], method: str, measure: str, against: str = BASELINE
) -> dict[str, tuple[float, float]]:
    """How right the other method and this one are, from 0 to 1, by the question's id."""
    return {
        result.question.id: (float(before), float(after))
        for result in results
        if against in result.methods and method in result.methods
        if (before := result.methods[against].value(measure)) is not None
        if (after := result.methods[method].value(measure)) is not None
    }


def _moved(pairs: Collection[tuple[float, float]], *, falls: bool) -> tuple[int, int]:
    """How many are better than before, and how many worse."""
    moves = [-move if falls else move for move in changes(pairs)]
    return sum(move > 0 for move in moves), sum(move < 0 for move in moves)


def _paired(
    results: Sequence[QuestionResult], method: str, measure: _Measure, against: str = BASELINE
) -> Paired:
    pairs = list(judged_both(results, method, measure.name, against).values())
    corrected, harmed = _moved(pairs, falls=measure.falls)
    if measure.graded:
        p_value = wilcoxon_pratt(changes(pairs))
    else:
        p_value = mcnemar(corrected, harmed) if pairs else None
    return Paired(
        method=method,
        against=against,
        measure=measure.name,
        n=len(pairs),
        both_right=None if measure.graded else pairs.count((1, 1)),
        both_wrong=None if measure.graded else pairs.count((0, 0)),
        corrected=corrected,
        harmed=harmed,
        p_value=p_value,
        difference=mean_interval(changes(pairs)),
    )


def _transitions(
    results: Sequence[QuestionResult],
    method: str,
    measure: _Measure,
    *,
    by_wording: bool = False,
) -> Transitions:
    conflict = [result for result in results if result.conflict and method in result.methods]
    answered = [result for result in conflict if result.methods[method].answer is not None]
    reworded = [result for result in answered if result.reworded(method)]
    revised = [result for result in reworded if by_wording or not result.alike(method)]
    compared = not by_wording and any(result.same_claims for result in results)
    pairs = judged_both(revised, method, measure.name).values()
    corrections, harms = _moved(pairs, falls=measure.falls)
    judged = len(pairs)
    first = [before for before, _ in judged_both(answered, method, measure.name).values()]
    return Transitions(
        method=method,
        measure=measure.name,
        conflict=len(conflict),
        failed=len(conflict) - len(answered),
        retained=proportion(len(answered) - len(revised), len(answered)),
        revised=proportion(len(revised), len(answered)),
        corrections=proportion(corrections, judged),
        harms=proportion(harms, judged),
        neutral=proportion(judged - corrections - harms, judged),
        unjudged=len(revised) - judged,
        harms_of_conflict=proportion(harms, len(first)),
        recovered_of_wrong=None if measure.graded else proportion(corrections, first.count(0)),
        by_wording=(_transitions(results, method, measure, by_wording=True) if compared else None),
        unread=sum(result.alike(method) is None for result in reworded) if compared else 0,
    )


def _categories(
    results: Sequence[QuestionResult], methods: Sequence[str], measures: Sequence[_Measure]
) -> tuple[CategoryFigures, ...]:
    """By name; none where no question has a category."""
    members = defaultdict[str, list[QuestionResult]](list)
    for result in results:
        members[result.question.category].append(result)
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


def _told_types(
    results: Sequence[QuestionResult], methods: Sequence[str]
) -> tuple[TypeAccuracy, ...]:
    """Of each method that tells a type; none where people did not label types."""
    known = [(r, r.question.conflict_type) for r in results if r.question.conflict_type]
    found = []
    for method in methods if known else ():
        if method_of(method).tells_type:
            told = [(true, r.predicted[method]) for r, true in known if method in r.predicted]
            found.append(
                TypeAccuracy(
                    method=method,
                    accuracy=proportion(sum(true is said for true, said in told), len(told)),
                    untold=sum(said is None for _, said in told),
                )
            )
    return tuple(found)
