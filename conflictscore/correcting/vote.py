"""The documents vote between an answer's claim and its rivals.

A document votes for the one statement that it supports against the others. The thresholds and the
rule were chosen on one half of RAMDocs and reported on the other (docs/findings).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from conflictscore.metric import worth
from conflictscore.records import Candidate, ClaimEvidence, EvidenceLabel, Label

_LEAST_SUPPORT = 0.4  # P(SUPPORTS) from which a document stands behind a statement
_LEAST_LEAD = 0.1  # by how much P(SUPPORTS) of the statement exceeds that of every other one
_WITNESSES = 2
"""Independent documents that a change takes. One alone is too often a wrong label, or a forgery."""


class VoteOutcome(NamedTuple):
    """The outcome for the passage, and the strongest rival; None where none counts.

    ``open``: counting does not settle it. ``keep``: no rival counts, or a single dissenter.
    """

    kind: Literal["replace", "open", "keep"]
    rival: int | None = None


def votes_of(
    statements: Sequence[ClaimEvidence], given_by: Sequence[Collection[int]]
) -> list[tuple[int, ...]]:
    """For each statement the documents that vote for it, ascending.

    By P(SUPPORTS) where the labeler gives it for all statements: at least .4, and .1 more than for
    every other one. Otherwise by labels: SUPPORTS for this statement and for no other. A document
    that is on the side of several votes for the one that it gave when it was asked alone.
    """
    by_document: dict[int, list[EvidenceLabel | None]] = {}
    for place, statement in enumerate(statements):
        for pair in statement.labels:
            by_document.setdefault(pair.document, [None] * len(statements))[place] = pair
    votes: list[list[int]] = [[] for _ in statements]
    for document, pairs in sorted(by_document.items()):
        gave = [document in givers for givers in given_by]
        if (chosen := _vote(pairs, gave)) is not None:
            votes[chosen].append(document)
    return [tuple(each) for each in votes]


def _vote(pairs: Sequence[EvidenceLabel | None], gave: Sequence[bool]) -> int | None:
    supports = [pair.p_supports if pair else None for pair in pairs]
    known = [p for p in supports if p is not None]
    if len(known) == len(pairs):
        most = max(known) - _LEAST_LEAD
        near = [n for n, p in enumerate(known) if p > most and p >= _LEAST_SUPPORT]
    else:
        near = [n for n, pair in enumerate(pairs) if pair and pair.label is Label.SUPPORTS]
    chosen = near if len(near) == 1 else [n for n in near if gave[n]]
    return chosen[0] if len(chosen) == 1 else None


def tallied(
    statements: Sequence[ClaimEvidence],
    given_by: Sequence[tuple[int, ...]],
    duplicates: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
    *,
    yes_no: bool = False,
) -> tuple[Candidate, ...]:
    """The statements with their votes."""
    made = list[Candidate]()
    for statement, givers, votes in zip(
        statements, given_by, votes_of(statements, given_by), strict=True
    ):
        # The labels of an opposite are the claim's, turned around: a document has to have said it.
        unsaid = {*votes} - {*givers} if yes_no and made else set[int]()
        audible = tuple(n for n in votes if weights.get(n, 1.0) > 0 and n not in unsaid)
        against = [n for n in statement.contradicts if n not in audible]
        made.append(
            Candidate(
                evidence=statement,
                given_by=givers,
                votes=audible,
                witnesses=len({duplicates.get(n, n) for n in audible}),
                worth=worth(audible, duplicates, weights),
                against=worth(against, duplicates, weights),
            )
        )
    return tuple(made)


def outcome(
    candidates: Sequence[Candidate], corrects: Collection[int] = (), *, contested: bool = False
) -> VoteOutcome:
    """Whether a rival takes the place of the answer's own claim, by the vote alone.

    It does with at least two independent witnesses, worth more than those of the claim, and no more
    documents against it than for it. Where two stand behind the claim as well, counting does not
    settle it: errors are copied from source to source, and the few that know better are outvoted. A
    rival for which no document votes that gave it was misread or invented, and does not count.

    Counting does not settle it either where a document shows that it knows better than the others:
    behind one of the rivals that ``corrects``, or behind the claim if it is ``contested``.
    """
    claim = candidates[0]
    sound = [
        place
        for place, rival in enumerate(candidates[1:], start=1)
        if rival.witnesses and not set(rival.given_by).isdisjoint(rival.votes)
    ]
    ranked = sorted(sound, key=lambda n: (-candidates[n].worth, candidates[n].against, n))
    for place in ranked:
        if place in corrects:
            return VoteOutcome("open", place)
    for place in ranked:
        rival = candidates[place]
        backed = rival.witnesses >= _WITNESSES and rival.against <= rival.worth
        if backed and rival.worth > claim.worth:
            is_open = claim.witnesses >= _WITNESSES or (claim.witnesses and contested)
            return VoteOutcome("open" if is_open else "replace", place)
    if not ranked:
        return VoteOutcome("keep")
    best = candidates[ranked[0]]
    dissenter = best.witnesses < _WITNESSES and best.worth < claim.worth
    return VoteOutcome("keep" if dissenter else "open", ranked[0])
