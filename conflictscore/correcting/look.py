"""Takes a second look at a disputed claim: examines it again, and decides what to do about it.

First, the look finds the rivals of the claim: different answers to the question that the claim
answers. Then the documents vote for the claim or one of its rivals. If there is a tie, the evidence
is weighed.
"""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import NamedTuple

from conflictscore.answering.languages import Language, asserts_nothing
from conflictscore.answering.statements import opposite
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.rivals import is_led_to_yes, labelled, rivals_of
from conflictscore.correcting.superseding import replaced_by_document
from conflictscore.correcting.telling import (
    explained_things,
    hedged,
    language_to_tell_in,
    tellable,
)
from conflictscore.correcting.vote import VoteOutcome, outcome, tallied
from conflictscore.correcting.weigh import weigh
from conflictscore.correcting.wording import exchanged, replaced
from conflictscore.labelers.protocol import Labeler, supports_script
from conflictscore.records import (
    Candidate,
    ClaimEvidence,
    LookOutcome,
    RelatedAnswer,
    Relation,
    SecondLook,
    Weighing,
)
from conflictscore.threads import at_once


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
            why="It states nothing about the world, so there is nothing to correct.",
        )
    # one model must label all candidates, since probabilities of the two models of a cascade are
    # not comparable
    voter: Labeler = getattr(looking.labeler, "voter", looking.labeler)
    if voter is not looking.labeler and supports_script(voter, claim.claim):
        looking = replace(looking, labeler=voter)
        [claim] = await labelled([claim.claim], looking)
    rivals = await rivals_of(claim, passage, looking)
    if not rivals.is_asked:
        return SecondLook(
            question=looking.question,
            candidates=(Candidate(evidence=claim),),
            outcome=LookOutcome.NO_QUESTION,
            why="No question for this claim was found, so no document was asked.",
        )
    candidates = tallied(
        rivals.evidence,
        rivals.given_by,
        looking.duplicates,
        looking.weights,
        yes_no=opposite(passage, looking.question) is not None,
    )
    vote = outcome(candidates, rivals.corrects, is_contested=rivals.contested)
    if vote.kind == "replace" and is_led_to_yes(passage, looking):
        vote = vote._replace(kind="open")
    weighing = await _weighing_of(vote, rivals.question, candidates, looking)
    if weighing is not None and weighing.chosen == 0:
        vote = vote._replace(kind="open")
    look = SecondLook(
        question=rivals.question,
        candidates=candidates,
        dropped=rivals.dropped,
        related=rivals.related,
        thing=rivals.thing,
        rival=vote.rival,
    )
    return _decided(look, vote, weighing, looking)


async def _weighing_of(
    vote: VoteOutcome, question: str, candidates: Sequence[Candidate], looking: Looking
) -> Weighing | None:
    """Weigh two sides if the votes leave the dispute open; return None if the votes decide it.

    Embedded models cannot weigh evidence. If they are used, the look instead searches for a
    document that says that its statement replaces the statement of the other side. It does so even
    after a clear vote, since such a document may be on the losing side.
    """
    if vote.rival is None or vote.kind == "keep":
        return None
    if looking.judge.model.is_local and looking.is_labelled_by_embedded:
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
    look: SecondLook, vote: VoteOutcome, weighing: Weighing | None, looking: Looking
) -> SecondLook:
    """Return the look with its decision and a one-sentence reason."""
    if vote.rival is None:
        return _without_rival(look)
    claim, rival = look.candidates[0], look.candidates[vote.rival]
    sides = f"{_told(rival)} against {_told(claim)}"
    if vote.kind == "replace":
        update: dict[str, object] = {"decision": "replace", "decided_by": "vote"}
        update |= {"outcome": LookOutcome.VOTE, "why": f"By the documents' vote: {sides}."}
    elif vote.kind == "keep":
        why = f"A single dissenter changes nothing: {sides}."
        update = _explained(look) or {"outcome": LookOutcome.DISSENTER, "why": why}
    elif weighing is not None and weighing.chosen is not None:
        update = _weighed(weighing, vote.rival, sides)
    elif claim.witnesses > 1 and rival.witnesses < 2:
        # the sides were weighed only because the rival's document seemed better informed, and the
        # weighing did not confirm that
        why = f"A single dissenter changes nothing: {sides}."
        update = {"outcome": LookOutcome.DISSENTER, "why": why}
    elif looking.unsettled == "hedge" and claim.evidence.supports:
        why = f"Nothing settles it: {sides}."
        update = {"decision": "hedge", "outcome": LookOutcome.TOLD, "why": why}
        update |= _told_with_things(look, why)
    else:
        why = f"Nothing settles it, so it stays: {sides}."
        update = {"outcome": LookOutcome.UNSETTLED, "why": why}
    return look.model_copy(update={"weighing": weighing, **update})


def _weighed(weighing: Weighing, rival: int, sides: str) -> dict[str, object]:
    """Return the new fields of a look that was decided by weighing."""
    is_rival = weighing.chosen == rival
    how = "By the documents' dates" if weighing.by_date else "By the evidence, not by number"
    reason = next((ruling.reason for ruling in weighing.rulings if ruling.reason), "")
    verdict = f"{sides}." if is_rival else f"{sides}; the second is kept."
    return {
        "decision": "replace" if is_rival else "keep",
        "decided_by": "date" if weighing.by_date else "weighing",
        "outcome": LookOutcome.DATE if weighing.by_date else LookOutcome.WEIGHED,
        "why": f"{how}: {verdict} {reason or ''}".strip(),
    }


def _without_rival(look: SecondLook) -> SecondLook:
    """Complete a look that found no rival, and give the reason.

    If the documents are about something else with the same name, the look decides to explain this.
    """
    of_relation = {answer.relation for answer in look.related}
    own = look.candidates[0].evidence
    update: dict[str, object]
    if explanation := _explained(look):
        update = explanation
    elif Relation.ANOTHER_THING in of_relation:
        why = "The documents that seem to contradict it are about another thing."
        update = {"outcome": LookOutcome.ANOTHER_THING, "why": why}
    elif Relation.SAME in of_relation and own.supports:
        why = "The answer already contains what seems to contradict it."
        update = {"outcome": LookOutcome.TOLD_ALREADY, "why": why}
    elif own.contradicts and not own.supports:
        why = "Documents contradict it, but none says what is true instead."
        update = {"outcome": LookOutcome.REFUTED, "why": why}
    elif own.contradicts:
        why = "Documents are labelled as contradicting it, but none gives another answer."
        update = {"outcome": LookOutcome.NO_RIVAL, "why": why}
    else:
        why = "No document supports the different answer that was given."
        update = {"outcome": LookOutcome.NO_RIVAL, "why": why}
    return look.model_copy(update=update)


def _explained(look: SecondLook) -> dict[str, object]:
    """Return the new fields of a look that explains several things with the same name.

    There are no new fields if no document supports an answer about another thing.
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
    """Return the new fields of a look whose hedge also names other things with the same name."""
    things = _backed_things(look)
    names = f" Several things have this name: {_names_of(things)}." if things else ""
    return {"related": _related_with(things, look), "why": f"{why}{names}"}


def _backed_things(look: SecondLook) -> list[RelatedAnswer]:
    """Return the answers about other things with the same name that a document supports."""
    return [
        answer
        for answer in look.related
        if answer.evidence is not None and answer.evidence.supports
    ]


def _related_with(things: Sequence[RelatedAnswer], look: SecondLook) -> tuple[RelatedAnswer, ...]:
    """Return a look's related answers; of those with labels, only the ones in ``things``."""
    return tuple(each for each in look.related if each in things or each.evidence is None)


def _names_of(things: Sequence[RelatedAnswer]) -> str:
    return "; ".join(f"“{answer.statement.rstrip('.')}” ({answer.thing})" for answer in things)


def _told(candidate: Candidate) -> str:
    """Return a candidate's statement with the documents that vote for it, as in "(Docs 1, 2)"."""
    numbers = ", ".join(map(str, candidate.votes))
    behind = f"Doc{'s' if len(candidate.votes) > 1 else ''} {numbers}" if numbers else "no document"
    return f"“{candidate.statement.rstrip('.')}” ({behind})"


# Maximum disputed claims of a passage that get a second look. A passage is one sentence, which
# seldom makes more claims, and each look queries up to 12 documents.
_MOST_CLAIMS = 4


class Correction(NamedTuple):
    """A claim from a passage, and the statement that replaces it."""

    wrong: str
    right: str


class NewPassage(NamedTuple):
    """The new text of a passage, and the looks that led to it.

    Attributes:
        text: The new text, or the old text if nothing changes.
        looks: The second look at each claim.
    """

    text: str
    looks: tuple[SecondLook, ...]

    @property
    def reason(self) -> str:
        """The distinct reasons of all looks."""
        return " ".join(dict.fromkeys(look.why for look in self.looks))


async def propose(
    passage: str,
    disputed_claims: Sequence[ClaimEvidence],
    others: Sequence[str],
    looking: Looking,
    write: Callable[[str, Sequence[Correction]], Awaitable[str]],
    *,
    alone: bool = False,
) -> NewPassage:
    """Take a second look at each disputed claim of a passage, and rewrite the passage accordingly.

    The looks run concurrently. First, winners are put into the passage. This is done by changing
    the span that differs or by replacing the sentence; if neither works, a model is asked to
    rewrite the passage. Two claims whose winners replace the same span count as one correction.
    Then an explanation is added if a dispute is unsettled, or if several things have the same name.
    Only one explanation is added, since a second one would overwrite the first.
    """
    claims = disputed_claims[:_MOST_CLAIMS]
    looks = await at_once(partial(look_again_at, claim, passage, looking) for claim in claims)
    disputed_texts = [claim.claim.text for claim in disputed_claims]

    def beside(look: SecondLook) -> list[str]:
        own = look.candidates[0].statement
        return [*others, *(text for text in disputed_texts if text != own)]

    text, pending = _with_winners(passage, looks, beside, looking, alone=alone)
    if pending:
        text = await write(text, pending)
    return _with_dispute_told(text, looks, beside, looking)


def _with_winners(
    passage: str,
    looks: Sequence[SecondLook],
    beside: Callable[[SecondLook], Sequence[str]],
    looking: Looking,
    *,
    alone: bool,
) -> tuple[str, list[Correction]]:
    """Put in the winners that need no model; return the text and the corrections that need one."""
    text, pending, done = passage, list[Correction](), set[tuple[str, str]]()
    exchanges = {look.candidates[0].statement: exchanged(look) for look in looks}
    for look in looks:
        if look.decision != "replace" or look.rival is None:
            continue
        own, winner = (look.candidates[place].statement for place in (0, look.rival))
        exchange = exchanges[own]
        if exchange in done:
            continue
        twins = [text for text, other in exchanges.items() if other and other == exchange]
        new_text = replaced(
            text, look, beside(look), twins=twins, documents=looking.documents, alone=alone
        )
        if new_text is None:
            pending.append(Correction(own, winner))
        else:
            text = new_text
            done |= {exchange} if exchange else set()
    return text, pending


def _with_dispute_told(
    text: str,
    looks: Sequence[SecondLook],
    beside: Callable[[SecondLook], Sequence[str]],
    looking: Looking,
) -> NewPassage:
    """Reword a passage to explain its first unsettled dispute or its first ambiguous name.

    If other looks also found several answers, the claims of those looks are kept, and their
    outcomes record this.
    """
    look_to_tell = next((look for look in looks if look.tells_several), None)
    if look_to_tell is None:
        return NewPassage(text, tuple(looks))
    language = language_to_tell_in(text, looking.answer, looking.question)
    told_look = tellable(look_to_tell, language)
    new_text = _passage_told_anew(text, told_look, beside(look_to_tell), looking, language)
    is_told = new_text is not None
    final_looks = tuple(
        told_look
        if look is look_to_tell and is_told
        else _untold(look)
        if look.tells_several
        else look
        for look in looks
    )
    return NewPassage(text if new_text is None else new_text, final_looks)


def _passage_told_anew(
    passage: str,
    look: SecondLook,
    others: Sequence[str],
    looking: Looking,
    language: Language | None,
) -> str | None:
    """Reword a passage to report a look's dispute; return None if its language is unsupported."""
    if look.decision == "explain":
        return explained_things(passage, look, others, language)
    return hedged(passage, look, looking.documents, others, language)


def _untold(look: SecondLook) -> SecondLook:
    """Change a look to keep the claim, because the passage does not explain the dispute."""
    outcomes = {"hedge": LookOutcome.UNSETTLED, "explain": LookOutcome.ANOTHER_THING}
    return look.model_copy(update={"decision": "keep", "outcome": outcomes[look.decision]})
