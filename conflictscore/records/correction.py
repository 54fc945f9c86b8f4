"""Corrections of an answer: every passage that got a second look, and the outcome."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from conflictscore.records.evidence import Claim, ClaimEvidence, Record

_Index = Annotated[int, Field(ge=0)]
_Document = Annotated[int, Field(ge=1)]


class Ground(StrEnum):
    """Why one side of a dispute is right, other than that more documents say so."""

    PRIMARY = "primary"  # its documents are primary records, or the authority on the matter
    NEWER = "newer"  # its documents are newer, and the question asks for what is current
    EXPLAINS = "explains"  # one of its documents explains how the other side's statement came about
    SUPERSEDES = "supersedes"  # one of its documents says that it corrects or replaces the other
    SPECIFIC = "specific"  # its documents give the particulars, and the others speak loosely


class Relation(StrEnum):
    """How the answer of a document is related to a claim of an answer."""

    SAME = "same"  # the answer says it already, in these words or others
    RIVAL = "rival"  # another answer to the claim's own question about the claim's own thing
    ANOTHER_THING = "another thing"  # entity, time, version, place, event or predicate: no rival
    NOTHING = "nothing"  # it does not bear on the claim, or nobody can tell


class LookOutcome(StrEnum):
    """How a second look ended."""

    VOTE = "vote"  # the documents' vote settled it
    WEIGHED = "weighed"  # a ground settled it
    DATE = "date"  # the documents' dates settled it
    TOLD = "told"  # nothing settles it, and the passage tells both sides
    UNSETTLED = "unsettled"  # nothing settles it, and the passage stays
    DISSENTER = "dissenter"  # a single document disagrees
    EXPLAINED = "explained"  # other things of this name are told apart in the passage
    ANOTHER_THING = "another thing"  # all that seems to contradict it speaks of another thing
    TOLD_ALREADY = "told already"  # the answer itself says all that seems to contradict it
    NO_RIVAL = "no rival"  # no document gives another answer that it supports
    REFUTED = "refuted"  # documents contradict it, and none says what is so instead
    NO_QUESTION = "no question"  # the question that it answers could not be told, so none was asked
    ASSERTS_NOTHING = "asserts nothing"  # it declines, greets or asks, and claims nothing


class RelatedAnswer(Record):
    """An answer of documents, asked alone, that is no rival of the claim."""

    statement: str
    given_by: tuple[_Document, ...] = ()
    relation: Relation
    thing: str = ""
    """Words of one of these documents for the other thing; empty where none tell it apart."""
    evidence: ClaimEvidence | None = None
    """Its labels, where the passage names it."""


class Candidate(Record):
    """One of the statements that compete for a passage; the first is the answer's own claim."""

    evidence: ClaimEvidence
    """The statement with its labels against every document."""
    given_by: tuple[_Document, ...] = ()
    """Documents that gave it when each was asked alone; for the opposite of a yes or no those that
    contradict the claim; none for the answer's own claim."""
    votes: tuple[_Document, ...] = ()
    """Documents that support it and none of the others."""
    witnesses: Annotated[int, Field(ge=0)] = 0
    """Independent documents among the votes: near-copies and, where they count once, the documents
    of a domain are one."""
    worth: Annotated[float, Field(ge=0)] = 0.0
    """The sum of the witnesses' weights; equal to ``witnesses`` where all count alike."""
    against: Annotated[float, Field(ge=0)] = 0.0
    """The same for the documents that contradict it."""

    @property
    def statement(self) -> str:
        """Its text."""
        return self.evidence.claim.text


class DroppedReply(Record):
    """A reply of a document asked alone that became no candidate."""

    document: _Document
    reply: str = ""
    why: str


class Ruling(Record):
    """The judge's verdict on two sides, shown in one order."""

    shown: tuple[_Index, _Index]  # the candidates, in the order in which the judge saw them
    chosen: _Index | None = None  # the candidate it chose; None where it chose neither
    ground: Ground | None = None
    """None where it named none, number alone, or one that does not apply to the question."""
    reason: str | None = None
    error: str | None = None  # why there is no verdict


class Weighing(Record):
    """Two sides that counting leaves open, compared by what their evidence is."""

    sides: tuple[_Index, _Index]
    rulings: tuple[Ruling, ...] = ()  # one for each order; none where the documents' dates decided
    by_date: bool = False  # whether the dates of the documents decided alone
    chosen: _Index | None = None
    """The candidate that both orders chose on a ground; None where nothing decides."""
    ground: Ground | None = None


class SecondLook(Record):
    """A second look at one disputed claim."""

    question: str
    """Question that the documents were asked."""
    candidates: tuple[Candidate, ...]
    """The answer's own claim, then its rivals."""
    dropped: tuple[DroppedReply, ...] = ()
    weighing: Weighing | None = None
    related: tuple[RelatedAnswer, ...] = ()
    """Answers of documents that are no rivals: the same, of another thing, or not to the point."""
    thing: str = ""
    """Words of a document or the answer for the claim's own thing, where others have its name."""
    outcome: LookOutcome | None = None
    """None in runs of versions that did not record it."""
    decision: Literal["replace", "hedge", "explain", "keep"] = "keep"
    decided_by: Literal["vote", "weighing", "date"] | None = None
    """Ground of the decision; None where nothing decided."""
    rival: Annotated[int, Field(ge=1)] | None = None
    """The candidate that the claim was finally compared with; None if no rival counted."""
    why: str = ""
    """The decision in one sentence."""

    def told(self) -> tuple[str, ...]:
        """The story of the look, a line each: who stands for what, what was weighed, and why."""
        lines = []
        for place, candidate in enumerate(self.candidates):
            whose = "the answer" if place == 0 else _documents(candidate.given_by, "asked alone")
            against = tuple(n for n in candidate.evidence.contradicts if n not in candidate.votes)
            votes = f"{_documents(candidate.votes, 'for it')}, {_documents(against, 'against it')}"
            lines.append(f"“{candidate.statement}” (from {whose}): {votes}")
        lines += map(self._ruled, self.weighing.rulings if self.weighing else ())
        lines += [
            f"document {dropped_reply.document}, asked alone, does not count: {dropped_reply.why}"
            + (f" (“{dropped_reply.reply}”)" if dropped_reply.reply else "")
            for dropped_reply in self.dropped
        ]
        lines += map(_related, self.related)
        return (*lines, self.why)

    @property
    def counterpart(self) -> Candidate:
        """The candidate that the claim was finally compared with; its own if no rival counted."""
        return self.candidates[self.rival or 0]

    @property
    def tells_several(self) -> bool:
        """Whether the passage tells several answers: a dispute, or several things of one name."""
        return self.decision in ("hedge", "explain")

    @property
    def sides(self) -> tuple[ClaimEvidence, ...]:
        """The answers that a passage tells in a hedge or an explanation, the claim's own first."""
        own = self.candidates[0].evidence
        if self.decision == "explain":
            return (
                own,
                *(
                    related_answer.evidence
                    for related_answer in self.related
                    if related_answer.evidence is not None
                ),
            )
        return (own, self.counterpart.evidence)

    def _ruled(self, ruling: Ruling) -> str:
        first = self.candidates[ruling.shown[0]].statement
        if ruling.error:
            return f"weighed with “{first}” first: {ruling.error}"
        winner = "neither" if ruling.chosen is None else self.candidates[ruling.chosen].statement
        ground = ruling.ground.value if ruling.ground else "no ground that counts"
        reason = f": {ruling.reason}" if ruling.reason else ""
        return f"weighed with “{first}” first, the judge chose “{winner}” ({ground}){reason}"


def _related(related_answer: RelatedAnswer) -> str:
    thing_note = f" ({related_answer.thing})" if related_answer.thing else ""
    givers = _documents(related_answer.given_by, "asked alone")
    relation = f"{related_answer.relation.value}{thing_note}"
    return f"“{related_answer.statement}” (from {givers}) is no rival: {relation}"


def _documents(numbers: tuple[int, ...], what: str) -> str:
    if not numbers:
        return f"no document {what}"
    noun = "document" if len(numbers) == 1 else "documents"
    return f"{noun} {', '.join(map(str, numbers))} {what}"


class RevisionAction(StrEnum):
    """Action on a disputed passage."""

    KEEP = "keep"
    REPLACE = "replace"
    HEDGE = "hedge"  # the passage says that the sources disagree, and who says what
    EXPLAIN = "explain"  # the passage tells apart several things of one name
    REMOVE = "remove"


class Change(Record):
    """A second look at one passage of an answer, or at the whole of it.

    ``Run.changes`` has one for every passage that was looked at, whether it was written in place or
    anew as in the paper, and whether the change was accepted, refused, or never made (``keep``).
    """

    round: Annotated[int, Field(ge=1)]
    """The round of correction, from 1. It begins with the answer of the round before."""
    start: Annotated[int, Field(ge=0)]
    """Offset of the passage's first character in the answer before this round."""
    end: Annotated[int, Field(ge=0)]
    """Offset after its last character."""
    before: str
    after: str
    """The text in its place, as it was proposed; empty for ``remove``."""
    action: RevisionAction
    whole: bool = False
    """Whether the passage is the whole answer."""
    claims: tuple[ClaimEvidence, ...] = ()
    """The disputed claims that it is about, with the evidence that was shown."""
    looks: tuple[SecondLook, ...] = ()
    """The second look at each of these claims: its rivals, their votes, and what was weighed; none
    where the answer was written anew."""
    new_claims: tuple[str, ...] = ()
    """Claims of the new passage; empty where the whole answer was taken apart instead."""
    reason: str | None = None
    """The model's reason; None where it gave none."""
    accepted: bool = True
    """Whether it holds. A change that was refused left the passage as it was."""
    note: str | None = None
    """Why it was refused, or why there is none."""
    balance_before: tuple[float, ...] | None = None
    """For each claim of the passage, ``(|D+| - |D-|) / (|D+| + |D-|)``, in [-1, 1], worst first;
    None where no guard compared."""
    balance_after: tuple[float, ...] | None = None

    @classmethod
    def kept(cls, passage: str, start: int, claims: Sequence[ClaimEvidence], **fields: Any) -> Self:
        """A look that leaves a passage as it is."""
        fields |= {"before": passage, "after": passage, "action": RevisionAction.KEEP}
        return cls(start=start, end=start + len(passage), claims=tuple(claims), **fields)

    @property
    def differs(self) -> bool:
        """Whether the new text says another thing than the passage."""
        return differs(self.before, self.after)

    @property
    def applied(self) -> bool:
        """Whether it changed the answer."""
        return self.accepted and self.differs

    def told(self) -> tuple[str, ...]:
        """The story of its second looks, a line each, and why it was refused, if it was."""
        lines = [line for look in self.looks for line in look.told()]
        refusals = [] if self.accepted or not self.note else [f"refused: {self.note}"]
        return (*lines, *refusals)

    def holds(self, claim: Claim) -> bool:
        """Whether the passage makes a claim of the answer before this round."""
        return claim.passage is not None and self.start <= claim.passage[0] < self.end


def differs(before: str, after: str) -> bool:
    """Whether two answers differ by more than white space and case."""
    return before != after and before.casefold().split() != after.casefold().split()
