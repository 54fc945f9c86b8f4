"""Records which parts of an answer and of its evidence were examined, and by which labelers.

This record of what was examined is called the ledger. The ledger alone determines how far an answer
was checked (:attr:`Examined.checked`). *Coverage* is a different figure: the share of
claim-document pairs that have a label.

Limits without a stated reason were chosen by hand.
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field

from conflictscore.records.record_base import Record

Checked = Literal["fully", "partly", "no"]
"""How far an answer was checked. ``fully``: the whole answer and all evidence were examined.
``partly``: something was not examined, but enough was. ``no``: too little was examined, or the
answer contains nothing that can be checked."""

_Number = Annotated[int, Field(ge=1)]
_SENTENCE_CHARS = 160  # maximum length of a quoted passage in characters: about two lines


class GapKind(StrEnum):
    """Kinds of gaps, for programs; :attr:`Gap.note` describes a gap for readers."""

    EMPTY_ANSWER = "empty_answer"  # The answer has no text.
    STATES_NOTHING = "states_nothing"  # The answer is a greeting, a refusal or a question.
    NO_CLAIMS = "no_claims"  # The answer states something, but no claims were read from it.
    NO_DOCUMENTS = "no_documents"  # There were no documents to check the answer against.
    NOT_ANSWERED = "not_answered"  # The host returned a message instead of a text answer.
    NOT_CHECKABLE = "not_checkable"  # The answer was requested in a form that cannot be checked.
    CHECK_FAILED = "check_failed"  # The check ended with an error.
    TOO_FEW_LABELS = "too_few_labels"  # Fewer pairs have a label than the run requires.
    UNCLAIMED = "unclaimed"  # No claim covers a part of the answer.
    CLAIM_BEYOND_ANSWER = "claim_beyond_answer"  # A claim says more than the answer says.
    UNLABELLED = "unlabelled"  # Some pairs have no label.
    # The answer was checked only against one document and its copies.
    ONE_DOCUMENT = "one_document"
    # A claim is disputed, and the attempt to settle the dispute failed.
    NOT_RECONSIDERED = "not_reconsidered"
    DOCUMENT_CUT = "document_cut"  # A document was not read completely.
    EVIDENCE_LEFT_OUT = "evidence_left_out"  # The model saw evidence that the check did not read.
    UNFINISHED_ANSWER = "unfinished_answer"  # The answer was cut off, or its stream did not end.
    EDITED = "edited"  # A person wrote the final text.
    REWRITTEN = "rewritten"  # Another model wrote the text from checked answers.


_IN_SHORT = {
    GapKind.EMPTY_ANSWER: "the answer is empty",
    GapKind.STATES_NOTHING: "the answer states nothing that could be checked",
    GapKind.NO_CLAIMS: "no claims were read from the answer",
    GapKind.NO_DOCUMENTS: "there were no documents to check it against",
    GapKind.NOT_ANSWERED: "it is not a text answer by the model",
    GapKind.NOT_CHECKABLE: "it was requested in a form that cannot be checked",
    GapKind.CHECK_FAILED: "the check failed",
    GapKind.TOO_FEW_LABELS: "too few pairs of claim and document have a label",
    GapKind.UNCLAIMED: "a part of the answer is not covered by any claim",
    GapKind.CLAIM_BEYOND_ANSWER: "a claim says something that the answer does not",
    GapKind.UNLABELLED: "some pairs of claim and document have no label",
    GapKind.ONE_DOCUMENT: "it was checked against a single document",
    GapKind.NOT_RECONSIDERED: "a disputed claim could not be examined again",
    GapKind.DOCUMENT_CUT: "a document was not read completely",
    GapKind.EVIDENCE_LEFT_OUT: "the model saw evidence that the check did not read",
    GapKind.UNFINISHED_ANSWER: "the answer may be incomplete",
    GapKind.EDITED: "a person wrote the final text",
    GapKind.REWRITTEN: "another model wrote the text from checked answers",
}
"""Descriptions of gaps. These descriptions quote neither the answer nor its documents, so they can
be shown where those texts must not appear.
"""
# Kinds of gaps that mean that the check does not apply to the text that readers get. Nothing was
# checked, too little was checked, or an unchecked text replaced the checked one.
_DECIDE_NO = frozenset(
    {
        GapKind.EMPTY_ANSWER,
        GapKind.STATES_NOTHING,
        GapKind.NO_CLAIMS,
        GapKind.NO_DOCUMENTS,
        GapKind.NOT_ANSWERED,
        GapKind.NOT_CHECKABLE,
        GapKind.CHECK_FAILED,
        GapKind.TOO_FEW_LABELS,
        GapKind.EDITED,
        GapKind.REWRITTEN,
    }
)


class Gap(Record):
    """A part of the answer or of its evidence that was not examined."""

    kind: GapKind
    note: str
    """A description for readers of the answer."""
    passage: tuple[int, int] | None = None
    """Start and end in the answer; None if the gap is not in the answer."""
    documents: tuple[_Number, ...] = ()
    """Numbers of the documents that the gap concerns."""

    @property
    def in_short(self) -> str:
        """The gap's kind in a few words, without quoting the answer or its evidence."""
        return _IN_SHORT[self.kind]


class ClaimedSpan(Record):
    """A passage of the answer from which a claim was read."""

    claim: _Number
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


class ReadDocument(Record):
    """A document, and how much of it was read."""

    document: _Number
    read_by: tuple[str, ...] = ()
    """Names of the labelers that labelled at least one of the document's pairs."""
    to_its_end: bool = True
    """Whether the document was read to its end. A document that was searched for the parts nearest
    to each claim was read, too."""


class Examined(Record):
    """The ledger of an answer and its evidence: which parts were examined and which were not."""

    answer: tuple[ClaimedSpan, ...] = ()
    documents: tuple[ReadDocument, ...] = ()
    gaps: tuple[Gap, ...] = ()
    """Parts that were not examined; :attr:`main_gap` is the most important one."""

    @property
    def checked(self) -> Checked:
        """``fully`` without gaps, ``no`` if a gap makes the check useless, else ``partly``."""
        if not self.gaps:
            return "fully"
        return "no" if any(gap.kind in _DECIDE_NO for gap in self.gaps) else "partly"

    @property
    def main_gap(self) -> Gap | None:
        """The gap that decides :attr:`checked`; None if there is no gap."""
        deciding = [gap for gap in self.gaps if gap.kind in _DECIDE_NO]
        return next(iter([*deciding, *self.gaps]), None)

    def with_gaps(self, *gaps: Gap) -> Self:
        """Return the ledger with further gaps; a gap that it already has is not added again."""
        new = tuple(gap for gap in dict.fromkeys(gaps) if gap not in self.gaps)
        return self.model_copy(update={"gaps": (*self.gaps, *new)}) if new else self


def quoted(text: str) -> str:
    """Return a passage in quotation marks, for a gap's description: one line, cut if long."""
    line = " ".join(text.split())
    return f"“{line[:_SENTENCE_CHARS]}{'…' if len(line) > _SENTENCE_CHARS else ''}”"
