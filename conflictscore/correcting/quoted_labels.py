"""Derives labels for rivals of a claim from the judge's quoted verdicts on the claim.

If a rival differs from the claim only in a value, the quotation in a verdict on the claim often
decides the rival's label as well. Suppose that a document contradicts "The lamp was lit in 1871",
and the judge quotes "first lit in 1874". Then the document supports "The lamp was lit in 1874".
"""

from collections.abc import Sequence
from typing import NamedTuple

from conflictscore.answering.statements import telling_terms
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.wording import can_stand_for, exchanged_values
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label
from conflictscore.values import StatedValue, all_values_in, values_in

_STATED = "The quotation in the verdict on the claim states this value."
_OTHER_STATED = "The quotation in the verdict on the claim states another value."
_LEAST_SHARED = 0.5
"""Minimum share of the claim's informative words, besides the value, that a quotation contains. A
quotation about something else may contain the same value by chance. Chosen by hand."""


class _Exchange(NamedTuple):
    """The value of a claim, and the value that replaces it in a rival."""

    own: StatedValue
    new: StatedValue


def labels_by_quotation(
    rivals: Sequence[Claim], claim: ClaimEvidence, looking: Looking
) -> dict[int, tuple[EvidenceLabel, ...]]:
    """Return the labels of documents whose quotations decide the labels of all rivals.

    The keys are numbers of documents; each tuple has a label for each rival. A document that
    contradicts the claim supports the rival if its quotation states the rival's value, and if the
    document does not state the claim's value anywhere. A document that supports the claim
    contradicts the rival if its quotation states the claim's value, and if the document does not
    state the rival's value anywhere. A document that the judge did not see completely is left out.
    """
    exchanges = [_exchange(claim.claim.text, rival.text, looking.question) for rival in rivals]
    labels_by_document = dict[int, tuple[EvidenceLabel, ...]]()
    if None in exchanges:
        return labels_by_document
    terms = telling_terms(claim.claim.text)
    terms -= {term for term in terms if any(map(str.isdigit, term))}
    for verdict in claim.labels:
        document = looking.documents_by_number.get(verdict.document)
        if document is None or not _is_quoted_well(verdict, terms):
            continue
        labels = [
            _label(verdict, document, exchange, rival.number)
            for rival, exchange in zip(rivals, exchanges, strict=True)
            if exchange
        ]
        whole_labels = tuple(label for label in labels if label is not None)
        if whole_labels and len(whole_labels) == len(rivals):
            labels_by_document[document.number] = whole_labels
    return labels_by_document


def _exchange(claim: str, rival: str, question: str) -> _Exchange | None:
    values = exchanged_values(claim, rival, question)
    return None if values is None else _Exchange(*values)


def _is_quoted_well(verdict: EvidenceLabel, terms: frozenset[str]) -> bool:
    """Return whether a verdict quotes its document, in words of the claim."""
    if not verdict.snippet or not verdict.snippet_found or verdict.document_cut:
        return False
    shared = terms & telling_terms(verdict.snippet)
    return bool(shared) and len(shared) >= _LEAST_SHARED * len(terms)


def _label(
    verdict: EvidenceLabel, document: Document, exchange: _Exchange, rival: int
) -> EvidenceLabel | None:
    """Return a document's label for a rival; None if the verdict on the claim does not decide."""
    own, new = exchange
    quotation = values_in(verdict.snippet or "")
    if verdict.label is Label.CONTRADICTS and _is_stated(new, quotation):
        label, foreign, reason = Label.SUPPORTS, own, _STATED
    elif verdict.label is Label.SUPPORTS and _is_stated(own, quotation):
        label, foreign, reason = Label.CONTRADICTS, new, _OTHER_STATED
    else:
        return None
    # in doubt, two values agree, so a document is then labelled by the judge
    text = f"{document.title}\n{document.text}"
    if any(foreign.agrees(value) for value in all_values_in(text)):
        return None
    update = {"claim": rival, "label": label, "reasoning": reason, "cached": False}
    return verdict.model_copy(update=update)


def _is_stated(value: StatedValue, stated_values: Sequence[StatedValue]) -> bool:
    """Return whether a value of the same kind that agrees is among these values."""
    return any(value.agrees(each) and can_stand_for(value, each) for each in stated_values)
