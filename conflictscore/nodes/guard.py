"""guard: a change stands only where its evidence is better than that of what it replaces."""

from collections.abc import Sequence
from typing import Any

from conflictscore.markdown import spliced
from conflictscore.metric import balance, better_evidence, coverage
from conflictscore.nodes.answerer import announce
from conflictscore.nodes.decompose import claims_in_place
from conflictscore.nodes.label import renumbered
from conflictscore.nodes.revise import excerpt, explained
from conflictscore.nodes.score import report_of
from conflictscore.nodes.state import (
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    documents_of,
)
from conflictscore.records import Attempt, ClaimEvidence, ConflictReport, Revision, Way

__all__ = ["guard", "judge_change"]

_OUTNUMBERED = "more documents contradict than support"


async def guard(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Take back each revision of the last answer whose claims have no better evidence than before.

    A replacement that claims nothing, such as "None", is taken back too, and so is one of which no
    document supports anything: it may be an invention. So is one with a new claim that more
    documents contradict than support. Where documents are weighed, what they are worth decides, by
    the weights of the new answer's report.

    Nothing is asked for: the labels are there. The attempt is then the answer that stands, with
    its own scores, and with every revision and its figures.
    """
    *_, before, now = attempts_of(state)
    if before.report is None or now.report is None:
        raise ValueError("guard was reached without scores")
    judged = tuple(
        judge_change(revision, before.report, now.report) if revision.changes else revision
        for revision in now.revisions
    )
    refused = [r for r in judged if r.changes and not r.stands]
    stand = [r for r in judged if r.changes and r.stands]
    guarded = now.model_copy(update={"revisions": judged})
    if refused and refused[0].whole:
        kept = {"answer": before.answer, "report": before.report, "unclaimed": before.unclaimed}
        guarded = guarded.model_copy(update=kept)
    elif refused:
        guarded = _with_only(stand, before, guarded, state, runtime.context)
    announce(runtime, guarded.round, guarded.answer, guarded=True)
    runtime.stream_writer(
        {
            "event": "guard",
            "round": guarded.round,
            "stand": [[r.before, r.after] for r in stand],
            "refused": [[r.before, r.after, r.note] for r in refused],
        }
    )
    notes = [f"a change of “{excerpt(r.before)}” was refused: {r.note}" for r in refused]
    return {
        "attempts": [*state["attempts"][:-1], guarded.to_json()],
        "draft": guarded.answer.to_json(),
        "notes": [*state["notes"], *notes],
    }


def judge_change(revision: Revision, before: ConflictReport, now: ConflictReport) -> Revision:
    """The revision with the guard's verdict: whether it stands, and if not why.

    Args:
        revision: One that changes the answer.
        before: The scores of the answer before it.
        now: Those of the answer after it.
    """
    once, weights = ({} if now.duplicates_vote else now.duplicates), now.weights
    known = {evidence.claim.text: evidence for evidence in now.claims}
    old = [e for e in before.claims if revision.whole or revision.holds(e.claim)]
    new = list(now.claims) if revision.whole else [known[text] for text in revision.new_claims]
    one = tuple(sorted(balance(claim, once, weights) for claim in old))
    other = tuple(sorted(balance(claim, once, weights) for claim in new))
    refused = revision.note or now.error
    if refused is None and new and (coverage(new) or 0.0) < (coverage(old) or 0.0):
        refused = "fewer of its pairs have a label than before"
    if refused is None and not better_evidence(one, other) and not _owns_up(revision, other):
        refused = f"its evidence is not better ({_shown(one)} before, {_shown(other)} after)"
    if refused is None and revision.way is Way.REPLACE:
        if not new:
            refused = "it claims nothing in place of what it replaces"
        if _invented([claim.heard(weights) for claim in new]):
            refused = "no document supports what it says instead"
        said = {claim.claim.text for claim in old}
        unsaid = [claim for claim in new if claim.claim.text not in said]
        if any(balance(claim, once, weights) < 0 for claim in unsaid):
            what = "more trust stands against than behind" if weights else _OUTNUMBERED
            refused = f"{what} a claim that it makes instead"
    figures = {"balance_before": one, "balance_after": other}
    return revision.model_copy(update=figures | {"stands": refused is None, "note": refused})


def _invented(new: Sequence[ClaimEvidence]) -> bool:
    """Whether it makes claims, and none that any document supports."""
    return bool(new) and not any(claim.supports for claim in new)


def _owns_up(revision: Revision, after: Sequence[float]) -> bool:
    """Whether it says that no source confirms what none did, and claims nothing that any denies."""
    unsupported = all(claim.disputed_by({}) == "unsupported" for claim in revision.claims)
    return revision.way is Way.HEDGE and unsupported and min(after, default=0.0) >= 0


def _with_only(
    standing: Sequence[Revision],
    before: Attempt,
    now: Attempt,
    state: RagState,
    context: RunContext,
) -> Attempt:
    """The attempt in which no other revision than these changed the answer."""
    reports = [attempt.report for attempt in (before, now) if attempt.report]
    known = {evidence.claim.text: evidence for report in reports for evidence in report.claims}
    claims = claims_in_place([e.claim for e in reports[0].claims], standing)
    text = spliced(before.answer.text, [(r.start, r.end, r.after) for r in standing])
    answer = before.answer.model_copy(update={"text": text, "justification": None, "cited": ()})
    return now.model_copy(
        update={
            "answer": explained(answer, standing, documents_of(state)),
            "report": report_of([renumbered(known[c.text], c) for c in claims], state, context),
        }
    )


def _shown(balances: Sequence[float]) -> str:
    return ", ".join(f"{one:+.2f}" for one in balances) or "no claim"
