"""Labels rivals of a disputed claim, against no more documents than can change the outcome."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from conflictscore.correcting.looking import Looking
from conflictscore.correcting.vote import WITNESSES
from conflictscore.errors import FailureKind, ProviderError
from conflictscore.labelers.table import label_table
from conflictscore.labelers.verdicts import unlabelled
from conflictscore.metric import worth
from conflictscore.records import Claim, ClaimEvidence, Label

_STAYS = "left out: the document supports the claim, which stays"


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

    If a single source contradicts the claim, the documents that support it are labelled last. They
    cannot vote for a rival. So if no rival has a second witness by then, the claim stays, and these
    documents are not labelled. A rival in ``corrects`` (numbers of rivals) needs no second witness.
    """
    supports = frozenset(claim.supports)
    is_alone = claim.independent(Label.CONTRADICTS, looking.duplicates) == 1
    if not (is_alone and supports and _calls_cost(claim, looking)) or corrects:
        return await labelled(rivals, looking)
    others = [document for document in looking.documents if document.number not in supports]
    first = await labelled(rivals, replace(looking, documents=others))
    rest = [document for document in looking.documents if document.number in supports]
    if any(_may_win(rival, claim, looking) for rival in first):
        last = await labelled(rivals, replace(looking, documents=rest))
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


def _calls_cost(claim: ClaimEvidence, looking: Looking) -> bool:
    """Return whether labels cost calls, and votes depend on them alone.

    A document whose probabilities are known may support a rival more than the claim.
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
