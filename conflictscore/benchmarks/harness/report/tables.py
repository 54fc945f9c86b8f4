"""The figures of a benchmark run as tables, for a terminal of 80 to 100 columns, a page and files.

Names of models, categories and errors are untrusted text: no markup, no control characters.
"""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.harness.definition import CHOICES
from conflictscore.benchmarks.harness.figures import (
    Cost,
    Figures,
    Interval,
    Paired,
    Proportion,
    Transitions,
)
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.findings import findings
from conflictscore.benchmarks.paper_figures import (
    PaperFigures,
    PaperTransitions,
    own_tables,
    published_types,
)
from conflictscore.correcting.anew import claims_by_choice
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import (
    counted,
    money,
    one_line,
    p_value,
    percent,
    points,
    published,
    seconds,
    span,
)
from conflictscore.reporting.plain_table import Card, card_of, print_card

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

_BY_CLAIMS = (
    "revised: a claim of one answer is not supported by the other, by the run's labeler, whose"
    " mistakes count as changes and as none; by wording: a word differs"
)
_BY_WORDS = "revised: the words differ, however little"
_FEW = range(2, 7)
"""So many categories are shown without being asked for."""
_SHOWN_REASONS = 5


def print_figures(
    figures: Figures,
    console: Console,
    *,
    title: str,
    paper: PaperFigures | None,
    question_results: Sequence[QuestionResult] = (),
    verbose: bool = False,
) -> None:
    """Print all figures of a run, and what they can and cannot show."""
    console.print(Text(f"\n{one_line(title)}", style="bold underline"))
    progress_line = f"{figures.ended:,} of {counted(figures.questions, 'question')} ended"
    console.print(Text(f"{progress_line}, {figures.failed:,} failed for at least one method"))
    for cards in sections(figures, paper, question_results, verbose=verbose).values():
        for card in cards:
            print_card(card, console)


def sections(
    figures: Figures,
    paper: PaperFigures | None,
    question_results: Sequence[QuestionResult],
    *,
    verbose: bool = True,
) -> dict[str, list[Card]]:
    """The tables of a run by section, in order: terminal, page and exports show these."""
    limits = tuple(("-", table) for table in findings(figures, paper)) if figures.measures else ()
    return {
        "measures": [_measure(figures, measure, paper) for measure in figures.measures],
        "claims": [*own_tables(figures, question_results), *other_choices(question_results)],
        "pairs": [*_pairs(figures, paper)],
        "conflicts": [*_transitions(figures, paper, verbose=verbose)],
        "types": [*_types(figures, paper)],
        "categories": [*_categories(figures, verbose=verbose)],
        "published": [
            Card(
                f"In the paper: {table.title}",
                table.columns,
                table.rows,
                table.note,
                free_text=True,
            )
            for table in (paper.tables if paper and verbose else ())
        ],
        "scores": [Card("", after=(_coverage(figures),))],
        "failures": [*_failures(question_results, None if verbose else _SHOWN_REASONS)],
        "cost": [*_cost(figures, figures.cost, verbose=verbose)],
        "limits": [Card("Limits of these figures", (), limits)] if limits else [],
    }


def _measure(figures: Figures, measure: str, paper: PaperFigures | None) -> Card:
    """The level of every method by one measure, beside the paper's where it reports any."""
    rows, notes, beside = [], [], False
    for method in figures.methods:
        if (level := method.measures.get(measure)) is None:
            continue
        paper_level = paper.value(method.method, measure) if paper else None
        beside = beside or paper_level is not None
        rows.append(
            (
                method.method,
                *_estimate(level),
                level.count if isinstance(level, Proportion) else None,
                level.n,
                method.failed or None,
                method.unjudged.get(measure) or None,
                None if paper_level is None else published(paper_level),
            )
        )
    is_graded = figures.is_graded(measure)
    if is_graded:
        best = "; 0 is best" if figures.falls(measure) else ""
        notes.append(f"mean of the values from 0 to 100 %, with a bootstrap interval{best}")
    if paper is not None and beside:
        source = f"{paper.source}, {paper.model}, {counted(paper.questions, 'question')}"
        notes.append(" ".join([f"paper: {source}", *([f"({paper.note})"] if paper.note else [])]))
    share = "mean %" if is_graded else "%"
    return card_of(
        one_line(measure).capitalize(),
        ("method", share, "95 % interval", "right", "n", "failed", "unjudged", "paper %"),
        rows,
        "\n".join(notes),
    )


def _pairs(figures: Figures, paper: PaperFigures | None) -> Iterator[Card]:
    """Pairs of methods, a table for each other method and measure; a paper's stand below theirs."""
    groups = defaultdict[tuple[str, str], list[Paired]](list)
    for pair in figures.tests:
        groups[pair.against, pair.measure].append(pair)
    for (against, measure), pairs in groups.items():
        is_graded = figures.is_graded(measure)
        rows: list[tuple[str | int | None, ...]] = []
        faint = set()
        for pair in pairs:
            rows.append(
                (
                    pair.method,
                    pair.n if is_graded else None,
                    pair.both_right,
                    pair.both_wrong,
                    pair.corrected,
                    pair.harmed,
                    p_value(pair.p_value),
                    None if pair.p_holm is None else p_value(pair.p_holm),
                    *difference_cells(pair.difference),
                )
            )
            paper_difference = paper.difference(pair.method, measure, against) if paper else None
            if paper is not None and paper_difference is not None:
                # the counts are known for regenerated-rag against rag in multiple choice alone
                paper_counts_known = (pair.method, against) == ("regenerated-rag", BASELINE)
                transitions = paper.transitions if paper_counts_known else None
                counts = (
                    (transitions.corrections, transitions.harms, p_value(transitions.p_value))
                    if transitions
                    else ()
                )
                faint.add(len(rows))
                row = ["in the paper", *[None] * 3, *(counts or [None] * 3), None]
                rows.append((*row, points(paper_difference), None))
        test = "Wilcoxon signed-rank test, Pratt's zeros" if is_graded else "exact McNemar test"
        notes = [
            f"p: {test}, two-sided; interval of the difference: bootstrap, too narrow where few"
            " questions changed: go by p"
        ]
        if any(pair.p_holm is not None for pair in figures.tests):
            notes.append(f"Holm: p adjusted over all {len(figures.tests)} tests of the run")
        counts_of = ("both\nright", "both\nwrong", *figures.change_words(measure))
        yield card_of(
            f"Against {against}, question by question: {one_line(measure)}",
            ("method", "n", *counts_of, "p", "Holm", "points", "95 % interval"),
            rows,
            "\n".join(notes),
            faint=frozenset(faint),
        )


def _transitions(figures: Figures, paper: PaperFigures | None, *, verbose: bool) -> Iterator[Card]:
    """Section 6.4: what became of first answers with conflict, a table for each method.

    Without ``verbose`` only for methods that look again, and for those that pairs compare against.
    Neutral outcomes are left out where there are none.
    """
    compared_with = {pair.against for pair in figures.compared}
    tables = [
        transitions
        for transitions in figures.transitions
        if verbose
        or method_of(transitions.method).looks_again
        or transitions.method in compared_with
    ]
    if tables:
        yield Card("Answers with conflict")
    for transitions in tables:
        paper_transitions = (
            paper.transitions if paper and transitions.method == "regenerated-rag" else None
        )
        rows = []
        for name, paper_counts in _OUTCOMES:
            share: Proportion | None = getattr(transitions, name)
            if share is None or (name == "neutral" and share.count == 0):
                continue
            share_by_wording: Proportion | None = getattr(transitions.by_wording, name, None)
            count, of = paper_counts(paper_transitions) if paper_transitions else (0, 0)
            rows.append(
                (
                    _outcome(name, transitions, figures),
                    share.count,
                    share.n,
                    *_estimate(share),
                    None
                    if share_by_wording is None
                    else f"{share_by_wording.count:,} of {share_by_wording.n:,}",
                    f"{count} of {of}, {percent(count / of)} %" if of else None,
                )
            )
        losses = [
            f"{number:,} {what}"
            for number, what in (
                (transitions.failed, "failed"),
                (transitions.unjudged, "revised but unjudged"),
                (transitions.unread, "compared by words alone"),
            )
            if number
        ]
        conflict = counted(transitions.conflict, "first answer") + " with conflict"
        free_form = transitions.measure not in CHOICES.values()
        yield card_of(
            f"{transitions.method}: {', '.join([conflict, *losses])}",
            ("", "count", "of", "%", "95 % interval", "by wording", "paper"),
            rows,
            _BY_CLAIMS if transitions.by_wording else _BY_WORDS if free_form else "",
            bold=False,
        )


def _outcome(name: str, transitions: Transitions, figures: Figures) -> str:
    names = {}
    if figures.is_graded(transitions.measure):
        better, worse = figures.change_words(transitions.measure)
        names = {"corrections": better, "harms": worse, "harms_of_conflict": f"{worse} of all"}
    return names.get(name, name.replace("_", " "))


def other_choices(question_results: Sequence[QuestionResult]) -> list[Card]:
    """How many second looks would have been about another claim; no table where none would."""
    put_back = [
        (claims_by_choice(report), question_result.reconsidered.claim.number)
        for question_result in question_results
        if question_result.reconsidered is not None
        if (first := question_result.methods.get(BASELINE)) is not None
        if (report := first.report) is not None and report.reconsider is not None
    ]
    if not any(set(choices.values()) - {number} for choices, number in put_back):
        return []
    rows = []
    for choice in put_back[0][0]:
        count = sum(choices[choice] != number for choices, number in put_back)
        rows.append((choice, count, len(put_back), percent(count / len(put_back))))
    return [
        card_of(
            "Second looks that another choice of claim would change (--reconsider)",
            ("claim put back", "about another", "of", "%"),
            rows,
            "0: the choice of this run, or one that is the same here",
        )
    ]


def _types(figures: Figures, paper: PaperFigures | None) -> Iterator[Card]:
    if figures.types:
        yield card_of(
            "Types of conflict",
            ("method", "%", "95 % interval", "right", "n", "no type told"),
            [
                (method_types.method, *_estimate(right), right.count, right.n, method_types.untold)
                for method_types in figures.types
                for right in [method_types.accuracy]
            ],
            published_types(paper),
        )


def _categories(figures: Figures, *, verbose: bool) -> Iterator[Card]:
    """A few, such as types of conflict, are always shown; many in verbose only."""
    if not figures.categories or not (len(figures.categories) in _FEW or verbose):
        return
    methods = [method.method for method in figures.methods]
    for measure in figures.measures:
        rows: list[tuple[str | int, ...]] = []
        for category in figures.categories:
            levels = [category.measures.get(method, {}).get(measure) for method in methods]
            cells = ["" if v is None else f"{percent(v.value)} ({v.n:,})" for v in levels]
            rows.append((one_line(category.category) or "(none)", category.questions, *cells))
        what = "mean % (n)" if figures.is_graded(measure) else "% (n)"
        yield card_of(
            f"By category: {one_line(measure)}, {what}",
            ("category", "n", *(method.replace("-", "-\n") for method in methods)),
            rows,
            free_text=True,
        )


def _coverage(figures: Figures) -> str:
    coverage = figures.coverage
    if coverage.value is None:
        return "coverage of the first answers: none has a score"
    interval_text = (
        "" if coverage.low is None else f"{span(percent(coverage.low), percent(coverage.high))}, "
    )
    answers = sum(m.questions - m.failed for m in figures.methods if m.method == BASELINE)
    answers_without_score = max(0, answers - coverage.n)
    share = coverage.value if coverage.value == 1 else min(coverage.value, 0.999)  # not "100.0 %"
    return (
        f"coverage of the first answers: {percent(share)} % of their pairs were labelled"
        f" ({interval_text}{counted(coverage.n, 'answer')})"
        + (
            f"; {answers_without_score:,} could not be scored, so no conflict was seen there"
            * bool(answers_without_score)
        )
    )


def _failures(question_results: Iterable[QuestionResult], most: int | None) -> Iterator[Card]:
    """Why methods failed, and why answers have no verdict or score; equal reasons folded.

    Questions are counted, so a reason that several methods of a question share counts once.
    """
    ids_by_reason = defaultdict[str, defaultdict[str, dict[str, None]]](lambda: defaultdict(dict))
    for question_result in question_results:
        for name, method in question_result.methods.items():
            report = method.report if name == BASELINE else None
            for what, error in (
                ("Failed", method.error),
                *(("Unjudged", verdict.error) for verdict in method.verdicts.values()),
                ("Not scored", report.error if report else None),
            ):
                if error is not None:
                    ids_by_reason[what][one_line(error)][question_result.question.id] = None
    for what, reasons in ids_by_reason.items():
        rows = [
            (reason, len(ids), one_line(next(iter(ids)), 40)) for reason, ids in reasons.items()
        ]
        more = len(rows[most:]) if most else 0
        yield card_of(
            what,
            ("reason", "questions", "such as"),
            rows[:most],
            f"and {counted(more, 'more reason')}" if more else "",
            free_text=True,
        )


def _cost(figures: Figures, cost: Cost, *, verbose: bool) -> Iterator[Card]:
    """Usage by model (by step too if ``verbose``), and the price of each net correction.

    Dollars and tokens of a correction are those without a cache, so a resumed run shows the same.
    """
    if not cost.usage:
        yield Card("Cost", after=("no model was called",))
        return
    lines = [f"dollars: {money(cost.money, cost.unknown_prices)}"]
    if any(usage.cached_calls for usage in cost.usage.values()):
        uncounted_calls = cost.uncounted_calls
        why = (
            f" ({counted(uncounted_calls, 'call')} from a cache that knows no tokens)"
            if uncounted_calls
            else ""
        )
        lines.append(f"without a cache: {money(cost.cold_money)}{why}")
    if cache_read_tokens := sum(usage.cache_read_tokens for usage in cost.usage.values()):
        lines.insert(
            0, f"of the tokens in, {cache_read_tokens:,} were in a provider's prompt cache"
        )
    lines.append(f"time of all steps together: {seconds(cost.seconds)}")
    yield _usage("Cost", "model", cost.usage, () if verbose else lines)
    if verbose:
        yield _usage("", "step", cost.by_step, lines)
    rows = []
    for method, net in cost.net_corrections.items():
        tokens = cost.tokens_per_net_correction.get(method)
        each = (
            money(cost.cold_money_per_net_correction.get(method)),
            "unknown" if tokens is None else f"{tokens:,.0f}",
        )
        rows.append((method, f"{net:+,}" if net else "0", *(each if net > 0 else ["no gain"] * 2)))
    if rows:
        is_graded = figures.measures and figures.is_graded(figures.measures[0])
        changes = " less ".join(figures.change_words(figures.measures[0])) if is_graded else ""
        columns = ("method", changes or "net corrections", "dollars for\neach", "tokens for\neach")
        yield card_of("", columns, rows, "without a cache")


def _usage(title: str, what: str, usage: dict[str, Usage], after: Sequence[str]) -> Card:
    return card_of(
        title,
        (what, "calls", "from the cache", "tokens in", "tokens out"),
        [
            (one_line(name), u.calls, u.cached_calls, u.input_tokens, u.output_tokens)
            for name, u in usage.items()
        ],
        free_text=True,
        after=tuple(after),
    )


def difference_cells(difference: Interval) -> tuple[str, str]:
    """A difference in points, and its interval."""
    bounds = span(points(difference.low), points(difference.high))
    return points(difference.value), bounds


def _estimate(estimate: Proportion | Interval) -> tuple[str, str]:
    return percent(estimate.value), span(percent(estimate.low), percent(estimate.high))
