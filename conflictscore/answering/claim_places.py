"""Places of claims in their answer, before and after passages of it were changed."""

from collections.abc import Sequence
from math import inf

from conflictscore.markdown import place_of
from conflictscore.records import Change, Claim, Gap, GapKind

Placed = tuple[str, tuple[int, int] | None]
"""A claim, with start and end of the passage that makes it where that is known."""


def claims_in_place(claims: Sequence[Claim], changed: Sequence[Change]) -> tuple[Claim, ...]:
    """The claims of an answer that was written in place, numbered in its order."""
    kept = [claim for claim in claims if not any(change.holds(claim) for change in changed)]
    found = [(claim.text, claim.passage and _moved(claim.passage, changed)) for claim in kept]
    for change in changed:
        for text in change.new_claims:
            part = place_of(text, "", change.after)
            start, end = (part.start, part.end) if part else (0, len(change.after))
            at = _moved((change.start, change.end), changed)[0]
            found.append((text, (at + start, at + end)))
    return placed_claims(sorted(found, key=place_order))


def gaps_in_place(gaps: Sequence[Gap], changed: Sequence[Change]) -> tuple[Gap, ...]:
    """Gaps of an answer that was written in place: its parts that stand in no claim.

    The passages that were not changed keep their gaps. One that was changed has a gap where the
    new text was not taken apart as a whole.
    """
    applied = [change for change in changed if change.differs]
    kept = []
    for gap in gaps:
        if gap.passage is None:
            kept.append(gap)
        elif not any(c.start < gap.passage[1] and gap.passage[0] < c.end for c in applied):
            kept.append(gap.model_copy(update={"passage": _moved(gap.passage, applied)}))
    for change in applied:
        if change.note and not change.new_claims and change.after:
            span = _moved((change.start, change.start + len(change.after)), applied)
            note = f"of what took a passage's place: {change.note}"
            kept.append(Gap(kind=GapKind.UNCLAIMED, note=note, passage=span))
    return tuple(kept)


def place_order(one: Placed) -> tuple[float, float]:
    """Sorts claims by their place; those that were not found in the answer go last."""
    return one[1] or (inf, inf)


def _moved(span: tuple[int, int], changed: Sequence[Change]) -> tuple[int, int]:
    """A span of the answer before, as it lies in the answer after the changes ahead of it."""
    by = sum(len(one.after) - len(one.before) for one in changed if one.end <= span[0])
    return span[0] + by, span[1] + by


def placed_claims(found: Sequence[Placed]) -> tuple[Claim, ...]:
    """The claims, numbered from 1 in the order given."""
    return tuple(
        Claim(number=number, text=text, passage=span)
        for number, (text, span) in enumerate(found, start=1)
    )
