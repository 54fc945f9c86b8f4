"""label and score: every claim against every document, and CS-C and CS-R (paper, section 3)."""

from collections.abc import Callable, Sequence
from typing import Any

from conflictscore.correcting.telling import told_evidence
from conflictscore.errors import BudgetError, FailureKind
from conflictscore.labelers.table import label_table
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.loop.scoring import renumbered
from conflictscore.loop.searching import rollback
from conflictscore.loop.state import (
    RagState,
    RunRuntime,
    attempts_of,
    changes_in,
    claims_of,
    documents_of,
    may_be_given_up,
    spent,
)
from conflictscore.loop.time_budget import spare_time, time_left
from conflictscore.models.usage import UsageMeter
from conflictscore.records import (
    Attempt,
    Claim,
    ClaimEvidence,
    Document,
    EvidenceLabel,
    Label,
)


async def label(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Label the new claims; those that an earlier answer of this question made keep their labels.

    With a time budget, labelling leaves time for a correction once something is disputed. After a
    further search, only pairs with new documents are labelled. The whole table is one node, so that
    pairs can be folded, batched and cached together.
    """
    if state.get("decision") == "look_further":
        return await _label_more(state, runtime)
    context, claims, meter = runtime.context, claims_of(state), UsageMeter()
    attempts, documents = attempts_of(state), documents_of(state)
    known = _labelled_before(attempts, len(documents)) | _labelled_in_looks(state)
    new = [claim for claim in claims if claim.text not in known]
    try:
        labelled = await label_table(
            context.labeler,
            new,
            documents,
            meter=meter,
            cache=context.cache,
            on_label=_announcing(runtime),
            max_claims=context.settings.max_claims,
            seconds=time_left(state, context),
            seconds_if_disputed=spare_time(state, context, attempts) or None,
        )
    except BudgetError as stop:
        if not may_be_given_up(state, context):
            raise
        # the new claims stay unlabelled, and so their change is refused: nothing is lost
        labelled = tuple(
            _unlabelled(claim, documents, str(stop), FailureKind.NOT_ASKED) for claim in new
        )
    known |= {evidence.claim.text: evidence for evidence in labelled}
    evidence = [renumbered(known[claim.text], claim) for claim in claims]
    return {"evidence": [item.to_json() for item in evidence], "usage": spent(state, meter.usage)}


async def _label_more(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Label the last answer's claims against the documents of a further search.

    If none of these pairs could be labelled, the documents are left out again: a further search
    must not lower the coverage of an answer.
    """
    context, meter, attempts = runtime.context, UsageMeter(), attempts_of(state)
    report = attempts[-1].report
    if report is None:
        raise ValueError("label was reached for more documents without labels")
    held = {pair.document for evidence in report.claims for pair in evidence.labels}
    new = [document for document in documents_of(state) if document.number not in held]
    judged = [e for e in report.claims if len(e.unlabelled) < len(e.labels)]
    failure = "none of their pairs could be labelled"
    labelled: tuple[ClaimEvidence, ...] = ()
    try:
        labelled = await label_table(
            context.labeler,
            [evidence.claim for evidence in judged],
            new,
            meter=meter,
            cache=context.cache,
            on_label=_announcing(runtime),
            seconds=spare_time(state, context, attempts[:-1]),
        )
    except BudgetError as stop:
        failure = str(stop)
    usage = spent(state, meter.usage)
    more = {evidence.claim.number: evidence.labels for evidence in labelled}
    pairs = [pair for labels in more.values() for pair in labels]
    if all(pair.label is Label.UNLABELLED for pair in pairs):
        reason = f"{failure} ({pairs[0].error})" if pairs else failure
        before = [evidence.to_json() for evidence in report.claims]
        return {"evidence": before, "usage": usage, **rollback(state, new, reason)}
    evidence = []
    for known in report.claims:
        first = known.labels[0]
        failure_kind = first.failure or FailureKind.NOT_ASKED
        left_out = _unlabelled(known.claim, new, str(first.error), failure_kind).labels
        labels = (*known.labels, *more.get(known.claim.number, left_out))
        evidence.append(known.model_copy(update={"labels": labels}).to_json())
    return {"evidence": evidence, "usage": usage}


def _announcing(runtime: RunRuntime) -> Callable[[EvidenceLabel], None]:
    return lambda verdict: runtime.stream_writer({"event": "label", **verdict.to_json()})


def _labelled_before(attempts: Sequence[Attempt], documents: int) -> dict[str, ClaimEvidence]:
    return {
        evidence.claim.text: evidence
        for attempt in attempts
        if attempt.report
        for evidence in attempt.report.claims
        if Label.UNLABELLED not in {pair.label for pair in evidence.labels}
        and len(evidence.labels) == documents
    }


def _labelled_in_looks(state: RagState) -> dict[str, ClaimEvidence]:
    known: dict[str, ClaimEvidence] = {}
    for change in changes_in(state, len(state.get("attempts", ()))):
        for look in change.looks:
            known |= {one.statement: one.evidence for one in look.candidates[1:]}
            if look.tells_several:
                told = told_evidence(look)
                known[told.claim.text] = told
    return known


def _unlabelled(
    claim: Claim, documents: Sequence[Document], reason: str, failure: FailureKind
) -> ClaimEvidence:
    labels = tuple(unlabelled((claim, document), reason, failure) for document in documents)
    return ClaimEvidence(claim=claim, labels=labels)
