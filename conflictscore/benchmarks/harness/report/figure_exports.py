"""The figures of runs as files: CSV with a cell a row, or LaTeX with a table a figure."""

import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path

from conflictscore.benchmarks.harness.report.exports import is_formula
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study_cards import all_study_cards
from conflictscore.benchmarks.harness.report.tables import figure_cards
from conflictscore.errors import InputError
from conflictscore.reporting.files import write_whole
from conflictscore.reporting.plain_table import Card, column_name

FIGURE_FORMATS = (".csv", ".tex")
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


def export_figures(runs: Sequence[ReportRun], out: Path) -> int:
    """Write every table of figures that the terminal shows with ``--verbose``.

    Those of a study of several runs come last, under the name ``all runs``.

    CSV has the columns ``run``, ``table``, ``row``, ``column`` and ``value``. LaTeX needs the
    package booktabs; what was read from files and models is escaped in it.

    Returns:
        How many tables there are.

    Raises:
        InputError: The path has another ending, or cannot be written.
    """
    kind = out.suffix.casefold()
    if kind not in FIGURE_FORMATS:
        raise InputError(f"{out}: figures are written as .csv or .tex; give such a name")
    tables = [(run.name, card) for run in runs for card in _tables(run)]
    tables += [("all runs", card) for card in all_study_cards(runs) if card.columns]
    text = _csv(tables) if kind == ".csv" else "\n".join(_latex(run, card) for run, card in tables)
    write_whole(out, text.encode(errors="replace"))
    return len(tables)


def _tables(run: ReportRun) -> Iterator[Card]:
    """The tables of a run; one without a title belongs to the one above."""
    title = ""
    for card in figure_cards(run.figures, run.paper, run.results):
        title = card.title or title
        if card.columns and card.rows:
            yield Card(title, card.columns, card.rows, card.note)


def _csv(tables: Sequence[tuple[str, Card]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(("run", "table", "row", "column", "value"))
    for run, card in tables:
        names = list(map(column_name, card.columns))
        for first, *cells in card.rows:
            for name, cell in zip(names[1:], cells, strict=True):
                writer.writerow(map(_cell, (run, card.title, first, name, cell)))
    return text.getvalue()


def _cell(text: str) -> str:
    """The text, which no spreadsheet takes for a formula; a signed number stays one."""
    number = text.lstrip("+-").replace(".", "", 1).isdigit()
    return f"'{text}" if is_formula(text) and not number else text


def _latex(run: str, card: Card) -> str:
    def row(cells: Sequence[str]) -> str:
        return " & ".join(" ".join(cell.split()).translate(_LATEX) for cell in cells) + r" \\"

    note = f"{run}: {card.title}. {' '.join(card.note.split())}".translate(_LATEX)
    return "\n".join(
        (
            r"\begin{table}\centering",
            rf"\begin{{tabular}}{{l{'r' * (len(card.columns) - 1)}}}",
            r"\toprule",
            row([column_name(column) for column in card.columns]),
            r"\midrule",
            *map(row, card.rows),
            r"\bottomrule",
            r"\end{tabular}",
            rf"\caption{{{note}}}",
            r"\end{table}",
            "",
        )
    )
