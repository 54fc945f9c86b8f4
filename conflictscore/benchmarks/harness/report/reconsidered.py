"""How much depends on which claim is put back, from the first answers of a single run."""

from collections.abc import Sequence

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.nodes.write_anew import claims_by_choice
from conflictscore.reporting.figure_text import percent
from conflictscore.reporting.plain_table import Card


def other_choices(results: Sequence[QuestionResult]) -> list[Card]:
    """How many second looks would have been about another claim; no table where none would."""
    put_back = [
        (claims_by_choice(report), result.reconsidered.claim.number)
        for result in results
        if result.reconsidered is not None
        if (first := result.methods.get(BASELINE)) is not None
        if (report := first.report) is not None and report.reconsider is not None
    ]
    others = [set(choices.values()) - {number} for choices, number in put_back]
    if not any(others):
        return []
    rows = []
    for choice in put_back[0][0]:
        count = sum(choices[choice] != number for choices, number in put_back)
        rows.append((choice, f"{count:,}", f"{len(put_back):,}", percent(count / len(put_back))))
    return [
        Card(
            "Second looks that another choice of claim would change (--reconsider)",
            ("claim put back", "about another", "of", "%"),
            tuple(rows),
            "0: the choice of this run, or one that is the same here",
        )
    ]
