"""Corrections of an answer: every passage that got a second look, and the outcome."""

from enum import StrEnum
from typing import Annotated

from pydantic import Field

from conflictscore.records.evidence import Claim, ClaimEvidence, Record
from conflictscore.records.second_look import SecondLook


class RevisionAction(StrEnum):
    """Action on a disputed passage."""

    KEEP = "keep"
    REPLACE = "replace"
    HEDGE = "hedge"
    """The passage says that the sources disagree, and who says what."""
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
        refused = [] if self.accepted or not self.note else [f"refused: {self.note}"]
        return (*lines, *refused)

    def holds(self, claim: Claim) -> bool:
        """Whether the passage makes a claim of the answer before this round."""
        return claim.passage is not None and self.start <= claim.passage[0] < self.end


def differs(before: str, after: str) -> bool:
    """Whether two answers differ by more than white space and case."""
    return before != after and before.casefold().split() != after.casefold().split()
