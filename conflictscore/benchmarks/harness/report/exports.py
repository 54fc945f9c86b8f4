"""Exports runs as files: answers as CSV or JSON lines, and figures as CSV or LaTeX."""

import csv
import io
import json
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.report.flips import flip_kind, justification, second_looks
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.benchmarks.harness.report.study_cards import named_study_cards
from conflictscore.benchmarks.harness.report.tables import sections
from conflictscore.errors import InputError
from conflictscore.records import Usage
from conflictscore.reporting.plain_table import Card, column_name
from conflictscore.storage.private_files import write_whole

_BEFORE_MEASURES = (
    "run",
    "id",
    "category",
    "question",
    "options",
    "gold",
    "method",
    "answer",
    "option",
    "justification",
    "story",
    "error",
)
_AFTER_MEASURES = (
    "conflict_type",
    "predicted_type",
    "conflict",
    "flipped",
    "reworded",
    "kind",
    "cs_c",
    "cs_r",
    "coverage",
    "claims",
    "documents",
    "guard_accepted",
    "guard_note",
    "step",
    "calls",
    "cached_calls",
    "input_tokens",
    "cache_read_tokens",
    "output_tokens",
    "seconds",
)
_OF_REVIEWERS = ("reviewers", "verdicts", "comments")
"""The columns for reviews, present only if a run was reviewed.

Each column lists one entry per reviewer. The order of reviewers is the same in all columns.
"""
_UNSEEN = ("Cf", "Zs")
"""The Unicode categories of invisible characters and of spaces. A spreadsheet may skip these
characters before a formula."""
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""The characters that begin a formula; some spreadsheets also accept the full-width ones."""
_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "<": r"\textless{}",
        ">": r"\textgreater{}",
        "|": r"\textbar{}",
        # LaTeX reads a "[" or "*" after a row break or a booktabs rule as an argument
        "[": "{[}",
        "*": "{*}",
        **{sign: f"\\{sign}" for sign in "&%$#_{}"},
    }
)


def export_answers(runs: Sequence[ReportRun], out: Path) -> None:
    """Write one row per question and finished method, as .csv or .jsonl.

    Each measure has columns for its value, for the judge's explanation, and for the error if there
    is no value. ``conflict_type`` is the annotators' type, and ``predicted_type`` the method's.
    ``calls``, ``seconds`` and the columns for tokens describe the ``step`` of the row. Methods may
    share a step, so totals must count each distinct (run, id, step) once.

    ``flipped``, ``reworded`` and ``kind`` (correction, harm or neither, by the first measure)
    compare the answer with the answer of ``rag``. ``against_METHOD`` is the kind of change from
    METHOD's answer to this answer. In free form, an answer is flipped if its claims differ, and
    reworded if its words differ. ``reviewers``, ``verdicts`` and ``comments`` are lists with one
    entry per reviewer, in the same order.

    In CSV, a string that a spreadsheet could interpret as a formula gets a leading apostrophe, and
    a list is written as JSON. A lone surrogate is always replaced by ``?``.
    """
    write_whole(out, answer_table(runs, _ending(out, ".csv", ".jsonl")))


def answer_table(runs: Sequence[ReportRun], kind: str) -> bytes:
    """Build the table of :func:`export_answers`; ``kind`` is ``.csv`` or ``.jsonl``."""
    columns = _columns(runs)
    rows = [
        row
        for run in runs
        for question_result in run.results
        for row in _rows(run, question_result)
    ]
    if kind == ".csv":
        text = _csv(columns, ([row.get(name) for name in columns] for row in rows))
    else:
        whole = ({name: row.get(name) for name in columns} for row in rows)
        text = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in whole)
    return text.encode(errors="replace")


def export_figures(runs: Sequence[ReportRun], out: Path) -> int:
    """Write every table of figures that the terminal shows with ``--verbose``, as .csv or .tex.

    If several runs form a study, its tables come last, under the name ``all runs``. If there are
    several studies, each name also gives the benchmark and form. CSV has the columns ``run``,
    ``table``, ``row``, ``column`` and ``value``. The LaTeX output needs the booktabs package; text
    from files and models is escaped.

    Returns:
        The number of tables written.
    """
    kind = _ending(out, ".csv", ".tex")
    tables = [(run.name, card) for run in runs for card in _tables(run)]
    tables += [(name, card) for name, card in named_study_cards(runs) if card.columns]
    if kind == ".csv":
        cells = (cell for run, card in tables for cell in _cells(run, card))
        text = _csv(("run", "table", "row", "column", "value"), cells)
    else:
        text = "\n".join(_latex(run, card) for run, card in tables)
    write_whole(out, text.encode(errors="replace"))
    return len(tables)


def _ending(out: Path, *kinds: str) -> str:
    if (kind := out.suffix.casefold()) not in kinds:
        raise InputError(f"{out}: the file must end in {' or '.join(kinds)}")
    return kind


def _columns(runs: Sequence[ReportRun]) -> list[str]:
    measures = dict.fromkeys(measure for run in runs for measure in run.figures.measures)
    of_measures = [f"{name}{part}" for name in measures for part in ("", "_explanation", "_error")]
    of_comparisons = dict.fromkeys(
        f"against_{pair.against}" for run in runs for pair in run.figures.compared
    )
    of_reviewers = _OF_REVIEWERS if any(run.reviews for run in runs) else ()
    return [*_BEFORE_MEASURES, *of_measures, *_AFTER_MEASURES, *of_comparisons, *of_reviewers]


def _rows(run: ReportRun, question_result: QuestionResult) -> Iterator[dict[str, Any]]:
    """Yield a row for each method that finished the question.

    The columns are described in :func:`export_answers`.

    Columns that do not apply, such as those of a guard or of reviewers, are absent here and empty
    in the table.
    """
    for method in question_result.methods:
        row = _flip_row(run, question_result, method)
        # if the loop's new answer was rejected, the model's reason for that answer does not belong
        # in the row
        if row["flipped"] and method in second_looks():
            row["justification"] = justification(question_result, method)
        if method == "guarded-rag" and question_result.guard is not None:
            guard = question_result.guard.to_json()
            row |= {f"guard_{name}": cell for name, cell in guard.items()}
        # only logged runs have reviews, which are about the final answer, not the baseline's
        if method != BASELINE and (reviews := run.reviews.get(question_result.question.id)):
            row["reviewers"] = list(reviews)
            row["verdicts"] = [review.verdict.value for review in reviews.values()]
            row["comments"] = [review.comment for review in reviews.values()]
        yield row


def _flip_row(run: ReportRun, question_result: QuestionResult, method: str) -> dict[str, Any]:
    """Return the columns of every row: question, answer, comparison with methods, and cost."""
    question = question_result.question
    step = METHODS[method].step or method

    def kind(against: str = BASELINE) -> str | None:
        return flip_kind(
            question_result, method, run.first_measure, falls=run.falls, against=against
        )

    usage = question_result.usage.get(step)
    return {
        "run": run.name,
        "id": question.id,
        "category": question.category,
        "question": question.question,
        "options": list(question.options),
        "gold": question.gold,
        "method": method,
        "error": question_result.methods[method].error,
        "conflict_type": question.conflict_type,
        "predicted_type": question_result.predicted.get(method),
        "conflict": question_result.conflict,
        "flipped": question_result.flipped(method),
        "reworded": question_result.reworded(method),
        "kind": kind(),
        "documents": len(question_result.documents),
        "story": [
            line for change in question_result.changes.get(step, ()) for line in change.told()
        ],
        "step": step,
        "seconds": question_result.seconds.get(step),
        **_answer(question_result.methods[method]),
        **{
            f"against_{pair.against}": kind(pair.against)
            for pair in run.figures.compared
            if pair.method == method
        },
        **({} if usage is None else reduce(add, usage.values(), Usage()).to_json()),
    }


def _answer(method_result: MethodResult) -> dict[str, Any]:
    fields: dict[str, Any] = {}
    if method_result.answer is not None:
        fields = {"answer": method_result.answer.text, "option": method_result.answer.option}
        fields["justification"] = method_result.answer.justification
    for measure, verdict in method_result.verdicts.items():
        fields[measure] = verdict.value
        fields[f"{measure}_explanation"] = verdict.explanation
        fields[f"{measure}_error"] = verdict.error
    if (report := method_result.report) is not None:
        fields |= {"cs_c": report.cs_c, "cs_r": report.cs_r, "coverage": report.coverage}
        fields["claims"] = len(report.claims)
    return fields


def _csv(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    # the csv module quotes a lone carriage return only if the line terminator contains one
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_cell(cell) for cell in row] for row in rows)
    return text.getvalue()


def _cell(cell: Any) -> Any:
    """Return a value in a form that no spreadsheet interprets as a formula."""
    if isinstance(cell, list):
        return json.dumps(cell, ensure_ascii=False)
    # A string that is a number, such as "-5", is not a formula.
    if not isinstance(cell, str) or cell.lstrip("+-").replace(".", "", 1).isdigit():
        return cell
    first = next((sign for sign in cell if unicodedata.category(sign) not in _UNSEEN), "")
    return f"'{cell}" if first in _FORMULA_STARTS else cell


def _tables(run: ReportRun) -> Iterator[Card]:
    """Yield the tables of a run; a table without a title continues the previous one."""
    title = ""
    for cards in sections(run.figures, run.paper, run.results).values():
        for card in cards:
            title = card.title or title
            if card.columns and card.rows:
                yield Card(title, card.columns, card.rows, card.note)


def _cells(run: str, card: Card) -> Iterator[tuple[str, ...]]:
    names = list(map(column_name, card.columns))
    for first, *cells in card.rows:
        for name, cell in zip(names[1:], cells, strict=True):
            yield run, card.title, first, name, cell


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
