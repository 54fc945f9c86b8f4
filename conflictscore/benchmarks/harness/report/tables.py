"""The figures of a benchmark run for a person at a terminal of 80 to 100 columns.

Names of models, categories and errors are untrusted text: no markup, no control characters.
"""

from collections.abc import Callable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.harness.figures import (
    Figures,
    Interval,
    Paired,
    Proportion,
    Transitions,
)
from conflictscore.benchmarks.harness.methods.registry import BASELINE, method_of
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.cost import (
    CHANGES,
    SHOWN_REASONS,
    cost_cards,
    failure_cards,
)
from conflictscore.benchmarks.harness.report.findings import findings
from conflictscore.benchmarks.paper_figures import (
    PaperFigures,
    PaperTransitions,
    own_tables,
    published_types,
)
from conflictscore.nodes.correct import claims_by_choice
from conflictscore.reporting.figure_text import (
    counted,
    one_line,
    p_value,
    percent,
    points,
    published,
    span,
)
from conflictscore.reporting.plain_table import Card, print_card

_OUTCOMES: tuple[tuple[str, Callable[[PaperTransitions], tuple[int, int]]], ...] = (
    ("retained", lambda paper: (paper.retained, paper.conflict)),
    ("revised", lambda paper: (paper.revised, paper.conflict)),
    ("corrections", lambda paper: (paper.corrections, paper.revised)),
    ("harms", lambda paper: (paper.harms, paper.revised)),
    ("neutral", lambda paper: (paper.revised - paper.corrections - paper.harms, paper.revised)),
    ("harms_of_conflict", lambda paper: (paper.harms, paper.conflict)),
    ("recovered_of_wrong", lambda paper: (0, 0)),
)
"""Rows of the transitions, and the paper's count and total of each; it does not tell the last."""

_CHANGED = (
    "revised: a claim of one answer is not supported by the other, by the run's labeler; by"
    " wording: a word differs"
)
_PAPERS = "regenerated-rag"
_FEW = range(2, 7)
"""So many categories are shown without being asked for."""


def print_figures(
    figures: Figures,
    console: Console,
    *,
    title: str,
    paper: PaperFigures | None,
    results: Sequence[QuestionResult] = (),
    verbose: bool = False,
) -> None:
    """Print all figures of a run, and what they can and cannot show."""
    console.print(Text(f"\n{one_line(title)}", style="bold underline"))
    ended = f"{figures.ended:,} of {counted(figures.questions, 'question')} ended"
    console.print(Text(f"{ended}, {figures.failed:,} failed for at least one method"))
    for card in figure_cards(figures, paper, results, verbose=verbose):
        print_card(card, console)


def figure_cards(
    figures: Figures,
    paper: PaperFigures | None,
    results: Sequence[QuestionResult],
    *,
    verbose: bool = True,
) -> Iterator[Card]:
    """The tables of a run in order; the arguments are those of :func:`print_figures`."""
    for cards in sections(figures, paper, results, verbose=verbose).values():
        yield from cards


def sections(
    figures: Figures,
    paper: PaperFigures | None,
    results: Sequence[QuestionResult],
    *,
    verbose: bool = True,
) -> dict[str, list[Card]]:
    """The same tables by section: terminal, page and exports show these."""
    changes = figures.change_words(figures.measures[0]) if figures.measures else CHANGES
    published_tables = paper.tables if paper and verbose else ()
    limits = findings(figures, paper) if figures.measures else ()
    rows = tuple(("-", sentence) for sentence in limits)
    return {
        "measures": [_measure(figures, measure, paper) for measure in figures.measures],
        "claims": [*_claims(figures), *own_tables(figures, results), *other_choices(results)],
        "pairs": [*_pairs(figures, paper)],
        "conflicts": [*_transitions(figures, paper, verbose=verbose)],
        "types": [*_types(figures, paper)],
        "categories": [*_categories(figures, verbose=verbose)],
        "published": [
            Card(f"In the paper: {one.title}", one.columns, one.rows, one.note, free_text=True)
            for one in published_tables
        ],
        "scores": [Card("", after=(_coverage(figures),))],
        "failures": [*failure_cards(results, None if verbose else SHOWN_REASONS)],
        "cost": [*cost_cards(figures.cost, verbose=verbose, changes=changes)],
        "limits": [Card("Limits of these figures", (), rows)] if rows else [],
    }


def _measure(figures: Figures, measure: str, paper: PaperFigures | None) -> Card:
    shown = [method for method in figures.methods if measure in method.measures]
    failed = any(method.failed for method in shown)
    unjudged = any(method.unjudged.get(measure, 0) for method in shown)
    reported = {m.method: paper.value(m.method, measure) for m in shown} if paper else {}
    beside = any(value is not None for value in reported.values())
    extra = [
        *(["failed"] if failed else []),
        *(["unjudged"] if unjudged else []),
        *(["paper %"] if beside else []),
    ]
    rows = []
    for method in shown:
        value = method.measures[measure]
        cells = [method.method, *_estimate(value)]
        if isinstance(value, Proportion):
            cells.append(f"{value.count:,}")
        cells.append(f"{value.n:,}")
        cells += [f"{method.failed:,}"] if failed else []
        if unjudged:
            cells.append(f"{method.unjudged.get(measure, 0):,}")
        if beside:
            told = reported[method.method]
            cells.append("" if told is None else published(told))
        rows.append(tuple(cells))
    graded, notes = figures.is_graded(measure), []
    if graded:
        best = "; 0 is best" if figures.falls(measure) else ""
        notes.append(f"mean of the values from 0 to 100 %, with a bootstrap interval{best}")
    if paper is not None and beside:
        source = f"{paper.source}, {paper.model}, {counted(paper.questions, 'question')}"
        notes.append(" ".join([f"paper: {source}", *([f"({paper.note})"] if paper.note else [])]))
    columns = ("mean %", "95 % interval") if graded else ("%", "95 % interval", "right")
    return Card(
        one_line(measure).capitalize(),
        ("method", *columns, "n", *extra),
        tuple(rows),
        "\n".join(notes),
    )


def _claims(figures: Figures) -> Iterator[Card]:
    rows = []
    for one in figures.claims:
        mean = "none" if one.claims.value is None else f"{one.claims.value:.1f}"
        rows.append((one.method, mean, percent(one.coverage.value), f"{one.claims.n:,}"))
    if rows:
        yield Card(
            "Claims of an answer",
            ("method", "claims", "labelled %", "n"),
            tuple(rows),
            "means over answers that were taken apart; labelled: of pairs with a document",
        )


def _pairs(figures: Figures, paper: PaperFigures | None) -> Iterator[Card]:
    """Pairs of methods, a table for each other method and measure; a paper's stand below theirs."""
    groups: dict[tuple[str, str], list[Paired]] = {}
    for pair in figures.tests:
        groups.setdefault((pair.against, pair.measure), []).append(pair)
    adjusted = any(pair.p_holm is not None for pair in figures.tests)
    for (other, measure), pairs in groups.items():
        graded = figures.is_graded(measure)
        counts: tuple[str, ...] = ("both\nright", "both\nwrong", "corrected", "harmed")
        if graded:
            counts = ("n", *figures.change_words(measure))
        rows: list[tuple[str, ...]] = []
        faint = set()
        for pair in pairs:
            before = [pair.n] if graded else [pair.both_right, pair.both_wrong]
            given = (*before, pair.corrected, pair.harmed)
            rows.append(
                (
                    pair.method,
                    *("" if n is None else f"{n:,}" for n in given),
                    p_value(pair.p_value),
                    *([p_value(pair.p_holm)] if adjusted else []),
                    points(pair.difference.value),
                    span(points(pair.difference.low), points(pair.difference.high)),
                )
            )
            reported = paper.difference(pair.method, measure, other) if paper else None
            if paper is not None and reported is not None:
                known = [""] * (4 if adjusted else 3)
                # the counts are known for regenerated-rag against rag in multiple choice alone
                if (told := paper.transitions) and (pair.method, other) == (
                    "regenerated-rag",
                    BASELINE,
                ):
                    known[:3] = [f"{told.corrections}", f"{told.harms}", p_value(told.p_value)]
                faint.add(len(rows))
                rows.append(("in the paper", *[""] * len(before), *known, points(reported), ""))
        test = "Wilcoxon signed-rank test, Pratt's zeros" if graded else "exact McNemar test"
        family = f"Holm: p adjusted over all {len(figures.tests)} tests of the run"
        yield Card(
            f"Against {other}, question by question: {one_line(measure)}",
            ("method", *counts, "p", *(["Holm"] if adjusted else []), "points", "95 % interval"),
            tuple(rows),
            "\n".join(
                (
                    f"p: {test}, two-sided; interval of the difference: bootstrap, too narrow where"
                    " few questions changed: go by p",
                    *([family] if adjusted else []),
                )
            ),
            faint=frozenset(faint),
        )


def _transitions(figures: Figures, paper: PaperFigures | None, *, verbose: bool) -> Iterator[Card]:
    compared = {pair.against for pair in figures.compared}
    shown = [
        moved
        for moved in figures.transitions
        if verbose or method_of(moved.method).looks_again or moved.method in compared
    ]
    if shown:
        yield Card("Answers with conflict")
    for moved in shown:
        told = paper.transitions if paper and moved.method == _PAPERS else None
        rows = []
        for name, reported in _OUTCOMES:
            value: Proportion | None = getattr(moved, name)
            if value is None or (name == "neutral" and value.count == 0):
                continue
            cells = [_outcome(name, moved, figures), f"{value.count:,}", f"{value.n:,}"]
            cells += _estimate(value)
            if moved.by_wording is not None:
                worded: Proportion = getattr(moved.by_wording, name)
                cells.append(f"{worded.count:,} of {worded.n:,}")
            if told is not None:
                count, of = reported(told)
                cells.append(f"{count} of {of}, {percent(count / of)} %" if of else "")
            rows.append(tuple(cells))
        lost = [
            f"{number:,} {what}"
            for number, what in (
                (moved.failed, "failed"),
                (moved.unjudged, "revised but unjudged"),
                (moved.unread, "compared by words alone"),
            )
            if number
        ]
        conflict = counted(moved.conflict, "first answer") + " with conflict"
        yield Card(
            f"{moved.method}: {', '.join([conflict, *lost])}",
            (
                *("", "count", "of", "%", "95 % interval"),
                *(["by wording"] if moved.by_wording else []),
                *(["paper"] if told else []),
            ),
            tuple(rows),
            _CHANGED if moved.by_wording else "",
            bold=False,
        )


def _outcome(name: str, moved: Transitions, figures: Figures) -> str:
    names = {}
    if figures.is_graded(moved.measure):
        better, worse = figures.change_words(moved.measure)
        names = {"corrections": better, "harms": worse, "harms_of_conflict": f"{worse} of all"}
    return names.get(name, name.replace("_", " "))


def other_choices(results: Sequence[QuestionResult]) -> list[Card]:
    """How many second looks would have been about another claim; no table where none would."""
    put_back = [
        (claims_by_choice(report), result.reconsidered.claim.number)
        for result in results
        if result.reconsidered is not None
        if (first := result.methods.get(BASELINE)) is not None
        if (report := first.report) is not None and report.reconsider is not None
    ]
    others = [set(choices.values()) - {number} for choices, number in put_back]
    if not any(others):
        return []
    rows = []
    for choice in put_back[0][0]:
        count = sum(choices[choice] != number for choices, number in put_back)
        rows.append((choice, f"{count:,}", f"{len(put_back):,}", percent(count / len(put_back))))
    return [
        Card(
            "Second looks that another choice of claim would change (--reconsider)",
            ("claim put back", "about another", "of", "%"),
            tuple(rows),
            "0: the choice of this run, or one that is the same here",
        )
    ]


def _types(figures: Figures, paper: PaperFigures | None) -> Iterator[Card]:
    """Accuracies, with those of a paper."""
    if not figures.types:
        return
    yield Card(
        "Types of conflict",
        ("method", "%", "95 % interval", "right", "n", "no type told"),
        tuple(
            (
                told.method,
                *_estimate(told.accuracy),
                *(f"{n:,}" for n in (told.accuracy.count, told.accuracy.n, told.untold)),
            )
            for told in figures.types
        ),
        published_types(paper),
    )


def _categories(figures: Figures, *, verbose: bool) -> Iterator[Card]:
    """A few, such as types of conflict, are always shown; many in verbose only."""
    if not figures.categories or not (len(figures.categories) in _FEW or verbose):
        return
    methods = [method.method for method in figures.methods]
    for measure in figures.measures:
        rows = []
        for one in figures.categories:
            found = (one.measures.get(method, {}).get(measure) for method in methods)
            name = one_line(one.category) or "(none)"
            rows.append((name, f"{one.questions:,}", *map(_with_n, found)))
        what = "mean % (n)" if figures.is_graded(measure) else "% (n)"
        yield Card(
            f"By category: {one_line(measure)}, {what}",
            ("category", "n", *(method.replace("-", "-\n") for method in methods)),
            tuple(rows),
            free_text=True,
        )


def _with_n(value: Proportion | Interval | None) -> str:
    return "" if value is None else f"{percent(value.value)} ({value.n:,})"


def _coverage(figures: Figures) -> str:
    covered = figures.coverage
    if covered.value is None:
        return "coverage of the first answers: none has a score"
    known = "" if covered.low is None else f"{span(percent(covered.low), percent(covered.high))}, "
    return (
        f"coverage of the first answers: {percent(covered.value)} % of their pairs were labelled"
        f" ({known}{counted(covered.n, 'answer')})"
    )


def _estimate(value: Proportion | Interval) -> list[str]:
    return [percent(value.value), span(percent(value.low), percent(value.high))]
