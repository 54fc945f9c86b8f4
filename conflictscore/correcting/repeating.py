"""Finds documents whose answer is settled by the only value that they state.

Suppose that a document supports "The lamp was first lit in 1871", and that 1871 is the only year in
this document. If a reader answered with another year, the answer would be dropped, since that year
is not in the document. So the document is not read again, and counts as having given the claim.

Suppose that a document contradicts the claim, and that 1874 is the only year in this document. If
another document is read as saying 1874, this is the answer of both.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from conflictscore.correcting.looking import Looking
from conflictscore.correcting.readers import Rival
from conflictscore.correcting.wording import can_stand_for
from conflictscore.records import ClaimEvidence, Document
from conflictscore.values import StatedValue, all_values_in, values_beyond


class ToRead(NamedTuple):
    """The documents to read, and the answers of the others.

    Attributes:
        documents: The documents that a reader has to be asked about.
        only_values: The only value that a document states in place of the claim's, by the number
            of the document. Only documents that contradict the claim have an entry.
        repeated: The claim, as the answer of the other documents; empty if there are none.
    """

    documents: Sequence[Document]
    only_values: Mapping[int, str] = {}
    repeated: tuple[Rival, ...] = ()


def to_read(
    claim: ClaimEvidence, question: str, documents: Sequence[Document], looking: Looking
) -> ToRead:
    """Separate the documents that support a claim and state no other value than the claim's.

    Only values of the same kind are compared: years with years, and lengths with lengths. All
    documents have to be read if the claim adds no value or several values to its question. All have
    to be read, too, if the labeler is not embedded. Supporting documents are then passed here only
    if no document contradicts the claim, so their labels are in doubt.
    """
    context = f"{question}\n{claim.claim.text}"
    new_values = values_beyond(claim.claim.text, question)
    if not looking.is_labelled_by_embedded or len(new_values) != 1:
        return ToRead(documents)
    [own] = new_values
    to_ask, only_values, repeating = list[Document](), dict[int, str](), list[int]()
    for document in documents:
        written = _only_value(document, own)
        is_own = written is not None and not values_beyond(written, context)
        if is_own and document.number in claim.supports:
            repeating.append(document.number)
            continue
        to_ask.append(document)
        if written is not None and not is_own and document.number in claim.contradicts:
            only_values[document.number] = written
    repeated = (Rival(claim.claim.text, repeating),) if repeating else ()
    return ToRead(to_ask, only_values, repeated)


def _only_value(document: Document, own: StatedValue) -> str | None:
    """Return the only value of a claim's kind in a document, as written; None if there is none.

    Several values count as one if they all agree, such as a date and its year.
    """
    date = document.metadata.get("date") or ""
    text = f"{document.title}\n{document.text}\n{date}"
    same_kind = [each for each in all_values_in(text) if _is_of_kind(each, own)]
    if not same_kind or not all(same_kind[0].agrees(each) for each in same_kind):
        return None
    return text[slice(*same_kind[0].span)]


def _is_of_kind(value: StatedValue, own: StatedValue) -> bool:
    """Return whether an answer with a value would compete with a claim's own value."""
    if own.is_year:
        return value.is_year or bool(value.date and value.date[0])
    return can_stand_for(own, value)
