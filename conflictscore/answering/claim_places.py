"""Functions that locate claims in an answer, before and after some of its passages change."""

from collections.abc import Sequence
from math import inf

from conflictscore.answering.languages import LANGUAGES, language_of
from conflictscore.markdown import place_of
from conflictscore.records import Change, Claim, Document, Gap, GapKind
from conflictscore.scripts import word_set, words_in

Placed = tuple[str, tuple[int, int] | None]
"""The text of a claim, and the start and end of the passage that makes it, or None if unknown."""


# Frequent English words that are rare in other languages.
_ENGLISH = word_set("the of and is are were with from by")
# A translation may have one word more than the passage, since not every language has articles.
_ARTICLE = 1


def untranslated(
    located_claims: Sequence[Placed], answer: str, documents: Sequence[Document]
) -> list[Placed]:
    """Return the claims; if a claim was translated into English, its passage replaces it.

    Small models translate parts of claims ("The Sellbrücke is 412 km long"), so labelers miss
    differences from the documents. A passage that is shorter than its claim is not a full sentence,
    so it does not replace the claim. If the documents are not in the language of the answer, a
    translation may be better, so the claims are not changed.
    """
    claims_and_passages = [
        (words_in(text), words_in(answer[slice(*span)] if span else ""))
        for text, span in located_claims
    ]
    # to find the language of documents takes longer, and most claims have the answer's own words
    if all(_ENGLISH.intersection(words) <= {*own} for words, own in claims_and_passages):
        return [*located_claims]
    code = language_of(*(each.text for each in documents))
    # a short answer may not reveal its language
    if code in (None, "en") or language_of(answer) not in (None, code):
        return [*located_claims]
    # a word that both languages have, such as Dutch "is", shows no translation
    foreign = _ENGLISH - LANGUAGES[str(code)].common  # mypy does not see that code is not None
    # several claims of one passage may all become that passage, which then counts once
    own = dict[Placed, None]()
    for text, span in located_claims:
        passage = answer[slice(*span)].strip() if span else ""
        words, own_words = words_in(text), words_in(passage)
        is_foreign = bool(foreign.intersection(words).difference(own_words))
        is_sentence = len(own_words) + _ARTICLE >= len(words)
        own[(passage if is_foreign and is_sentence else text, span)] = None
    return [*own]


def claims_in_place(claims: Sequence[Claim], changes: Sequence[Change]) -> tuple[Claim, ...]:
    """Return the claims of an answer corrected in place, numbered in order of appearance.

    ``changes`` are all changes of the answer's text. A change in white space or case alone shifts
    the text after it; the claims of its passage stay the same.
    """
    real_changes = [change for change in changes if change.differs]
    other_claims = [
        claim for claim in claims if not any(change.holds(claim) for change in real_changes)
    ]
    located_claims: list[Placed] = [
        (claim.text, claim.passage and moved(claim.passage, changes)) for claim in other_claims
    ]
    for change in real_changes:
        for text in change.new_claims:
            part = place_of(text, "", change.after)
            # a claim that cannot be located belongs to the whole new passage
            start, end = (part.start, part.end) if part else (0, len(change.after))
            at = moved((change.start, change.end), changes)[0]
            located_claims.append((text, (at + start, at + end)))
    return placed_claims(sorted(located_claims, key=place_order))


def gaps_in_place(gaps: Sequence[Gap], changes: Sequence[Change]) -> tuple[Gap, ...]:
    """Return the gaps (parts that no claim covers) of an answer that was corrected in place.

    Unchanged passages keep their gaps. A changed passage has a gap if its new text was not split
    completely, even if some claims were read from it. ``changes`` are all changes of the answer's
    text, as for :func:`claims_in_place`.
    """
    real_changes = [change for change in changes if change.differs]
    gaps_after = []
    for gap in gaps:
        if gap.passage is None:
            gaps_after.append(gap)
        elif not any(c.start < gap.passage[1] and gap.passage[0] < c.end for c in real_changes):
            span = moved(gap.passage, changes)
            gaps_after.append(gap.model_copy(update={"passage": span}))
    for change in real_changes:
        # a note on a change means that its passage was not split completely; it counts only if the
        # change added text
        if change.note and change.after:
            span = moved((change.start, change.end), changes)
            note = f"in a replaced passage: {change.note}"
            gaps_after.append(Gap(kind=GapKind.UNCLAIMED, note=note, passage=span))
    return tuple(gaps_after)


def place_order(located_claim: Placed) -> tuple[float, float]:
    """Return a key that sorts claims by place; claims without a place come last."""
    return located_claim[1] or (inf, inf)


def moved(span: tuple[int, int], changes: Sequence[Change]) -> tuple[int, int]:
    """Shift a span of the old answer to its place in the new answer, given the changes.

    The span grows or shrinks with the changes within it. If a change begins within the span and
    extends beyond it, the span ends where the new text of the change ends.
    """
    start, end = span
    end = max([end, *(each.end for each in changes if start <= each.start < end)])
    return start + _growth(changes, start), end + _growth(changes, end)


def _growth(changes: Sequence[Change], place: int) -> int:
    """Return the number of characters that the changes before a place add to the text."""
    return sum(len(each.after) - len(each.before) for each in changes if each.end <= place)


def placed_claims(located_claims: Sequence[Placed]) -> tuple[Claim, ...]:
    """Return located claims as numbered claims, in the given order, starting at 1."""
    return tuple(
        Claim(number=number, text=text, passage=span)
        for number, (text, span) in enumerate(located_claims, start=1)
    )
