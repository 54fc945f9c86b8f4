"""Failures of a run, with their reasons."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from typing import Any

from conflictscore.benchmarks.harness.records import StepRecord, Verdict
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.labelers.table import LEFT_OUT
from conflictscore.records import Label

_QUERY = re.compile(r"\?[^\s=]{1,200}=\S*")
_UNPRINTABLE = re.compile(r"[\x00-\x1f\x7f-\x9f]")
_REASON_CHARS = 300


def failures(records: Iterable[StepRecord]) -> Iterator[tuple[str, str, str]]:
    """The steps that failed, in whole or in a part that stands for a method or a verdict."""
    for record in records:
        value = record.value or {}
        verdicts = value.get("verdicts", {}).values()
        if (
            record.error is not None
            or value.get("regeneration_error") is not None
            or value.get("classification_error") is not None
            or any(map(_is_lacking, [a["report"] for a in value.get("attempts", ())]))
            or _is_lacking(value.get("report"))
            or any(verdict["value"] is None for verdict in verdicts)
        ):
            yield record.question, record.step, record.key


def _is_lacking(report: Mapping[str, Any] | None) -> bool:
    """Whether claims, or labels that were asked for, are missing in the record of a report."""
    if report is None:
        return False
    pairs = (pair for claim in report["claims"] for pair in claim["labels"])
    return report["error"] is not None or any(
        pair["label"] == Label.UNLABELLED and not pair["error"].startswith(LEFT_OUT)
        for pair in pairs
    )


def reason_of(failure: BaseException) -> str:
    """One line; what somebody else's error says is bare of queries, where keys stand."""
    text = " ".join(str(failure).split())
    if isinstance(failure, ConflictScoreError):
        return text
    bare = _QUERY.sub("?...", _UNPRINTABLE.sub(" ", text))[:_REASON_CHARS]
    return f"{type(failure).__name__}: {bare}"


def refuse_odd_values(verdicts: Mapping[str, Verdict], graded: Collection[str]) -> None:
    """Refuse values that would be counted as something else, as a user's own judge may give."""
    for name, verdict in verdicts.items():
        value = verdict.value
        if value is None or (name in graded and 0 <= value <= 1) or value in (0, 1):
            continue
        wanted = "a number from 0 to 1" if name in graded else "yes or no; it is not graded"
        raise InputError(f"the judge gave {value} by the measure {name!r}, which wants {wanted}")
