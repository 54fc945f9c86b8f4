"""The scores of reports by prompt, and beside those of the plain one (paper, Table 3)."""

from collections.abc import Iterable, Sequence
from typing import Annotated

from pydantic import Field

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.benchmarks.harness.statistics import mean_interval, paired_difference
from conflictscore.benchmarks.reports.run import ReportRow, latest
from conflictscore.benchmarks.reports.writing import Style
from conflictscore.records import Record

__all__ = ["StyleFigures", "report_figures"]

_Count = Annotated[int, Field(ge=0)]


class StyleFigures(Record):
    """The reports of one prompt. Intervals resample topics."""

    style: Style
    reports: _Count
    """Reports that were written."""
    failed: _Count
    """Reports that could not be written, or not be scored, for an error."""
    unscored: _Count
    """Reports with no claim, or no labelled one; they are in no mean."""
    cs_c: Interval
    """Mean ConflictScore-Count; lower is better."""
    cs_r: Interval
    """Mean ConflictScore-Ratio; lower is better."""
    cs_c_difference: Interval | None
    """Mean of this prompt's CS-C less that of ``rag``, over topics that have both; None for it."""
    cs_r_difference: Interval | None
    """The same of CS-R."""
    claims: Interval
    """Claims a report."""
    coverage: Interval
    """Labelled pairs / pairs, in [0, 1]."""
    paragraphs: Interval
    """Paragraphs a report; three at the most were asked for."""


def report_figures(rows: Iterable[ReportRow]) -> tuple[StyleFigures, ...]:
    """The figures of each prompt that has a report, in the order of :class:`Style`.

    Raises:
        ConfigurationError: The extra [bench] is not installed.
    """
    last = list(latest(rows).values())
    by_style = {style: [row for row in last if row.style is style] for style in Style}
    plain = {(row.set, row.topic): row for row in by_style[Style.RAG]}
    return tuple(
        _style(style, of_style, [plain.get((row.set, row.topic)) for row in of_style])
        for style, of_style in by_style.items()
        if of_style
    )


def _style(
    style: Style, rows: Sequence[ReportRow], plain: Sequence[ReportRow | None]
) -> StyleFigures:
    reports = [row.report for row in rows if row.report is not None]
    scores = [row.score for row in rows if row.score is not None and row.done]
    differences: dict[str, Interval | None] = {"cs_c": None, "cs_r": None}
    if style is not Style.RAG:
        pairs = [
            (before.score, row.score)
            for row, before in zip(rows, plain, strict=True)
            if before is not None
        ]
        for name in differences:
            both = [
                (low, high)
                for before, after in pairs
                if (low := getattr(before, name, None)) is not None
                and (high := getattr(after, name, None)) is not None
            ]
            differences[name] = paired_difference([b for b, _ in both], [a for _, a in both])
    return StyleFigures(
        style=style,
        reports=len(reports),
        failed=sum(row.error is not None for row in rows),
        unscored=sum(score.cs_c is None for score in scores),
        cs_c=mean_interval([score.cs_c for score in scores if score.cs_c is not None]),
        cs_r=mean_interval([score.cs_r for score in scores if score.cs_r is not None]),
        cs_c_difference=differences["cs_c"],
        cs_r_difference=differences["cs_r"],
        claims=mean_interval([len(score.claims) for score in scores]),
        coverage=mean_interval([s.coverage for s in scores if s.coverage is not None]),
        paragraphs=mean_interval([report.paragraphs for report in reports]),
    )
