"""Finds the old and the new value of a change that a document states: "raised from 10 to 20".

An NLI model sees that the document has both numbers, but often not which of them is current. So a
claim with the old value is often labelled as supported.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Iterator

from conflictscore.labelers.nli.pitfalls import has_bound, is_stated_plainly
from conflictscore.labelers.nli.word_for_word import sentences_of
from conflictscore.records import Label
from conflictscore.values import StatedValue, values_in

_MOST_CHARS = 4_000
"""At most this many characters of a passage are read, to bound the time; a window has about 400."""
# How far before "from" the verb may be, in characters: "goes up for all staff who work shifts".
_VERB_CHARS = 80
# In these languages, the same words can also state a range ("open from 10 to 20"), so a verb of
# change is needed.
_VERBS = re.compile(
    r"\b(?:"
    # English
    r"(?:ris|rais)(?:e[sd]?|ing)|rose|risen|increas\w+|(?:go|goes|went|gone|going) (?:up|down)"
    r"|grew|grown?|climb\w+|reduc\w+|cuts?|fall(?:s|en)?|fell|drop(?:s|ped)|lower(?:s|ed)|decreas\w+|extend\w+"
    r"|shorten\w+|chang\w+|moved?|switch\w+|revis\w+|correct\w+|restat\w+|amend\w+|adjust\w+|widen\w+"
    r"|expand\w+|shr[aiu]nk\w*|postpon\w+|rescheduled|upped|doubled|trebled|halved"
    # French, Spanish, Italian
    r"|pass[eé]\w*|augment\w+|r[eé]du\w+|port[eé]\w*|abaiss\w+|baiss\w+|relev\w+|aument\w+|sub\w+"
    r"|baj\w+|pas[aoó]\w*|ampl\w+|sal\w+|riduc\w+|ridott\w+|diminu\w+|scende\w*|sces\w+"
    r")\b",
    re.IGNORECASE,
)
# Words that say that something may change, so it has not changed yet.
_POSSIBLE = re.compile(
    r"\b(?:may|might|could|would|should|propos\w+|könnten?|sollten?|pourrai\w+|devrai\w+|podría\w*"
    r"|debería\w*|potrebbe\w*|dovrebbe\w*|zou|zouden|poderia\w*|deveria\w*)\b",
    re.IGNORECASE,
)
# A side has up to 40 characters, and no further preposition, so that a match begins at the last one
# ("prix de base passé de 10 à 12"). A full stop belongs to it only before a digit ("1.5").
_SIDE = r"(?:(?!\b(?:from|de|d[ai]|von|van)\b)[^.;:\n()]|\.(?=\d)){1,40}"
# "from 10 to 12": a change only beside a verb of change, since it may also be a range.
_NEEDS_VERB = re.compile(
    rf"\b(?:from (?P<en>{_SIDE}?) to|de (?P<fr>{_SIDE}?) [àa]|d[ai] (?P<it>{_SIDE}?) a)"
    rf" (?P<new>{_SIDE})",
    re.IGNORECASE,
)
# Languages in which a range is worded differently ("von 10 bis 20", "van 10 tot 20", "de 10 a 20").
_NEEDS_NONE = re.compile(
    rf"\b(?:von (?P<de>{_SIDE}?) auf|van (?P<nl>{_SIDE}?) naar|de (?P<pt>{_SIDE}?) para)"
    rf" (?P<new>{_SIDE})",
    re.IGNORECASE,
)


def side_of_change(claim: str, passage: str) -> Label | None:
    """Return the side that a passage takes if it says that the claim's value changed; else None.

    The label is CONTRADICTS if the claim has the old value, and SUPPORTS if it has the new one. A
    claim with a date gets no label, since it may be about the time before the change. A claim with
    a bound or a rounded number gets no label either, since both values may satisfy it.
    """
    own_values = values_in(claim)
    if not own_values or has_bound(claim) or any(map(_is_date, own_values)):
        return None
    for sentence in sentences_of(passage[:_MOST_CHARS]):
        side = next(
            filter(None, (_side(own_values, *change) for change in _changes(sentence))), None
        )
        if side is not None and is_stated_plainly(claim, sentence):
            return side
    return None


def _side(own_values: Iterable[StatedValue], old: StatedValue, new: StatedValue) -> Label | None:
    """Return the side for a claim that has only one of the old and the new value."""
    # "from 10 to 20 cm": only the second number has a unit
    own = [value for value in own_values if value.dimension or not new.dimension]
    is_old, is_new = (any(value.agrees(each) for value in own) for each in (old, new))
    if is_old == is_new:
        return None
    return Label.CONTRADICTS if is_old else Label.SUPPORTS


def _changes(sentence: str) -> Iterator[tuple[StatedValue, StatedValue]]:
    """Yield the old and the new value of each change that a sentence states."""
    for pattern in (_NEEDS_VERB, _NEEDS_NONE):
        for match in pattern.finditer(sentence):
            before = sentence[max(0, match.start() - _VERB_CHARS) : match.start()]
            if pattern is _NEEDS_VERB and not _VERBS.search(before):
                continue
            if _POSSIBLE.search(before):
                continue
            old_text = next(filter(None, match.groups()))  # The new value is in the last group.
            old_values, new_values = values_in(old_text), values_in(match["new"])
            # several values on one side may be a range, or a table in a line
            if len(old_values) == 1 and new_values and not _is_date(old_values[0]):
                yield old_values[0], new_values[0]


def _is_date(value: StatedValue) -> bool:
    return value.date is not None or value.is_year
