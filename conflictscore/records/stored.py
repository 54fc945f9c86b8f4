"""Runs that earlier versions stored, in the fields of today.

Earlier versions gave an attempt ``reconsidered`` and ``revisions``, and a run ``flip`` and
``flips``; all of it is ``Run.changes`` now. Logs, service databases, checkpoints and benchmark
records keep the old form, so it is mapped wherever a run is read.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

from conflictscore.records.correction import differs

_RETIRED = frozenset(
    {
        *("flip", "flips", "regeneration"),
        *("conflict_type", "conflict_type_reason", "classification_error"),
    }
)
_RETIRED_OF_AN_ATTEMPT = frozenset({"reconsidered", "revisions"})
_RENAMED = {"way": "action", "stands": "accepted"}


def upgraded_run(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored run, plain JSON, in the fields of today; others than those of a run stay.

    Args:
        stored: A run of this version, or of one before.
    """
    run = {name: value for name, value in stored.items() if name not in _RETIRED}
    attempts = run.get("attempts") or ()
    if "changes" not in run and all(isinstance(one, Mapping) for one in attempts):
        run["changes"] = changes_in_attempts(attempts)
    return run


def changes_in_attempts(attempts: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The changes that stored attempts of earlier versions hold; none in those of today."""
    changes: list[dict[str, Any]] = []
    for before, attempt in pairwise(attempts):
        if revisions := attempt.get("revisions"):
            changes += [
                {_RENAMED.get(name, name): value for name, value in one.items()}
                for one in revisions
            ]
        elif reconsidered := attempt.get("reconsidered"):
            one, other = before["answer"]["text"], attempt["answer"]["text"]
            changes.append(
                {
                    "round": attempt["round"],
                    "start": 0,
                    "end": len(one),
                    "before": one,
                    "after": other,
                    "action": "replace" if differs(one, other) else "keep",
                    "whole": True,
                    "claims": [reconsidered],
                    "reason": attempt["answer"].get("justification"),
                }
            )
    return changes


def upgraded_attempt(stored: Mapping[str, Any]) -> dict[str, Any]:
    """A stored attempt in the fields of today."""
    return {name: value for name, value in stored.items() if name not in _RETIRED_OF_AN_ATTEMPT}
