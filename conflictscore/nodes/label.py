"""label: label every claim against every document (paper, section 3, step 2)."""

from collections.abc import Callable, Mapping, Sequence
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
    plain_records,
    spent,
    unheard,
)
from conflictscore.loop.time_budget import spare_time, time_left
from conflictscore.models.usage import UsageMeter
from conflictscore.records import (
    Attempt,
    Claim,
    ClaimEvidence,
    ConflictReport,
    Document,
    EvidenceLabel,
    Label,
)


async def label(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Label new claims; claims from an earlier answer to this question keep their labels.

    If the run has a time budget and a claim is disputed, labelling stops early enough to leave time
    for a correction. After a further search, only pairs with new documents are labelled. One node
    labels all pairs of claims and documents, so that equal pairs are judged once, and one call can
    judge several pairs.
    """
    if state.get("decision") == "look_further":
        return await _label_more(state, runtime)
    context, claims, meter = runtime.context, claims_of(state), UsageMeter()
    attempts, documents = attempts_of(state), documents_of(state)
    evidence_by_text = _labelled_before(attempts, len(documents)) | _labelled_in_looks(state)
    new = [claim for claim in claims if claim.text not in evidence_by_text]
    try:
        new_evidence = await label_table(
            context.labeler,
            new,
            documents,
            meter=meter,
            cache=context.cache,
            on_label=_announcing(runtime),
            max_claims=context.settings.max_claims,
            max_pairs=context.max_pairs,
            seconds=time_left(state, context),
            # at 0, a correction no longer fits into the budget, so no time is reserved for one
            seconds_if_disputed=spare_time(state, context, attempts) or None,
        )
    except BudgetError as stop:
        if not may_be_given_up(state, context):
            raise
        # the new claims stay unlabelled, so the guard refuses the change that made them
        new_evidence = tuple(
            _unlabelled(claim, documents, str(stop), FailureKind.NOT_ASKED) for claim in new
        )
    evidence_by_text |= {evidence.claim.text: evidence for evidence in new_evidence}
    evidence = [renumbered(evidence_by_text[claim.text], claim) for claim in claims]
    return {
        "evidence": plain_records(state, "evidence", evidence),
        "usage": spent(state, meter.usage),
    }


async def _label_more(state: RagState, runtime: RunRuntime) -> dict[str, Any]:
    """Label the claims of the last answer against the documents from a further search.

    If none of these pairs could be labelled, the documents are removed again, since a further
    search must not lower the share of labelled pairs. Claims that have no label at all are skipped,
    since a limit or a failure has already excluded them from the check.
    """
    context, meter, attempts = runtime.context, UsageMeter(), attempts_of(state)
    report = attempts[-1].report
    if report is None:
        raise ValueError("label was reached after a further search, but the answer has no labels")
    new = _unseen_documents(documents_of(state), report)
    failure = "none of their pairs could be labelled"
    new_evidence: tuple[ClaimEvidence, ...] = ()
    try:
        new_evidence = await label_table(
            context.labeler,
            [each.claim for each in report.claims if len(each.unlabelled) < len(each.labels)],
            new,
            meter=meter,
            cache=context.cache,
            on_label=_announcing(runtime),
            max_pairs=context.max_pairs,
            # the last answer is scored again, so this is not a new round
            seconds=spare_time(state, context, attempts[:-1]),
        )
    except BudgetError as stop:
        failure = str(stop)
    usage = spent(state, meter.usage)
    pairs = [pair for each in new_evidence for pair in each.labels]
    if all(pair.label is Label.UNLABELLED for pair in pairs):
        reason = f"{failure} ({pairs[0].error})" if pairs else failure
        before = [evidence.to_json() for evidence in report.claims]
        return {"evidence": before, "usage": usage, **rollback(state, new, reason)}
    labels_by_claim = {each.claim.number: each.labels for each in new_evidence}
    evidence = [_extended(each, new, labels_by_claim) for each in report.claims]
    return {"evidence": [each.to_json() for each in evidence], "usage": usage}


def _unseen_documents(documents: Sequence[Document], report: ConflictReport) -> list[Document]:
    """Return the documents that are in no pair of a report."""
    numbers = {pair.document for evidence in report.claims for pair in evidence.labels}
    return [document for document in documents if document.number not in numbers]


def _extended(
    evidence: ClaimEvidence,
    new: Sequence[Document],
    labels_by_claim: Mapping[int, tuple[EvidenceLabel, ...]],
) -> ClaimEvidence:
    """Add pairs for new documents to a claim's evidence.

    If the claim has no labels, the new pairs stay unlabelled for the same reason as its first pair.
    """
    labels = labels_by_claim.get(evidence.claim.number)
    if labels is None:
        first = evidence.labels[0]
        failure = first.failure or FailureKind.NOT_ASKED
        labels = _unlabelled(evidence.claim, new, str(first.error), failure).labels
    return evidence.model_copy(update={"labels": (*evidence.labels, *labels)})


def _announcing(runtime: RunRuntime) -> Callable[[EvidenceLabel], None]:
    """Return a function that streams labels; if nobody listens, it converts no label to JSON."""
    if runtime.stream_writer is unheard:
        return unheard
    return lambda verdict: runtime.stream_writer({"event": "label", **verdict.to_json()})


def _labelled_before(attempts: Sequence[Attempt], documents: int) -> dict[str, ClaimEvidence]:
    """Return the complete evidence for claims of earlier answers, by the text of the claim.

    A claim that is left out is labelled again. This is needed if one of its pairs could not be
    labelled, or if a further search has since found more documents. ``documents`` is the present
    number of documents.
    """
    return {
        evidence.claim.text: evidence
        for attempt in attempts
        if attempt.report
        for evidence in attempt.report.claims
        if Label.UNLABELLED not in {pair.label for pair in evidence.labels}
        and len(evidence.labels) == documents
    }


def _labelled_in_looks(state: RagState) -> dict[str, ClaimEvidence]:
    """Return the evidence for statements that this round put into the answer, by their text.

    The statements were labelled when their passages were reconsidered. If a pair could not be
    labelled at that time, its statement is labelled again.
    """
    evidence_by_text: dict[str, ClaimEvidence] = {}
    for change in changes_in(state, len(state.get("attempts", ()))):
        for look in change.looks:
            evidence_by_text |= {
                rival.statement: rival.evidence
                for rival in look.candidates[1:]
                if not rival.evidence.unlabelled
            }
            if look.tells_several:
                sentence = told_evidence(look)
                evidence_by_text[sentence.claim.text] = sentence
    return evidence_by_text


def _unlabelled(
    claim: Claim, documents: Sequence[Document], reason: str, failure: FailureKind
) -> ClaimEvidence:
    labels = tuple(unlabelled((claim, document), reason, failure) for document in documents)
    return ClaimEvidence(claim=claim, labels=labels)
