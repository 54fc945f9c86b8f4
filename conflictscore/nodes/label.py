"""label and score: every claim against every document, and CS-C and CS-R (paper, section 3)."""

from collections.abc import Callable, Sequence
from typing import Any

from conflictscore.errors import BudgetError
from conflictscore.labelers.table import label_table
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.metric import conflict_report
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.decide import spare_time
from conflictscore.nodes.look_further import rollback
from conflictscore.nodes.second_look.wording import hedge_evidence
from conflictscore.nodes.state import (
    RagState,
    RunContext,
    RunRuntime,
    attempts_of,
    changes_in,
    claims_of,
    documents_of,
    draft_of,
    evidence_of,
    may_be_given_up,
    spent,
    time_left,
)
from conflictscore.records import (
    Attempt,
    Claim,
    ClaimEvidence,
    ConflictReport,
    Document,
    EvidenceLabel,
    Label,
)
from conflictscore.retrieval.domains import voices


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
        labelled = tuple(_unlabelled(claim, documents, str(stop)) for claim in new)
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
        left_out = _unlabelled(known.claim, new, str(known.labels[0].error)).labels
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
            if look.decision == "hedge":
                told = hedge_evidence(look)
                known[told.claim.text] = told
    return known


def _unlabelled(claim: Claim, documents: Sequence[Document], reason: str) -> ClaimEvidence:
    return ClaimEvidence(
        claim=claim, labels=tuple(unlabelled((claim, document), reason) for document in documents)
    )


def renumbered(evidence: ClaimEvidence, claim: Claim) -> ClaimEvidence:
    """The labels of a claim, for a claim of the same text with another number."""
    labels = tuple(p.model_copy(update={"claim": claim.number}) for p in evidence.labels)
    return ClaimEvidence(claim=claim, labels=labels)


async def score(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Aggregate the labels, and add the answer with its score to the attempts.

    With the labels of documents that were found further, the last attempt gets another score.
    """
    attempts = state.get("attempts", [])
    report = report_of(evidence_of(state), state, runtime.context)
    if state.get("decision") == "look_further":
        *attempts, last = attempts
        attempt = Attempt.model_validate(last).model_copy(update={"report": report})
    else:
        failed = state.get("decomposition_error")
        attempt = Attempt(
            round=len(attempts),
            answer=draft_of(state),
            report=report.model_copy(update={"error": failed or report.error}),
            unclaimed=state.get("unclaimed"),
        )
    runtime.stream_writer(
        {
            "event": "scores",
            "round": attempt.round,
            "cs_c": report.cs_c,
            "cs_r": report.cs_r,
            "coverage": report.coverage,
            "conflicting": list(report.conflicting),
            **({"weighted": report.weighted.to_json()} if report.weighted else {}),
        }
    )
    return {"attempts": [*attempts, attempt.to_json()]}


def report_of(
    evidence: Sequence[ClaimEvidence], state: RagState, context: RunContext
) -> ConflictReport:
    """The scores of labelled claims, with near-duplicates and disputes as the run counts them."""
    documents, trust = documents_of(state), context.settings.trust
    duplicates = (
        voices(documents)
        if context.settings.duplicates == "domain"
        else {d.number: d.duplicate_of for d in documents if d.duplicate_of}
    )
    return conflict_report(
        evidence,
        duplicates=duplicates,
        duplicates_vote=context.settings.duplicates == "vote",
        policy=context.settings.disputed,
        weights=None if trust is None else trust.weights(documents),
    )
