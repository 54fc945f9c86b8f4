"""Rules on quantities and word order that overrule the label of an NLI model.

A model notices that a passage has the words of a claim, but not that a unit, a magnitude or the
order of names is different. The rules decide only clear cases: the passage must repeat the claim
word for word with one difference, or give the claim's number with a different unit. Rules for less
similar passages were no better than the models (``docs/findings/nli-model.md``).

Limits without a stated reason were chosen by hand.
"""

from functools import lru_cache
from typing import NamedTuple

from conflictscore.labelers.nli.changed_values import side_of_change
from conflictscore.labelers.nli.pitfalls import has_bound, is_stated_plainly
from conflictscore.labelers.nli.word_for_word import Difference, difference, sentences_of
from conflictscore.records import Document, Label
from conflictscore.values import StatedValue, all_values_in, values_in

_MOST_CHARS = 4_000
"""At most this many characters of a passage are read, to bound the time.

The windows, the parts of a document that a model reads one at a time, have about 400 characters.
"""
_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


class Overruling(NamedTuple):
    """The label that a rule gives in place of a model's, and the reason.

    Attributes:
        label: The new label.
        why: The reason, as a note for readers.
        likely: The probability of the label, chosen by hand; the other labels share the remainder.
            The probability of a side is high, since the passage takes it in the claim's own words.
            The probability of IRRELEVANT is lower, since such a passage may still take a side.
    """

    label: Label
    why: str
    likely: float

    @property
    def probabilities(self) -> dict[Label, float]:
        """Return the probability of each label."""
        rest = (1 - self.likely) / 2
        return {label: self.likely if label is self.label else rest for label in _LABELS}


def _doubted(fact: str) -> str:
    return f"doubtful: {fact}, which models miss"


_OF_DIFFERENCE = {
    (Label.SUPPORTS, Difference.QUANTITY): Overruling(
        Label.CONTRADICTS, _doubted("the passage says the same with a different quantity"), 0.9
    ),
    (Label.SUPPORTS, Difference.NEGATION): Overruling(
        Label.CONTRADICTS, _doubted("the passage denies the same statement"), 0.9
    ),
    (Label.SUPPORTS, Difference.ORDER): Overruling(
        Label.IRRELEVANT,
        _doubted("the passage has the same words in different roles or directions"),
        0.6,
    ),
    (Label.CONTRADICTS, Difference.WRITING): Overruling(
        Label.SUPPORTS,
        _doubted("the passage says the same with the quantity written differently"),
        0.9,
    ),
}
# These rules also apply if the model sees the difference: the model may be unsure, and then
# documents that say the same would get different labels.
_OF_DIFFERENCE |= {
    (Label.CONTRADICTS, what): _OF_DIFFERENCE[Label.SUPPORTS, what]
    for what in (Difference.QUANTITY, Difference.NEGATION)
}
_OTHER_UNIT = Overruling(
    Label.IRRELEVANT,
    _doubted("the document has the claim's number only with a different unit"),
    0.6,
)

_OF_CHANGE = {
    Label.CONTRADICTS: Overruling(
        Label.CONTRADICTS, _doubted("the passage says that the claim's value was changed"), 0.9
    ),
    Label.SUPPORTS: Overruling(
        Label.SUPPORTS,
        _doubted("the passage says that a different value was changed to this one"),
        0.9,
    ),
}


def overruling(claim: str, passage: str, document: Document, label: Label) -> Overruling | None:
    """Return the label with which a rule replaces a model's label; None if no rule applies.

    Args:
        claim: The text of the claim.
        passage: The passage that decided the model's label.
        document: The whole document, which may have the claim's quantity elsewhere.
        label: The model's label; only a side can be overruled.
    """
    if label not in (Label.SUPPORTS, Label.CONTRADICTS):
        return None
    passage = passage[:_MOST_CHARS]
    side = side_of_change(claim, passage)
    if side is not None:
        # A contradiction is replaced even if the model sees it, for the same reason as in
        # _OF_DIFFERENCE.
        return None if side is label is Label.SUPPORTS else _OF_CHANGE[side]
    is_stated = _is_all_stated(claim, document)
    for sentence in sentences_of(passage):
        what = difference(claim, sentence)
        change = None if what is None else _OF_DIFFERENCE.get((label, what))
        # A different quantity is not a contradiction if the document also states the claim's
        # quantity, or if the claim has a bound ("more than 20"), which the different quantity may
        # satisfy.
        if change is None or (what is Difference.QUANTITY and (is_stated or has_bound(claim))):
            continue
        # a question or a plan takes no side, so a change to a side needs a plain statement
        if change.label is Label.IRRELEVANT or is_stated_plainly(claim, sentence):
            return change
    # A different unit makes support doubtful, but not a contradiction.
    if is_stated or label is Label.CONTRADICTS:
        return None
    return _of_unit(claim, passage, document)


def _is_all_stated(claim: str, document: Document) -> bool:
    """Return whether a document states each of a claim's values somewhere."""
    own_values = values_in(claim)
    if not own_values:
        return True
    stated_values = _values_of(document.title, document.text)
    return all(any(map(own.agrees, stated_values)) for own in own_values)


def _of_unit(claim: str, passage: str, document: Document) -> Overruling | None:
    """Return the label for a document that has the claim's number only with a different unit."""
    stated_values = _values_of(document.title, document.text)
    # values without a dimension are plain numbers, which have no unit to differ by
    lacking = [
        own for own in values_in(claim) if own.dimension and not any(map(own.agrees, stated_values))
    ]
    in_passage = all_values_in(passage) if lacking else ()
    if any(_differ_by_unit(own, another) for own in lacking for another in in_passage):
        return _OTHER_UNIT
    return None


def _differ_by_unit(own: StatedValue, another: StatedValue) -> bool:
    return bool(another.dimension) and own.bare == another.bare and own.unit != another.unit


@lru_cache(maxsize=64)  # the claims of an answer are compared with the same documents
def _values_of(title: str, text: str) -> tuple[StatedValue, ...]:
    return all_values_in(f"{title}. {text}")
