"""Shows the figures of a run as tables: in a terminal, on the report page and in files.

In a terminal, the tables are made for a width of 80 to 100 columns. Model names, category names and
error messages are untrusted text. Untrusted text is shown without markup or control characters.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.harness.figures import (
    Figures,
    Paired,
    Proportion,
)
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.report.conflict_cards import conflict_cards
from conflictscore.benchmarks.harness.report.cost_cards import cost_cards
from conflictscore.benchmarks.harness.report.figure_cells import difference_cells, estimate_cells
from conflictscore.benchmarks.harness.report.findings import findings
from conflictscore.benchmarks.paper_figures import (
    PaperFigures,
    own_tables,
    published_types,
)
from conflictscore.correcting.anew import claims_by_choice
from conflictscore.records import Method
from conflictscore.reporting.figure_text import (
    counted,
    one_line,
    p_value,
    percent,
    points,
    published,
    span,
)
from conflictscore.reporting.plain_table import Card, card_of, print_card

_FEW = range(2, 7)
"""If the number of categories is in this range, the categories are shown even without ``verbose``.

A single category would only repeat the figures of the whole run. More than six would fill the
terminal; the limit was chosen by hand.
"""
_SHOWN_REASONS = 5
"""The maximum number of reasons for failures that are shown without ``verbose``; chosen by hand."""
_ID_CHARS = 40
"""The maximum number of characters of a question's id in a table; the reason needs the room.

The ids that benchmarks make are shorter, so only ids from a user's file are cut.
"""


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
    console.print(Text(f"{progress_line}; at least one method failed on {figures.failed:,}"))
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
    """Return the tables of a run by section, in the order of the terminal, the page and exports."""
    limits = tuple(("-", table) for table in findings(figures, paper)) if figures.measures else ()
    return {
        "measures": [_measure(figures, measure, paper) for measure in figures.measures],
        "claims": [*own_tables(figures, question_results), *other_choices(question_results)],
        "pairs": [*_pairs(figures, paper)],
        "conflicts": [*conflict_cards(figures, paper, verbose=verbose)],
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
        "cost": [*cost_cards(figures, figures.cost, verbose=verbose)],
        "limits": [Card("Limits of these figures", (), limits)] if limits else [],
    }


def _measure(figures: Figures, measure: str, paper: PaperFigures | None) -> Card:
    """Build a table of each method's level on one measure, with the paper's level if known."""
    levels = [
        (method, level)
        for method in figures.methods
        if (level := method.measures.get(measure)) is not None
    ]
    paper_levels = {
        method.method: paper_level
        for method, _ in levels
        if paper and (paper_level := paper.value(method.method, measure)) is not None
    }
    rows = [
        (
            method.method,
            *estimate_cells(level),
            level.count if isinstance(level, Proportion) else None,
            level.n,
            method.failed or None,  # the usual 0 leaves the cell empty
            method.unjudged.get(measure) or None,
            published(paper_levels[method.method]) if method.method in paper_levels else None,
        )
        for method, level in levels
    ]
    return card_of(
        one_line(measure).capitalize(),
        (
            "method",
            "mean %" if figures.is_graded(measure) else "%",
            "95 % interval",
            "right",
            "n",
            "failed",
            "unjudged",
            "paper %",
        ),
        rows,
        "\n".join(_measure_notes(figures, measure, paper if paper_levels else None)),
    )


def _measure_notes(figures: Figures, measure: str, paper: PaperFigures | None) -> Iterator[str]:
    """Describe how a graded measure is averaged, and where the paper's figures come from."""
    if figures.is_graded(measure):
        best = "; 0 is best" if figures.falls(measure) else ""
        yield f"mean of values from 0 to 100 %, with a bootstrap interval{best}"
    if paper is not None:
        remark = f" ({paper.note})" if paper.note else ""
        yield (
            f"paper: {paper.source}, {paper.model}, {counted(paper.questions, 'question')}{remark}"
        )


def _pairs(figures: Figures, paper: PaperFigures | None) -> Iterator[Card]:
    """Yield a table for each combination of a measure and a baseline method."""
    groups = defaultdict[tuple[str, str], list[Paired]](list)
    for pair in figures.tests:
        groups[pair.against, pair.measure].append(pair)
    for (against, measure), pairs in groups.items():
        yield _pairs_card(figures, paper, against, measure, pairs)


def _pairs_card(
    figures: Figures,
    paper: PaperFigures | None,
    against: str,
    measure: str,
    pairs: Sequence[Paired],
) -> Card:
    """Compare methods with ``against`` on one measure; show the paper's figures in faint rows."""
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
        if (row := _paper_row(paper, pair)) is not None:
            faint.add(len(rows))
            rows.append(row)
    test = (
        "Wilcoxon signed-rank test with Pratt's treatment of zeros"
        if is_graded
        else "exact McNemar test"
    )
    notes = [
        f"p: {test}, two-sided; if few questions changed, the bootstrap interval of the difference"
        " is too narrow, so rely on p"
    ]
    if any(pair.p_holm is not None for pair in figures.tests):
        # a pair that was judged on no question has no p-value, so it is not part of the adjustment
        tests = sum(pair.p_value is not None for pair in figures.tests)
        notes.append(f"Holm: p after Holm's adjustment over all {tests} tests of the run")
    counts_of = ("both\nright", "both\nwrong", *figures.change_words(measure))
    return card_of(
        f"Against {against}, question by question: {one_line(measure)}",
        ("method", "n", *counts_of, "p", "Holm", "points", "95 % interval"),
        rows,
        "\n".join(notes),
        faint=frozenset(faint),
    )


def _paper_row(paper: PaperFigures | None, pair: Paired) -> tuple[str | int | None, ...] | None:
    """Return the paper's difference between two methods; None if the paper lacks one of them."""
    difference = paper.difference(pair.method, pair.measure, pair.against) if paper else None
    if paper is None or difference is None:
        return None
    corrections, harms, p = None, None, None
    # the paper gives counts only for regenerated-rag against rag on binary choices
    transitions = paper.transitions
    if transitions and (pair.method, pair.against) == (Method.REGENERATED_RAG, BASELINE):
        corrections, harms = transitions.corrections, transitions.harms
        p = p_value(transitions.p_value)
    cells = (None, None, None, corrections, harms, p, None)
    return ("in the paper", *cells, points(difference), None)


def other_choices(question_results: Sequence[QuestionResult]) -> list[Card]:
    """Count how often each alternative rule selects a different claim to reconsider.

    Returns no table if all rules select the same claims.
    """
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
            "Second looks that a different choice of claim would change (--reconsider)",
            ("choice of claim", "different claim", "of", "%"),
            rows,
            "A choice with 0 is the one that this run used, or it selects the same claims.",
        )
    ]


def _types(figures: Figures, paper: PaperFigures | None) -> Iterator[Card]:
    if figures.types:
        yield card_of(
            "Types of conflict",
            ("method", "%", "95 % interval", "right", "n", "no type\nnamed"),
            [
                (
                    method_types.method,
                    *estimate_cells(right),
                    right.count,
                    right.n,
                    method_types.untold,
                )
                for method_types in figures.types
                for right in [method_types.accuracy]
            ],
            published_types(paper),
        )


def _categories(figures: Figures, *, verbose: bool) -> Iterator[Card]:
    """Tabulate the figures by category.

    Categories are always shown if there are only a few, such as conflict types. Many categories are
    shown only if ``verbose`` is set.
    """
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
            # methods' names break after hyphens, so that the columns stay narrow
            ("category", "n", *(method.replace("-", "-\n") for method in methods)),
            rows,
            free_text=True,
        )


def _coverage(figures: Figures) -> str:
    coverage = figures.coverage
    if coverage.value is None:
        return "coverage of the first answers: no first answer has a score"
    interval_text = (
        "" if coverage.low is None else f"{span(percent(coverage.low), percent(coverage.high))}, "
    )
    answers = sum(m.questions - m.failed for m in figures.methods if m.method == BASELINE)
    answers_without_score = max(0, answers - coverage.n)
    # a share below 1 is never rounded up to 100.0 %
    share = coverage.value if coverage.value == 1 else min(coverage.value, 0.999)
    return (
        f"coverage of the first answers: {percent(share)} % of their pairs were labelled"
        f" ({interval_text}{counted(coverage.n, 'answer')})"
        + (
            f"; {answers_without_score:,} could not be scored, so their conflicts are unknown"
            * bool(answers_without_score)
        )
    )


def _failures(question_results: Iterable[QuestionResult], most: int | None) -> Iterator[Card]:
    """List why methods failed, and why answers lack a verdict or a score; merge equal reasons.

    The counts are numbers of questions. If several methods failed on a question for the same
    reason, the reason is counted once.
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
            (reason, len(ids), one_line(next(iter(ids)), _ID_CHARS))
            for reason, ids in reasons.items()
        ]
        more = len(rows[most:]) if most else 0
        yield card_of(
            what,
            ("reason", "questions", "such as"),
            rows[:most],
            f"and {counted(more, 'more reason')}" if more else "",
            free_text=True,
        )
