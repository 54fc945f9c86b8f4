"""What is told of a run: in short beside the answer, and in full to whoever asks for it."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from conflictscore.nodes.state import RUN_FIELDS, told_type
from conflictscore.records import Usage

__all__ = ["STOPPED", "Status", "brief", "full", "unrun"]

Status = Literal[
    "scored",
    "corrected",
    "kept",
    "annotated",
    "observed",
    "passed-through",
    "failed",
    "dropped",
    "unfinished",
]
"""What a run came to.

``scored``: no claim has evidence on both sides. ``corrected``: one had, and the answer was changed.
``kept``: one had, and the answer stands all the same. ``annotated``: the answer bears a note.
``observed``: the answer went out untouched, and was scored after. ``passed-through``: the answer is
the upstream's, unchecked. ``failed``: it could not be checked, or there is none. ``dropped``: too
many observed answers waited already. ``unfinished``: the caller went away, or the service stopped.
"""

STOPPED = "it was stopped: the caller went away, or the service was told to stop"
"""The note of an unfinished run."""

_FIELDS = (
    *(field for field in RUN_FIELDS if field != "run_id"),  # the service has its own
    "asked",
    "options",
    "flip",
    "attempts",
    "reason",
    "timings",
)


def full(state: Mapping[str, Any], facts: Mapping[str, Any]) -> dict[str, Any]:
    """The whole evidence of a run that went to its end.

    Args:
        state: The final state of the graph, or what is known of it by now.
        facts: What only the service knows, such as ``run_id``, ``mode`` and ``status``.
    """
    return {**facts, **{name: state.get(name) for name in _FIELDS}, **told_type(state)}


def unrun(question: str, facts: Mapping[str, Any], notes: Sequence[str]) -> dict[str, Any]:
    """The same of a run whose loop was never begun."""
    known = {
        "question": question,
        "asked": question,
        "options": [],
        "flipped": False,
        "documents": [],
        "attempts": [],
        "notes": [*notes],
        "usage": Usage().model_dump(),
        "timings": {},
    }
    return full(known, facts)


def brief(run: Mapping[str, Any], *, complete: bool = True) -> dict[str, Any]:
    """What stands beside the answer; the scores are the first answer's, which decided.

    Args:
        run: The whole evidence.
        complete: Whether nothing of the run is still going on.
    """
    report = run["report"] or {}
    short = {name: run[name] for name in ("run_id", "mode", "status", "flipped")}
    short |= {name: report.get(name) for name in ("cs_c", "cs_r", "coverage")}
    if run["flipped"]:
        short |= {name: run[name] for name in ("first_answer", "justification")}
    if "conflict_type" in run:
        short["conflict_type"] = run["conflict_type"]
    return {**short, "notes": run["notes"], "complete": complete}
