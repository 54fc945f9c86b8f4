"""The answers of runs as one table: CSV or JSON lines, a row a question and method."""

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from operator import add
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.methods.registry import BASELINE, METHODS
from conflictscore.benchmarks.harness.records import MethodResult, QuestionResult
from conflictscore.benchmarks.harness.report.flips import SECOND_LOOKS, flip_kind, justification
from conflictscore.benchmarks.harness.report.page.report_run import ReportRun
from conflictscore.errors import InputError
from conflictscore.records import Usage
from conflictscore.reporting.files import write_whole

_BEFORE_MEASURES = (
    *("run", "id", "category", "question", "options", "gold"),
    *("method", "answer", "option", "justification", "story", "error"),
)
_AFTER_MEASURES = (
    *("conflict_type", "predicted_type", "conflict", "flipped", "reworded", "kind"),
    *("cs_c", "cs_r", "coverage", "claims", "documents"),
    *("guard_accepted", "guard_note", "donor", "step"),
    *("calls", "cached_calls", "input_tokens", "cache_read_tokens", "output_tokens", "seconds"),
)
_OF_REVIEWERS = ("reviewers", "verdicts", "comments")
"""In the same order; only where somebody reviewed any of the runs."""
_UNSEEN = " \u00a0\u00ad\u200b\u200e\u200f\u2060\u3000\ufeff"
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""Some spreadsheets take full-width signs for formulas too."""


def export_table(runs: Sequence[ReportRun], out: Path) -> int:
    """Write one row for each question and method that ended, and say how many there are.

    Each measure has a value, the judge's explanation, and why there is no value. ``conflict_type``
    is what people said, ``predicted_type`` what the method told. ``calls``, tokens and ``seconds``
    are those of the row's ``step``, which methods may share, so a sum is taken over distinct (run,
    id, step). ``flipped``, ``reworded`` and ``kind`` (by the first measure) are against ``rag``,
    ``against_METHOD`` is the kind against another: in free form a flip has another claim, and a
    reworded answer other words. ``reviewers``, ``verdicts`` and ``comments`` are in one order.

    In CSV a text that a spreadsheet could take for a formula gets an apostrophe before it, and a
    list is JSON. Half of a surrogate pair becomes ``?`` everywhere.

    Args:
        runs: The runs.
        out: A path that ends in .csv or .jsonl.
    """
    kind = out.suffix.casefold()
    if kind not in TABLE_FORMATS:
        names = ", ".join(TABLE_FORMATS)
        raise InputError(f"{out}: a table is written as {names}; give such a name")
    count, content = table_of(runs, kind)
    write_whole(out, content)
    return count


def table_of(runs: Sequence[ReportRun], kind: str) -> tuple[int, bytes]:
    """How many rows there are, and the table; see :func:`export_table`."""
    columns = _columns(runs)
    graded = {m for run in runs for m in run.figures.measures if run.figures.is_graded(m)}
    rows = [
        {column: _whole(row.get(column), number=column in graded) for column in columns}
        for run in runs
        for result in run.results
        for row in _rows(run, result)
    ]
    return len(rows), TABLE_FORMATS[kind](columns, rows)


def _columns(runs: Sequence[ReportRun]) -> list[str]:
    measures = dict.fromkeys(measure for run in runs for measure in run.figures.measures)
    measured = [f"{name}{part}" for name in measures for part in ("", "_explanation", "_error")]
    compared = dict.fromkeys(
        f"against_{pair.against}" for run in runs for pair in run.figures.compared
    )
    reviewed = _OF_REVIEWERS if any(run.reviews for run in runs) else ()
    return [*_BEFORE_MEASURES, *measured, *_AFTER_MEASURES, *compared, *reviewed]


def _rows(run: ReportRun, result: QuestionResult) -> Iterator[dict[str, Any]]:
    question = result.question
    for method, ended in result.methods.items():
        row = {
            "run": run.name,
            "id": question.id,
            "category": question.category,
            "question": question.question,
            "options": list(question.options),
            "gold": question.gold,
            "method": method,
            "error": ended.error,
            "conflict_type": question.conflict_type,
            "predicted_type": result.predicted.get(method),
            "conflict": result.conflict,
            "flipped": result.flipped(method),
            "reworded": result.reworded(method),
            "kind": flip_kind(result, method, run.first_measure, falls=run.falls),
            "documents": len(result.documents),
            **_answer(ended),
            **_spent(result, method),
        }
        for one, other in dict.fromkeys((p.method, p.against) for p in run.figures.compared):
            if one == method:
                row[f"against_{other}"] = flip_kind(
                    result, method, run.first_measure, falls=run.falls, against=other
                )
        if row["flipped"] and method in SECOND_LOOKS:
            row["justification"] = justification(result, method)
        changes = result.changes.get(METHODS[method].step or method, ())
        row["story"] = [line for change in changes for line in change.told()]
        if method == "placebo":
            row["donor"] = result.donor
        if method == "guarded-rag" and result.guard is not None:
            row |= {f"guard_{name}": value for name, value in result.guard.to_json().items()}
        if method != BASELINE and (reviews := run.reviews.get(question.id)):
            row["reviewers"] = list(reviews)
            row["verdicts"] = [review.verdict.value for review in reviews.values()]
            row["comments"] = [review.comment for review in reviews.values()]
        yield row


def _answer(ended: MethodResult) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if ended.answer is not None:
        found = {"answer": ended.answer.text, "option": ended.answer.option}
        found["justification"] = ended.answer.justification
    for measure, verdict in ended.verdicts.items():
        found[measure] = verdict.value
        found[f"{measure}_explanation"] = verdict.explanation
        found[f"{measure}_error"] = verdict.error
    if (report := ended.report) is not None:
        found |= {"cs_c": report.cs_c, "cs_r": report.cs_r, "coverage": report.coverage}
        found["claims"] = len(report.claims)
    return found


def _spent(result: QuestionResult, method: str) -> dict[str, Any]:
    step = METHODS[method].step or method
    spent = result.usage.get(step)
    usage = {} if spent is None else reduce(add, spent.values(), Usage()).to_json()
    return {"step": step, "seconds": result.seconds.get(step), **usage}


def _whole(value: Any, *, number: bool = False) -> Any:
    """The value, with no half of a surrogate pair in its texts: no format can hold one."""
    if isinstance(value, str):
        return value.encode(errors="replace").decode()
    if isinstance(value, list):
        return [_whole(part) for part in value]
    return float(value) if number and value is not None else value


def _csv(columns: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    text = io.StringIO()
    # Python quotes a lone carriage return only where it is part of the line end
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(columns)
    writer.writerows([_cell(row[column]) for column in columns] for row in rows)
    return text.getvalue().encode()


def _cell(value: Any) -> Any:
    if isinstance(value, list):
        return json.dumps(value, ensure_ascii=False)
    return f"'{value}" if isinstance(value, str) and is_formula(value) else value


def is_formula(text: str) -> bool:
    """Whether a spreadsheet could take a cell for a formula, also behind what is not seen."""
    return text.startswith(_FORMULA_STARTS) or text.lstrip(_UNSEEN).startswith(_FORMULA_STARTS)


def _json_lines(_: Sequence[str], rows: Sequence[Mapping[str, Any]]) -> bytes:
    lines = (json.dumps(row, ensure_ascii=False, allow_nan=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


TABLE_FORMATS = {".csv": _csv, ".jsonl": _json_lines}
"""By the end of the file's name."""
