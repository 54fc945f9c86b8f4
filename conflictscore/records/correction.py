"""Records of second looks at the disputed passages of an answer, and of their outcomes.

In a second look, each document separately is asked the question that a disputed claim answers. The
outcome decides whether the passage is replaced, hedged, explained or kept.
"""

from collections.abc import Sequence
from enum import StrEnum
from typing import Annotated, Any, Literal, Self

from pydantic import Field

from conflictscore.errors import FailureKind
from conflictscore.records.evidence import Claim, ClaimEvidence
from conflictscore.records.record_base import Record, is_none

_Index = Annotated[int, Field(ge=0)]
_Document = Annotated[int, Field(ge=1)]


class Ground(StrEnum):
    """A reason to believe one side of a dispute, other than that it has more documents."""

    PRIMARY = "primary"  # The side has primary sources, or authority on the matter.
    NEWER = "newer"  # The side's documents are newer, and the question asks for the current state.
    EXPLAINS = "explains"  # The side explains how the other side's statement arose.
    # A document of the side says that it corrects or replaces a document of the other side.
    SUPERSEDES = "supersedes"
    SPECIFIC = "specific"  # The side's documents are specific, and the other side's are vague.


class Relation(StrEnum):
    """The relation between a document's answer and a claim."""

    SAME = "same"  # The checked answer already says the same, perhaps in other words.
    RIVAL = "rival"  # The document gives a different answer about the same thing.
    # The document's answer is about a different entity, time, version, place, event or predicate.
    ANOTHER_THING = "another thing"
    NOTHING = "nothing"  # The answer has no bearing on the claim, or its bearing is unclear.


class LookOutcome(StrEnum):
    """How a second look ended."""

    VOTE = "vote"  # The documents' vote settled the dispute.
    WEIGHED = "weighed"  # A reason other than votes or dates settled the dispute.
    DATE = "date"  # The documents' dates settled the dispute.
    TOLD = "told"  # Nothing settled the dispute, so the passage now presents both sides.
    UNSETTLED = "unsettled"  # Nothing settled the dispute, and the passage stays as it is.
    DISSENTER = "dissenter"  # Only one document disagrees.
    EXPLAINED = "explained"  # The passage now distinguishes things that have the same name.
    # Only documents about a different thing seem to contradict the claim.
    ANOTHER_THING = "another thing"
    # The answer already states everything that seems to contradict the claim.
    TOLD_ALREADY = "told already"
    NO_RIVAL = "no rival"  # Documents gave other answers, but no document supports any of them.
    REFUTED = "refuted"  # Documents contradict the claim, but none gives a different answer.
    # The claim's question could not be determined, so no document was queried.
    NO_QUESTION = "no question"
    ASSERTS_NOTHING = "asserts nothing"  # The passage only declines, greets or asks something.


class RelatedAnswer(Record):
    """An answer from documents queried separately that is not a rival of the claim."""

    statement: str
    given_by: tuple[_Document, ...] = ()
    relation: Relation
    thing: str = ""
    """The name of the thing that the answer is about, if this is not the claim's. One of these
    documents distinguishes the thing by this name. Empty if there is no name.
    """
    evidence: ClaimEvidence | None = None
    """This answer with its labels, if the corrected passage mentions it."""


class Candidate(Record):
    """A statement that a passage may make; the first candidate is the answer's own claim."""

    evidence: ClaimEvidence
    """The statement with its label for every document."""
    given_by: tuple[_Document, ...] = ()
    """Documents that gave this answer when queried separately, or that state it in the claim's
    words. If the statement negates a yes-or-no claim, these are the documents that contradict the
    claim. Empty for the answer's own claim.
    """
    votes: tuple[_Document, ...] = ()
    """Documents that support this candidate and no other candidate."""
    witnesses: Annotated[int, Field(ge=0)] = 0
    """Number of independent documents among the votes. Near-copies count as one. Documents from the
    same domain also count as one if this is configured."""
    worth: Annotated[float, Field(ge=0)] = 0.0
    """The sum of the witnesses' weights; it equals ``witnesses`` if all documents count equally."""
    against: Annotated[float, Field(ge=0)] = 0.0
    """The sum of the weights of independent documents that contradict the statement."""

    @property
    def statement(self) -> str:
        """The text of the statement."""
        return self.evidence.claim.text


class DroppedReply(Record):
    """A document's reply that did not become a candidate."""

    document: _Document
    reply: str = ""
    why: str


class Ruling(Record):
    """The judge's verdict on two candidates that were shown in a particular order."""

    shown: tuple[_Index, _Index]  # The two candidates, in the order in which the judge saw them.
    chosen: _Index | None = None  # The candidate that the judge chose; None if it chose neither.
    ground: Ground | None = None
    """The judge's reason for its choice. None if the judge named no reason, or one that is unknown
    or does not apply to the question."""
    reason: str | None = None
    error: str | None = None  # Why there is no verdict; None if there is a verdict.


class Weighing(Record):
    """A comparison of two candidates by quality of evidence, made if the vote does not decide."""

    sides: tuple[_Index, _Index]
    rulings: tuple[Ruling, ...] = ()
    """One ruling for each order of the candidates; empty if the documents' dates decided. If the
    first ruling names no side or no valid reason, there is no second one."""
    by_date: bool = False  # Whether the documents' dates alone decided the comparison.
    chosen: _Index | None = None
    """The candidate that the judge chose in both orders for a valid reason; None if undecided."""
    ground: Ground | None = None


class SecondLook(Record):
    """A second look at one disputed claim: the documents' answers, and the decision."""

    question: str
    """The question that was put to the documents."""
    candidates: tuple[Candidate, ...]
    """The answer's own claim, followed by its rivals."""
    dropped: tuple[DroppedReply, ...] = ()
    weighing: Weighing | None = None
    related: tuple[RelatedAnswer, ...] = ()
    """Documents' answers that are not rivals of the claim. Such answers agree with the claim, are
    about a different thing, or have no bearing on the claim.
    """
    thing: str = ""
    """The name by which a document or the answer distinguishes the claim's subject from other
    things with the same name. Empty if documents mention no such things."""
    outcome: LookOutcome | None = None
    """The outcome; None in runs of older versions, which did not record it."""
    decision: Literal["replace", "hedge", "explain", "keep"] = "keep"
    decided_by: Literal["vote", "weighing", "date", "wording"] | None = None
    """How the decision was reached; None if the dispute was not decided. ``wording`` means that
    documents repeat the claim word for word with a different quantity, so no document was
    queried."""
    rival: Annotated[int, Field(ge=1)] | None = None
    """Index of the candidate with which the claim was finally compared; None if there was no valid
    rival."""
    why: str = ""
    """The decision, in one sentence."""

    def told(self) -> tuple[str, ...]:
        """Return lines that describe the second look: the votes, the weighing, and the decision."""
        lines = []
        how = "in the claim's words" if self.decided_by == "wording" else "asked separately"
        for place, candidate in enumerate(self.candidates):
            whose = "the answer" if place == 0 else _documents(candidate.given_by, how)
            against = tuple(n for n in candidate.evidence.contradicts if n not in candidate.votes)
            votes = f"{_documents(candidate.votes, 'for it')}, {_documents(against, 'against it')}"
            lines.append(f"“{candidate.statement}” (from {whose}): {votes}")
        lines += map(self._ruled, self.weighing.rulings if self.weighing else ())
        lines += [
            f"document {dropped_reply.document}, asked separately, does not count: "
            f"{dropped_reply.why}" + (f" (“{dropped_reply.reply}”)" if dropped_reply.reply else "")
            for dropped_reply in self.dropped
        ]
        lines += map(_related, self.related)
        return (*lines, self.why)

    @property
    def counterpart(self) -> Candidate:
        """The rival with which the claim was finally compared, or the claim if it has no rival."""
        return self.candidates[self.rival or 0]

    @property
    def tells_several(self) -> bool:
        """Whether the passage gives several answers, as in a hedge or an explanation."""
        return self.decision in ("hedge", "explain")

    @property
    def sides(self) -> tuple[ClaimEvidence, ...]:
        """The answers in a hedge or an explanation; the claim's own answer comes first.

        In a hedge, the rival comes next. Answers about other things with the same name come last.
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
            return f"with “{first}” shown first, the judge gave no verdict: {ruling.error}"
        winner = "neither" if ruling.chosen is None else self.candidates[ruling.chosen].statement
        ground = ruling.ground.value if ruling.ground else "no valid reason"
        reason = f": {ruling.reason}" if ruling.reason else ""
        return f"with “{first}” shown first, the judge chose “{winner}” ({ground}){reason}"


def _related(related_answer: RelatedAnswer) -> str:
    thing_note = f" ({related_answer.thing})" if related_answer.thing else ""
    givers = _documents(related_answer.given_by, "asked separately")
    relation = f"{related_answer.relation.value}{thing_note}"
    return f"“{related_answer.statement}” (from {givers}) is not a rival: {relation}"


def _documents(numbers: tuple[int, ...], what: str) -> str:
    if not numbers:
        return f"no document {what}"
    noun = "document" if len(numbers) == 1 else "documents"
    return f"{noun} {', '.join(map(str, numbers))} {what}"


class RevisionAction(StrEnum):
    """An action on a disputed passage."""

    KEEP = "keep"
    REPLACE = "replace"
    HEDGE = "hedge"  # The passage says that sources disagree, and what each of them says.
    EXPLAIN = "explain"  # The passage distinguishes things that have the same name.
    REMOVE = "remove"


class Change(Record):
    """The proposed change to a passage of an answer, or to the whole answer.

    ``Run.changes`` contains one change for every passage that got a second look. The change either
    edits the passage in place, or rewrites the whole answer as in the paper. A change was accepted
    or refused, unless the action is ``keep``.
    """

    round: Annotated[int, Field(ge=1)]
    """The round of correction, from 1. Each round starts from the answer of the previous round."""
    start: Annotated[int, Field(ge=0)]
    """Offset of the passage's first character in the answer before this round."""
    end: Annotated[int, Field(ge=0)]
    """Offset just after the passage's last character in that answer."""
    before: str
    after: str
    """The proposed replacement; empty for ``remove``."""
    action: RevisionAction
    whole: bool = False
    """Whether the passage is the whole answer."""
    claims: tuple[ClaimEvidence, ...] = ()
    """The disputed claims in the passage, with the evidence that the model was shown."""
    looks: tuple[SecondLook, ...] = ()
    """The second look at each of these claims, with the rivals, their votes, and the weighing.
    Empty if the whole answer was rewritten."""
    new_claims: tuple[str, ...] = ()
    """Claims of the new passage; empty if the whole answer was rewritten and split into claims."""
    reason: str | None = None
    """The model's reason; None if the model gave no reason."""
    accepted: bool = True
    """Whether the change was accepted; a refused change left the passage unchanged."""
    note: str | None = None
    """Why the change was refused, or why no change was proposed."""
    failure: Annotated[FailureKind | None, Field(exclude_if=is_none)] = None
    """The kind of error that prevented the second look or the new text, which ``note`` describes;
    None if there was no error."""
    balance_before: tuple[float, ...] | None = None
    """For each claim of the passage, ``(|D+| - |D-|) / (|D+| + |D-|)``, in [-1, 1], in ascending
    order; None if no guard checked the change.
    """
    balance_after: tuple[float, ...] | None = None

    @classmethod
    def kept(cls, passage: str, start: int, claims: Sequence[ClaimEvidence], **fields: Any) -> Self:
        """Return the record of a second look that left a passage unchanged."""
        fields |= {"before": passage, "after": passage, "action": RevisionAction.KEEP}
        return cls(start=start, end=start + len(passage), claims=tuple(claims), **fields)

    @property
    def differs(self) -> bool:
        """Whether the new text differs from the passage."""
        return differs(self.before, self.after)

    @property
    def applied(self) -> bool:
        """Whether the change has altered the answer's text."""
        return self.accepted and self.differs

    def told(self) -> tuple[str, ...]:
        """Return lines that describe the second looks, and the reason if the change was refused."""
        lines = [line for look in self.looks for line in look.told()]
        refusals = [] if self.accepted or not self.note else [f"refused: {self.note}"]
        return (*lines, *refusals)

    def holds(self, claim: Claim) -> bool:
        """Return whether the passage contains this claim of the answer before this round."""
        return claim.passage is not None and self.start <= claim.passage[0] < self.end


def differs(before: str, after: str) -> bool:
    """Return whether two texts differ by more than white space and case."""
    return before != after and before.casefold().split() != after.casefold().split()
