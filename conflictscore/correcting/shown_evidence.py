"""Functions that format the documents behind a statement, for prompts that compare statements.

Limits without a stated reason were chosen by hand.
"""

from collections.abc import Mapping, Sequence

from conflictscore.answering.evidence_text import witnesses
from conflictscore.labelers.quotes import passage_of
from conflictscore.prompts import PromptSet, material_line
from conflictscore.records import (
    Candidate,
    Claim,
    ClaimEvidence,
    Document,
    EvidenceLabel,
    Label,
)

_MOST_DOCUMENTS = 4  # Maximum number of documents per side; more might persuade by number alone.
_SHOWN_CHARS = 900
"""Number of characters of a document to show: enough to explain an error and to correct it."""


def evidence_behind(
    candidate: Candidate,
    documents_by_number: Mapping[int, Document],
    prompts: PromptSet,
    weights: Mapping[int, float],
) -> str:
    """Return the documents that vote for a candidate, or, if none does, all that support it."""
    behind = candidate.votes or candidate.evidence.supports
    # A document may vote for a statement without the label SUPPORTS: its vote depends on
    # P(SUPPORTS). `witnesses` chooses documents by label, so each voter gets this label.
    labels = tuple(
        pair.model_copy(update={"label": Label.SUPPORTS, "error": None})
        for pair in candidate.evidence.labels
        if pair.document in behind
    )
    side = ClaimEvidence(claim=candidate.evidence.claim, labels=labels)
    documents: Sequence[Document] = [*documents_by_number.values()]
    lines = [
        prompts.render(
            "evidence_source",
            number=witness.document.number,
            source=witness.source or "unknown",
            passage=shown_text(witness.document, witness.passage),
        )
        for witness in witnesses(side, Label.SUPPORTS, documents, weights)
    ]
    return "\n".join(lines[:_MOST_DOCUMENTS]) or "none"


def passage_near(statement: str, document: Document) -> str:
    """Return the part of a document around the sentences whose words are closest to a statement."""
    # passage_of needs a verdict that takes a side; the side makes no difference here
    label = EvidenceLabel(claim=1, document=document.number, label=Label.SUPPORTS)
    nearest = passage_of(Claim(number=1, text=statement), document, label) or ""
    return shown_text(document, material_line(nearest))


def shown_text(document: Document, passage: str) -> str:
    """Return the text of a document to show: all if it is short, else the part near a passage."""
    text = material_line(document.text)
    if len(text) <= _SHOWN_CHARS:
        return text
    at = text.find(passage[:60])  # the passage may be cut at its end, or end in an ellipsis
    if not passage or at < 0:
        return passage or f"{text[:_SHOWN_CHARS]} …"
    start = max(0, min(at - (_SHOWN_CHARS - len(passage)) // 2, len(text) - _SHOWN_CHARS))
    end = start + _SHOWN_CHARS
    return f"{'… ' if start else ''}{text[start:end]}{' …' if end < len(text) else ''}"
