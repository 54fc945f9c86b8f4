"""Detects claims that are a jumble of the answer's words, such as "HR days 10 fathers get of".

A jumble contains the answer's words, but states nothing that a document could confirm. A jumble
differs from a reworded claim in two ways. Few words that are neighbours in the jumble are also
neighbours in the answer, and the articles and prepositions are misplaced. When in doubt, a claim
does not count as a jumble. Time is linear in the lengths of the texts.
"""

from collections.abc import Sequence
from functools import lru_cache
from itertools import pairwise

from conflictscore.answering.claim_terms import WORD_OR_NUMBER, plain_text
from conflictscore.scripts import fold, word_set

# The numbers below were chosen by hand. A claim that is wrongly taken for a jumble leaves the
# answer "partly" checked; a jumble that is not recognised counts as a claim.
_LEAST_PAIRS = 4  # with fewer pairs of the answer's words, their order says little
_MOST_NEIGHBOURS = 0.5
"""If less than this share of a claim's pairs are neighbours in the answer, misplaced words make the
claim a jumble."""
_NO_ORDER, _LEAST_PAIRS_OF_NO_ORDER = 0.1, 6
"""A claim with at least six pairs needs no misplaced words to be a jumble. It is one if less than a
tenth of the pairs are neighbours in the answer."""

# All words are compared in folded form.
_ARTICLES = word_set(
    "the a an der die das ein eine einen einem einer le la les un une el los las il het"
)
_CONJUNCTIONS = word_set("and or und oder et ou y")
_PREPOSITIONS = word_set(
    fold(
        "of in on at to from with by for than as von im am auf bei für mit aus zu nach du en dans"
        " sur pour del con por di da per van"
    )
)
_AUXILIARIES = word_set(
    fold("is are was were be been has have had will can may ist sind war waren wird est sont était")
)


def is_jumbled(claim: str, answer: str) -> bool:
    """Return whether a claim only lists words of the answer, in an order that states nothing."""
    neighbours, vocabulary = _neighbours_in(answer)
    words = _words(claim)
    pairs = [pair for pair in pairwise(words) if vocabulary.issuperset(pair)]
    if len(pairs) < _LEAST_PAIRS:
        return False
    share = sum(pair in neighbours for pair in pairs) / len(pairs)
    if share < _NO_ORDER and len(pairs) >= _LEAST_PAIRS_OF_NO_ORDER:
        return True
    return share < _MOST_NEIGHBOURS and _has_misplaced_words(words)


def _has_misplaced_words(words: Sequence[str]) -> bool:
    """Return whether an article or a preposition is not followed by the words that it needs."""
    governing = _ARTICLES | _PREPOSITIONS | _CONJUNCTIONS
    after_preposition = _AUXILIARIES | _CONJUNCTIONS
    return words[-1] in governing or any(
        (word in _ARTICLES and after in governing | _AUXILIARIES)
        or (word in _PREPOSITIONS and after in after_preposition)
        for word, after in pairwise(words)
    )


@lru_cache(maxsize=8)  # every claim of an answer is compared with the same text
def _neighbours_in(answer: str) -> tuple[frozenset[tuple[str, str]], frozenset[str]]:
    words = _words(answer)
    return frozenset(pairwise(words)), frozenset(words)


def _words(text: str) -> list[str]:
    return [fold(match[0]) for match in WORD_OR_NUMBER.finditer(plain_text(text))]
