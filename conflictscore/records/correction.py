"""Corrections of an answer: every passage that got a second look, and the outcome."""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from conflictscore.records.evidence import Claim, ClaimEvidence, Record

_Index = Annotated[int, Field(ge=0)]
_Document = Annotated[int, Field(ge=1)]


class Ground(StrEnum):
    """Why one side of a dispute is right, apart from having more documents."""

    PRIMARY = "primary"  # its documents are primary records or the authority on the matter
    NEWER = "newer"  # its documents are newer, and the question asks for the current state
    EXPLAINS = "explains"  # one of its documents explains how the other side's statement arose
    SUPERSEDES = "supersedes"  # one of its documents says that it corrects or replaces the other
    SPECIFIC = "specific"  # its documents are specific, and the others are vague


class Relation(StrEnum):
    """How the answer of a document relates to a claim."""

    SAME = "same"  # the answer already says this, in the same or other words
    RIVAL = "rival"  # a different answer to the claim's question about the same thing
    ANOTHER_THING = (
        "another thing"  # about another entity, time, version, place, event or predicate
    )
    NOTHING = "nothing"  # it has no bearing on the claim, or that is unclear


class LookOutcome(StrEnum):
    """How a second look ended."""

    VOTE = "vote"  # settled by the documents' vote
    WEIGHED = "weighed"  # settled by a ground
    DATE = "date"  # settled by the documents' dates
    TOLD = "told"  # unsettled: the passage gives both sides
    UNSETTLED = "unsettled"  # unsettled: the passage stays as it is
    DISSENTER = "dissenter"  # only one document disagrees
    EXPLAINED = "explained"  # the passage distinguishes several things of this name
    ANOTHER_THING = "another thing"  # everything that seems to contradict it is about another thing
    TOLD_ALREADY = (
        "told already"  # the answer itself already says everything that seems to contradict it
    )
    NO_RIVAL = "no rival"  # no document supports another answer that it gives
    REFUTED = "refuted"  # documents contradict it, but none gives another answer
    NO_QUESTION = "no question"  # its question could not be determined, so no document was asked
    ASSERTS_NOTHING = "asserts nothing"  # it declines, greets or asks, without claiming anything


class RelatedAnswer(Record):
    """An answer that documents gave when asked alone and that is not a rival of the claim."""

    statement: str
    given_by: tuple[_Document, ...] = ()
    relation: Relation
    thing: str = ""
    """One of these documents' name for the other thing; empty if nothing distinguishes it."""
    evidence: ClaimEvidence | None = None
    """Its labels, if the passage mentions it."""


class Candidate(Record):
    """A statement that competes for a passage; the first is the answer's own claim."""

    evidence: ClaimEvidence
    """The statement with its labels against every document."""
    given_by: tuple[_Document, ...] = ()
    """Documents that gave it when asked alone. For the negation of a yes-or-no claim, the documents
    that contradict the claim. Empty for the answer's own claim."""
    votes: tuple[_Document, ...] = ()
    """Documents that support it and no other candidate."""
    witnesses: Annotated[int, Field(ge=0)] = 0
    """Number of independent documents among the votes: near-copies count once and, if so
    configured, so do documents from the same domain."""
    worth: Annotated[float, Field(ge=0)] = 0.0
    """The sum of the witnesses' weights; equals ``witnesses`` if all count alike."""
    against: Annotated[float, Field(ge=0)] = 0.0
    """The sum of weights of independent documents that contradict it."""

    @property
    def statement(self) -> str:
        """Its text."""
        return self.evidence.claim.text


class DroppedReply(Record):
    """A document's reply that did not become a candidate."""

    document: _Document
    reply: str = ""
    why: str


class Ruling(Record):
    """The judge's verdict on two sides shown in a particular order."""

    shown: tuple[_Index, _Index]  # the candidates, in the order in which the judge saw them
    chosen: _Index | None = None  # the candidate that it chose; None if it chose neither
    ground: Ground | None = None
    """None if it named no ground, only ``number``, or one that does not apply to the question."""
    reason: str | None = None
    error: str | None = None  # why there is no verdict; None if there is one


class Weighing(Record):
    """Two sides between which the count does not decide, compared by the quality of evidence."""

    sides: tuple[_Index, _Index]
    rulings: tuple[Ruling, ...] = ()  # one for each order; empty if the documents' dates decided
    by_date: bool = False  # whether the documents' dates alone decided
    chosen: _Index | None = None
    """The candidate chosen in both orders, with a ground; None if undecided."""
    ground: Ground | None = None


class SecondLook(Record):
    """A second look at one disputed claim."""

    question: str
    """The question that the documents were asked."""
    candidates: tuple[Candidate, ...]
    """The answer's own claim, then its rivals."""
    dropped: tuple[DroppedReply, ...] = ()
    weighing: Weighing | None = None
    related: tuple[RelatedAnswer, ...] = ()
    """Answers of documents that are not rivals: the same answer, about another thing, or beside the
    point."""
    thing: str = ""
    """The name that a document or the answer uses for the claim's own thing, if other things share
    it."""
    outcome: LookOutcome | None = None
    """None in runs of older versions, which did not record it."""
    decision: Literal["replace", "hedge", "explain", "keep"] = "keep"
    decided_by: Literal["vote", "weighing", "date"] | None = None
    """The ground of the decision; None if undecided."""
    rival: Annotated[int, Field(ge=1)] | None = None
    """The candidate with which the claim was finally compared; None if no rival counted."""
    why: str = ""
    """The decision in one sentence."""

    def told(self) -> tuple[str, ...]:
        """A line-by-line account of the look: who supports what, what was weighed, and why."""
        lines = []
        for place, candidate in enumerate(self.candidates):
            whose = "the answer" if place == 0 else _documents(candidate.given_by, "asked alone")
            against = tuple(n for n in candidate.evidence.contradicts if n not in candidate.votes)
            votes = f"{_documents(candidate.votes, 'for it')}, {_documents(against, 'against it')}"
            lines.append(f"“{candidate.statement}” (from {whose}): {votes}")
        lines += map(self._ruled, self.weighing.rulings if self.weighing else ())
        lines += [
            f"document {dropped_reply.document}, asked alone, does not count: "
            f"{dropped_reply.why}" + (f" (“{dropped_reply.reply}”)" if dropped_reply.reply else "")
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
        """Whether the passage gives several answers: a dispute, or things with the same name."""
        return self.decision in ("hedge", "explain")

    @property
    def sides(self) -> tuple[ClaimEvidence, ...]:
        """The answers that a passage gives in a hedge or an explanation, the claim's own first.

        The rival of a hedge comes next, then the answers about other things with the same name.
        """
        own = self.candidates[0].evidence
        rival = () if self.decision == "explain" else (self.counterpart.evidence,)
        if not self.tells_several:
            return (own, *rival)
        things = (each.evidence for each in self.related if each.evidence is not None)
        return (own, *rival, *things)

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
    return f"“{related_answer.statement}” (from {givers}) is not a rival: {relation}"


def _documents(numbers: tuple[int, ...], what: str) -> str:
    if not numbers:
        return f"no document {what}"
    noun = "document" if len(numbers) == 1 else "documents"
    return f"{noun} {', '.join(map(str, numbers))} {what}"


class RevisionAction(StrEnum):
    """Action on a disputed passage."""

    KEEP = "keep"
    REPLACE = "replace"
    HEDGE = "hedge"  # the passage says that sources disagree, and which source says what
    EXPLAIN = "explain"  # the passage distinguishes several things with the same name
    REMOVE = "remove"


class Change(Record):
    """A second look at a passage of an answer, or at the whole answer.

    ``Run.changes`` has one for every passage that got a second look, whether it was edited in place
    or the answer was rewritten as in the paper, and whether the change was accepted, refused, or
    not made (``keep``).
    """

    round: Annotated[int, Field(ge=1)]
    """The round of correction, from 1; it starts from the answer of the previous round."""
    start: Annotated[int, Field(ge=0)]
    """Offset of the passage's first character in the answer before this round."""
    end: Annotated[int, Field(ge=0)]
    """Offset after its last character."""
    before: str
    after: str
    """The proposed replacement; empty for ``remove``."""
    action: RevisionAction
    whole: bool = False
    """Whether the passage is the whole answer."""
    claims: tuple[ClaimEvidence, ...] = ()
    """The disputed claims in the passage, with the evidence that was shown."""
    looks: tuple[SecondLook, ...] = ()
    """The second look at each of these claims: its rivals, their votes, and what was weighed; empty
    if the whole answer was rewritten."""
    new_claims: tuple[str, ...] = ()
    """Claims of the new passage; empty if the whole answer was decomposed instead."""
    reason: str | None = None
    """The model's reason; None if it gave none."""
    accepted: bool = True
    """Whether the change was accepted; a refused change left the passage unchanged."""
    note: str | None = None
    """Why the change was refused, or why there is none."""
    balance_before: tuple[float, ...] | None = None
    """For each claim of the passage, ``(|D+| - |D-|) / (|D+| + |D-|)``, in [-1, 1], worst first;
    None if there was no guard."""
    balance_after: tuple[float, ...] | None = None

    @classmethod
    def kept(cls, passage: str, start: int, claims: Sequence[ClaimEvidence], **fields: Any) -> Self:
        """A second look that leaves a passage unchanged."""
        fields |= {"before": passage, "after": passage, "action": RevisionAction.KEEP}
        return cls(start=start, end=start + len(passage), claims=tuple(claims), **fields)

    @property
    def differs(self) -> bool:
        """Whether the new text differs from the passage."""
        return differs(self.before, self.after)

    @property
    def applied(self) -> bool:
        """Whether it changed the answer's text."""
        return self.accepted and self.differs

    def told(self) -> tuple[str, ...]:
        """A line-by-line account of its second looks, and why it was refused, if so."""
        lines = [line for look in self.looks for line in look.told()]
        refusals = [] if self.accepted or not self.note else [f"refused: {self.note}"]
        return (*lines, *refusals)

    def holds(self, claim: Claim) -> bool:
        """Whether the passage contains a claim made by the answer as it was before this round."""
        return claim.passage is not None and self.start <= claim.passage[0] < self.end


def differs(before: str, after: str) -> bool:
    """Whether two texts differ by more than white space and case."""
    return before != after and before.casefold().split() != after.casefold().split()
