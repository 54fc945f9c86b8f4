"""The second look at one disputed claim, from its rivals to a decision."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import NamedTuple

from conflictscore.answering.statements import (
    affirms,
    is_about,
    numbers_in,
    opposite,
    same_answer,
)
from conflictscore.correcting.readers import Answered, ask_documents, own_question
from conflictscore.correcting.vote import VoteOutcome, outcome, tallied, weigh
from conflictscore.correcting.wording import (
    hedged,
    replaced,
    with_other_answer,
    with_other_number,
)
from conflictscore.errors import ProviderError
from conflictscore.labelers.denials import denial_of
from conflictscore.labelers.protocol import Labeler, supports_script
from conflictscore.labelers.table import label_table, overlap_scores
from conflictscore.loop.state import Reader
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
from conflictscore.threads import at_once

_MOST_RIVALS = 4  # of a claim, those that most documents gave
# P(IRRELEVANT) of a document that need not be asked. By the bundled NLI model, on one half of
# RAMDocs: 2 of 365 documents that give an answer, and 94 of 137 that give none.
_SURELY_SILENT = 0.6
_MOST_ASKED = 12  # documents that are asked about a claim


@dataclass(frozen=True)
class Looking:
    """Collaborators of a second look."""

    question: str
    documents: Sequence[Document]
    duplicates: Mapping[int, int]
    """For each near-copy the first of its group; where a domain counts once, each of its pages."""
    weights: Mapping[int, float]
    unsettled: str
    reader: Reader
    judge: Reader
    labeler: Labeler
    cache: ContentCache | None = None
    seconds: float | None = None  # the most time for labelling rivals; None for no limit
    only_claim: bool = False
    """Whether the answer makes one claim, which then answers the user's question."""


class _Rivals(NamedTuple):
    question: str
    evidence: tuple[ClaimEvidence, ...]  # of the claim, then of its rivals
    given_by: tuple[tuple[int, ...], ...]
    dropped: tuple[DroppedReply, ...]


async def look_again_at(claim: ClaimEvidence, passage: str, looking: Looking) -> SecondLook:
    """Find the rivals of a disputed claim, let the documents vote, and weigh what that leaves open.

    A ProviderError says that no document could be asked, or no rival be labelled.
    """
    voter: Labeler = getattr(looking.labeler, "voter", looking.labeler)
    if voter is not looking.labeler and supports_script(voter, claim.claim):
        looking = replace(looking, labeler=voter)
        [claim] = await _labelled([claim.claim], looking)
    rivals = await _rivals(claim, passage, looking)
    candidates = tallied(
        rivals.evidence,
        rivals.given_by,
        looking.duplicates,
        looking.weights,
        yes_no=opposite(passage, looking.question) is not None,
    )
    counted = outcome(candidates)
    if counted.kind == "replace" and _is_led_to_yes(passage, looking):
        counted = counted._replace(kind="open")
    question, documents, weighing = rivals.question, looking.documents, None
    if counted.kind == "open" and counted.rival is not None:
        sides = (0, counted.rival)
        weighing = await weigh(
            question, candidates, sides, documents, looking.judge, looking.weights
        )
    look = SecondLook(
        question=question, candidates=candidates, dropped=rivals.dropped, rival=counted.rival
    )
    return _decided(look, counted, weighing, looking)


def _decided(
    look: SecondLook, counted: VoteOutcome, weighing: Weighing | None, looking: Looking
) -> SecondLook:
    if counted.rival is None:
        why = "No document gives another answer that it supports."
        return look.model_copy(update={"why": why})
    claim, rival = look.candidates[0], look.candidates[counted.rival]
    sides = f"{_told(rival)} against {_told(claim)}"
    update: dict[str, object] = {"weighing": weighing}
    if counted.kind == "replace":
        update |= {"decision": "replace", "decided_by": "vote"}
        update["why"] = f"By the documents' vote: {sides}."
    elif counted.kind == "keep":
        update["why"] = f"A single dissenter changes nothing: {sides}."
    elif weighing is not None and weighing.chosen is not None:
        by_rival = weighing.chosen == counted.rival
        update |= {"decision": "replace" if by_rival else "keep"}
        update |= {"decided_by": "date" if weighing.by_date else "weighing"}
        how = "By the documents' dates" if weighing.by_date else "By the evidence, not by number"
        reason = next((ruling.reason for ruling in weighing.rulings if ruling.reason), "")
        told = f"{sides}." if by_rival else f"{sides}; the second stands."
        update["why"] = f"{how}: {told} {reason}".strip()
    elif looking.unsettled == "hedge" and claim.evidence.supports:
        update |= {"decision": "hedge", "why": f"Nothing settles it: {sides}."}
    else:
        update["why"] = f"Nothing settles it, so it stays: {sides}."
    return look.model_copy(update=update)


def _told(candidate: Candidate) -> str:
    """A candidate with the documents that vote for it, in the form of our citations."""
    numbers = ", ".join(map(str, candidate.votes))
    behind = f"Doc{'s' if len(candidate.votes) > 1 else ''} {numbers}" if numbers else "no document"
    return f"“{candidate.statement.rstrip('.')}” ({behind})"


async def _rivals(claim: ClaimEvidence, passage: str, looking: Looking) -> _Rivals:
    question = looking.question
    if opposite(passage, question) is not None:
        return await _denied(claim, passage, looking)
    if not looking.only_claim and not is_about(claim.claim.text, question):
        secret = numbers_in(claim.claim.text) - numbers_in(question)
        question = await own_question(claim.claim.text, question, looking.reader, secret=secret)
    answered = await _answers(question, claim, looking)
    givers: dict[str, list[int]] = {claim.claim.text: []}
    for rival in answered.rivals:
        statement = _worded_alike(rival.statement, claim.claim.text, question)
        givers.setdefault(statement, []).extend(rival.given_by)
    own, *chosen = [*givers.items()][: _MOST_RIVALS + 1]
    stated = [Claim(number=n, text=text) for n, (text, _) in enumerate(chosen, start=1)]
    evidence = await _labelled(stated, looking)
    given_by = tuple(tuple(sorted(numbers)) for _, numbers in (own, *chosen))
    return _Rivals(question, (claim, *evidence), given_by, answered.dropped)


def _worded_alike(rival: str, claim: str, question: str) -> str:
    """A rival in the claim's words where one number tells them apart, or it is no sentence.

    A labeler that judges the two then judges the number alone, and no slip of the reader's grammar
    gets into an answer.
    """
    if same_answer(rival, claim, question):
        return claim
    if is_about(rival, question):
        return with_other_number(claim, rival) or rival
    return with_other_answer(claim, rival, question) or rival


async def _answers(
    question: str, claim: ClaimEvidence, looking: Looking, *, yes_no: bool = False
) -> Answered:
    documents = await asyncio.to_thread(_to_ask, claim, looking)
    return await ask_documents(question, documents, looking.reader, yes_no=yes_no)


async def _denied(claim: ClaimEvidence, passage: str, looking: Looking) -> _Rivals:
    """The opposite of a yes or no, and the documents that give it: those that contradict the claim.

    An embedded labeler takes many a document on the claim's topic for one that agrees with it, and
    hardly sees a negation. So what it labels speaks for the opposite only where the document says
    so when it is asked alone.
    """
    question, denial = looking.question, _denial(claim)
    if not _is_embedded(looking.labeler):
        return _Rivals(question, (claim, denial), ((), claim.contradicts), ())
    answered = await _answers(question, claim, looking, yes_no=True)
    said: dict[bool, set[int]] = {True: set(), False: set()}
    for answer in answered.rivals:
        said[affirms(answer.statement, question)] |= {*answer.given_by}
    own = affirms(passage, question)
    given_by = tuple(tuple(sorted(said[side])) for side in (own, not own))
    return _Rivals(question, (claim, denial), given_by, answered.dropped)


def _is_led_to_yes(passage: str, looking: Looking) -> bool:
    """Whether the rival is a yes, and the embedded models alone say so.

    Labeler and reader both lean to it: of the votes that made a yes of a no on NatConfQA as many
    were wrong as right.
    """
    other = opposite(passage, looking.question)
    return (
        other is not None
        and affirms(other, looking.question)
        and _is_embedded(looking.labeler)
        and looking.reader.model.is_local
    )


def _is_embedded(labeler: Labeler) -> bool:
    return bool(getattr(labeler, "embedded", False))


def _denial(claim: ClaimEvidence) -> ClaimEvidence:
    """The opposite of a yes or no with its labels: what supports the one contradicts the other."""
    swapped = {Label.SUPPORTS: Label.CONTRADICTS, Label.CONTRADICTS: Label.SUPPORTS}

    def other(pair: EvidenceLabel) -> EvidenceLabel:
        known = pair.probabilities
        turned = known and {swapped.get(label, label): p for label, p in known.items()}
        update = {"label": swapped.get(pair.label, pair.label), "probabilities": turned}
        return pair.model_copy(update=update)

    stated = Claim(number=claim.claim.number, text=denial_of(claim.claim.text))
    return ClaimEvidence(claim=stated, labels=tuple(map(other, claim.labels)))


def _to_ask(claim: ClaimEvidence, looking: Looking) -> list[Document]:
    """The documents to ask, those of the other side; of copies with one label, the first.

    Of an embedded labeler, which misses sides, all that share a word with question and claim; but
    not those of which it is sure that they are silent, for which a small reader invents an answer.
    """
    against = set(claim.contradicts)
    known: dict[int, float] = {}
    if _is_embedded(looking.labeler) or not against:
        asked = Claim(number=1, text=f"{looking.question} {claim.claim.text}")
        [shares] = overlap_scores([asked], looking.documents)
        known = dict(zip((d.number for d in looking.documents), shares, strict=True))
        likely = {pair.document: pair.probabilities or {} for pair in claim.labels}
        sure = {n for n, p in likely.items() if p.get(Label.IRRELEVANT, 0.0) >= _SURELY_SILENT}
        against |= {*claim.supports, *(n for n, share in known.items() if share and n not in sure)}
    silent = {number for number, weight in looking.weights.items() if not weight}
    label_of = {pair.document: pair.label for pair in claim.labels}
    first: dict[tuple[int, Label | None], Document] = {}
    for document in looking.documents:
        if document.number in against - silent:
            group = document.duplicate_of or document.number
            # a forged copy differs from its original in the one word that matters
            first.setdefault((group, label_of.get(document.number)), document)
    sides = {*claim.supports, *claim.contradicts}
    ranked = sorted(first.values(), key=lambda d: (d.number not in sides, -known.get(d.number, 0)))
    return sorted(ranked[:_MOST_ASKED], key=lambda document: document.number)


async def _labelled(claims: Sequence[Claim], looking: Looking) -> tuple[ClaimEvidence, ...]:
    if not claims:
        return ()
    evidence = await label_table(
        looking.labeler,
        claims,
        looking.documents,
        meter=looking.reader.meter,
        cache=looking.cache,
        seconds=looking.seconds,
    )
    pairs = [pair for one in evidence for pair in one.labels]
    if all(pair.label is Label.UNLABELLED for pair in pairs):
        why = pairs[0].error or "the labeler gave no label"
        raise ProviderError(why, provider=looking.labeler.name, failure=pairs[0].failure)
    return evidence


_MOST_CLAIMS = 4  # disputed claims of a passage that are looked at, those with most at stake first


class Correction(NamedTuple):
    """Claim of a passage, and the statement that replaces it."""

    wrong: str
    right: str


class NewPassage(NamedTuple):
    """The text in a passage's place, itself where nothing changes, and a look at each claim."""

    text: str
    looks: tuple[SecondLook, ...]

    @property
    def reason(self) -> str:
        """Why, for each claim."""
        return " ".join(dict.fromkeys(look.why for look in self.looks))


async def propose(
    passage: str,
    disputed: Sequence[ClaimEvidence],
    others: Sequence[str],
    looking: Looking,
    write: Callable[[str, Sequence[Correction]], Awaitable[str]],
    *,
    alone: bool = False,
) -> NewPassage:
    """Look again at each disputed claim of a passage, and write what that comes to into it.

    Claims are looked at side by side. Winners are put in first, by changing the span in which they
    differ or by their own sentence; those that fit in neither way by asking for the passage.
    Disputes that nothing settles are then told in it.
    """
    claims = disputed[:_MOST_CLAIMS]
    looks = await at_once(partial(look_again_at, claim, passage, looking) for claim in claims)
    said = [claim.claim.text for claim in disputed]
    text, pending = passage, list[Correction]()

    def beside(look: SecondLook) -> list[str]:
        own = look.candidates[0].statement
        return [*others, *(claim for claim in said if claim != own)]

    for look in looks:
        if look.decision == "replace" and look.rival is not None:
            changed = replaced(text, look, beside(look), alone=alone)
            if changed is None:
                own, winner = (look.candidates[place].statement for place in (0, look.rival))
                pending.append(Correction(own, winner))
            text = text if changed is None else changed
    if pending:
        text = await write(text, pending)
    for look in looks:
        if look.decision == "hedge":
            text = hedged(text, look, looking.documents, beside(look))
    return NewPassage(text, looks)
