"""The runs that can be asked for afterwards, bounded in number and in bytes."""

import contextlib
import json
from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.errors import ConfigurationError
from conflictscore.markup import without_markdown
from conflictscore.storage.private_files import DATABASE_FAILURES, connect

__all__ = ["KeptRuns", "ListedRun", "RunFilter"]

_BUSY_SECONDS = 10.0
_SHOWN_CHARS = 300
_SEARCHED_CHARS = 8000
_MOST_WORDS = 8
_DISPUTED = frozenset({"corrected", "kept", "annotated"})


class ListedRun(NamedTuple):
    """What a list says of a run."""

    run_id: str
    created: int
    """Seconds since 1970 (UTC)."""
    status: str
    method: str
    """How the answer was looked at again, as a benchmark names it."""
    flipped: bool
    disputed: bool
    """Whether a claim of an answer had evidence on both sides, or was looked at again."""
    question: str
    answer: str
    """The beginning of the answer that stands."""


class RunFilter(NamedTuple):
    """Which runs a list holds; what is None or empty leaves none out."""

    owner: str | None = None
    status: str = ""
    flipped: bool | None = None
    disputed: bool | None = None
    words: str = ""
    """All of these occur in the question, the answers, the claims or the documents' titles."""
    among: Collection[str] | None = None
    """The ids of the only runs to list."""
    without: Collection[str] = ()
    """The ids of runs to leave out."""

    def condition(self) -> tuple[str, list[Any]]:
        """It as SQL, with its values."""
        given: list[tuple[str, Any]] = [
            ("listed.owner = ?", self.owner),
            ("status = ?", self.status or None),
            ("flipped = ?", self.flipped),
            ("disputed = ?", self.disputed),
            ("id IN (SELECT value FROM json_each(?))", _ids(self.among)),
            ("id NOT IN (SELECT value FROM json_each(?))", _ids(self.without or None)),
        ]
        words = self.words.casefold().split()[:_MOST_WORDS]
        given += [("instr(searched, ?)", word) for word in words]
        used = [(part, value) for part, value in given if value is not None]
        return " AND ".join(["1", *(part for part, _ in used)]), [value for _, value in used]


class KeptRuns:
    """Finished runs in SQLite, in memory or in a file, each for the owner of one key.

    Where there is no room for another one, the least recently used run goes.

    Args:
        most: The most runs.
        most_bytes: The most bytes that they take. A run that is larger than that is not kept.
        path: The file; None keeps them in memory. A new one can be read by its owner only, since
            it holds what was asked and answered.

    Raises:
        ConfigurationError: The file cannot be used.
    """

    def __init__(self, *, most: int, most_bytes: int, path: Path | None = None) -> None:
        self._most, self._most_bytes, self._path = most, most_bytes, path
        self._running: dict[str, str] = {}
        try:
            self._file = connect(path or Path(":memory:"), timeout=_BUSY_SECONDS)
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error
        self._one(
            "CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
            " used INTEGER NOT NULL, run TEXT NOT NULL)"
        )
        self._one("CREATE INDEX IF NOT EXISTS by_use ON runs (used)")
        self._one(
            "CREATE TABLE IF NOT EXISTS listed (id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
            " created INTEGER NOT NULL, status TEXT NOT NULL, method TEXT NOT NULL,"
            " flipped INTEGER NOT NULL, disputed INTEGER NOT NULL, question TEXT NOT NULL,"
            " answer TEXT NOT NULL, searched TEXT NOT NULL)"
        )
        self._one("CREATE INDEX IF NOT EXISTS by_time ON listed (created)")
        unlisted = "FROM runs WHERE id NOT IN (SELECT id FROM listed) LIMIT 1"
        while row := self._one(f"SELECT id, owner, run {unlisted}"):
            self._list(row[0], row[1], json.loads(row[2]))
        row = self._one("SELECT coalesce(max(used), 0), coalesce(sum(length(run)), 0) FROM runs")
        self._clock, self._bytes = row or (0, 0)

    def begin(self, run_id: str, owner: str) -> None:
        """Announce a run that is being worked on."""
        self._running[run_id] = owner

    def finish(self, run_id: str, run: Mapping[str, Any]) -> None:
        """Keep a run that was announced.

        Raises:
            ConfigurationError: The file can no longer be written.
        """
        owner = self._running.pop(run_id)
        text = json.dumps(run)
        if len(text) > self._most_bytes:
            return
        self._clock += 1
        self._one("INSERT INTO runs VALUES (?, ?, ?, ?)", run_id, owner, self._clock, text)
        self._bytes += len(text)
        self._list(run_id, owner, run)
        [count] = self._one("SELECT count(*) FROM runs") or (0,)
        while count > self._most or self._bytes > self._most_bytes:
            row = self._one("SELECT id, length(run) FROM runs ORDER BY used LIMIT 1")
            if row is None:
                return
            self._one("DELETE FROM runs WHERE id = ?", row[0])
            self._one("DELETE FROM listed WHERE id = ?", row[0])
            count, self._bytes = count - 1, self._bytes - row[1]

    def listed(self, sought: RunFilter, most: int, after: int = 0) -> tuple[int, list[ListedRun]]:
        """How many runs there are, and some of them, newest first.

        Args:
            sought: Which runs.
            most: The most to give.
            after: How many of the newest to pass over.

        Raises:
            ConfigurationError: The file can no longer be read.
        """
        condition, values = sought.condition()
        found = f"FROM listed JOIN runs USING (id) WHERE {condition}"
        columns = "id, created, status, method, flipped, disputed, question, answer"
        order = "ORDER BY created DESC, listed.rowid DESC LIMIT ? OFFSET ?"
        [count] = self._one(f"SELECT count(*) {found}", *values) or (0,)
        rows = self._all(f"SELECT {columns} {found} {order}", *values, most, after)
        return count, [
            ListedRun._make((*row[:4], bool(row[4]), bool(row[5]), *row[6:])) for row in rows
        ]

    def entries(self, run_ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        """These runs, those that are still kept, without counting it as their use.

        Raises:
            ConfigurationError: The file can no longer be read.
        """
        for run_id in run_ids:
            if row := self._one("SELECT run FROM runs WHERE id = ?", run_id):
                yield json.loads(row[0])

    def get(self, run_id: str, owner: str | None) -> dict[str, Any] | None:
        """A finished run of this owner's, or of anybody's; None where there is none.

        Raises:
            ConfigurationError: The file can no longer be read.
        """
        self._clock += 1
        mine = "SELECT run FROM runs WHERE id = ? AND owner = coalesce(?, owner)"
        row = self._one(mine, run_id, owner)
        if row is None:
            return None
        with contextlib.suppress(ConfigurationError):  # a full disk
            self._one("UPDATE runs SET used = ? WHERE id = ?", self._clock, run_id)
        run: dict[str, Any] = json.loads(row[0])
        return run

    def is_running(self, run_id: str, owner: str | None) -> bool:
        """Whether a run of this owner's, or of anybody's, is being worked on."""
        return run_id in self._running and owner in (None, self._running[run_id])

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _list(self, run_id: str, owner: str, run: Mapping[str, Any]) -> None:
        """Keep what lists and searches need of a run."""
        status, report = str(run.get("status", "")), run.get("report") or {}
        claims = report.get("claims") or ()
        disputed = status in _DISPUTED or any(claim.get("conflicting") for claim in claims)
        question = str(run.get("asked") or run.get("question") or "")
        answer = str(run.get("answer") or "")[:_SEARCHED_CHARS]
        searched = [run_id, question, answer, run.get("question"), run.get("first_answer")]
        searched += [run.get("justification"), *(claim.get("text") for claim in claims)]
        for document in run.get("documents") or ():
            searched += [document.get("title"), document.get("url")]
        row = [
            *(run_id, owner, int(run.get("created") or 0), status),
            "typed-rag" if run.get("regeneration") == "typed" else "regenerated-rag",
            *(bool(run.get("flipped")), disputed, question[:_SHOWN_CHARS]),
            without_markdown(answer)[:_SHOWN_CHARS],
            "\n".join(str(text) for text in searched if text)[:_SEARCHED_CHARS].casefold(),
        ]
        whole = [v.encode(errors="replace").decode() if isinstance(v, str) else v for v in row]
        self._one("INSERT OR REPLACE INTO listed VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", *whole)

    def _one(self, statement: str, *values: str | int | None) -> tuple[Any, ...] | None:
        """The first row that a statement gives, if any."""
        return next(iter(self._all(statement, *values)), None)

    def _all(self, statement: str, *values: str | int | None) -> list[tuple[Any, ...]]:
        try:
            return self._file.execute(statement, values).fetchall()
        except DATABASE_FAILURES as error:
            raise self._unusable(error) from error

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"the file of runs {self._path or 'in memory'} cannot be used ({error}); choose another"
            " --runs-file"
        )


def _ids(names: Collection[str] | None) -> str | None:
    return None if names is None else json.dumps(list(names))
