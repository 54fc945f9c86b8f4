"""TruthfulQA's questions, from its official files: CSV of January 2025, or the first; targets."""

import csv
import io
from collections.abc import Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any, get_args

from conflictscore.benchmarks.harness.definition import Form
from conflictscore.benchmarks.harness.question_sample import (
    drawn_order,
    question_id,
    shuffled_options,
)
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import read_items, read_json, text_of
from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text

_WRONG = "Best Incorrect Answer"
_FILLED = ("Type", "Category", "Question", "Best Answer", "Correct Answers", "Incorrect Answers")
_COLUMNS = (*_FILLED, "Source")
"""The columns of both versions; the source of two questions of the official files is empty."""
_SHOWN_CHARS = 300
_MOST_OPTIONS = 26
"""A letter each; the official targets have up to 24."""

_Row = tuple[str, Mapping[str, str]]
"""Where it stands, for errors, and its cells by column."""


def read_truthfulqa(path: str | Path, *, form: Form, seed: int) -> tuple[Question, ...]:
    """Read the questions of one of the official files, in file order.

    A question's id follows from its text, so it is the same in both versions and in every run.

    Args:
        path: The CSV file, as UTF-8 with or without a byte order mark; for ``mc1`` and ``mc2``
            ``mc_task.json``.
        form: ``multiple-choice`` is Best Answer against Best Incorrect Answer, the binary choice of
            the version of January 2025; ``free-form`` goes with both versions. ``mc1`` has one
            right option among all wrong answers, ``mc2`` all right answers among all wrong ones;
            the empty wrong answers of 22 official questions are left out.
        seed: Of the order of the options, which depends on it and the texts alone.

    Returns:
        Questions whose ``correct`` begins with Best Answer. The lists of answers hold each answer
        once; an answer stands in both where the file has it so ("Unknown", twice).
    """
    if form not in get_args(Form):
        raise InputError(f"unknown form {form!r}; one of {', '.join(get_args(Form))}")
    make = partial(_with_targets if form in ("mc1", "mc2") else _question, form=form, seed=seed)
    file, shown = Path(path), Path(path).as_posix()
    if form in ("mc1", "mc2"):
        return read_items(file, make, rows=_targets(file, form)).items
    return read_items(shown, make, id_field="Question", rows=_rows(file, shown, form)).items


def _targets(path: Path, form: Form) -> Iterator[tuple[str, Any]]:
    try:
        rows = read_json(path)
    except InputError as error:
        raise InputError(f"{error}; {form} needs the official mc_task.json") from None
    if not isinstance(rows, list):
        raise InputError(f"{path}: a JSON list of questions is needed")
    yield from ((f"{path}, row {number}", row) for number, row in enumerate(rows, start=1))


def _with_targets(row: Any, where: str, *, form: Form, seed: int) -> Question:
    text, field = text_of(row, "question", where), f"{form}_targets"
    targets = row.get(field)
    if not isinstance(targets, Mapping) or not {0, 1} == set(targets.values()):
        raise InputError(f"{where}, field {field}: answers with 1 for true and 0 are needed")
    told = {clean_text(answer): bool(true) for answer, true in targets.items() if answer.strip()}
    options = drawn_order([*told], question=text, seed=seed)
    right = tuple(option for option in options if told[option])
    if form == "mc1" and len(right) != 1:
        raise InputError(f"{where}, field {field}: one true answer is needed, not {len(right)}")
    if not 2 <= len(options) <= _MOST_OPTIONS:
        raise InputError(f"{where}, field {field}: 2 to {_MOST_OPTIONS} answers are needed")
    return Question(
        id=question_id("tqa", text),
        question=text,
        options=options,
        gold=options.index(right[0]) if form == "mc1" else None,
        correct=right,
        incorrect=tuple(option for option in options if not told[option]),
    )


def _question(cells: Mapping[str, str], where: str, *, form: Form, seed: int) -> Question:
    choice = form == "multiple-choice"
    for column in (*_FILLED, *([_WRONG] if choice else [])):
        if not cells[column]:
            raise InputError(f"{where}, field {column}: it is empty")
    text, best = cells["Question"], cells["Best Answer"]
    options: tuple[str, ...] = ()
    gold: int | None = None
    if choice:
        if cells[_WRONG].casefold() == best.casefold():
            raise InputError(f"{where}, field {_WRONG}: it is the same as Best Answer")
        options, gold = shuffled_options(best, cells[_WRONG], question=text, seed=seed)
    return Question(
        id=question_id("tqa", text),
        question=text,
        options=options,
        gold=gold,
        correct=tuple(dict.fromkeys([best, *_answers(cells, "Correct Answers", where)])),
        incorrect=tuple(dict.fromkeys(_answers(cells, "Incorrect Answers", where))),
        category=cells["Category"],
    )


def _answers(cells: Mapping[str, str], column: str, where: str) -> list[str]:
    """The answers of a list, which may end in a semicolon."""
    answers = [answer.strip() for answer in cells[column].split(";") if answer.strip()]
    if not answers:
        raise InputError(f"{where}, field {column}: there is no answer between its semicolons")
    return answers


def _rows(path: Path, shown: str, form: Form) -> Iterator[_Row]:
    content = b""
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise InputError(f"{shown}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError as error:
        line = content[: error.start].count(b"\n") + 1
        raise InputError(
            f"{shown}, line {line}: not UTF-8; save the file as CSV in UTF-8"
        ) from None
    table = csv.reader(io.StringIO(text, newline=""), strict=True)
    header: list[str] = []
    number = 0
    try:
        for cells in table:
            number += 1
            if not cells:
                continue
            where = f"{shown}, row {number}"
            if header:
                _check_row(cells, header, where)
                yield where, dict(zip(header, map(clean_text, cells), strict=True))
            else:
                header = _header(cells, where, form)
    except csv.Error as error:
        raise InputError(f"{shown}, row {number + 1}: not CSV ({error})") from None


def _header(cells: list[str], where: str, form: Form) -> list[str]:
    header = [cell.strip() for cell in cells]
    for column in _COLUMNS:
        if column not in header:
            found = clean_text(", ".join(map(repr, header)))[:_SHOWN_CHARS]
            raise InputError(f"{where}: the column {column} is missing; the columns are {found}")
    if form == "multiple-choice" and _WRONG not in header:
        raise InputError(
            f"{where}: multiple choice needs the column {_WRONG}, which the version of January 2025"
            " has; this file goes with the free form only"
        )
    for column in header:
        if header.count(column) > 1:
            raise InputError(f"{where}: the column {column} appears more than once")
    return header


def _check_row(cells: list[str], header: list[str], where: str) -> None:
    if len(cells) != len(header):
        field = header[min(len(cells), len(header) - 1)]
        raise InputError(
            f"{where}, field {field}: the row has {len(cells)} cells, and the header {len(header)};"
            " is a cell with a comma not in quotes?"
        )
