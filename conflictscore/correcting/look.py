"""Takes a second look at a disputed claim: examines it again, and decides what to do about it.

First, the look finds the rivals of the claim: different answers to the question that the claim
answers. Then the documents vote for the claim or one of its rivals. If there is a tie, the evidence
is weighed.
"""

from collections.abc import Sequence
from dataclasses import replace

from conflictscore.answering.declining import asserts_nothing
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.plain_rival import plain_rival_of
from conflictscore.correcting.rival_labels import labelled
from conflictscore.correcting.rivals import Rivals, rivals_of
from conflictscore.correcting.superseding import is_corrected_by_dissenter, replaced_by_document
from conflictscore.correcting.value_check import is_misread
from conflictscore.correcting.vote import (
    WITNESSES,
    VoteOutcome,
    outcome,
    tallied,
    without_agreeing_votes,
    without_votes,
)
from conflictscore.correcting.weigh import weigh
from conflictscore.correcting.yes_or_no import is_led_to_yes
from conflictscore.labelers.protocol import Labeler, supports_script
from conflictscore.records import (
    Candidate,
    Claim,
    ClaimEvidence,
    LookOutcome,
    RelatedAnswer,
    Relation,
    SecondLook,
    Weighing,
)


async def look_again_at(claim: ClaimEvidence, passage: str, looking: Looking) -> SecondLook:
    """Take a second look at a disputed claim: find its rivals, let documents vote, and weigh ties.

    A claim that asserts nothing about the world is skipped. Raise ProviderError if no document
    could be queried, if a relation could not be determined, or if no rival could be labelled.
    """
    if asserts_nothing(claim.claim.text):
        return SecondLook(
            question=looking.question,
            candidates=(Candidate(evidence=claim),),
            outcome=LookOutcome.ASSERTS_NOTHING,
            why="The claim states nothing about the world, so there is nothing to correct.",
        )
    # One model must label all candidates, since the probabilities of a cascade's two models are not
    # comparable. If that model cannot read the claim's script, the whole cascade labels them.
    voter: Labeler = getattr(looking.labeler, "voter", looking.labeler)
    if voter is not looking.labeler and supports_script(voter, claim.claim):
        looking = replace(looking, labeler=voter)
        [claim] = await labelled([claim.claim], looking)
        claim = claim.excluding_zero_weight(looking.weights)
    if (look := await _look_by_wording(claim, passage, looking)) is not None:
        return look
    rivals = await rivals_of(claim, passage, looking)
    if not rivals.is_asked:
        return SecondLook(
            question=looking.question,
            candidates=(Candidate(evidence=claim),),
            outcome=LookOutcome.NO_QUESTION,
            why=f"{_if_refuted(claim)}No question for this claim was found, so no document was"
            " asked.",
        )
    candidates = _tallied(rivals, looking)
    look = await _settled(rivals, candidates, passage, looking)
    first_misread: SecondLook | None = None
    # a rival that wins by vote has two witnesses, so only hedges may depend on one misread document
    while look.decision == "hedge" and await is_misread(look, looking):
        first_misread = first_misread or _as_misread(look)
        # a different rival may be a real one
        candidates = without_votes(candidates, look.rival or 0)  # a hedge always has a rival
        look = await _settled(rivals, candidates, passage, looking)
    return look if look.decision != "keep" else first_misread or look


async def _settled(
    rivals: Rivals, candidates: tuple[Candidate, ...], passage: str, looking: Looking
) -> SecondLook:
    """Return the look with the outcome of the votes or, if votes decide nothing, of weighing."""
    vote = _vote_on(rivals, candidates, passage, looking)
    is_corrected = await _is_corrected(vote, candidates, looking)
    weighing = await _weighing_of(vote, rivals.question, candidates, looking)
    if weighing is not None and weighing.chosen == 0:
        # the documents that say they replace the rival outweigh a vote for it
        vote = vote._replace(kind="open")
    look = SecondLook(
        question=rivals.question,
        candidates=candidates,
        dropped=rivals.dropped,
        related=rivals.related,
        thing=rivals.thing,
        rival=vote.rival,
    )
    return _decided(look, vote, weighing, looking, is_corrected=is_corrected)


def _as_misread(look: SecondLook) -> SecondLook:
    """Change a look to keep the claim, since its rival's value was misread."""
    told = _told(look.candidates[look.rival or 0])
    why = f"The value in {told} seems to belong to something else."
    update = {"decision": "keep", "outcome": LookOutcome.ANOTHER_THING, "why": why}
    return look.model_copy(update=update)


def _tallied(rivals: Rivals, looking: Looking) -> tuple[Candidate, ...]:
    """Return the claim and its rivals with their votes."""
    candidates = tallied(
        rivals.evidence,
        rivals.given_by,
        looking.duplicates,
        looking.weights,
        yes_no=rivals.is_denied,
    )
    if looking.is_read_by_embedded:
        return without_agreeing_votes(
            candidates, rivals.question, looking.duplicates, looking.weights
        )
    return candidates


def _vote_on(
    rivals: Rivals, candidates: Sequence[Candidate], passage: str, looking: Looking
) -> VoteOutcome:
    """Return the outcome of the vote."""
    vote = outcome(candidates, rivals.corrects, is_contested=rivals.contested)
    if vote.rival is None:
        return vote
    rival = candidates[vote.rival]
    if _is_close_call(rivals, candidates[0], looking) and vote.kind == "replace":
        vote = vote._replace(kind="open")
    if is_led_to_yes(passage, rival.statement, looking, is_denied=rivals.is_denied):
        # If the reader also answers yes for a document that supports the no, the reader is
        # unreliable here, and the rival needs more weight than the claim.
        claim = candidates[0]
        is_blind = not set(rival.given_by).isdisjoint(claim.evidence.supports)
        if is_blind and claim.worth >= rival.worth:
            return VoteOutcome("keep")
        if vote.kind == "replace":
            vote = vote._replace(kind="open")
    return vote


def _is_close_call(rivals: Rivals, claim: Candidate, looking: Looking) -> bool:
    """Return whether the claim is a yes or no that a majority of documents must not replace.

    Small models tell yes from no in about three of four documents. So a yes or no that a document
    supports is never replaced only because more documents seem to say the opposite.
    """
    reports_odds = looking.is_read_by_embedded and looking.reader.model.has_grammars
    return rivals.is_denied and reports_odds and bool(claim.votes)


async def _look_by_wording(
    claim: ClaimEvidence, passage: str, looking: Looking
) -> SecondLook | None:
    """Return a look that replaces a claim with its plain rival; None if no plain rival wins.

    Only runs with embedded models need such a look. A capable judge sees the difference, and also
    sees whether the documents are about something else.
    """
    if not looking.is_judged_by_embedded:
        return None
    rival = await plain_rival_of(claim, passage, looking)
    if rival is None:
        return None
    # the labels must agree too, since only documents that support the rival vote for it
    [evidence] = await labelled([Claim(number=1, text=rival.statement)], looking)
    statements, given_by = (claim, evidence), ((), rival.given_by)
    candidates = tallied(statements, given_by, looking.duplicates, looking.weights)
    vote = outcome(candidates)
    if vote.kind != "replace" or evidence.contradicts:
        return None
    own, new = (_told(candidate) for candidate in candidates)
    return SecondLook(
        question=looking.question,
        candidates=candidates,
        rival=vote.rival,
        decision="replace",
        decided_by="wording",
        outcome=LookOutcome.VOTE,
        why=f"Documents repeat the claim with a different quantity: {new} against {own}.",
    )


async def _is_corrected(
    vote: VoteOutcome, candidates: Sequence[Candidate], looking: Looking
) -> bool:
    """Return whether the only dissenting document says that it corrects the claim.

    A capable judge notices this when it compares the statements, so only embedded models are
    tested.
    """
    if vote.kind != "keep" or vote.rival is None or not looking.is_judged_by_embedded:
        return False
    return await is_corrected_by_dissenter(candidates, vote.rival, looking)


async def _weighing_of(
    vote: VoteOutcome, question: str, candidates: Sequence[Candidate], looking: Looking
) -> Weighing | None:
    """Weigh two sides if the votes leave the dispute open; return None if the votes decide it.

    Embedded models cannot weigh evidence. With embedded models, the look instead searches for a
    document that claims to replace what the other side says. The look makes this search even after
    a clear vote, since such a document may be on the losing side.
    """
    if vote.rival is None or vote.kind == "keep":
        return None
    if looking.is_judged_by_embedded:
        weighing = await replaced_by_document(candidates, vote.rival, looking)
        if weighing is not None:
            return weighing
    if vote.kind != "open":
        return None
    return await weigh(
        question,
        candidates,
        (0, vote.rival),
        looking.documents,
        looking.judge,
        looking.weights,
    )


def _decided(
    look: SecondLook,
    vote: VoteOutcome,
    weighing: Weighing | None,
    looking: Looking,
    *,
    is_corrected: bool = False,
) -> SecondLook:
    """Return the look with its decision and a one-sentence reason.

    ``is_corrected`` says whether the only dissenting document claims to correct the other
    documents.
    """
    if vote.rival is None:
        return _without_rival(look)
    claim, rival = look.candidates[0], look.candidates[vote.rival]
    sides = f"{_told(rival)} against {_told(claim)}"
    if vote.kind == "replace":
        update: dict[str, object] = {"decision": "replace", "decided_by": "vote"}
        update |= {"outcome": LookOutcome.VOTE, "why": f"By the documents' vote: {sides}."}
    elif vote.kind == "keep" and not is_corrected:
        why = f"A single document that disagrees changes nothing: {sides}."
        update = _explained(look) or {"outcome": LookOutcome.DISSENTER, "why": why}
    elif weighing is not None and weighing.chosen is not None:
        update = _weighed(weighing, vote.rival, sides)
    elif claim.witnesses >= WITNESSES > rival.witnesses and not is_corrected:
        # the sides were weighed only because the rival's document seemed better informed, and the
        # weighing did not confirm that
        why = f"A single document that disagrees changes nothing: {sides}."
        update = {"outcome": LookOutcome.DISSENTER, "why": why}
    elif looking.unsettled == "hedge" and claim.evidence.supports:
        why = f"Nothing settles it: {sides}."
        update = {"decision": "hedge", "outcome": LookOutcome.TOLD, "why": why}
        update |= _told_with_things(look, why)
    else:
        why = f"{_if_refuted(claim.evidence)}Nothing settles it, so it stays: {sides}."
        update = {"outcome": LookOutcome.UNSETTLED, "why": why}
    return look.model_copy(update={"weighing": weighing, **update})


def _if_refuted(claim: ClaimEvidence) -> str:
    """Return a sentence saying that documents refute a claim; empty if they do not."""
    is_refuted = claim.contradicts and not claim.supports
    return "Documents contradict the claim, and none supports it. " if is_refuted else ""


def _weighed(weighing: Weighing, rival: int, sides: str) -> dict[str, object]:
    """Return the updated fields of a look that was decided by weighing."""
    is_rival = weighing.chosen == rival
    how = (
        "By the documents' dates"
        if weighing.by_date
        else "By the evidence, not by the number of documents"
    )
    reason = next((ruling.reason for ruling in weighing.rulings if ruling.reason), "")
    verdict = f"{sides}." if is_rival else f"{sides}; the second statement is kept."
    return {
        "decision": "replace" if is_rival else "keep",
        "decided_by": "date" if weighing.by_date else "weighing",
        "outcome": LookOutcome.DATE if weighing.by_date else LookOutcome.WEIGHED,
        "why": f"{how}: {verdict} {reason}".strip(),
    }


def _without_rival(look: SecondLook) -> SecondLook:
    """Complete a look that found no rival, and give the reason.

    If the documents are about something else with the same name as the claim's subject, the
    corrected answer will explain both.
    """
    of_relation = {answer.relation for answer in look.related}
    own = look.candidates[0].evidence
    same = {n for each in look.related if each.relation is Relation.SAME for n in each.given_by}
    update: dict[str, object]
    if explanation := _explained(look):
        update = explanation
    elif Relation.ANOTHER_THING in of_relation:
        why = "The documents that seem to contradict the claim are about something else."
        update = {"outcome": LookOutcome.ANOTHER_THING, "why": why}
    elif same and (own.supports or same.issuperset(own.contradicts)):
        why = "The answer already says what seems to contradict the claim."
        update = {"outcome": LookOutcome.TOLD_ALREADY, "why": why}
    elif own.contradicts and not own.supports:
        why = "Documents contradict the claim, but none says what is true instead."
        update = {"outcome": LookOutcome.REFUTED, "why": why}
    elif own.contradicts:
        why = "Documents are labelled as contradicting the claim, but none gives another answer."
        update = {"outcome": LookOutcome.NO_RIVAL, "why": why}
    else:
        why = "A document gives a different answer, but no document supports it."
        update = {"outcome": LookOutcome.NO_RIVAL, "why": why}
    return look.model_copy(update=update)


def _explained(look: SecondLook) -> dict[str, object]:
    """Return the updated fields of a look that explains several things with the same name.

    Nothing is updated if no document supports an answer about a different thing, or if no document
    supports the claim. The guard would refuse an explanation with an answer that no document
    supports.
    """
    things = _backed_things(look)
    if not things or not look.candidates[0].evidence.supports:
        return {}
    names = _names_of(things)
    return {
        "decision": "explain",
        "outcome": LookOutcome.EXPLAINED,
        "related": _related_with(things, look),
        "why": f"Several things have this name, so nothing is in dispute: {names}.",
    }


def _told_with_things(look: SecondLook, why: str) -> dict[str, object]:
    """Return the updated fields of a look whose hedge also names things with the same name."""
    things = _backed_things(look)
    names = f" Several things have this name: {_names_of(things)}." if things else ""
    return {"related": _related_with(things, look), "why": f"{why}{names}"}


def _backed_things(look: SecondLook) -> list[RelatedAnswer]:
    """Return the answers about other things with the same name, if a document supports them."""
    return [
        answer
        for answer in look.related
        if answer.evidence is not None and answer.evidence.supports
    ]


def _related_with(things: Sequence[RelatedAnswer], look: SecondLook) -> tuple[RelatedAnswer, ...]:
    """Return answers that are not rivals; labelled answers only if they are among ``things``."""
    return tuple(each for each in look.related if each in things or each.evidence is None)


def _names_of(things: Sequence[RelatedAnswer]) -> str:
    return "; ".join(f"“{answer.statement.rstrip('.')}” ({answer.thing})" for answer in things)


def _told(candidate: Candidate) -> str:
    """Return a candidate's statement with the documents that vote for it, as in "(Docs 1, 2)"."""
    numbers = ", ".join(map(str, candidate.votes))
    behind = f"Doc{'s' if len(candidate.votes) > 1 else ''} {numbers}" if numbers else "no document"
    return f"“{candidate.statement.rstrip('.')}” ({behind})"
