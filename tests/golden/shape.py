"""The form in which a golden run is pinned: what its user sees, under names of its own.

Records change their names and their fields; the pinned files should not. So this module alone
knows where a run keeps what, and whoever renames a field mends it here. Times, ids, ports, paths
and hashes are left out.
"""

from collections.abc import Mapping, Sequence
from typing import Any

_VERDICTS = ("supports", "contradicts", "irrelevant", "unlabelled")
_COLUMNS = ("method", "answer", "flipped", "kind", "cs_c", "cs_r", "coverage", "claims")


def run_shape(run: Mapping[str, Any], calls: int) -> dict[str, Any]:
    """A run, from its summary as plain JSON or the final state of the graph.

    Args:
        run: The summary or the state.
        calls: How many requests the endpoint got.
    """
    return {
        "answer": run["answer"],
        "first_answer": run["first_answer"],
        "flipped": run["flipped"],
        "checked": run["checked"],
        "justified": bool(run.get("justification")),
        "documents": len(run["documents"]),
        "first_scores": _scores(run["report"]),
        "final_scores": _scores(run["final_report"]),
        "changes": _changes(run),
        "has_notes": bool(run["notes"]),
        "calls": calls,
    }


def rows_shape(rows: Sequence[Mapping[str, str]], measures: Sequence[str]) -> list[dict[str, str]]:
    """The rows of a benchmark's exported CSV file, in the order of questions and methods."""
    columns = ("question", *_COLUMNS, *measures)
    shown = [{name: row[name] for name in columns} for row in rows]
    return sorted(shown, key=lambda row: (row["question"], row["method"]))


def _scores(report: Mapping[str, Any] | None) -> dict[str, Any] | None:
    if report is None:
        return None
    labels = {
        claim["text"]: {
            str(number): verdict.upper() for verdict in _VERDICTS for number in claim[verdict]
        }
        for claim in report["claims"]
    }
    return {
        "cs_c": _rounded(report["cs_c"]),
        "cs_r": _rounded(report["cs_r"]),
        "coverage": _rounded(report["coverage"]),
        "labels": {claim: dict(sorted(pairs.items())) for claim, pairs in labels.items()},
        "failed": bool(report["error"]),
    }


def _rounded(score: float | None) -> float | None:
    return None if score is None else round(score, 6)


def _changes(run: Mapping[str, Any]) -> list[dict[str, Any]]:
    """What was to be changed, accepted or refused, in order.

    A passage that was looked at and kept changes nothing.
    """
    return [
        {
            "before": one["before"],
            "after": one["after"],
            "action": str(one["action"]),
            "claims": [evidence["claim"]["text"] for evidence in one["claims"]],
            "accepted": one["accepted"],
            "has_reason": bool(one["reason"] if one["accepted"] else one["note"]),
        }
        for one in run["changes"]
        if one["before"] != one["after"]
    ]
