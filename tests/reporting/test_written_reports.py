"""What is shown of reports: a line a prompt, and no number that is not there."""

import re
from io import StringIO

from rich.console import Console

from conflictscore.benchmarks.reports.figures import report_figures
from conflictscore.benchmarks.reports.run import ReportRow
from conflictscore.benchmarks.reports.writing import Report, Style
from conflictscore.records import ConflictReport
from conflictscore.reporting.written_reports import print_reports


def row(topic: str, style: Style, score: float | None) -> ReportRow:
    return ReportRow(
        set="s",
        topic=topic,
        about="A lamp",
        style=style,
        report=Report(text="The lamp was lit.", paragraphs=1),
        score=ConflictReport(cs_c=score, cs_r=score, coverage=None),
    )


def shown(*rows: ReportRow) -> str:
    out = StringIO()
    print_reports(report_figures(rows), Console(file=out, width=80, highlight=False))
    return out.getvalue()


def cells(text: str, start: str, after: str) -> list[str]:
    lines = text[text.index(after) :].splitlines()
    return re.split(r"\s{2,}", next(line.strip() for line in lines if line.startswith(start)))


def test_a_prompt_stands_with_its_means_and_less_those_of_the_plain_one() -> None:
    plain = [row("a", Style.RAG, 0.25), row("b", Style.RAG, 0.75)]
    text = shown(*plain, row("a", Style.BALANCED, 0.5), row("b", Style.BALANCED, None))
    mean = "0.500 [0.250, 0.750]"
    assert cells(text, "rag", "CS-C") == ["rag", "2 of 2", mean, mean, "0.0", "none"]
    assert cells(text, "balanced", "CS-C")[:3] == ["balanced", "1 of 2", "0.500"]
    assert cells(text, "balanced", "Less rag") == ["balanced", "1", "0.250", "0.250"]


def test_80_columns_hold_a_prompt_on_one_line() -> None:
    scores = enumerate((0.1, 0.4, 0.9))
    both = [row(f"{n}", style, s) for n, s in scores for style in (Style.RAG, Style.SUPER_BALANCED)]
    text = shown(*both)
    assert len(cells(text, "super-balanced", "CS-C")) == 6
    assert max(map(len, text.splitlines())) <= 80


def test_the_plain_prompt_alone_is_held_against_nothing() -> None:
    assert "Less rag" not in shown(row("a", Style.RAG, 0.25))
