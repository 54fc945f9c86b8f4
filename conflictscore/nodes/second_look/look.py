"""The second look at one disputed claim, from its rivals to a decision."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from conflictscore.errors import BudgetError, ProviderError, brief_reason
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table, telling
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.nodes.second_look.readers import ask_documents, own_question
from conflictscore.nodes.second_look.statements import (
    is_about,
    numbers_in,
    opposite,
    same_answer,
)
from conflictscore.nodes.second_look.vote import Outcome, outcome, tallied
from conflictscore.nodes.second_look.weigh import weigh
from conflictscore.prompts import PromptSet
from conflictscore.records import (
    Candidate,
    Claim,
    ClaimEvidence,
    Document,
    DroppedReply,
    EvidenceLabel,
    Label,
    SecondLook,
    Weighing,
)
from conflictscore.storage.cache import ContentCache

__all__ = ["Looking", "look_again_at"]

_MOST_RIVALS = 4
"""Of a claim, those that most documents gave."""
_MOST_ASKED = 12
"""Documents that are asked about a claim."""


@dataclass(frozen=True)
class Looking:
    """What a second look works with.

    Attributes:
        question: The user's question.
        documents: All documents.
        duplicates: For each near-copy the first of its group; where a domain counts once, for each
            of its documents.
        weights: How far documents are trusted; empty where all count alike.
        unsettled: Whether a dispute that nothing settles is told (``hedge``) or left (``keep``).
        reader: Reads a document alone.
        judge: Weighs two sides.
        labeler: Labels rivals.
        prompts: The templates.
        meter: Counts the calls.
        cache: Where verdicts are kept.
        seconds: The most time for labelling rivals; None for no limit.
    """

    question: str
    documents: Sequence[Document]
    duplicates: Mapping[int, int]
    weights: Mapping[int, float]
    unsettled: str
    reader: LanguageModel
    judge: LanguageModel
    labeler: Labeler
    prompts: PromptSet
    meter: UsageMeter
    cache: ContentCache | None = None
    seconds: float | None = None


class _Rivals(NamedTuple):
    question: str
    evidence: tuple[ClaimEvidence, ...]
    given_by: tuple[tuple[int, ...], ...]
    dropped: tuple[DroppedReply, ...]


async def look_again_at(
    claim: ClaimEvidence, passage: str, looking: Looking, *, others: Sequence[str] = ()
) -> SecondLook:
    """Find the rivals of a disputed claim, let the documents vote, and weigh what that leaves open.

    Args:
        claim: The claim with its labels.
        passage: The passage of the answer that makes it.
        looking: What to work with.
        others: Further statements that compete, such as the other option of a choice.
    """
    rivals = await _rivals(claim, passage, looking, others)
    candidates = tallied(
        (claim, *rivals.evidence),
        rivals.given_by,
        looking.duplicates,
        looking.weights,
    )
    counted = outcome(candidates)
    look = SecondLook(
        question=rivals.question,
        candidates=candidates,
        dropped=rivals.dropped,
        rival=counted.rival,
    )
    weighing: Weighing | None = None
    if counted.kind == "open" and counted.rival is not None:
        weighing = await weigh(
            rivals.question,
            candidates,
            (0, counted.rival),
            looking.documents,
            judge=looking.judge,
            prompts=looking.prompts,
            meter=looking.meter,
            weights=looking.weights,
        )
    return _decided(look, counted, weighing, looking)


def _decided(
    look: SecondLook, counted: Outcome, weighing: Weighing | None, looking: Looking
) -> SecondLook:
    """The look with its decision and the sentence that says why."""
    claim, rival = look.candidates[0], look.candidates[counted.rival or 0]
    behind = [f"{_documents(side)} for “{side.statement}”" for side in (rival, claim)]
    count = ", ".join(behind)
    update: dict[str, object] = {"weighing": weighing}
    if counted.kind == "replace":
        update |= {"decision": "replace", "decided_by": "vote", "why": f"by the vote: {count}"}
    elif weighing is not None and weighing.chosen is not None:
        by = "date" if weighing.by_date else "weighing"
        how = "newer documents" if weighing.by_date else f"the evidence ({weighing.ground})"
        reasons = [ruling.reason for ruling in weighing.rulings if ruling.reason]
        said = f"; {reasons[0]}" if reasons else ""
        update |= {"decided_by": by, "why": f"by {how}, not by number: {count}{said}"}
        update["decision"] = "replace" if weighing.chosen == counted.rival else "keep"
    elif weighing is not None and looking.unsettled == "hedge" and claim.evidence.supports:
        update |= {"decision": "hedge", "why": f"nothing settles it: {count}"}
    elif weighing is not None:
        told = "" if claim.evidence.supports else "; the answer's own side has none to name"
        update["why"] = f"nothing settles it: {count}{told}"
    elif counted.rival is not None:
        update["why"] = f"a single dissenter is no reason to change: {count}"
    else:
        update["why"] = "no document gives another answer that it supports"
    return look.model_copy(update=update)


def _documents(candidate: Candidate) -> str:
    votes = ", ".join(map(str, candidate.votes))
    if not votes:
        return "no document"
    return f"{'document' if len(candidate.votes) == 1 else 'documents'} {votes}"


async def _rivals(
    claim: ClaimEvidence, passage: str, looking: Looking, others: Sequence[str]
) -> _Rivals:
    question = looking.question
    if others:
        evidence = await _labelled(others, looking)
        return _Rivals(question, evidence, ((), *(e.supports for e in evidence)), ())
    if opposite(passage) is not None:
        evidence = (_denial(claim),)
        return _Rivals(question, evidence, ((), claim.contradicts), ())
    if not is_about(claim.claim.text, question):
        secret = numbers_in(claim.claim.text) - numbers_in(question)
        question = await own_question(
            claim.claim.text,
            looking.question,
            model=looking.reader,
            prompts=looking.prompts,
            meter=looking.meter,
            secret=secret,
        )
    answered = await ask_documents(
        question,
        await asyncio.to_thread(_to_ask, claim, looking),
        model=looking.reader,
        prompts=looking.prompts,
        meter=looking.meter,
    )
    agree = [r for r in answered.rivals if same_answer(r.statement, claim.claim.text, question)]
    chosen = [rival for rival in answered.rivals if rival not in agree][:_MOST_RIVALS]
    evidence = await _labelled([rival.statement for rival in chosen], looking)
    own = tuple(sorted(number for same in agree for number in same.given_by))
    given_by = (own, *(tuple(sorted(rival.given_by)) for rival in chosen))
    return _Rivals(question, evidence, given_by, answered.dropped)


def _denial(claim: ClaimEvidence) -> ClaimEvidence:
    """The opposite of a yes or no with its labels: what supports the one contradicts the other."""
    swapped = {Label.SUPPORTS: Label.CONTRADICTS, Label.CONTRADICTS: Label.SUPPORTS}

    def other(pair: EvidenceLabel) -> EvidenceLabel:
        known = pair.probabilities
        turned = known and {swapped.get(label, label): p for label, p in known.items()}
        update = {"label": swapped.get(pair.label, pair.label), "probabilities": turned}
        return pair.model_copy(update=update)

    text = f"It is not true that “{claim.claim.text.rstrip('.')}”."
    stated = Claim(number=claim.claim.number, text=text)
    return ClaimEvidence(claim=stated, labels=tuple(map(other, claim.labels)))


def _to_ask(claim: ClaimEvidence, looking: Looking) -> list[Document]:
    """The documents to ask, each text once: those of the other side.

    Where the embedded labeler labels, which misses sides that documents take, all that share a word
    with question and claim, those with most of their words first.
    """
    against = set(claim.contradicts)
    known: dict[int, float] = {}
    if getattr(looking.labeler, "embedded", False) or not against:
        asked = Claim(number=1, text=f"{looking.question} {claim.claim.text}")
        [shares] = telling([asked], looking.documents)
        known = dict(zip((d.number for d in looking.documents), shares, strict=True))
        against |= {*claim.supports, *(n for n, share in known.items() if share)}
    silent = {number for number, weight in looking.weights.items() if not weight}
    first: dict[int, Document] = {}
    for document in looking.documents:
        if document.number in against - silent:
            first.setdefault(document.duplicate_of or document.number, document)
    sides = {*claim.supports, *claim.contradicts}
    ranked = sorted(first.values(), key=lambda d: (d.number not in sides, -known.get(d.number, 0)))
    return sorted(ranked[:_MOST_ASKED], key=lambda document: document.number)


async def _labelled(statements: Sequence[str], looking: Looking) -> tuple[ClaimEvidence, ...]:
    """Statements with their labels against every document; UNLABELLED where there is no verdict."""
    claims = [Claim(number=n, text=text) for n, text in enumerate(statements, start=1)]
    if not claims:
        return ()
    try:
        return await label_table(
            looking.labeler,
            claims,
            looking.documents,
            meter=looking.meter,
            cache=looking.cache,
            seconds=looking.seconds,
        )
    except (BudgetError, ProviderError) as error:
        reason = brief_reason(error)
        return tuple(
            ClaimEvidence(
                claim=claim,
                labels=tuple(
                    EvidenceLabel(
                        claim=claim.number,
                        document=document.number,
                        label=Label.UNLABELLED,
                        error=reason,
                    )
                    for document in looking.documents
                ),
            )
            for claim in claims
        )
