"""guard: accept a change only if the evidence supports it.

The guard compares the labels of the old and the new text. The guard ignores the reasons that the
model or a document gives for a change, since a hostile document could supply such reasons.
"""

from collections.abc import Iterator, Sequence
from typing import Any

from conflictscore.answering.answerer import announce
from conflictscore.answering.claims_after_changes import (
    claims_after,
    gaps_after,
    with_new_claims,
)
from conflictscore.correcting.change_refusals import judge_change
from conflictscore.correcting.in_place import excerpt, explained
from conflictscore.loop.scoring import renumbered, report_of
from conflictscore.loop.state import (
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    changes_in,
    documents_of,
    with_changes,
)
from conflictscore.markdown import spliced
from conflictscore.records import (
    Attempt,
    Change,
)


async def guard(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Refuse each change to the last answer that is not supported by its own evidence.

    The rules for replaced passages are in :mod:`~conflictscore.correcting.change_refusals`. A
    completely rewritten answer is accepted if its evidence is better than the evidence of the
    previous answer. Even then, it is refused if it makes no claim, or if no document supports any
    of its claims. It is also refused if more documents contradict a new claim than support it.
    Afterwards, the last attempt contains the answer with only its accepted changes.
    """
    *_, before, now = attempts_of(state)
    if before.report is None or now.report is None:
        raise ValueError("guard was reached without scores")
    changes = [
        judge_change(change, before.report, now.report) if change.differs else change
        for change in changes_in(state, now.round)
    ]
    refusals = [change for change in changes if change.differs and not change.accepted]
    accepted_changes = [change for change in changes if change.applied]
    final = now
    # a completely rewritten answer is the only change of its round; its attempt stays, with the
    # earlier answer, so that the round counts
    if refusals and refusals[0].whole:
        former: dict[str, Any] = {
            "answer": before.answer,
            "report": before.report,
            "unclaimed": before.unclaimed,
            "gaps": before.gaps,
        }
        final = now.model_copy(update=former)
    elif refusals:
        final = _with_only(accepted_changes, before, now, state, runtime.context)
    announce(runtime, final.round, final.answer, after_guard=True)
    notes = [f"a change of “{excerpt(c.before)}” was refused: {c.note}" for c in refusals]
    return {
        "attempts": [*state["attempts"][:-1], final.to_json()],
        "changes": with_changes(state, changes),
        "draft": final.answer.to_json(),
        "notes": [*state["notes"], *notes],
    }


def _with_only(
    changes: Sequence[Change], before: Attempt, now: Attempt, state: RagState, context: RunContext
) -> Attempt:
    """Make an attempt whose answer contains only the given changes.

    No model is called, since each claim is already labelled in the previous or the new answer.
    """
    reports = [attempt.report for attempt in (before, now) if attempt.report]
    evidence_by_text = {each.claim.text: each for report in reports for each in report.claims}
    text = spliced(before.answer.text, [(c.start, c.end, c.after) for c in changes])
    own = [each.claim for each in reports[0].claims]
    claims = claims_after(own, changes, before.answer.text, text)
    claims = with_new_claims(claims, [*_read_anew(before, now, state, text)], text)
    evidence = [renumbered(evidence_by_text[claim.text], claim) for claim in claims]
    # ``explained`` below writes the reasons of the accepted changes only
    answer = before.answer.model_copy(update={"text": text, "justification": None, "cited": ()})
    # a restored passage has the gaps that it had before
    gaps = gaps_after(claims, changes, before.gaps, text, state.get("question", ""))
    return now.model_copy(
        update={
            "answer": explained(answer, changes, documents_of(state)),
            "report": report_of(evidence, state, context),
            "gaps": gaps,
            "unclaimed": "; ".join(gap.note for gap in gaps) or None,
        }
    )


def _read_anew(before: Attempt, now: Attempt, state: RagState, text: str) -> Iterator[str]:
    """Yield the claims that were read again from unchanged passages that the text still contains.

    A claim of two sentences is dropped if one of them changes. The sentence that stays then has no
    claim, so ``decompose`` asks about it again.
    """
    claims = [each.claim for each in now.report.claims] if now.report else []
    earlier = {each.claim.text for each in before.report.claims} if before.report else set()
    added = {text for change in changes_in(state, now.round) for text in change.new_claims}
    for claim in claims:
        passage = now.answer.text[slice(*claim.passage)] if claim.passage else ""
        if claim.text not in earlier | added and passage and passage in text:
            yield claim.text
