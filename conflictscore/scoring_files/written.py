"""What an output of lines holds already."""

import json
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError
from conflictscore.scoring_files.result import flawed
from conflictscore.scoring_files.rows import ADDED

__all__ = ["Counts", "outcome_in"]


class Counts:
    """Which rows failed, and which have pairs without a verdict.

    Attributes:
        failed: Numbers of the rows that have no scores.
        flawed: Numbers of those, and of the rows with a pair that has no verdict.
    """

    def __init__(self) -> None:
        self.failed: set[int] = set()
        self.flawed: set[int] = set()

    def count(self, outcome: dict[str, Any]) -> None:
        """Count a row, in place of what was known of it."""
        row = outcome["row"]
        self.failed.discard(row)
        self.flawed.discard(row)
        if flawed(outcome):
            self.flawed.add(row)
            if outcome["error"] is not None:
                self.failed.add(row)


def outcome_in(line: bytes, row: int, path: Path) -> dict[str, Any]:
    """What was added to the row of this number.

    Raises:
        InputError: The line is not that of the row.
    """
    try:
        outcome: dict[str, Any] = json.loads(line)[ADDED]
        right = outcome["row"] == row and {"error", "report"} <= outcome.keys()
    except (ValueError, RecursionError, KeyError, TypeError):
        right = False
    if not right:
        raise InputError(
            f"{path}, row {row}: damaged, or changed since it was written; put back a copy, or give"
            " another --out"
        )
    return outcome
