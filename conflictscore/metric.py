"""ConflictScore as pure functions of labels (paper, section 3, step 3).

Every function takes the claims of one answer, each with its labels, and reads nothing else.
A pair of claim and document without a label (UNLABELLED) counts in no score; a claim without
a single labelled pair is left out of the means, since nothing is known of it.

Every document counts, as in the paper, unless ``duplicate_of`` maps near-duplicates to the first
document of their group: the group then counts once on each side. With ``weights`` (at least 0, by
default 1) a side is worth the sum of its weights, a group of copies the largest of its own, and a
document of weight 0 is left out. Equal weights change nothing.
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
    Label,
    WeightedScores,
)

_SIDES = (Label.SUPPORTS, Label.CONTRADICTS)
_MOST_LOST = 0.5
_FEW_LOST = 0.1
"""A single reply in ten that was lost by chance must not cost a long answer its score."""


def contradiction_share(
    claim: ClaimEvidence, duplicate_of: Mapping[int, int] = {}, weights: Mapping[int, float] = {}
) -> float | None:
    """|D-| / (|D+| + |D-|) of one claim, in [0, 1]; None if both sides are empty."""
    against = worth(claim.contradicts, duplicate_of, weights)
    sides = worth(claim.supports, duplicate_of, weights) + against
    return against / sides if sides else None


def conflictscore_count(
    claims: Sequence[ClaimEvidence], weights: Mapping[int, float] = {}
) -> float | None:
    """CS-C: the share of claims with evidence on both sides, in [0, 1]; lower is better.

    With weights, a claim counts by the most trusted document of its weaker side over that of the
    stronger one: supported with weight 1 and contradicted with .1, it is a tenth of a conflict.
    None if no pair was labelled, which includes an answer without claims.
    """
    return _mean([_conflict(claim, weights) for claim in _scored(claims, weights)])


def conflictscore_ratio(
    claims: Sequence[ClaimEvidence],
    duplicate_of: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
) -> float | None:
    """CS-R: the mean over claims of |D-| / (|D+| + |D-|), in [0, 1]; lower is better.

    A claim with neither D+ nor D- adds 0 (see :func:`uncovered_claims`). None as for CS-C.
    """
    scored = _scored(claims, weights)
    return _mean([contradiction_share(claim, duplicate_of, weights) or 0.0 for claim in scored])


def coverage(claims: Sequence[ClaimEvidence]) -> float | None:
    """Labelled pairs / pairs, in [0, 1]; None if there is no pair."""
    return _mean([pair.label is not Label.UNLABELLED for claim in claims for pair in claim.labels])


def uncovered_claims(claims: Sequence[ClaimEvidence]) -> tuple[int, ...]:
    """Numbers of the claims that were labelled and have neither D+ nor D-."""
    return tuple(
        claim.claim.number for claim in _scored(claims) if contradiction_share(claim) is None
    )


def claim_to_reconsider(
    claims: Sequence[ClaimEvidence],
    duplicate_of: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
) -> int | None:
    """Number of the conflicting claim to put back to the model; None if none conflicts.

    The paper reconsiders one "main claim that had conflicts" (Table 13) and leaves open which.
    Here it is the one with the highest share of contradiction, the earlier on a tie: the claim
    that its own sources support least.
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
    """Numbers of the claims that a policy disputes, those with most at stake first.

    At stake is the evidence of both sides, |D+| + |D-|; of claims with as much, the one with more
    against it comes first, and then the earlier one: a main claim that nine documents speak to goes
    before an aside that two disagree about. ``duplicates`` (by default ``duplicate_of``) has the
    groups that are no second document against a claim.
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
    """Aggregate labels to the scores of one answer.

    ``duplicates`` has for each near-duplicate document the number of the first of its group, which
    counts once on each side unless ``duplicates_vote``. ``policy`` is what makes a claim disputed;
    the claim to reconsider is chosen among those in conflict, and among the others if there is
    none. ``weights`` are by document, at least 0; claims are then disputed and chosen by them.
    """
    known: dict[str, Any] = {"claims": tuple(claims), "coverage": coverage(claims)}
    known |= {"duplicates": dict(duplicates), "duplicates_vote": duplicates_vote}
    if error := biased(claims):
        return ConflictReport(cs_c=None, cs_r=None, error=error, **known)
    duplicate_of, worth = ({} if duplicates_vote else duplicates), weights or {}
    disputed = disputed_claims(claims, policy, duplicate_of, duplicates, worth)
    reconsider = claim_to_reconsider(claims, duplicate_of, worth) if "conflict" in policy else None
    weighted = None
    if weights is not None:
        weighted = WeightedScores(
            by="table",
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
        **known,
    )


def biased(claims: Sequence[ClaimEvidence]) -> str | None:
    """Why the labels that could be read are no fair sample of all; None if they may be.

    Replies that cannot be read are seldom so at random: a model that writes "SUPPORTED" loses all
    of one label, and what is left would score as if there were no such evidence. So no score is
    given if most of the replies that could take a side were unreadable, or if one side was never
    found and several replies were unreadable. Pairs that failed for another reason count as
    unreadable ones, unless the kind of the failure has nothing to do with the text.
    """
    pairs = [pair for claim in claims for pair in claim.labels]
    lost = [pair.error for pair in pairs if pair.failure and pair.failure.depends_on_text]
    sides = Counter(pair.label for pair in pairs if pair.label in _SIDES)
    if len(lost) in {0, len(pairs)}:  # nothing is lost, or there is no score anyway
        return None
    share = len(lost) / (len(lost) + sides.total())
    one_sided = len(lost) > 1 and len(sides) < len(_SIDES) and share > _FEW_LOST
    if share <= _MOST_LOST and not one_sided:
        return None
    return f"too many replies of the judge could not be used to tell the evidence ({lost[0]})"


def balance(
    claim: ClaimEvidence, duplicate_of: Mapping[int, int] = {}, weights: Mapping[int, float] = {}
) -> float:
    """(|D+| - |D-|) / (|D+| + |D-|) of one claim, in [-1, 1]; 0 if no document speaks to it."""
    share = contradiction_share(claim, duplicate_of, weights)
    return 0.0 if share is None else 1 - 2 * share


def better_evidence(before: Sequence[float], after: Sequence[float]) -> bool:
    """Whether a passage has better evidence than the one whose place it is to take.

    The rule of the loop's guard for whole new answers, which is ours. The :func:`balance` of each
    claim is compared, worst first, and the first pair that differs decides: no well-supported aside
    makes up for a bad claim. The mean must not fall either. A passage that claims nothing counts as
    one claim that no document speaks to. A tie keeps what was there.
    """
    one, other = sorted(before) or [0.0], sorted(after) or [0.0]
    no_worse = fsum(other) / len(other) >= fsum(one) / len(one)
    return no_worse and next((b > a for a, b in zip(one, other, strict=False) if a != b), False)


def _mean(values: Sequence[float]) -> float | None:
    return fsum(values) / len(values) if values else None


def _scored(
    claims: Sequence[ClaimEvidence], weights: Mapping[int, float] = {}
) -> list[ClaimEvidence]:
    known = ((claim, claim.excluding_zero_weight(weights).labels) for claim in claims)
    return [c for c, pairs in known if any(p.label is not Label.UNLABELLED for p in pairs)]


def worth(
    documents: Iterable[int], duplicate_of: Mapping[int, int], weights: Mapping[int, float]
) -> float:
    """The sum of documents' weights, by default 1; a group of copies counts as its heaviest."""
    largest: dict[int, float] = {}
    for number in documents:
        first = duplicate_of.get(number, number)
        largest[first] = max(largest.get(first, 0.0), weights.get(number, 1.0))
    return fsum(largest.values())


def _conflict(claim: ClaimEvidence, weights: Mapping[int, float]) -> float:
    sides = (claim.supports, claim.contradicts)
    one, other = (max((weights.get(n, 1.0) for n in side), default=0.0) for side in sides)
    return min(one, other) / max(one, other) if one and other else 0.0
