"""Finds the steps that ``--retry-failed`` repeats: those that failed completely or partly."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from conflictscore.benchmarks.harness.records import StepKey, StepRecord
from conflictscore.errors import FailureKind
from conflictscore.records import EvidenceLabel, Label

_PARTIAL_FAILURES = ("regeneration_error", "classification_error")
"""Fields of a step's value that explain why a part of the value is missing.

The first field is set by the loop if its second answer failed. The second field is set by
``pipeline`` if it answered without a conflict type.
"""


def failures(records: Iterable[StepRecord]) -> set[StepKey]:
    """Find the steps that failed completely, and the steps in which a part or a verdict failed."""
    return {(record.question, record.step, record.key) for record in records if _failed(record)}


def _failed(record: StepRecord) -> bool:
    value = record.value or {}
    return (
        record.error is not None
        or any(value.get(field) is not None for field in _PARTIAL_FAILURES)
        or any(map(_is_lacking, _reports(value)))
        or any(verdict["value"] is None for verdict in value.get("verdicts", {}).values())
    )


def _reports(value: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    """Find the ConflictScore reports in a step's value, on graded answers and on attempts."""
    reports = [attempt["report"] for attempt in value.get("attempts", ())]
    reports.append(value.get("report"))
    yield from (report for report in reports if report is not None)


def _is_lacking(report: Mapping[str, Any]) -> bool:
    """Return whether a recorded report lacks claims or labels that a repeated step could add.

    A repeated step would again leave out the pairs that are beyond the loop's limits, so these
    pairs do not count.
    """
    if report["error"] is not None:
        return True
    pairs = (pair for claim in report["claims"] for pair in claim["labels"])
    return any(
        pair["label"] == Label.UNLABELLED
        and EvidenceLabel.model_validate(pair).failure is not FailureKind.LEFT_OUT
        for pair in pairs
    )
