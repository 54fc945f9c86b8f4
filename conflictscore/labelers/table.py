"""Every claim against every document, each distinct pair judged once."""

import asyncio
from collections.abc import Callable, Sequence

from conflictscore.labelers.asking import judge_pairs, unlabelled
from conflictscore.labelers.keeping import content_of, keeper_of, store, stored
from conflictscore.labelers.priority import most_telling, telling
from conflictscore.labelers.protocol import Labeler, Pair
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel
from conflictscore.storage.cache import ContentCache

__all__ = ["label_table"]

_OUT_OF_TIME = "left out: the time for labelling was used up"
_TOO_MANY_CLAIMS = "left out: the answer has more claims than are to be labelled"


async def label_table(
    labeler: Labeler,
    claims: Sequence[Claim],
    documents: Sequence[Document],
    *,
    meter: UsageMeter,
    cache: ContentCache | None = None,
    on_label: Callable[[EvidenceLabel], None] = lambda label: None,
    max_claims: int | None = None,
    seconds: float | None = None,
) -> tuple[ClaimEvidence, ...]:
    """Label each claim against each document (paper, section 3, step 2).

    Pairs go out document by document, so that a judge's prompt prefix is found in its server's
    cache; how many are in flight is bounded by the model. A judge that takes many pairs at once
    (:class:`~conflictscore.labelers.protocol.TableLabeler`) gets them all in that order. Pairs with
    the same content are judged once. A verdict is stored in the cache the moment it is there; a
    failure never is.

    Args:
        labeler: The judge.
        claims: The claims of one answer.
        documents: The documents of one question.
        meter: Counts the calls, and the verdicts that came from the cache.
        cache: Where verdicts are kept by content.
        on_label: Called for each pair as soon as its label is there.
        max_claims: The most claims to judge, those that the documents say most of; None for all.
        seconds: The most time to spend; then the pairs that are likely to tell most go first, and
            those that are not done in time are left out. Verdicts of the cache cost none. None
            for no limit.

    Returns:
        One entry a claim, in order, with one label a document, in order. A pair whose judge failed,
        or that was left out, is UNLABELLED, with the reason.

    Raises:
        ConfigurationError: A setting is wrong, so that no pair can be judged.
    """
    labels: dict[tuple[int, int], EvidenceLabel] = {}
    labeler, cache = keeper_of(labeler, cache)

    def settle(pairs: Sequence[Pair], verdict: EvidenceLabel) -> None:
        for claim, document in pairs:
            numbers = {"claim": claim.number, "document": document.number}
            label = verdict.model_copy(update=numbers)
            labels[claim.number, document.number] = label
            on_label(label)

    def keep(verdict: EvidenceLabel) -> None:
        alike = waiting[verdict.claim, verdict.document]
        store(labeler, alike[0], verdict, cache)
        settle(alike, verdict)

    waiting: dict[tuple[int, int], list[Pair]] = {}
    pairs = _ordered(claims, documents, max_claims=max_claims, by_worth=seconds is not None)
    for alike in _folded(pairs):
        known = stored(labeler, alike[0], meter, cache)
        if known is None:
            claim, document = alike[0]
            waiting[claim.number, document.number] = alike
        else:
            settle(alike, known)
    if seconds is None or seconds > 0:
        limit = asyncio.timeout(seconds)
        try:
            async with limit:
                await judge_pairs(labeler, [alike[0] for alike in waiting.values()], meter, keep)
        except TimeoutError:  # what is missing then is left out below
            if not limit.expired():
                raise
    chosen = {claim.number for claim, _ in pairs}
    for claim in claims:
        reason = _OUT_OF_TIME if claim.number in chosen else _TOO_MANY_CLAIMS
        for document in documents:
            if (claim.number, document.number) not in labels:
                settle([(claim, document)], unlabelled((claim, document), reason))
    return tuple(
        ClaimEvidence(
            claim=claim,
            labels=tuple(labels[claim.number, document.number] for document in documents),
        )
        for claim in claims
    )


def _ordered(
    claims: Sequence[Claim],
    documents: Sequence[Document],
    *,
    max_claims: int | None,
    by_worth: bool,
) -> list[Pair]:
    """The pairs to judge, document by document, or those that are likely to tell most first."""
    most = len(claims) if max_claims is None else max_claims
    worth = telling(claims, documents) if by_worth or most < len(claims) else []
    chosen = most_telling(worth, most) if most < len(claims) else range(len(claims))
    places = [(row, column) for column in range(len(documents)) for row in chosen]
    if by_worth:
        places.sort(key=lambda place: -worth[place[0]][place[1]])
    return [(claims[row], documents[column]) for row, column in places]


def _folded(pairs: Sequence[Pair]) -> list[list[Pair]]:
    """Pairs with the same content together."""
    alike: dict[tuple[str, str], list[Pair]] = {}
    for claim, document in pairs:
        alike.setdefault((claim.text, content_of(document)), []).append((claim, document))
    return list(alike.values())
