"""A finished run as a line of a log."""

from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError
from conflictscore.nodes.state import RunContext
from conflictscore.records import Run
from conflictscore.storage.record_file import append_line, json_line

__all__ = ["append_log", "check_log", "log_object"]

_PACKAGES = ("conflictscore", "langgraph", "langchain-core", "langchain-openai", "openai")


def log_object(run: Run, context: RunContext, seconds: float) -> dict[str, Any]:
    """Everything of a run: what is printed, and the texts, attempts and settings behind it.

    Args:
        run: What the run resulted in.
        context: What the run worked with; models, prompts and settings are named, by hash where
            they are texts.
        seconds: Wall time of the run.
    """
    return {
        "time": datetime.now(UTC).isoformat(timespec="seconds"),
        "seconds": round(seconds, 3),
        **run.summary(),
        **run.summary("options", "attempts", "flip", "reason"),
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
