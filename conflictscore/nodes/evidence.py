"""Laying out both sides of a conflicting claim for the model (``conflict_details``, Table 13)."""

from collections.abc import Mapping, Sequence

from conflictscore.prompts import PromptSet, material_line
from conflictscore.records import ClaimEvidence, Document, EvidenceLabel, Label

__all__ = ["conflict_details"]

_PASSAGE_CHARS = 400


def conflict_details(
    claim: ClaimEvidence, documents: Sequence[Document], prompts: PromptSet
) -> str:
    """The supporting and the contradicting documents of a claim, each with its passage.

    The passage is the judge's snippet where that stands in the document; a snippet that does not,
    or a judge that quotes nothing, is replaced by how the document begins.
    """
    by_number = {document.number: document for document in documents}
    return prompts.render(
        "evidence",
        supports=_side(claim, Label.SUPPORTS, by_number, prompts),
        contradicts=_side(claim, Label.CONTRADICTS, by_number, prompts),
    )


def _side(
    claim: ClaimEvidence, label: Label, documents: Mapping[int, Document], prompts: PromptSet
) -> str:
    return "\n".join(
        prompts.render(
            "evidence_line", number=pair.document, passage=_passage(pair, documents[pair.document])
        )
        for pair in claim.labels
        if pair.label is label
    )


def _passage(pair: EvidenceLabel, document: Document) -> str:
    quoted = pair.snippet if pair.snippet and pair.snippet_found else document.text
    folded = material_line(quoted)
    return folded if len(folded) <= _PASSAGE_CHARS else f"{folded[:_PASSAGE_CHARS]} …"
