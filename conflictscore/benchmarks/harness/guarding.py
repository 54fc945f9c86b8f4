"""Applies the loop's guard to a whole second answer, for ``guarded-rag``.

The guard is the part of the correction loop that decides whether a change is kept, according to the
scores before and after the change.
"""

from conflictscore.benchmarks.harness.records import Guard, reworded
from conflictscore.correcting.change_refusals import judge_change
from conflictscore.records import Attempt, Change, RevisionAction


def guard_of(first: Attempt, last: Attempt) -> Guard | None:
    """Decide whether the guard accepts the change from the first answer to the last.

    Returns None if the two answers do not differ. If one of the answers has no score, the change is
    rejected.
    """
    if not reworded(first.answer, last.answer):
        return None
    if first.report is None or last.report is None:
        return Guard(accepted=False, note="one of the answers has no score")
    # the loop's guard judges changes of passages, so the answer is treated as one passage
    change = Change(
        round=1,
        start=0,
        end=len(first.answer.text),
        before=first.answer.text,
        after=last.answer.text,
        action=RevisionAction.REPLACE,
        whole=True,
        claims=tuple(first.report.evidence(number) for number in first.report.disputed),
    )
    guard_verdict = judge_change(change, first.report, last.report)
    return Guard(accepted=guard_verdict.accepted, note=guard_verdict.note)
