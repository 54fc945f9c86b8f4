"""Writes finished runs to a log, and reads them back."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import ValidationError

from conflictscore.errors import InputError
from conflictscore.loop.state import RunContext
from conflictscore.nodes.record import run_of
from conflictscore.records import Run, RunStatus, first_fault
from conflictscore.storage.private_files import owner_only
from conflictscore.storage.record_file import RecordLines, append_line, json_line
from conflictscore.storage.sqlite_files import DATABASE_FAILURES

_SQLITE = b"SQLite format 3\x00"
_PACKAGES = ("conflictscore", "langgraph", "langchain-core", "langchain-openai", "openai")


def log_object(run: Run, context: RunContext, seconds: float) -> dict[str, Any]:
    """Return a run's log entry: summary, texts, attempts, settings, and a hash of the prompts."""
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        **run.summary(),
        **run.summary("options", "attempts", "changes", "reason"),
        "models": context.model_names,
        "settings": context.settings.to_json(),
        "versions": {package: version(package) for package in _PACKAGES},
    }


def check_log(path: Path) -> None:
    """Check that a log can be written. Commands do this before any call that costs money.

    Raises:
        InputError: The log cannot be written.
    """
    try:
        # opening creates the file, as the first run's entry would
        with open(path, "ab", opener=owner_only):
            pass
    except OSError as error:
        raise InputError(f"--log {path}: cannot be written ({error.strerror})") from error


def append_log(path: Path, fields: Mapping[str, Any]) -> None:
    """Append one line of JSON to a log.

    If the log ends with a partial line left by a killed process, a line feed is written first.

    Raises:
        InputError: The log cannot be written.
    """
    try:
        append_line(path, json_line(fields, escape=False))
    except OSError as error:
        raise InputError(f"--log {path}: the run was not logged ({error.strerror})") from error


class LoggedRun(NamedTuple):
    """A run that was read from a log or from a service's runs file."""

    run: Run
    about: Mapping[str, Any]
    """The whole entry, including the time, the duration and the models."""


def read_runs(path: Path) -> list[LoggedRun]:
    """Read the runs in a ``--log`` file or in a service's ``--runs-file``, oldest first.

    Partial lines left by a killed process are skipped.

    Raises:
        InputError: The file cannot be read, contains no run, or contains something other than runs.
            The message names the line or row, and the field.
    """
    try:
        with path.open("rb") as file:
            is_database = file.read(len(_SQLITE)) == _SQLITE
        lines: list[tuple[str, str | bytes]] = [
            *(_kept_entries(path) if is_database else stored_lines(path))
        ]
    except DATABASE_FAILURES as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason})") from None
    if not lines:
        raise InputError(f"{path}: it contains no run; give a file written by --log or --runs-file")
    return [logged_run(_entry(text, where), where) for where, text in lines]


def logged_run(fields: Mapping[str, Any], where: str) -> LoggedRun:
    """Read a run from its stored JSON object. Error messages call the object ``where``.

    Raises:
        InputError: A field is invalid. The message names the field.
    """
    try:
        run = run_of(fields)
        if status := fields.get("status"):  # only services store a status
            run = run.model_copy(update={"status": RunStatus(status)})
    except ValidationError as error:
        field, why = first_fault(error)
        raise InputError(f"{where}, field {field}: {why}{_writer_note(fields)}") from None
    except ValueError:
        why = f"there is no status {status!r}"
        raise InputError(f"{where}, field status: {why}{_writer_note(fields)}") from None
    return LoggedRun(run, fields)


def _writer_note(fields: Mapping[str, Any]) -> str:
    """Return a note on the version that wrote a run, for error messages; empty if it is unknown."""
    versions = fields.get("versions")
    writer = versions.get("conflictscore") if isinstance(versions, Mapping) else None
    return f" (conflictscore {writer} wrote it)" if writer else ""


def stored_lines(path: Path) -> Iterator[tuple[str, bytes]]:
    """Yield each line of a JSON Lines file with its location, skipping partial and blank lines."""
    for line in RecordLines(path):
        # a partial line may be in the middle, since later entries are appended after it
        if line.text.rstrip().endswith(b"}"):
            yield f"{path}, line {line.number}", line.text


def _kept_entries(path: Path) -> Iterator[tuple[str, str]]:
    with closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as file:
        for number, (text,) in enumerate(file.execute("SELECT run FROM runs ORDER BY used"), 1):
            yield f"{path}, row {number}", text


def _entry(text: str | bytes, where: str) -> Mapping[str, Any]:
    try:
        fields = json.loads(text)
    except (ValueError, RecursionError):
        fields = None
    if not isinstance(fields, Mapping) or "attempts" not in fields or "run_id" not in fields:
        raise InputError(f"{where}: not a run of conflictscore")
    return fields
