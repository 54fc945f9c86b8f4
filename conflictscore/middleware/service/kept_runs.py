"""Stores finished runs for later retrieval. The limits of this module were chosen by hand."""

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.errors import ConfigurationError
from conflictscore.loop.state import RunContext
from conflictscore.markup import without_markdown
from conflictscore.middleware.service.runs_in_progress import RunInProgress, RunsInProgress
from conflictscore.records import RUN_DETAILS, RevisionAction, Run
from conflictscore.storage.database import Database, SQLiteTables, Value, storable

RUNNING: Mapping[str, Any] = {}
"""The return value of :meth:`KeptRuns.look_up` for a run in progress."""

_BUSY_SECONDS = 10.0
"""How long to wait for another process that has locked the file, in seconds."""
_SHOWN_CHARS = 300
"""Maximum characters of a question or an answer in a list of runs."""
_SEARCHED_CHARS = 8000
"""Number of characters of a run's text that a search examines."""
_MARKDOWN_CHARS = 4 * _SHOWN_CHARS
"""Characters of Markdown to convert in order to show the beginning of an answer.

The Markdown is longer than the shown text, since its Markdown characters are removed.
"""
_MOST_WORDS = 8
"""The maximum number of words in a search; further words are ignored."""
_ALL = 1 << 62
"""A limit that no list of runs reaches."""
_TELL_SEVERAL = frozenset({RevisionAction.HEDGE, RevisionAction.EXPLAIN})
"""The kinds of change that make a passage report several answers."""
_DISPUTED = frozenset({"corrected", "kept", "annotated"})
"""The statuses of runs with a disputed claim."""
_TABLES = (
    "CREATE TABLE IF NOT EXISTS runs (id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
    " used BIGINT NOT NULL, run TEXT NOT NULL, size BIGINT NOT NULL DEFAULT 0)",
)
_LISTS = (
    "CREATE INDEX IF NOT EXISTS runs_by_use ON runs (used, id, size)",
    "DROP TABLE IF EXISTS listed",  # from earlier versions; rows are rebuilt from the runs
    "DROP TABLE IF EXISTS run_list",
    "DROP TABLE IF EXISTS run_rows",
    "CREATE TABLE IF NOT EXISTS run_lines (id TEXT PRIMARY KEY, owner TEXT NOT NULL,"
    " created BIGINT NOT NULL, finished BIGINT NOT NULL, status TEXT NOT NULL,"
    " checked TEXT NOT NULL, method TEXT NOT NULL, flipped INTEGER NOT NULL,"
    " hedged INTEGER NOT NULL, disputed INTEGER NOT NULL,"
    " question TEXT NOT NULL, answer TEXT NOT NULL, searched TEXT NOT NULL)",
    "CREATE INDEX IF NOT EXISTS run_lines_by_time ON run_lines (created, finished)",
)
_KEEP = "INSERT INTO runs VALUES ($1, $2, $3, $4, $5) ON CONFLICT"
_LIST = (
    "INSERT INTO run_lines VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)"
    " ON CONFLICT"
)
_UNLESS_KEPT = " DO NOTHING"
# replaces the stored record, since a run that counted as abandoned may still finish
_IN_PLACE = " (id) DO UPDATE SET used = excluded.used, run = excluded.run, size = excluded.size"
_LISTED_IN_PLACE = " (id) DO UPDATE SET " + ", ".join(
    f"{name} = excluded.{name}"
    for name in (
        "created",
        "finished",
        "status",
        "checked",
        "method",
        "flipped",
        "hedged",
        "disputed",
        "question",
        "answer",
        "searched",
    )
)
# Deletes the least recently used runs beyond either limit. The inner condition avoids sorting all
# runs if none is beyond a limit.
_MAKE_ROOM = (
    "DELETE FROM runs WHERE id IN (SELECT id FROM (SELECT id, row_number() OVER latest AS place,"
    " sum(size) OVER latest AS bytes FROM runs"
    " WHERE (SELECT count(*) > $1 OR sum(size) > $2 FROM runs)"
    " WINDOW latest AS (ORDER BY used DESC, id DESC)) AS kept WHERE place > $1 OR bytes > $2)"
)
# Deletes list entries of deleted runs. The counts show cheaply whether there are any.
_TIDY = (
    "DELETE FROM run_lines WHERE (SELECT count(*) FROM run_lines) > (SELECT count(*) FROM runs)"
    " AND id NOT IN (SELECT id FROM runs)"
)


class ListedRun(NamedTuple):
    """A run as shown in a list of runs."""

    run_id: str
    created: int
    """Seconds since 1970 (UTC)."""
    status: str
    checked: str
    """How far the final answer was checked; empty if an earlier version stored the run without
    this field."""
    method: str
    """The method of correction, under the name that benchmarks use."""
    flipped: bool
    hedged: bool
    """Whether every changed passage now reports several answers from the sources."""
    disputed: bool
    """Whether a claim of the first answer had evidence on both sides, or was disputed for a
    different reason, for example because documents only contradict it.
    """
    question: str
    answer: str
    """The beginning of the final answer."""


class RunFilter(NamedTuple):
    """A filter for runs; fields that are None or empty do not filter."""

    owner: str | None = None
    status: str = ""
    flipped: bool | None = None
    disputed: bool | None = None
    words: str = ""
    """Words that must all occur in the question, the answers, the claims or the document titles."""
    among: Collection[str] | None = None
    """If set, only runs with these ids are listed."""
    without: Collection[str] = ()
    """Ids of runs to leave out."""

    def condition(self, each: str) -> tuple[str, list[Value]]:
        """Return the filter as an SQL condition, and the values of its parameters.

        ``each`` is an SQL query with one parameter, a JSON list; it yields the list's elements.
        """
        conditions: list[tuple[str, Value]] = [
            ("run_lines.owner = {}", self.owner),
            ("status = {}", self.status or None),
            ("flipped = {}", None if self.flipped is None else int(self.flipped)),
            ("disputed = {}", None if self.disputed is None else int(self.disputed)),
            (f"id IN ({each})", _ids(self.among)),
            (f"id NOT IN ({each})", _ids(self.without or None)),
        ]
        for word in self.words.casefold().split()[:_MOST_WORDS]:
            pattern = re.sub("[!%_]", r"!\g<0>", word)
            conditions.append(("searched LIKE {} ESCAPE '!'", f"%{pattern}%"))
        applied = [(part, value) for part, value in conditions if value is not None]
        parts = [part.format(f"${place}") for place, (part, _) in enumerate(applied, 1)]
        # SQL allows no empty condition
        return " AND ".join(["1 = 1", *parts]), [value for _, value in applied]


class KeptRuns:
    """Finished runs and runs in progress, each of which belongs to the owner of a key.

    When the storage is full, the least recently used run is dropped.
    """

    def __init__(
        self,
        *,
        most: int,
        most_bytes: int,
        path: Path | None = None,
        store: Database | None = None,
        lasts: float = 3600.0,
        unfinished: Callable[[RunInProgress], Mapping[str, Any]] | None = None,
    ) -> None:
        """Open the storage: a database, or an SQLite file that only its owner can read.

        If neither a database nor a file is set, runs are kept in memory. A run larger than
        ``most_bytes`` is not stored. If a run has been in progress for more than ``lasts`` seconds,
        other processes consider it abandoned. The default is far above a request's time limit.
        If a run's process has died, the record that ``unfinished`` returns is stored in place of
        the run.
        """
        self._most, self._most_bytes = most, most_bytes
        self._path, self._unfinished = path, unfinished
        self._database = store or SQLiteTables(path, unusable=self._unusable, timeout=_BUSY_SECONDS)
        self._database.make(*_TABLES)
        if not self._database.remote:
            columns = self._database.execute("SELECT name FROM pragma_table_info('runs')")
            if ("size",) not in columns:  # a file from an earlier version
                self._database.execute("ALTER TABLE runs ADD COLUMN size BIGINT NOT NULL DEFAULT 0")
                self._database.execute("UPDATE runs SET size = length(run)")
        self._database.make(*_LISTS)
        first_unlisted = "FROM runs WHERE id NOT IN (SELECT id FROM run_lines) LIMIT 1"
        while row := self._one(f"SELECT id, owner, used, run {first_unlisted}"):
            run_id, owner, used_at, text = row
            row = _list_row(run_id, owner, used_at, json.loads(text))
            self._database.execute(_LIST + _UNLESS_KEPT, *row)
        self._in_progress = RunsInProgress(self._database, path, lasts)
        for run in self._in_progress.abandoned():
            self._give_up(run)

    def begin(self, run_id: str, owner: str) -> None:
        """Announce a run in progress."""
        self._in_progress.begin(run_id, owner)

    def finish(
        self, run_id: str, run: Mapping[str, Any], on_failure: Callable[[], None] = lambda: None
    ) -> "Future[bool]":
        """Store the run announced by :meth:`begin`, and retry if the store is briefly unavailable.

        Until the run is stored, it counts as in progress. If the run cannot be stored,
        ``on_failure`` is called, possibly after this method has returned.

        Returns:
            Whether the run was stored, as soon as that is known.
        """
        stored: Future[bool] = Future()
        owner = self._in_progress.owner_of(run_id) or ""
        now, text = time.time_ns(), json.dumps(run)
        following: Iterator[tuple[str, Sequence[Value]]] = iter(
            [
                (_LIST + _LISTED_IN_PLACE, _list_row(run_id, owner, now, run)),
                (_MAKE_ROOM, (self._most, self._most_bytes)),
                (_TIDY, ()),
            ]
        )

        def ended(error: ConfigurationError | None) -> None:
            # the run can be looked up from now on; its line in the list may follow later
            self._in_progress.end(run_id)
            stored.set_result(error is None and is_small)
            go_on(error)

        def go_on(error: ConfigurationError | None) -> None:
            if error is not None:
                on_failure()
            elif step := next(following, None):
                self._database.later(step[0], *step[1], on_done=go_on, again=True)

        is_small = len(text) <= self._most_bytes  # the JSON is ASCII, so a character is a byte
        if is_small:
            row = (run_id, owner, now, text, len(text))
            self._database.later(_KEEP + _IN_PLACE, *row, on_done=ended, again=True)
        else:
            following = iter(())
            ended(None)
        return stored

    def _give_up(self, run: RunInProgress) -> None:
        """Store a record of a run whose process has died, unless the run itself was stored."""
        if self._unfinished is not None:
            record, now = self._unfinished(run), time.time_ns()
            text = json.dumps(record)
            row = (run.run_id, run.owner, now, text, len(text))
            self._database.execute(_KEEP + _UNLESS_KEPT, *row)
            list_row = _list_row(run.run_id, run.owner, now, record)
            self._database.execute(_LIST + _UNLESS_KEPT, *list_row)
        self._in_progress.forget(run)

    def listed(
        self, run_filter: RunFilter, most: int = _ALL, after: int = 0
    ) -> tuple[int, list[ListedRun]]:
        """Return the total number of matching runs, and a page of them, newest first."""
        condition, values = run_filter.condition(self._database.each)
        source = f"FROM run_lines JOIN runs USING (id) WHERE {condition}"
        columns = (
            "id, created, status, checked, method, flipped, hedged, disputed, question, answer"
        )
        order = "ORDER BY created DESC, finished DESC"
        order += f" LIMIT ${len(values) + 1} OFFSET ${len(values) + 2}"
        [count] = self._one(f"SELECT count(*) {source}", *values) or (0,)
        rows = self._database.execute(f"SELECT {columns} {source} {order}", *values, most, after)
        # SQLite stores the three booleans (flipped, hedged, disputed) as 0 or 1
        return count, [ListedRun._make((*row[:5], *map(bool, row[5:8]), *row[8:])) for row in rows]

    def entries(self, run_ids: Iterable[str]) -> Iterator[dict[str, Any]]:
        """Yield the stored runs with these ids, without extending how long they are stored."""
        for run_id in run_ids:
            if row := self._one("SELECT run FROM runs WHERE id = $1", run_id):
                yield json.loads(row[0])

    def get(self, run_id: str, owner: str | None) -> dict[str, Any] | None:
        """Return a finished run of this owner (None: any owner), or None if there is none."""
        mine = "SELECT run FROM runs WHERE id = $1 AND owner = coalesce($2, owner)"
        row = self._one(mine, run_id, owner)
        if row is None:
            return None
        statement = "UPDATE runs SET used = $2 WHERE id = $1"
        self._database.later(statement, run_id, time.time_ns(), on_done=_ignored)
        run: dict[str, Any] = json.loads(row[0])
        return run

    def is_running(self, run_id: str, owner: str | None) -> bool:
        """Return whether a run of this owner (None: any owner) is in progress in any process."""
        if (its := self._in_progress.owner_of(run_id)) is not None:
            return owner in (None, its)
        run = self._in_progress.get(run_id, owner)
        if run is None:
            return False
        if self._in_progress.is_abandoned(run):
            self._give_up(run)
            return False
        return True

    def look_up(self, run_id: str, owner: str | None) -> Mapping[str, Any] | None:
        """Return the run :meth:`get` returns, ``RUNNING`` if it is in progress, or None."""
        run = self.get(run_id, owner)
        if run is None and self.is_running(run_id, owner):
            return RUNNING
        return run or self.get(run_id, owner)  # the run may have finished in between

    def close(self) -> None:
        """Close the runs file."""
        self._in_progress.close()
        if not self._database.remote:
            self._database.close()

    def _one(self, statement: str, *values: Value) -> Sequence[Any] | None:
        return next(iter(self._database.execute(statement, *values)), None)

    def _unusable(self, error: Exception) -> ConfigurationError:
        return ConfigurationError(
            f"the runs file {self._path or '(in memory)'} cannot be used ({error}); choose a"
            " different --runs-file"
        )


def _list_row(run_id: str, owner: str, finished_at: int, run: Mapping[str, Any]) -> list[Value]:
    """Return a run's row in the list, in the order of the table's columns."""
    status, claims = str(run.get("status", "")), _claims_in(run)
    is_disputed = status in _DISPUTED or any(claim.get("conflicting") for claim in claims)
    question = str(run.get("asked") or run.get("question") or "")
    answer = str(run.get("answer") or "")
    return [
        run_id,
        owner,
        int(run.get("created") or 0),
        finished_at,
        status,
        str(run.get("checked") or ""),
        "regenerated-rag",  # the only method that a service uses
        int(bool(run.get("flipped"))),
        int(_is_hedged(run)),
        int(is_disputed),
        question[:_SHOWN_CHARS],
        without_markdown(answer[:_MARKDOWN_CHARS])[:_SHOWN_CHARS],
        _searched_text(run_id, run),
    ]


def _claims_in(run: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """Return the claims of the first answer; empty if it was not scored."""
    return (run.get("report") or {}).get("claims") or ()


def _searched_text(run_id: str, run: Mapping[str, Any]) -> str:
    """Return the text, in lower case, that a search for words examines."""
    names = ("asked", "question", "answer", "first_answer", "justification")
    texts = [run_id, *(run.get(name) for name in names)]
    texts += [claim.get("text") for claim in _claims_in(run)]
    for document in run.get("documents") or ():
        texts += [document.get("title"), document.get("url")]
    parts = [str(text)[:_SEARCHED_CHARS] for text in texts if text]
    return "\n".join(parts)[:_SEARCHED_CHARS].casefold()


def _is_hedged(run: Mapping[str, Any]) -> bool:
    """Return whether every change reports several answers, and none chooses one."""
    changes = [change for change in run.get("changes") or () if change.get("accepted")]
    actions = {change.get("action") for change in changes} - {RevisionAction.KEEP}
    return bool(run.get("flipped")) and bool(actions) and actions <= _TELL_SEVERAL


def run_record(
    run: Run, *, created: int, start: float, mode: str, context: RunContext, asked_for: str = ""
) -> dict[str, Any]:
    """Return a run as stored: plain JSON, without the endpoint, since callers can see runs.

    ``created`` is in seconds since 1970 (UTC); ``start`` is a time of ``time.perf_counter``.
    """
    return {
        "run_id": run.run_id,
        "object": "conflictscore.run",
        "created": created,
        "seconds": round(time.perf_counter() - start, 3),
        "mode": mode,
        "model": asked_for or context.generator.name,
        "models": {role: name for role, name in context.model_names.items() if role != "endpoint"},
        "status": run.status.value,
        **run.summary(*RUN_DETAILS),
    }


def _ignored(error: ConfigurationError | None) -> None:
    """Ignore a full disk or an unavailable store, since the stored runs are not affected."""


def _ids(names: Collection[str] | None) -> str | None:
    return None if names is None else json.dumps(storable(names))
