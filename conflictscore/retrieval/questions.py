"""Reads the questions in a file and normalises questions for comparison."""

import csv
import io
import json
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NoReturn

from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.reading.delimited_rows import MOST_ROWS, allow_long_cells

_ENDINGS = (".txt", ".csv", ".jsonl")


def question_key(question: str) -> str:
    """Return a question in normalised form (Unicode and white space), for comparison.

    Upper and lower case are kept, since case may be all that distinguishes a name from a word.
    """
    return unicodedata.normalize("NFC", " ".join(clean_text(question).split()))


def read_questions(path: str | Path) -> tuple[str, ...]:
    """Reads the questions in a file in their original order, including repetitions.

    A .txt file has one question on each line. A .csv file has a column named ``question`` (in upper
    or lower case). A .jsonl file has one object with ``question`` or ``query`` on each line. In a
    log of runs, the queries of further searches (``searches``) count as questions too. The file
    must be UTF-8. Empty lines and rows are skipped.

    Raises:
        InputError: The file cannot be read, is not UTF-8, has an unsupported extension, contains no
            question, or has an invalid row. The message names the file, the line and the field.
    """
    file = Path(path)
    shown, ending = file.as_posix(), file.suffix.lower()
    if ending not in _ENDINGS:
        raise InputError(f"{shown}: its extension is not supported; give {', '.join(_ENDINGS)}")
    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise InputError(f"{shown}: cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise InputError(f"{shown}: not UTF-8; save the file as UTF-8") from None
    if ending == ".txt":
        questions = tuple(filter(None, map(clean_text, clean_text(text).split("\n"))))
    else:
        questions = tuple((_of_csv if ending == ".csv" else _of_jsonl)(text, shown))
    if not questions:
        raise InputError(f"{shown}: contains no questions")
    return questions


def _of_csv(text: str, shown: str) -> Iterator[str]:
    columns: list[str] = []
    for where, row in _csv_rows(text, shown):
        if not columns:
            columns = [name.strip().lower() for name in row]
            if columns.count("question") != 1:
                raise InputError(
                    f'{where}: one column must be named "question"; the columns are {row!r:.300}'
                )
        elif question := clean_text(dict(zip(columns, row, strict=False)).get("question", "")):
            yield question
        else:
            raise InputError(f"{where}, field question: there is no question")


def _of_jsonl(text: str, shown: str) -> Iterator[str]:
    for where, fields in _json_rows(text, shown):
        name = "query" if "query" in fields and "question" not in fields else "question"
        value = fields.get(name)
        question = clean_text(value) if isinstance(value, str) else ""
        if not question:
            raise InputError(f"{where}, field {name}: it must be a non-empty string")
        yield question
        searches = fields.get("searches")
        for search in searches if isinstance(searches, list) else ():
            query = search.get("query") if isinstance(search, dict) else None
            if isinstance(query, str) and (query := clean_text(query)):
                yield query


def _json_rows(text: str, file_name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the objects in a file of questions (JSON lines), each with its location for errors.

    Raises:
        InputError: A line is not an object, or there are too many lines. The message names the
            line.
    """
    # not ``splitlines``, since a string in JSON may contain other line ends, such as U+2028
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        where = f"{file_name}, line {number}"
        if number > MOST_ROWS:
            raise InputError(f"{where}: more than {MOST_ROWS:,} lines; split the file")
        try:
            fields = json.loads(line, parse_constant=_no_constant)
        except (ValueError, RecursionError):
            raise InputError(f"{where}: not JSON; each line holds one JSON object") from None
        if not isinstance(fields, dict):
            raise InputError(f'{where}: not a JSON object such as {{"text": "...", ...}}')
        yield where, fields


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _csv_rows(text: str, file_name: str) -> Iterator[tuple[str, list[str]]]:
    """Yield the non-blank rows in a file of questions; see ``_json_rows``."""
    rows = csv.reader(io.StringIO(text, newline=""), strict=True)
    allow_long_cells(len(text) + 1)
    start = 1  # the first line of a row; a row with quoted line ends has several lines
    try:
        for number, row in enumerate(rows):
            where, start = f"{file_name}, line {start}", rows.line_num + 1
            if number > MOST_ROWS:
                raise InputError(f"{where}: more than {MOST_ROWS:,} rows; split the file")
            if any(cell.strip() for cell in row):
                yield where, row
    except csv.Error as error:
        raise InputError(
            f"{file_name}, line {start}: not comma-separated values ({error})"
        ) from None
