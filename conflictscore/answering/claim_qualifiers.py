"""Finds qualifiers in an answer that are missing from its claims.

A qualifier is a word or sign that changes what a statement says. A qualifier is a limit ("only",
"formerly"), a bound ("at least 50"), a unit, magnitude or sign of a number, the month of a date, or
a negating prefix ("unsafe"). Each qualifier of a passage must occur in a claim about the passage.
Otherwise, the claim that was checked says more than the answer, or something different. Time is
linear in the lengths of the texts.

A qualifier that is wrongly reported makes an answer count as "partly" checked. The numbers of words
and characters in the patterns were chosen by hand; they bound the time of the search.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple, Self

from conflictscore.answering.claim_terms import stem_of
from conflictscore.scripts import fold
from conflictscore.values import StatedValue, all_values_in, dimensions_in
from conflictscore.word_lists import BOUNDS, FUNCTION_WORDS, HEDGES, LIMITS

_WORD = re.compile(r"[^\W\d_]+")
# The beginning of a number in digits or words, perhaps after a currency: "us$5", "a hundred".
_NUMBER = (
    r"(?:[a-z]{2,3})?[$\u20ac\u00a3\u00a5]?\d|(?:two|three|four|five|six|seven|eight|nine|ten|eleven"
    r"|twelve|fifteen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|half|one hundred|a"
    r" hundred|a thousand|a million)\b"
)
# Each of the following lists has one pattern per kind of bound, in the order of ``BOUNDS``.
_PHRASES = ["|".join(map(re.escape, phrases)) for phrases in BOUNDS]
# Phrases that may also follow their number ("50 or more", "50 at most"). If a kind of bound has no
# such phrase, its pattern is ``(?!)``, which matches nothing.
_ENDING = [
    "|".join(re.escape(each) for each in phrases if each.startswith(("or ", "at "))) or "(?!)"
    for phrases in BOUNDS
]
_BESIDE_A_NUMBER = [
    re.compile(
        rf"\b(?P<before>{phrase})\s{{1,3}}(?={_NUMBER})"
        rf"|\d\S{{0,12}}\s{{1,3}}(?:\w{{1,12}}\s{{1,3}})?(?P<after>{ending})\b"
    )
    for phrase, ending in zip(_PHRASES, _ENDING, strict=True)
]
_ANYWHERE = [re.compile(rf"\b(?:{phrase})\b") for phrase in _PHRASES]
# Most texts have no bound, and one search is enough to see that.
_ANY_BOUND = re.compile(rf"\b(?:{'|'.join(_PHRASES)})\b")
# "per day", "/day".
_PER = re.compile(r"(?:\bper |/)(?P<unit>[^\W\d_]{2,20})\b")
_DENYING = ("non", "dis", "un", "in", "im", "ir")
# Minimum number of letters after a negating prefix. With fewer, "input" would deny "put".
_LEAST_REST = 4


class Qualifiers(NamedTuple):
    """The qualifiers of one or more claims.

    Attributes:
        limits: The meanings of the limits in these claims.
        bounds: The meanings of the bounds in these claims.
        months: The months of the dates in these claims; None for a date without a month.
        amounts: Maps each of their numbers to the dimensions that it may have. A number with a unit
            is converted to the base unit of its dimension.
    """

    limits: frozenset[int]
    bounds: frozenset[int]
    months: frozenset[int | None]
    amounts: Mapping[str, frozenset[str | None]]

    @classmethod
    def of_all(cls, claims: Sequence[Self]) -> Self:
        """Join the qualifiers of several claims."""
        amounts: dict[str, frozenset[str | None]] = {}
        for claim in claims:
            for amount, dimensions in claim.amounts.items():
                amounts[amount] = amounts.get(amount, frozenset()) | dimensions
        return cls(
            frozenset[int]().union(*(claim.limits for claim in claims)),
            frozenset[int]().union(*(claim.bounds for claim in claims)),
            frozenset[int | None]().union(*(claim.months for claim in claims)),
            amounts,
        )


@lru_cache(maxsize=256)  # each claim is compared with several passages
def qualifiers_of(claim: str) -> Qualifiers:
    """Return the qualifiers of a claim.

    A number without a unit may have any unit that the claim names elsewhere, as in "2 to 5 m".
    """
    folded = fold(claim)
    bounds = _ANYWHERE if _ANY_BOUND.search(folded) else []
    stated_values = all_values_in(claim)
    named = dimensions_in(claim) | {None}
    amounts: dict[str, frozenset[str | None]] = {}
    for stated in stated_values:
        dimensions = named if stated.dimension is None else frozenset([stated.dimension])
        for amount in _amounts(stated, with_unit=stated.dimension is not None):
            amounts[amount] = amounts.get(amount, frozenset()) | dimensions
    return Qualifiers(
        frozenset([LIMITS[word] for word in _words_of(claim) if word in LIMITS]),
        frozenset([number for number, phrase in enumerate(bounds) if phrase.search(folded)]),
        frozenset([stated.date[1] for stated in stated_values if stated.date]),
        amounts,
    )


def added_hedges(claim: str, answer: str) -> Iterator[str]:
    """Yield the hedges of a claim, such as "may", that the answer lacks."""
    words = _words_of(claim)
    for hedges, excuses in HEDGES:
        added = words.intersection(hedges)
        if added and _words_of(answer).isdisjoint((*hedges, *excuses)):
            yield from sorted(added)


@lru_cache(maxsize=64)  # the same answer is compared with each of its claims
def _words_of(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(fold(text)))


def missing_qualifiers(
    text: str, claims: Sequence[Qualifiers], claimed: frozenset[str]
) -> Iterator[str]:
    """Yield the qualifiers of a passage that are in no claim about it.

    Args:
        text: The passage.
        claims: The qualifiers of the claims about it.
        claimed: The stems of the words in these claims.
    """
    folded, of_claims = fold(text), Qualifiers.of_all(claims)
    for word in dict.fromkeys(_WORD.findall(folded)):
        is_limit = word in LIMITS and LIMITS[word] not in of_claims.limits
        # the prefixes are tested here, since few words have one
        if is_limit or (word.startswith(_DENYING) and _is_denial(word, claimed)):
            yield word
    yield from _missing_bounds(folded, of_claims)
    for match in _PER.finditer(folded):
        if match["unit"] not in FUNCTION_WORDS and stem_of(match["unit"]) not in claimed:
            yield match["unit"]
    for stated in all_values_in(text):
        if not _is_said(stated, text, of_claims):
            yield text[slice(*stated.span)]


def _missing_bounds(folded: str, of_claims: Qualifiers) -> Iterator[str]:
    """Yield each bound ("at least") that a folded passage puts on a number but its claims omit."""
    for number, phrase in enumerate(_BESIDE_A_NUMBER if _ANY_BOUND.search(folded) else []):
        if number not in of_claims.bounds and (match := phrase.search(folded)):
            yield match["before"] or match["after"]


def _is_denial(word: str, claimed: frozenset[str]) -> bool:
    """Return whether a word's prefix negates a word of the claims, as in "unsafe" for "safe"."""
    rest = word.removeprefix(next(each for each in _DENYING if word.startswith(each)))
    if len(rest) < _LEAST_REST:
        return False
    return stem_of(rest) in claimed and stem_of(word) not in claimed


def _is_said(stated: StatedValue, text: str, claims: Qualifiers) -> bool:
    """Return whether the claims state a number with this sign, magnitude and unit.

    For a date, return whether the claims state its month.
    """
    if stated.date is not None:
        return stated.date[1] in {*claims.months, None}
    if stated.dimension is None:
        written = text[slice(*stated.span)]
        is_plain = not (any(map(str.isdigit, written)) and any(map(str.isalpha, written)))
        # a plain number has no sign, magnitude or unit; claim_coverage looks for the number itself
        if stated.bare and min(stated.bare) >= 0 and is_plain:
            return True
    elif stated.unit.casefold() in FUNCTION_WORDS:  # in "in 1871 an engineer", "an" is not a unit
        return True
    # a claim may name the unit elsewhere, as in "2 to 5 m", so the bare number counts, too
    amounts = {*_amounts(stated, with_unit=True), *_amounts(stated, with_unit=False)}
    return any(stated.dimension in claims.amounts.get(amount, ()) for amount in amounts)


def _amounts(stated: StatedValue, *, with_unit: bool) -> Iterator[str]:
    """Yield the possible readings of a number, in a fixed notation, with or without its unit."""
    sign = "=" if with_unit else ""
    # six digits, so that rounding in a conversion of units makes no difference
    return (f"{sign}{each:.6g}" for each in (stated.readings if with_unit else stated.bare))
