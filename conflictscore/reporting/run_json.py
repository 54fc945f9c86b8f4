"""A finished run as JSON: the object that is printed, and the line that is logged."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError
from conflictscore.nodes.state import RUN_FIELDS, RunContext, told_type
from conflictscore.storage.record_file import append_line, json_line

__all__ = ["append_log", "check_log", "log_object", "run_object", "score_object"]

_SCORE_FIELDS = ("answer", "documents", "report", "usage", "run_id", "notes")
_PACKAGES = ("conflictscore", "langgraph", "langchain-core", "langchain-openai", "openai")


def run_object(state: Mapping[str, Any]) -> dict[str, Any]:
    """The object of ``conflictscore ask --json``; documents are cited by number."""
    return {
        **{field: state[field] for field in RUN_FIELDS},
        **told_type(state),
        "documents": _sources(state),
    }


def score_object(state: Mapping[str, Any]) -> dict[str, Any]:
    """The object of ``conflictscore score --json``."""
    return {field: state[field] for field in _SCORE_FIELDS} | {"documents": _sources(state)}


def log_object(state: Mapping[str, Any], context: RunContext, seconds: float) -> dict[str, Any]:
    """Everything of a run: what is printed, and the texts, attempts and settings behind it.

    Args:
        state: The final state of the graph.
        context: What the run worked with; models, prompts and settings are named, by hash where
            they are texts.
        seconds: Wall time of the run.
    """
    fields = RUN_FIELDS if "question" in state else _SCORE_FIELDS
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        **{field: state[field] for field in fields},
        **told_type(state),
        "options": state.get("options", []),
        "attempts": state["attempts"],
        "flip": state["flip"],
        "reason": state.get("reason"),
        "models": {
            "generator": context.generator.name,
            "decomposer": context.decomposer.name,
            "labeler": context.labeler.name,
            "endpoint": context.generator.endpoint,
        },
        "prompts": {"set": context.prompts.name, "sha256": context.prompts.sha256},
        "max_rounds": context.max_rounds,
        "duplicates_vote": context.duplicates_vote,
        "versions": {package: version(package) for package in _PACKAGES},
    }


def check_log(path: Path) -> None:
    """Make sure that a log can be appended to, before anything is paid for.

    Raises:
        InputError: It cannot.
    """
    try:
        with path.open("ab"):
            pass
    except OSError as error:
        raise InputError(f"--log {path}: cannot be written ({error.strerror})") from error


def append_log(path: Path, entry: Mapping[str, Any]) -> None:
    """Append one JSON line; half a line that an earlier kill left is closed off first.

    Raises:
        InputError: It cannot be written.
    """
    try:
        append_line(path, json_line(entry, escape=False))
    except OSError as error:
        raise InputError(f"--log {path}: the run was not logged ({error.strerror})") from error


def _sources(state: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [
        {key: d[key] for key in ("number", "title", "url")}
        | {"duplicate_of": d.get("duplicate_of")}
        for d in state["documents"]
    ]
