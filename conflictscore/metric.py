"""Computes ConflictScore from labels, by pure functions (paper, section 3, step 3).

The functions depend only on the claims of one answer and their labels. D+ is the set of documents
that support a claim, and D- the set that contradict it. Pairs without a label (UNLABELLED) do not
count. Claims without any labelled pair are left out of the means, since nothing is known about
them.

Every document counts, as in the paper. If ``duplicate_of`` maps near-duplicates to the first
document of their group, a group counts once on each side. If ``weights`` (at least 0, by default 1)
are given, the weight of a side is the sum of the weights of its documents and groups. On each
side, the weight of a group is the largest weight of its documents on that side: a document that
supports a claim lends no weight to a copy that contradicts it. Documents of weight 0 are left out.
Equal weights change nothing.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from math import fsum
from typing import Any

from conflictscore.records import (
    CONFLICT,
    ClaimEvidence,
    ConflictReport,
    Disputed,
    EvidenceLabel,
    Label,
    WeightedScores,
)

# The default ``{}`` of parameters below is safe: no function changes a mapping that it receives.
_SIDES = (Label.SUPPORTS, Label.CONTRADICTS)
_MOST_LOST = 0.5
"""Tolerated share of unreadable replies among those counted in :func:`biased`, if both sides
occur."""
_FEW_LOST = 0.1
"""The tolerated share if one side never occurs. This share is smaller than ``_MOST_LOST``, since
the lost replies may be exactly the replies for the missing side. Both shares were chosen, not
measured.
"""

_ROUNDING = 1e-9
"""Smaller differences of balances are rounding errors."""


def contradiction_share(
    claim: ClaimEvidence, duplicate_of: Mapping[int, int] = {}, weights: Mapping[int, float] = {}
) -> float | None:
    """Return |D-| / (|D+| + |D-|) of one claim, from 0 to 1; None if both sides are empty."""
    against = worth(claim.contradicts, duplicate_of, weights)
    sides = worth(claim.supports, duplicate_of, weights) + against
    return against / sides if sides else None


def conflictscore_count(
    claims: Sequence[ClaimEvidence], weights: Mapping[int, float] = {}
) -> float | None:
    """Return CS-C: the share of claims with evidence on both sides, from 0 to 1; lower is better.

    With weights, each claim counts by the largest weight on its weaker side, divided by the largest
    weight on its stronger side. So a claim that is supported with weight 1 and contradicted with
    weight 0.1 counts as a tenth of a conflict. The score is None if no pair was labelled, for
    example because the answer has no claims.
    """
    return _mean([_conflict(claim, weights) for claim in _scored(claims, weights)])


def conflictscore_ratio(
    claims: Sequence[ClaimEvidence],
    duplicate_of: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
) -> float | None:
    """Return CS-R: the mean over claims of |D-| / (|D+| + |D-|), from 0 to 1; lower is better.

    A claim with neither D+ nor D- counts as 0 (see :func:`uncovered_claims`). The score is None if
    no pair was labelled.
    """
    scored = _scored(claims, weights)
    return _mean([contradiction_share(claim, duplicate_of, weights) or 0.0 for claim in scored])


def coverage(claims: Sequence[ClaimEvidence]) -> float | None:
    """Return the share of pairs that have a label, from 0 to 1, or None if there are no pairs."""
    return _mean([pair.label is not Label.UNLABELLED for claim in claims for pair in claim.labels])


def uncovered_claims(claims: Sequence[ClaimEvidence]) -> tuple[int, ...]:
    """Return the numbers of the labelled claims that no document supports or contradicts."""
    return tuple(
        claim.claim.number for claim in _scored(claims) if not (claim.supports or claim.contradicts)
    )


def claim_to_reconsider(
    claims: Sequence[ClaimEvidence],
    duplicate_of: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
) -> int | None:
    """Return the number of the claim to reconsider, or None if no claim is in conflict.

    The paper reconsiders one "main claim that had conflicts" (Table 13) without saying which. Here,
    the main claim is the claim with the highest share of contradiction, since it is the likeliest
    to be wrong. Ties go to the earlier claim. :func:`disputed_claims` has another order, since it
    serves corrections of several claims, of which the main ones come first.
    """

    def share(claim: ClaimEvidence) -> float:
        return contradiction_share(claim, duplicate_of, weights) or 0.0

    conflicting = [claim for claim in claims if claim.excluding_zero_weight(weights).conflicting]
    return max(conflicting, key=share).claim.number if conflicting else None


def disputed_claims(
    claims: Sequence[ClaimEvidence],
    policy: Collection[Disputed] = CONFLICT,
    duplicate_of: Mapping[int, int] = {},
    duplicates: Mapping[int, int] | None = None,
    weights: Mapping[int, float] = {},
) -> tuple[int, ...]:
    """Return the numbers of the claims that are disputed under a policy, most important first.

    Claims are ordered by |D+| + |D-|, then by |D-|, then by position. So a main claim with nine
    documents comes before an aside on which two documents disagree. For this order, a document and
    its copies in ``duplicate_of`` count once. ``duplicates`` (default: ``duplicate_of``) also maps
    copies to originals, and says which documents do not count as a second document against a claim.
    The two mappings differ if copies vote but are not independent sources.
    """
    copies = duplicate_of if duplicates is None else duplicates

    def stake(claim: ClaimEvidence) -> tuple[float, float, int]:
        against = worth(claim.contradicts, duplicate_of, weights)
        support = worth(claim.supports, duplicate_of, weights)
        return (-against - support, -against, claim.claim.number)

    disputed = [c for c in claims if c.excluding_zero_weight(weights).disputed_by(copies) in policy]
    return tuple(claim.claim.number for claim in sorted(disputed, key=stake))


def conflict_report(
    claims: Sequence[ClaimEvidence],
    *,
    duplicates: Mapping[int, int] = {},
    duplicates_vote: bool = True,
    policy: Collection[Disputed] = CONFLICT,
    weights: Mapping[int, float] | None = None,
) -> ConflictReport:
    """Compute the scores of one answer from its labels.

    If too many of the judge's replies were unusable (see :func:`biased`), there are no scores, and
    ``error`` says why. If no pair has a label, there are no scores and no error.

    ``duplicates`` maps each near-duplicate to the first document of its group. A group counts once
    on each side, unless ``duplicates_vote`` is set. ``policy`` says which claims are disputed. The
    claim to reconsider is a claim in conflict or, if there is none, any other disputed claim.
    ``weights`` gives a weight of at least 0 for each document; disputes and the claim to reconsider
    then depend on the weights.
    """
    fields: dict[str, Any] = {"claims": tuple(claims), "coverage": coverage(claims)}
    fields |= {"duplicates": dict(duplicates), "duplicates_vote": duplicates_vote}
    if error := biased(claims):
        return ConflictReport(cs_c=None, cs_r=None, error=error, **fields)
    duplicate_of, trust = ({} if duplicates_vote else duplicates), weights or {}
    disputed = disputed_claims(claims, policy, duplicate_of, duplicates, trust)
    reconsider = claim_to_reconsider(claims, duplicate_of, trust) if "conflict" in policy else None
    weighted = None
    if weights is not None:
        weighted = WeightedScores(
            by="table",  # the only source of weights: a table that the user wrote
            cs_c=conflictscore_count(claims, weights),
            cs_r=conflictscore_ratio(claims, duplicate_of, weights),
            weights=dict(weights),
        )
    return ConflictReport(
        cs_c=conflictscore_count(claims),
        cs_r=conflictscore_ratio(claims, duplicate_of),
        uncovered=uncovered_claims(claims),
        disputed=disputed,
        reconsider=reconsider or next(iter(disputed), None),
        weighted=weighted,
        **fields,
    )


def biased(claims: Sequence[ClaimEvidence]) -> str | None:
    """Return why the readable labels may be a biased sample, or None if they seem not to be.

    Unreadable replies are seldom random. For example, a model that writes "SUPPORTED" loses every
    pair with that label, and the answer would be scored as if it had no support.

    No score is returned in two cases. First, unreadable replies outnumber the replies that support
    or contradict a claim. Second, SUPPORTS or CONTRADICTS never occurs, and there are at least two
    unreadable replies, which make up more than a tenth of the replies counted here. A pair that
    failed for any other reason counts as unreadable too, unless the failure cannot depend on the
    text.
    """
    pairs = [pair for claim in claims for pair in claim.labels]
    lost = [pair.error for pair in pairs if pair.failure and pair.failure.depends_on_text]
    if not lost or not _has_a_label(pairs):  # nothing was lost, or there is no score anyway
        return None
    sides = Counter(pair.label for pair in pairs if pair.label in _SIDES)
    share = len(lost) / (len(lost) + sides.total())
    # If one side occurs, a single unreadable reply may be an accident. If neither side occurs, that
    # reply may be the only one that had a side, so even one of many makes the score unknown.
    one_sided = len(lost) > 1 and len(sides) < len(_SIDES) and share > _FEW_LOST
    if share <= _MOST_LOST and not one_sided:
        return None
    return f"too many of the judge's replies were unusable, so there is no score ({lost[0]})"


def balance(
    claim: ClaimEvidence, duplicate_of: Mapping[int, int] = {}, weights: Mapping[int, float] = {}
) -> float:
    """Return (|D+| - |D-|) / (|D+| + |D-|), from -1 to 1; 0 if no document mentions the claim."""
    share = contradiction_share(claim, duplicate_of, weights)
    return 0.0 if share is None else 1 - 2 * share


def better_evidence(before: Sequence[float], after: Sequence[float]) -> bool:
    """Return whether a passage has better evidence than the passage that it would replace.

    The guard uses this rule for whole new answers. The rule is ours, not the paper's. ``before``
    and ``after`` hold the :func:`balance` of each claim. The two lists of balances are sorted in
    ascending order and compared pair by pair; the first pair that differs decides. So a
    well-supported aside cannot make up for a bad claim. The mean must not fall either. A passage
    without claims counts as one claim that no document mentions. On a tie, the old passage is kept.
    Differences that rounding may have caused do not count.
    """
    old, new = sorted(before) or [0.0], sorted(after) or [0.0]
    changes = (b - a for a, b in zip(old, new, strict=False))
    no_worse = fsum(new) / len(new) - fsum(old) / len(old) > -_ROUNDING
    return no_worse and next((change > 0 for change in changes if abs(change) > _ROUNDING), False)


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


def _scored(
    claims: Sequence[ClaimEvidence], weights: Mapping[int, float] = {}
) -> list[ClaimEvidence]:
    return [
        claim
        for claim in claims
        if _has_a_label((claim.excluding_zero_weight(weights) if weights else claim).labels)
    ]


def _has_a_label(pairs: Sequence[EvidenceLabel]) -> bool:
    for pair in pairs:  # noqa: SIM110 - a loop is faster than a generator
        if pair.label is not Label.UNLABELLED:
            return True
    return False


def worth(
    documents: Iterable[int], duplicate_of: Mapping[int, int], weights: Mapping[int, float]
) -> float:
    """Return the total weight of documents of one side (default 1 each).

    Among copies, only the document with the largest weight counts.
    """
    if not duplicate_of and not weights:
        return float(len({*documents}))
    largest: dict[int, float] = {}
    for number in documents:
        first = duplicate_of.get(number, number)
        largest[first] = max(largest.get(first, 0.0), weights.get(number, 1.0))
    return fsum(largest.values())


def _conflict(claim: ClaimEvidence, weights: Mapping[int, float]) -> float:
    """Return how far a claim is in conflict: the weight of its weaker side / its stronger side."""
    if not weights:
        return float(claim.conflicting)
    sides = (claim.supports, claim.contradicts)
    largest = [max((weights.get(n, 1.0) for n in side), default=0.0) for side in sides]
    return min(largest) / max(largest) if all(largest) else 0.0
