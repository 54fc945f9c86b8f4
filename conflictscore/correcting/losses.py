"""Finds words that a correction removes from a passage although nobody disputes them.

A winner's sentence replaces a passage as it is, so "20 days of leave" may replace "10 days of paid
leave", and "paid" is lost. Time is linear in the lengths of the texts.
"""

from collections.abc import Iterable, Iterator

from conflictscore.answering.claim_terms import WORD_OR_NUMBER, plain_text, stem_of, telling_words
from conflictscore.records import Change, SecondLook
from conflictscore.records.examined import quoted
from conflictscore.values import all_values_in, values_in
from conflictscore.word_lists import COURTESIES

_MOST_LISTED = 5  # maximum words listed in a note


def notes_on_losses(changes: Iterable[Change]) -> Iterator[str]:
    """Yield a note for each applied change whose new text lacks undisputed words of the old."""
    for change in changes:
        words = lost_words(change) if change.applied and change.after else ()
        if words:
            few = ", ".join(f"“{word}”" for word in words[:_MOST_LISTED])
            more = ", …" if len(words) > _MOST_LISTED else ""
            yield f"the corrected passage {quoted(change.after)} no longer says {few}{more}"


def lost_words(change: Change) -> tuple[str, ...]:
    """Return the undisputed informative words that a change removes, in the order of the passage.

    If a dispute is about a value, only the value is disputed. In any other dispute, every word of
    the claim is disputed. Only replaced claims are compared, since a hedge or an explanation keeps
    the old statement. A whole new answer has no look, so it is unknown what was disputed.
    """
    looks = [look for look in change.looks if look.decision == "replace"]
    if not looks:
        return ()
    disputed = frozenset[str]().union(*map(_disputed_words, looks))
    gone = frozenset(telling_words(_without_values(change.before)))
    gone -= frozenset(telling_words(change.after)) | disputed | COURTESIES
    words = (match[0] for match in WORD_OR_NUMBER.finditer(plain_text(change.before)))
    return tuple(dict.fromkeys(word for word in words if stem_of(word) in gone))


def _disputed_words(look: SecondLook) -> frozenset[str]:
    """Return the stems of the disputed words of a look's claim."""
    own, rival = look.candidates[0].statement, look.counterpart.statement
    rival_values = values_in(rival)
    differs_in_value = rival_values and any(
        not any(each.agrees(other) for other in rival_values) for each in values_in(own)
    )
    return frozenset() if differs_in_value else frozenset(telling_words(own))


def _without_values(text: str) -> str:
    """Return a text without its values and their units."""
    pieces, end = list[str](), 0
    for each in all_values_in(plain := plain_text(text)):
        pieces.append(plain[end : each.span[0]])
        end = max(end, each.span[1])  # the spans of two values may overlap
    return " ".join([*pieces, plain[end:]])
