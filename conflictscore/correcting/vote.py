"""Counts the votes of the documents for the claim of an answer and for its rivals.

A rival is a different answer to the claim's question. A document votes for a statement if it
supports this statement more than any other. The thresholds and the rule were chosen on one half of
RAMDocs and evaluated on the other half (docs/findings).
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal, NamedTuple

from conflictscore.metric import worth
from conflictscore.records import Candidate, ClaimEvidence, EvidenceLabel, Label
from conflictscore.values import values_beyond

_LEAST_SUPPORT = 0.4  # Minimum P(SUPPORTS) at which a document votes for a statement.
_LEAST_LEAD = 0.1  # Minimum lead over the P(SUPPORTS) of every other statement.
WITNESSES = 2
"""Number of independent documents that a change needs; one alone is too often wrong or forged."""


class VoteOutcome(NamedTuple):
    """The outcome for the passage, and the strongest rival, which is None if no rival qualifies.

    ``replace`` means that the rival wins. ``open`` means that the votes do not settle the dispute.
    ``keep`` means that no rival qualifies, or that only one document dissents.
    """

    kind: Literal["replace", "open", "keep"]
    rival: int | None = None


def votes_of(
    statements: Sequence[ClaimEvidence], given_by: Sequence[Collection[int]]
) -> list[tuple[int, ...]]:
    """Return the numbers of the documents that vote for each statement, in ascending order.

    If the labeler gives P(SUPPORTS) for all statements, a document votes for the statement with the
    highest P(SUPPORTS). This must be at least 0.4, and exceed every other by at least 0.1. Without
    probabilities, a document votes for the only statement with the label SUPPORTS. If several
    statements qualify, the document votes for the one that it gave when it was queried separately.
    If none qualifies, see :func:`_place_given`.
    """
    by_document: dict[int, list[EvidenceLabel | None]] = {}
    for place, statement in enumerate(statements):
        for pair in statement.labels:
            by_document.setdefault(pair.document, [None] * len(statements))[place] = pair
    votes: list[list[int]] = [[] for _ in statements]
    for document, pairs in sorted(by_document.items()):
        gave = [document in givers for givers in given_by]
        if (place_of_vote := _vote(pairs, gave)) is not None:
            votes[place_of_vote].append(document)
    return [tuple(each) for each in votes]


def _vote(pairs: Sequence[EvidenceLabel | None], gave: Sequence[bool]) -> int | None:
    """Return the index of the statement that a document votes for; None if it does not vote.

    Args:
        pairs: The document's label for each statement; None for a statement without a label.
        gave: Whether the document gave each statement when it was queried separately.
    """
    places = _places_supported(pairs)
    if len(places) > 1:
        places = [place for place in places if gave[place]]
    if not places:
        return _place_given(pairs, gave)
    return places[0] if len(places) == 1 else None


def _place_given(pairs: Sequence[EvidenceLabel | None], gave: Sequence[bool]) -> int | None:
    """Return the index of the only rival that a document gave, if its labels do not disagree.

    A document that answers in other words often supports the rival with less than 0.4. The document
    still votes for the rival if it contradicts the claim, does not contradict the rival, and
    supports the rival more than any other statement by at least 0.1.
    """
    judged_pairs = [pair for pair in pairs if pair is not None and pair.p_supports is not None]
    if sum(gave) != 1 or len(judged_pairs) < len(pairs):
        return None
    place = [*gave].index(True)
    claim_label, own_label = judged_pairs[0].label, judged_pairs[place].label
    is_opposed = claim_label is Label.CONTRADICTS and own_label is not Label.CONTRADICTS
    supports = [pair.p_supports or 0.0 for pair in judged_pairs]
    own = supports.pop(place)
    return place if is_opposed and own >= max(supports) + _LEAST_LEAD else None


def _places_supported(pairs: Sequence[EvidenceLabel | None]) -> list[int]:
    """Return the indices of the statements that may get a document's vote.

    There are several indices if no statement leads clearly.
    """
    supports = [pair.p_supports if pair else None for pair in pairs]
    probabilities = [p for p in supports if p is not None]
    if len(probabilities) < len(pairs):  # a lead is meaningful only if all probabilities are known
        return [place for place, pair in enumerate(pairs) if pair and pair.label is Label.SUPPORTS]
    most = max(probabilities) - _LEAST_LEAD
    return [n for n, p in enumerate(probabilities) if p > most and p >= _LEAST_SUPPORT]


def tallied(
    statements: Sequence[ClaimEvidence],
    given_by: Sequence[tuple[int, ...]],
    duplicates: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
    *,
    yes_no: bool = False,
) -> tuple[Candidate, ...]:
    """Return the statements with their votes.

    ``yes_no`` says whether the second statement is the opposite of a yes-or-no claim.
    """
    candidates = list[Candidate]()
    for statement, givers, votes in zip(
        statements, given_by, votes_of(statements, given_by), strict=True
    ):
        # The opposite of a yes-or-no claim has the claim's own labels, only swapped. So a document
        # votes for the opposite only if it also gave the opposite answer.
        unsaid = {*votes} - {*givers} if yes_no and candidates else set[int]()
        audible = tuple(n for n in votes if weights.get(n, 1.0) > 0 and n not in unsaid)
        against = [n for n in statement.contradicts if n not in audible]
        candidates.append(
            Candidate(
                evidence=statement,
                given_by=givers,
                votes=audible,
                witnesses=len({duplicates.get(n, n) for n in audible}),
                worth=worth(audible, duplicates, weights),
                against=worth(against, duplicates, weights),
            )
        )
    return tuple(candidates)


def without_agreeing_votes(
    candidates: Sequence[Candidate],
    question: str,
    duplicates: Mapping[int, int] = {},
    weights: Mapping[int, float] = {},
) -> tuple[Candidate, ...]:
    """Ignore the votes of the claim's supporters for a rival without a value of its own.

    A small reader rewords the claim ("thick ice on the rails made it stop"), and a small labeler
    supports both wordings. So a document that supports both wordings probably votes for the claim
    in other words.
    """
    claim = candidates[0]

    def without_supporters(rival: Candidate) -> Candidate:
        if values_beyond(rival.statement, f"{question}\n{claim.statement}"):
            return rival
        votes = tuple(number for number in rival.votes if number not in claim.evidence.supports)
        witnesses = len({duplicates.get(number, number) for number in votes})
        update = {
            "votes": votes,
            "witnesses": witnesses,
            "worth": worth(votes, duplicates, weights),
        }
        return rival.model_copy(update=update)

    return (claim, *map(without_supporters, candidates[1:]))


def without_votes(candidates: Sequence[Candidate], place: int) -> tuple[Candidate, ...]:
    """Return the candidates, with no votes for the one at ``place``."""
    nothing: dict[str, object] = {"votes": (), "witnesses": 0, "worth": 0.0}
    ignored = candidates[place].model_copy(update=nothing)
    return (*candidates[:place], ignored, *candidates[place + 1 :])


def outcome(
    candidates: Sequence[Candidate], corrects: Collection[int] = (), *, is_contested: bool = False
) -> VoteOutcome:
    """Decide by the vote alone whether a rival replaces the claim of the answer.

    An independent document that votes for a statement is a witness; near-copies count only once. A
    rival wins under three conditions. First, the rival has at least two witnesses. Second, the
    rival's votes have more weight than the claim's votes. Third, the documents against it do not
    have more weight than the documents for it. If the claim also has two witnesses, the dispute
    stays open: errors are copied from source to source, so the few well-informed documents may be
    outvoted. A rival counts only if a document that gave it also votes for it; otherwise it was
    misread or invented.

    The dispute also stays open if a document seems better informed than the others, whether it
    supports a rival (``corrects``) or the claim (``is_contested``).
    """
    claim, by_strength = candidates[0], _sound_rivals(candidates)
    if not by_strength:
        return VoteOutcome("keep")
    for place in by_strength:
        if place in corrects:
            return VoteOutcome("open", place)
    for place in by_strength:
        if _outvotes(candidates[place], claim):
            is_open = claim.witnesses >= WITNESSES or (claim.witnesses > 0 and is_contested)
            return VoteOutcome("open" if is_open else "replace", place)
    best = candidates[by_strength[0]]
    is_dissenter = best.witnesses < WITNESSES and best.worth < claim.worth
    return VoteOutcome("keep" if is_dissenter else "open", by_strength[0])


def _sound_rivals(candidates: Sequence[Candidate]) -> list[int]:
    """Return the indices of rivals that a document both gave and votes for, the strongest first."""
    sound = [
        place
        for place, rival in enumerate(candidates[1:], start=1)
        if rival.witnesses and not set(rival.given_by).isdisjoint(rival.votes)
    ]
    return sorted(sound, key=lambda n: (-candidates[n].worth, candidates[n].against, n))


def _outvotes(rival: Candidate, claim: Candidate) -> bool:
    """Return whether a rival has enough witnesses for a change, and more weight than the claim."""
    is_backed = rival.witnesses >= WITNESSES and rival.against <= rival.worth
    return is_backed and rival.worth > claim.worth
