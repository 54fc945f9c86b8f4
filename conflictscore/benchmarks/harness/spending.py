"""A run's spending, kept call by call, with the step of each.

A step that dies is asked again from kept replies, which cost nothing, so what one session sees of
a step is not what the step cost. Budgets and figures are of all sessions together.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Any
from uuid import uuid4

from conflictscore.errors import ConfigurationError
from conflictscore.records import Usage
from conflictscore.storage.private_files import DATABASE_FAILURES, connect

StepKey = tuple[str, str, str]
"""Question, step and key, as in a step's record."""

_PLACE: ContextVar[StepKey] = ContextVar("conflictscore_place", default=("", "", ""))
"""The step that calls belong to; tasks and threads inherit it from their starter."""

_COUNTS = tuple(Usage.model_fields)
_SUMS = ", ".join(("model", *(f"sum({name})" for name in _COUNTS)))
_KEPT = tuple(name for name in _COUNTS if name.startswith("kept_"))
_COLUMNS = ("question", "step", "key", "model", *_COUNTS, "session")
_INSERT = f"INSERT INTO spent ({', '.join(_COLUMNS)}) VALUES ({', '.join('?' * len(_COLUMNS))})"  # noqa: S608


class Spending:
    """A table of calls in an SQLite file; to be used from any thread."""

    def __init__(self, path: Path) -> None:
        """Open the file, and make it where there is none."""
        self._path, self._session = path, uuid4().hex
        try:
            self._connection = connect(path)
            self._connection.execute(
                "CREATE TABLE IF NOT EXISTS spent (question TEXT NOT NULL, step TEXT NOT NULL,"
                " key TEXT NOT NULL, model TEXT NOT NULL)"
            )
            known = {c[1] for c in self._connection.execute("PRAGMA table_info(spent)").fetchall()}
            for name in _COUNTS:
                if name not in known:  # in a new file all, in one of an earlier version some
                    self._connection.execute(
                        f"ALTER TABLE spent ADD COLUMN {name} INTEGER NOT NULL DEFAULT 0"
                    )
            if "session" not in known:
                self._connection.execute(
                    "ALTER TABLE spent ADD COLUMN session TEXT NOT NULL DEFAULT ''"
                )
            self._connection.execute(
                "CREATE INDEX IF NOT EXISTS spent_on ON spent (question, step, key)"
            )
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error

    @contextmanager
    def at(self, place: StepKey) -> Iterator[None]:
        """Have the calls made inside kept as those of a step."""
        token = _PLACE.set(place)
        try:
            yield
        finally:
            _PLACE.reset(token)

    def add(self, model: str, usage: Usage) -> None:
        """Keep what one call cost; the death of the process cannot take it back."""
        try:
            self._connection.execute(
                _INSERT, (*_PLACE.get(), model, *vars(usage).values(), self._session)
            )
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error

    def total(self) -> dict[str, Usage]:
        """Usage of all calls so far, by the model's name."""
        return self._sum(f"SELECT {_SUMS} FROM spent GROUP BY model ORDER BY model")  # noqa: S608

    def of(self, place: StepKey, recorded: Mapping[str, Usage]) -> dict[str, Usage]:
        """Usage of a step in all sessions, less its earlier records.

        A step that was stopped finds its own replies in the cache when it is taken again. Tokens
        count as kept as far as this session's pass, with its kept replies, took more than was paid.
        """
        question, step, key = place
        # earlier versions kept the first and the last part of a loop under names of their own
        here = (question, step, f"{step}/first", f"{step}/check", key)
        query = f"SELECT {_SUMS} FROM spent WHERE question = ? AND step IN (?, ?, ?) AND key = ?"  # noqa: S608
        paid = self._sum(f"{query} GROUP BY model ORDER BY model", *here)
        now = self._sum(f"{query} AND session = ? GROUP BY model", *here, self._session)

        def beyond(model: str) -> Usage:
            told, whole, one = recorded.get(model, Usage()), paid[model], now.get(model, Usage())
            kept = {}
            for name in _KEPT:
                made = name.removeprefix("kept_")
                cold = getattr(one, made) + getattr(one, name)
                kept[name] = max(0, cold - getattr(whole, made) - getattr(told, name))
            return (whole - told).model_copy(update=kept)

        return {model: beyond(model) for model in paid}

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def _sum(self, statement: str, *values: Any) -> dict[str, Usage]:
        try:
            return {
                model: Usage(**dict(zip(_COUNTS, counts, strict=True)))
                for model, *counts in self._connection.execute(statement, values)
            }
        except (*DATABASE_FAILURES, ValueError) as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"{self._path}: cannot be used ({error}); make room there, or put back a copy: it holds"
            " what was spent, and without it only what the records tell of is counted"
        )
