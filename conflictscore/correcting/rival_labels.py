"""Labels the rivals of a disputed claim against the documents that can change the outcome.

Limits without a stated reason were chosen by hand.
"""

import asyncio
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace

from conflictscore.answering.statements import telling_terms
from conflictscore.correcting.looking import Looking
from conflictscore.correcting.quoted_labels import labels_by_quotation
from conflictscore.correcting.vote import WITNESSES
from conflictscore.errors import FailureKind, ProviderError
from conflictscore.labelers.table import label_table
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.metric import worth
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label

_STAYS = "left out: the document supports the claim, and the claim stays in the answer"
_WINDOW_CHARS, _OVERLAP_CHARS = 2000, 100
"""Number of characters of a document that are searched at once, and number of characters that two
such parts share, so that no word is cut.
"""


async def labelled(claims: Sequence[Claim], looking: Looking) -> tuple[ClaimEvidence, ...]:
    """Label statements against all documents; raise ProviderError if no pair gets a label."""
    if not claims:
        return ()
    evidence = await label_table(
        looking.labeler,
        claims,
        looking.documents,
        meter=looking.reader.meter,
        cache=looking.cache,
        seconds=looking.seconds,
    )
    pairs = [pair for each in evidence for pair in each.labels]
    if all(pair.label is Label.UNLABELLED for pair in pairs):
        why = pairs[0].error or "the labeler returned no label"
        raise ProviderError(why, provider=looking.labeler.name)
    return evidence


async def rivals_labelled(
    rivals: Sequence[Claim], claim: ClaimEvidence, corrects: Collection[int], looking: Looking
) -> tuple[ClaimEvidence, ...]:
    """Label the rivals of a claim.

    If a single source contradicts the claim, documents that support it and do not name a rival are
    labelled last. Documents that support the claim and name no rival hardly ever support a rival.
    So if no rival has a second witness by then, the claim stays, and these documents are not
    labelled. A rival in ``corrects`` (numbers of rivals) needs no second witness.

    If each label costs a call, the quotations on the claim are compared with the rivals first. They
    may suggest the same labels for several documents. Then one of these documents is labelled as a
    sample of the others, as :func:`_labelled_by_samples` describes.
    """
    if not rivals or not _calls_cost(claim, looking):
        return await labelled(rivals, looking)
    quoted = await asyncio.to_thread(labels_by_quotation, rivals, claim, looking)
    is_alone = claim.independent(Label.CONTRADICTS, looking.duplicates) == 1
    if not (is_alone and claim.supports) or corrects:
        return await _labelled_by_samples(rivals, quoted, looking)
    rest = await asyncio.to_thread(_supporters_without_rivals, rivals, claim, looking)
    if not rest:
        return await _labelled_by_samples(rivals, quoted, looking)
    last_numbers = {document.number for document in rest}
    others = [document for document in looking.documents if document.number not in last_numbers]
    first = await _labelled_by_samples(rivals, quoted, replace(looking, documents=others))
    if any(_may_win(rival, claim, looking) for rival in first):
        last = await _labelled_by_samples(rivals, quoted, replace(looking, documents=rest))
    else:
        last = tuple(
            ClaimEvidence(
                claim=rival,
                labels=tuple(
                    unlabelled((rival, document), _STAYS, FailureKind.LEFT_OUT) for document in rest
                ),
            )
            for rival in rivals
        )
    return tuple(map(_together, first, last))


async def _labelled_by_samples(
    rivals: Sequence[Claim], quoted: Mapping[int, Sequence[EvidenceLabel]], looking: Looking
) -> tuple[ClaimEvidence, ...]:
    """Label rivals; documents with the same labels in ``quoted`` are represented by the first.

    The labeler judges the first document of each such group, and every document that is not in
    ``quoted``. If the labeler gives the first document the same labels as ``quoted``, the other
    documents of the group keep their labels in ``quoted``. If not, the labeler judges the other
    documents too.
    """
    groups = dict[tuple[Label, ...], list[int]]()
    for document in looking.documents:
        if labels := tuple(label.label for label in quoted.get(document.number, ())):
            groups.setdefault(labels, []).append(document.number)
    rest = {number for group in groups.values() for number in group[1:]}
    if not rest:
        return await labelled(rivals, looking)
    numbers = {document.number for document in looking.documents}
    evidence = await _labelled_against(numbers - rest, rivals, looking)
    doubtful = {
        number
        for labels, (first, *others) in groups.items()
        for number in others
        if labels != _labels_of(first, evidence)
    }
    for number in sorted(rest - doubtful):
        evidence = _with_labels(evidence, quoted[number])
    if doubtful:
        more = await _labelled_against(doubtful, rivals, looking)
        evidence = tuple(map(_together, evidence, more))
    return evidence


async def _labelled_against(
    numbers: Collection[int], rivals: Sequence[Claim], looking: Looking
) -> tuple[ClaimEvidence, ...]:
    """Label rivals against the documents with these numbers."""
    documents = [document for document in looking.documents if document.number in numbers]
    return await labelled(rivals, replace(looking, documents=documents))


def _labels_of(document: int, evidence: Sequence[ClaimEvidence]) -> tuple[Label, ...]:
    """Return a document's label for each rival."""
    return tuple(
        pair.label for each in evidence for pair in each.labels if pair.document == document
    )


def _with_labels(
    evidence: Sequence[ClaimEvidence], labels: Sequence[EvidenceLabel]
) -> tuple[ClaimEvidence, ...]:
    """Add a document's label for each rival."""
    return tuple(
        _together(each, ClaimEvidence(claim=each.claim, labels=(label,)))
        for each, label in zip(evidence, labels, strict=True)
    )


def _supporters_without_rivals(
    rivals: Sequence[Claim], claim: ClaimEvidence, looking: Looking
) -> list[Document]:
    """Return the documents that support a claim and lack words by which each rival differs."""
    own = telling_terms(f"{claim.claim.text} {looking.question}")
    differences = [telling_terms(rival.text) - own for rival in rivals]

    def names_rival(document: Document) -> bool:
        text = f"{document.title}\n{document.text}"
        windows = range(0, len(text), _WINDOW_CHARS - _OVERLAP_CHARS)
        terms = {term for at in windows for term in telling_terms(text[at : at + _WINDOW_CHARS])}
        return any(difference <= terms for difference in differences)

    supporters = (each for each in looking.documents if each.number in claim.supports)
    return [document for document in supporters if not names_rival(document)]


def _calls_cost(claim: ClaimEvidence, looking: Looking) -> bool:
    """Return whether labels cost calls, and votes depend on them alone.

    If the labeler gives probabilities, votes depend on them too, since a document may support a
    rival more than the claim.
    """
    has_probabilities = any(pair.probabilities for pair in claim.labels)
    return not (looking.is_labelled_by_embedded or has_probabilities)


def _may_win(rival: ClaimEvidence, claim: ClaimEvidence, looking: Looking) -> bool:
    """Return whether a rival may replace the claim, or leave the dispute open."""
    audible = [number for number in rival.supports if looking.weights.get(number, 1.0) > 0]
    witnesses = {looking.duplicates.get(number, number) for number in audible}
    own, others = (
        worth(numbers, looking.duplicates, looking.weights) for numbers in (claim.supports, audible)
    )
    return len(witnesses) >= WITNESSES or others >= own


def _together(first: ClaimEvidence, last: ClaimEvidence) -> ClaimEvidence:
    """Return the labels of one claim for two groups of documents, by number of document."""
    labels = sorted([*first.labels, *last.labels], key=lambda pair: pair.document)
    return ClaimEvidence(claim=first.claim, labels=tuple(labels))
