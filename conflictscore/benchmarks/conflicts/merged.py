"""The row of Table 6 that joins two types of conflict: outdated and misinformation."""

from collections.abc import Sequence

from conflictscore.benchmarks.conflicts.judges import BEHAVIOUR
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.reporting.figure_text import percent, span
from conflictscore.reporting.plain_table import Card

_MERGED = (ConflictType.OUTDATED, ConflictType.MISINFORMATION)


def merged_tables(results: Sequence[QuestionResult]) -> list[Card]:
    """Expected behaviour of the merged types by method; none where no answer is judged by it."""
    judged: dict[str, list[bool]] = {}
    for result in results:
        if result.question.conflict_type in _MERGED:
            for name, ended in result.methods.items():
                if (value := ended.value(BEHAVIOUR)) is not None:
                    judged.setdefault(name, []).append(bool(value))
    rows = []
    for name, values in judged.items():
        share = proportion(sum(values), len(values))
        bounds = span(percent(share.low), percent(share.high))
        rows.append((name, percent(share.value), bounds, f"{share.count:,}", f"{share.n:,}"))
    if not rows:
        return []
    return [
        Card(
            title="Outdated and misinformation together, as in Table 6: expected behaviour",
            columns=("method", "%", "95 % interval", "right", "n"),
            rows=tuple(rows),
        )
    ]
