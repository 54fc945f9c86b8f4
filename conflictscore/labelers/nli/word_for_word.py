"""Compares a claim with a clause that has the same words apart from one difference.

NLI models compare words more than their order: they read "Vik beat Dal" as support for "Dal beat
Vik", "50 mg" as support for "50 g", and "1,200 m" as contradicting "1.2 km". If a clause otherwise
repeats a claim word for word, code can tell what the difference means.

Limits without a stated reason were chosen by hand.
"""

import re
from collections import Counter
from collections.abc import Iterator
from enum import Enum
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from conflictscore.directions import DIRECTIONS
from conflictscore.labelers.nli.pitfalls import NEGATIONS
from conflictscore.scripts import fold, word_set
from conflictscore.sentences import sentence_starts
from conflictscore.values import StatedValue, values_in

_MOST_WORDS = 40
"""A claim with more words than this is not compared, since long claims are seldom repeated in
full."""
_FEWEST_WORDS = 3
"""A claim with fewer words than this is not compared: short claims occur in many sentences by
chance.
"""
_VALUE = "#"
"""A placeholder for a number, amount or date among the words."""
# Digits and letters are separate words: "5mg" is "5", "mg".
_WORD = re.compile(r"\d+|[^\W\d_]+")
_VERSION = re.compile(r"\d+(?:\.\d+)+")
"""Matches a number that may be a version or section, where 2.1 and 2.10 differ."""
# Signs that end a clause; "|" separates the cells of a table.
_CLAUSE_END = re.compile(r"[,:;.!?()|–—\n]")
# Words that change nothing, or that only say that a number is rounded.
_PASSED_OVER = word_set("a an the about around approximately roughly circa etwa rund environ unos")
_ALSO_OTHER_WORDS = frozenset(("des", "ate"))
"""Folded forms of French "dès" and Portuguese "até", which mean something else without accents."""
_DIRECTIONS = {
    word: directions
    for unfolded, directions in DIRECTIONS.items()
    if (word := fold(unfolded)) not in _ALSO_OTHER_WORDS
}
"""The words of direction in folded form."""
_NEGATIONS = frozenset(map(fold, NEGATIONS))
"""Negations in folded form, in which all words are compared here."""
_NEGATING = _NEGATIONS | {"ne", "n", "do", "does", "did"}
"""Negations, and words that only accompany a negation, as in "did not" and "ne … pas"."""
# Words between two names with which the order of the names does not matter.
_SYMMETRIC = word_set(
    """and or und oder et ou y o e between near beside next opposite adjacent same equals resembles
    differs different versus against married marries met meets borders with mit avec con com met
    brother sister sibling siblings cousin friend twin partner spouse colleague neighbor neighbour
    rival ally equal equals identical similar equivalent related linked connected parallel
    divorced faced fought joined played overlaps intersects touches adjoins"""
)
# Words that make the order of two names unimportant wherever they are, as in "the distance from Vik
# to Dal".
_MUTUAL = word_set(
    fold("""distance distances difference similarity relation relationship marriage wedding peace
    treaty war alliance border connection match game entfernung abstand unterschied grenze friede
    frieden krieg distanza distancia frontera frontière guerre guerra""")
)
_COPULAS = word_set("is are was were be has have had been")
# Words of languages in which cases, rather than the order of words, express roles.
_FREE_ORDER = word_set("der die das den dem des ein eine einen einem einer und ist war wurde")
# Words after an amount that make it a rate, as in "5 mg per kg".
_RATES = word_set("per pro je par por each every")
# Words before a number that is part of a name, as in "version 2.1".
_NUMBERED = word_set(
    fold("""act apartment article bus chapter clause episode exhibit figure flight gate grade
    highway level line model no number page phase platform question room route row season section
    stage step tram type unit version volume
    artikel flug kapitel linie nr seite zimmer chambre chapitre ligne numéro
    artículo capítulo habitación línea número""")
)
# Words that may begin a sentence before a number that is not part of a name, as in "In 1932".
_BEFORE_NUMBERS = word_set(
    fold("""in on by at for with after before since until from during over under only some exactly
    nearly almost more less fewer am im um mit nach vor seit bis ab über unter nur fast en le la les
    el los las il lo dans avec depuis vers desde hasta con nel dal em desde op sinds tot""")
)
MONEY = frozenset(("€", "$", "£", "¥", "chf"))
"""The currencies; amounts of money are of the same kind even if their currencies differ."""


class Difference(Enum):
    """A difference between a claim and a clause with the same words."""

    QUANTITY = "a quantity"
    """A value differs, so the clause contradicts the claim."""
    NEGATION = "a negation"
    """Only the clause has a negation."""
    ORDER = "the order of names, or a word of direction"
    """Names swap places, or a word such as "until" is replaced by a word such as "from"."""
    WRITING = "the way of writing"
    """The same values are written differently, so the clause supports the claim."""


class _Word(NamedTuple):
    """A word of a text, or a value in it.

    Attributes:
        folded: The word, folded; ``#`` for a value.
        written: The word as written.
        stated_value: The value; None for a word.
        begins: Whether a clause can begin with it.
    """

    folded: str
    written: str
    stated_value: StatedValue | None
    begins: bool


_Words = tuple[_Word, ...]


def _words_in(text: str) -> _Words:
    """Return the words and values of a text without articles, in linear time."""
    words = list[_Word]()
    begins, end = True, 0
    for start, stop, stated_value in _tokens(text):
        begins = begins or bool(_CLAUSE_END.search(text, end, start))
        end, written = stop, text[start:stop]
        folded_word = fold(written) if stated_value is None else _VALUE
        # an article; but the A of "protein A" is a name
        if folded_word in _PASSED_OVER and not (words and written.isupper()):
            continue
        words.append(_Word(folded_word, written, stated_value, begins))
        begins = False
    return tuple(words)


def _tokens(text: str) -> Iterator[tuple[int, int, StatedValue | None]]:
    """Yield the offsets of each word and value of a text, and the value if it is one."""
    begin = 0
    for stated_value in (*values_in(text), None):  # None stands for the end of the text
        start, end = (len(text),) * 2 if stated_value is None else stated_value.span
        for match in _WORD.finditer(text, begin, start):
            yield (*match.span(), None)
        if stated_value is not None:
            yield (start, end, stated_value)
        begin = end


def _folded(words: _Words) -> tuple[str, ...]:
    return tuple(word.folded for word in words)


def _unequal_values(ours: _Words, clause: _Words) -> list[tuple[StatedValue, StatedValue]]:
    """Return the values that stand in the same places and do not agree."""
    pairs = ((a.stated_value, b.stated_value) for a, b in zip(ours, clause, strict=True))
    return [(own, another) for own, another in pairs if own and another and not own.agrees(another)]


def sentences_of(passage: str) -> list[str]:
    """Return the sentences of a passage."""
    bounds = [*sentence_starts(passage), len(passage)]
    return [passage[start:end].strip() for start, end in pairwise(bounds)]


def difference(claim: str, sentence: str) -> Difference | None:
    """Return the difference between a claim and the clause of a sentence that repeats its words.

    Return None if no clause repeats the claim, if nothing differs, or if it is not certain what the
    difference means.
    """
    ours = _words_of_claim(claim)
    if not _FEWEST_WORDS <= len(ours) <= _MOST_WORDS or _has_few(ours, sentence):
        return None
    whole = _words_in(sentence)
    # only a word of direction may be lacking, since another one may stand in its place
    missing = (Counter(_folded(ours)) - Counter(_folded(whole))).elements()
    if not all(word in _DIRECTIONS for word in missing):
        return None
    size = len(ours)
    starts = [s for s, word in enumerate(whole) if word.begins and s + size <= len(whole)]
    clauses = ((whole[s : s + size], whole[s + size : s + size + 1]) for s in starts)
    differences = (_of_clause(ours, clause, after) for clause, after in clauses)
    return next((each for each in differences if each is not None), _negation(ours, whole))


def differing_values(claim: str, sentence: str) -> list[tuple[StatedValue, StatedValue]] | None:
    """Return the values that differ between a claim and a sentence that otherwise repeats it.

    Each value of the claim comes with the value that the sentence has in its place. The list is
    empty if the sentence has the same values as the claim. Return None if the sentence does not
    repeat the claim.
    """
    ours = _words_of_claim(claim)
    if not _FEWEST_WORDS <= len(ours) <= _MOST_WORDS or _has_few(ours, sentence):
        return None
    whole = _words_in(sentence)
    return _unequal_values(ours, whole) if _folded(ours) == _folded(whole) else None


@lru_cache(maxsize=512)  # a claim is compared with many sentences
def _words_of_claim(claim: str) -> _Words:
    return _words_in(claim)


def _has_few(ours: _Words, sentence: str) -> bool:
    """Return whether a sentence clearly lacks words of a claim, so that it need not be parsed."""
    folded_text = fold(sentence)
    return any(
        word not in folded_text
        for word in _folded(ours)
        if word != _VALUE and word not in _DIRECTIONS
    )


def _of_clause(ours: _Words, clause: _Words, after: _Words) -> Difference | None:
    """Return how a clause differs from the claim; ``after`` holds the words after the clause."""
    if _folded(ours) == _folded(clause):
        return None if _goes_on(ours[-1], clause[-1], after) else _of_values(ours, clause)
    if _is_turned(ours, clause) or _is_swapped(ours, clause):
        return Difference.ORDER
    return None


def _goes_on(own: _Word, another: _Word, after: _Words) -> bool:
    """Return whether the next word belongs to the last amount of a clause.

    The next word may be an unknown unit, as in "2 percentage points" compared with "2 percent".
    """
    if not after or another.stated_value is None:
        return False
    has_unit = own.stated_value is not None and bool(own.stated_value.dimension)
    is_unit = has_unit and not another.stated_value.dimension and not after[0].begins
    return is_unit or after[0].folded in _RATES


def _of_values(ours: _Words, clause: _Words) -> Difference | None:
    unequal = _unequal_values(ours, clause)
    differing = [
        place
        for place, (own, another) in enumerate(zip(ours, clause, strict=True))
        if own.stated_value and own.written != another.written
    ]
    if any(_is_in_name(ours, clause, place) for place in differing):
        return None
    if not unequal:
        is_written_alike = all(a.written == b.written for a, b in zip(ours, clause, strict=True))
        return None if is_written_alike else Difference.WRITING
    if len(unequal) > 1:  # several values differ, so it is about something else
        return None
    return Difference.QUANTITY if are_comparable(*unequal[0]) else None


def _is_in_name(ours: _Words, clause: _Words, place: int) -> bool:
    """Return whether a number may be part of a name, as in "Flight 123" or "version 2.1".

    A different number then names a different thing, so the clause does not contradict the claim.
    """
    own = ours[place].stated_value
    if own is None or own.unit or own.dimension or (own.date is not None and not own.is_year):
        return False
    if _VERSION.fullmatch(ours[place].written) and _VERSION.fullmatch(clause[place].written):
        return True
    if not place or ours[place - 1].stated_value is not None:
        return False
    before = ours[place - 1]
    is_first = before.begins and before.folded in _BEFORE_NUMBERS
    return before.folded in _NUMBERED or (before.written[0].isupper() and not is_first)


def are_comparable(own: StatedValue, another: StatedValue) -> bool:
    """Return whether two values are of the same kind, so that they can contradict each other.

    Two values are of the same kind if they have the same dimension, if both are amounts of money or
    dates, or if only their units differ: "24 days" and "24 months".
    """
    if (own.date is None) != (another.date is None):
        return own.is_year and another.is_year
    kinds = {"money" if each.dimension in MONEY else each.dimension for each in (own, another)}
    same_digits = own.dimension and another.dimension and own.bare == another.bare
    return len(kinds) == 1 or bool(same_digits)


def _negation(ours: _Words, whole: _Words) -> Difference | None:
    """Return NEGATION if a clause has the claim's words and a negation, and the claim has none."""
    if not _NEGATING.isdisjoint(_folded(ours)) or _NEGATING.isdisjoint(_folded(whole)):
        return None
    for start in (place for place, word in enumerate(whole) if word.begins):
        # three more words: the negation, which has at most two, and the word that follows it
        clause = _denied_clause(whole[start : start + len(ours) + 3], len(ours))
        denying = sum(word.folded in _NEGATIONS for word in clause)
        plain = tuple(word for word in clause if word.folded not in _NEGATING)
        # two negations may cancel each other
        if denying == 1 and _folded(plain) == _folded(ours):
            return None if _unequal_values(ours, plain) else Difference.NEGATION
    return None


def _denied_clause(words: _Words, length: int) -> _Words:
    """Return the beginning of a sentence, up to this many words other than negations.

    A negation after these words belongs to them only if it ends the clause, as in German ("Der Lift
    fährt nicht."). In "open on Sundays, but not on Mondays" and "with no fee", the negation denies
    something else.
    """
    count = 0
    # a negation has at most two words, as in French
    for end, word in enumerate(words[: length + 2]):
        if count == length:
            follows = words[end + 1 : end + 2]
            is_last = not word.begins and all(after.begins for after in follows)
            return words[: end + 1] if word.folded in _NEGATING and is_last else words[:end]
        count += word.folded not in _NEGATING
    return words[: length + 2]


def _is_turned(ours: _Words, clause: _Words) -> bool:
    """Return whether exactly one word differs, and the two words express different directions."""
    pairs = zip(_folded(ours), _folded(clause), strict=True)
    unequal = [(a, b) for a, b in pairs if a != b]
    if len(unequal) != 1:
        return False
    own, another = (_DIRECTIONS.get(word, frozenset()) for word in unequal[0])
    return bool(own and another) and own.isdisjoint(another)


def _is_swapped(ours: _Words, clause: _Words) -> bool:
    """Return whether names swap places around a verb that is not symmetric."""
    words, others = _folded(ours), _folded(clause)
    if Counter(words) != Counter(others) or not (_FREE_ORDER | _MUTUAL).isdisjoint(words):
        return False
    unequal = [place for place, word in enumerate(words) if word != others[place]]
    of_names = all(ours[p].written[0].isupper() and clause[p].written[0].isupper() for p in unequal)
    # two words of any kind may swap places, but more only if they are names of several words
    if len(unequal) != 2 and not of_names:
        return False
    between = frozenset(words[unequal[0] + 1 : unequal[-1]])
    return bool(between - _COPULAS) and _SYMMETRIC.isdisjoint(between)
