"""The ledger of what was examined: of the answer by which claims, of the evidence by whom.

Whether an answer was checked follows from it, and from nothing else: :attr:`Examined.checked`.
(*Coverage* is another figure: the share of the pairs of claim and document that have a label.)
"""

from enum import StrEnum
from typing import Annotated, Literal, Self

from pydantic import Field

from conflictscore.records.evidence import Record

Checked = Literal["fully", "partly", "no"]
"""Whether an answer was checked: everything in it and all of its evidence was examined; enough was;
or too little was, or nothing in it can be checked."""

_Number = Annotated[int, Field(ge=1)]
_SENTENCE_CHARS = 160  # of a passage that a sentence quotes


class GapKind(StrEnum):
    """Kinds of what was not examined, for code; :attr:`Gap.note` says it for people."""

    EMPTY_ANSWER = "empty_answer"  # there is no text
    STATES_NOTHING = "states_nothing"  # a greeting, a refusal or a question back
    NO_CLAIMS = "no_claims"  # it states something, and no claim of it is known
    NO_DOCUMENTS = "no_documents"  # nothing was there to hold it against
    NOT_ANSWERED = "not_answered"  # a message of the host in place of an answer in words
    NOT_CHECKABLE = "not_checkable"  # it was asked for in a form that cannot be checked
    CHECK_FAILED = "check_failed"  # the check ended with an error
    TOO_FEW_LABELS = "too_few_labels"  # of its pairs fewer than the run's least have a label
    UNCLAIMED = "unclaimed"  # a part of the answer stands in no claim
    CLAIM_BEYOND_ANSWER = "claim_beyond_answer"  # a claim says what the answer does not
    UNLABELLED = "unlabelled"  # some pairs have no label
    ONE_DOCUMENT = "one_document"  # it was checked against one document and its copies
    DOCUMENT_CUT = "document_cut"  # a document was not read to its end
    EVIDENCE_LEFT_OUT = "evidence_left_out"  # the model saw evidence that was not read
    UNFINISHED_ANSWER = "unfinished_answer"  # the answer was cut, or its stream had no end
    EDITED = "edited"  # a person wrote the text that stands


_IN_SHORT = {
    GapKind.EMPTY_ANSWER: "the answer is empty",
    GapKind.STATES_NOTHING: "the answer states nothing that could be checked",
    GapKind.NO_CLAIMS: "no claims were read from the answer",
    GapKind.NO_DOCUMENTS: "there were no documents to check it against",
    GapKind.NOT_ANSWERED: "it is no answer of the model in words",
    GapKind.NOT_CHECKABLE: "it was asked for in a form that cannot be checked",
    GapKind.CHECK_FAILED: "the check failed",
    GapKind.TOO_FEW_LABELS: "too few pairs of claim and document have a label",
    GapKind.UNCLAIMED: "a part of the answer stands in no claim",
    GapKind.CLAIM_BEYOND_ANSWER: "a claim says what the answer does not",
    GapKind.UNLABELLED: "some pairs of claim and document have no label",
    GapKind.ONE_DOCUMENT: "it was checked against one document alone",
    GapKind.DOCUMENT_CUT: "a document was not read to its end",
    GapKind.EVIDENCE_LEFT_OUT: "the model saw evidence that was not read",
    GapKind.UNFINISHED_ANSWER: "the answer may not be whole",
    GapKind.EDITED: "a person wrote the text that stands",
}
"""Without a word of the answer or its documents, so that it may go where they may not."""
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
    }
)


class Gap(Record):
    """Something that was not examined."""

    kind: GapKind
    note: str
    """The same in words, for a reader of the answer."""
    passage: tuple[int, int] | None = None
    """Where it stands in the answer, as start and end; None where it is none of the answer's."""
    documents: tuple[_Number, ...] = ()
    """Numbers of the documents that it concerns."""

    @property
    def in_short(self) -> str:
        """Its kind in a few words, without a word of the answer or of its evidence."""
        return _IN_SHORT[self.kind]


class ClaimedSpan(Record):
    """A passage of the answer that a claim was read from."""

    claim: _Number
    start: Annotated[int, Field(ge=0)]
    end: Annotated[int, Field(ge=0)]


class ReadDocument(Record):
    """A document, and how far it was read."""

    document: _Number
    read_by: tuple[str, ...] = ()
    """Names of the labelers that gave a label to one of its pairs; none where none did."""
    to_its_end: bool = True
    """Whether all of it was read, or searched for the parts near each claim."""


class Examined(Record):
    """The ledger of an answer and its evidence: which parts were examined, and which were not."""

    answer: tuple[ClaimedSpan, ...] = ()
    documents: tuple[ReadDocument, ...] = ()
    gaps: tuple[Gap, ...] = ()
    """Parts that were not examined; the gap that says most about :attr:`checked` is first."""

    @property
    def checked(self) -> Checked:
        """``fully`` without a gap, ``no`` with one that leaves nothing checked, else ``partly``."""
        if not self.gaps:
            return "fully"
        return "no" if any(gap.kind in _DECIDE_NO for gap in self.gaps) else "partly"

    @property
    def main_gap(self) -> Gap | None:
        """The gap that decides :attr:`checked`; None if the check has no gap."""
        deciding = [gap for gap in self.gaps if gap.kind in _DECIDE_NO]
        return next(iter([*deciding, *self.gaps]), None)

    def with_gaps(self, *gaps: Gap) -> Self:
        """The same ledger with further gaps, each once."""
        new = tuple(gap for gap in dict.fromkeys(gaps) if gap not in self.gaps)
        return self.model_copy(update={"gaps": (*self.gaps, *new)}) if new else self


def quoted(text: str) -> str:
    """A passage of an answer as a gap's sentence quotes it: in one line, and cut."""
    line = " ".join(text.split())
    return f"“{line[:_SENTENCE_CHARS]}{'…' if len(line) > _SENTENCE_CHARS else ''}”"
