"""Finds the claims and the gaps of an answer after some of its passages have changed.

A model may combine two sentences in one claim. If the answer no longer makes such a claim, the
claim is dropped, even if the passage from which it was read has not changed. Passages that lose
claims, and new passages, are compared with the remaining claims.

Limits without a stated reason were chosen by hand.
"""

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from functools import partial
from itertools import accumulate

from conflictscore.answering.claim_asking import claims_of_passage, off_the_loop, with_more
from conflictscore.answering.claim_coverage import UnclaimedPart, gaps_of, unclaimed_in
from conflictscore.answering.claim_places import (
    Placed,
    claims_in_place,
    gaps_in_place,
    moved,
    placed_claims,
)
from conflictscore.answering.claim_terms import terms_of
from conflictscore.errors import BudgetError, ProviderError
from conflictscore.json_answers import is_json
from conflictscore.loop.state import Reader
from conflictscore.records import Change, Claim, Gap
from conflictscore.scripts import words_in

# A new passage with fewer words ("No.", "1874") has room for a value and nothing else, so it states
# no more than its claim.
_SHORT = 3


class _Spans:
    """Spans of a text, with a test of whether another span shares characters with them."""

    def __init__(self, spans: Iterable[tuple[int, int]]) -> None:
        ordered = sorted(spans)
        self._starts = [start for start, _ in ordered]
        # spans may overlap, so an earlier one may end last
        self._reach = [*accumulate((end for _, end in ordered), max)]

    def meets(self, span: tuple[int, int] | None) -> bool:
        """Return whether a span shares characters with any of the spans."""
        before = bisect_left(self._starts, span[1]) if span else 0
        return span is not None and before > 0 and self._reach[before - 1] > span[0]


def claims_after(
    claims: Sequence[Claim], changes: Sequence[Change], before: str, after: str
) -> tuple[Claim, ...]:
    """Return the claims of an answer that was corrected in place, numbered in order of appearance.

    ``before`` is the answer before the changes, and ``claims`` are the claims of that answer.
    """
    own, new = (terms_of(text, names=False).of_a_place for text in (before, after))
    removed_terms = own - new
    real_changes = [change for change in changes if change.differs]

    def holds(claim: Claim) -> bool:
        is_changed = any(change.holds(claim) for change in real_changes)
        return is_changed or removed_terms.isdisjoint(terms_of(claim.text, names=False).of_a_place)

    return claims_in_place([*filter(holds, claims)], changes)


def gaps_after(
    claims: Sequence[Claim],
    changes: Sequence[Change],
    gaps: Sequence[Gap],
    answer: str,
    question: str,
    failure: str = "",
) -> tuple[Gap, ...]:
    """Return the gaps of an answer that was corrected in place.

    Args:
        claims: The claims of the corrected answer.
        changes: All changes of the answer's text.
        gaps: The gaps that the answer had before the changes.
        answer: The corrected answer.
        question: The question that the answer replies to.
        failure: Why the model could not be asked about uncovered parts.
    """
    own_gaps = gaps_in_place(gaps, changes)
    if is_json(answer) or not claims:
        return own_gaps
    settled_spans = _settled_spans(changes, own_gaps)
    new_gaps = gaps_of(answer, _placed(claims), question, failure)
    lost_gaps = [gap for gap in new_gaps if not settled_spans.meets(gap.passage)]
    return tuple(dict.fromkeys([*own_gaps, *lost_gaps]))


async def with_the_rest(
    claims: tuple[Claim, ...],
    changes: Sequence[Change],
    gaps: Sequence[Gap],
    answer: str,
    question: str,
    judge: Reader,
) -> tuple[tuple[Claim, ...], tuple[Gap, ...]]:
    """Ask the model once about the parts that lost their claims; return all claims and gaps.

    The arguments are those of :func:`gaps_after`. Parts that had a gap before the changes are not
    asked about again.
    """
    failure, parts = "", list[UnclaimedPart]()
    if claims and not is_json(answer):
        settled_spans = _settled_spans(changes, gaps_in_place(gaps, changes))
        unclaimed = await off_the_loop(unclaimed_in, answer, _placed(claims), question)
        parts = [part for part in unclaimed if not settled_spans.meets((part.start, part.end))]
    if parts:
        rest = "\n\n".join(answer[part.start : part.end] for part in parts)
        try:
            texts = await claims_of_passage(answer[: parts[0].start], rest, judge)
            claims = with_new_claims(claims, texts, answer)
        except (ProviderError, BudgetError) as error:
            failure = f" ({error})"
    find_gaps = partial(gaps_after, claims, changes, gaps)
    return claims, await off_the_loop(find_gaps, answer, question, failure)


def with_new_claims(
    claims: Sequence[Claim], texts: Sequence[str], answer: str
) -> tuple[Claim, ...]:
    """Add claims whose text is new, each at its place in the answer."""
    return placed_claims(with_more(_placed(claims), texts, answer))


def _placed(claims: Sequence[Claim]) -> list[Placed]:
    return [(claim.text, claim.passage) for claim in claims]


def _settled_spans(changes: Sequence[Change], gaps: Sequence[Gap]) -> _Spans:
    """Return the spans in which no new gaps are looked for.

    Three kinds of passages are settled. Some already have a gap. Some report several answers, and
    their claims repeat the report. Others are too short to say more than their claim.
    """
    spans = [gap.passage for gap in gaps if gap.passage]
    for change in changes:
        reports = any(look.tells_several for look in change.looks)
        if change.differs and (reports or len(words_in(change.after)) < _SHORT):
            spans.append(moved((change.start, change.end), changes))
    return _Spans(spans)
