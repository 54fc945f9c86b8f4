"""Tables of pairs of methods, question by question."""

from collections.abc import Iterator

from conflictscore.benchmarks.harness.figures import Figures, Paired
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.paper_figures import PaperFigures
from conflictscore.reporting.figure_text import one_line, p_value, points, span
from conflictscore.reporting.plain_table import Card

_PAPERS = "regenerated-rag"


def pair_cards(figures: Figures, paper: PaperFigures | None) -> Iterator[Card]:
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
                if (told := paper.transitions) and (pair.method, other) == (_PAPERS, BASELINE):
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
