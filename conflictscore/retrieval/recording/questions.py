"""The questions of a file, and when two of them are the same."""

import unicodedata
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.reading.by_ending import csv_rows, json_rows

__all__ = ["question_key", "read_questions"]

_COLUMN = "question"
_FIELDS = ("question", "query")


def question_key(question: str) -> str:
    """The question without differences that do not matter: Unicode form and white space.

    Upper and lower case differ: a proper name can differ from a word by nothing else.
    """
    return unicodedata.normalize("NFC", " ".join(clean_text(question).split()))


def read_questions(path: str | Path) -> tuple[str, ...]:
    """Reads the questions of a file in order, repeated ones included.

    Text (.txt) holds one question a line; a .csv file has a column called ``question``, upper or
    lower case; .jsonl holds an object a line, with ``question`` or ``query``, and in a log of runs
    with what was searched for further (``searches``) too. The file is UTF-8.
    Empty lines and rows are passed over.

    Raises:
        InputError: The file cannot be read, is not UTF-8, has another ending, holds no question,
            or a row of it is wrong; names the file, the line and the field.
    """
    file = Path(path)
    shown = file.as_posix()
    reader = _READERS.get(file.suffix.lower())
    if reader is None:
        raise InputError(
            f"{shown}: its ending is not supported; supported are {', '.join(_READERS)}"
        )
    questions = tuple(reader(_text_of(file, shown), shown))
    if not questions:
        raise InputError(f"{shown}: there is no question in it")
    return questions


def _text_of(file: Path, shown: str) -> str:
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InputError(f"{shown}: cannot be read ({error.strerror})") from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise InputError(f"{shown}, line {line}: not UTF-8; save the file as UTF-8") from None


def _read_text(text: str, shown: str) -> Iterator[str]:
    return filter(None, map(clean_text, clean_text(text).split("\n")))


def _read_csv(text: str, shown: str) -> Iterator[str]:
    place: int | None = None
    for where, row in csv_rows(text, shown):
        if place is None:
            names = [name.strip().lower() for name in row]
            if names.count(_COLUMN) != 1:
                found = ", ".join(repr(clean_text(name)) for name in row)
                raise InputError(
                    f"{where}: one column must be called {_COLUMN}, and the columns are"
                    f" {found[:300]}"
                )
            place = names.index(_COLUMN)
        elif len(row) <= place or not (question := clean_text(row[place])):
            raise InputError(f"{where}, field {_COLUMN}: there is no question")
        else:
            yield question


def _read_jsonl(text: str, shown: str) -> Iterator[str]:
    for where, fields in json_rows(text, shown):
        name = next((name for name in _FIELDS if name in fields), _COLUMN)
        value = fields.get(name)
        question = clean_text(value) if isinstance(value, str) else ""
        if not question:
            raise InputError(f"{where}, field {name}: it must be a non-empty text")
        yield question
        searches = fields.get("searches")
        for search in searches if isinstance(searches, list) else ():
            query = search.get("query") if isinstance(search, dict) else None
            if isinstance(query, str) and (query := clean_text(query)):
                yield query


_READERS: Mapping[str, Callable[[str, str], Iterator[str]]] = {
    ".txt": _read_text,
    ".csv": _read_csv,
    ".jsonl": _read_jsonl,
}
