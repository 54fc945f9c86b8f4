"""Detects statements of a passage whose words occur only in claims about other passages.

"Zarafen is sold in Basel" has only words of the claims "Zarafen is sold by Orlo" and "Zarafen was
first made in Basel". But neither claim says where Zarafen is sold.

Suppose that only claims of other passages contain a name or number of a passage. Then one of these
claims must also contain a word that is near the name or number in this passage. If all claims about
a passage were read from other passages, this condition applies to every word of the passage. Time
is linear in the lengths of the texts.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from conflictscore.answering.claim_terms import WORD_OR_NUMBER, Terms, numbers_in, stem_of
from conflictscore.scripts import fold
from conflictscore.word_lists import COURTESIES, FUNCTION_WORDS, NEGATIONS

# Punctuation and conjunctions that end a clause.
_CLAUSE_END = re.compile(r"[,;:()\u2013\u2014]|\b(?:and|or|but|und|oder|et|ou|y|o)\b")
# Number of informative words before and after a word that count as its neighbours. With one, a
# reworded claim would often lack the neighbour; with more, words of a different statement would
# count. Chosen by hand.
_NEARBY = 2
_COMMON = 0.5
"""Minimum share of claims that contain a word of the topic. Such a word occurs in claims about
every passage, so it does not show that two other words belong together. Chosen by hand."""


def topic_of(claims: Sequence[Terms]) -> frozenset[str]:
    """Return the words that occur in at least half of the claims; empty for a single claim."""
    if len(claims) < 2:
        return frozenset()
    counts = Counter([word for terms in claims for word in terms.words])
    return frozenset(word for word, n in counts.items() if n >= max(2, _COMMON * len(claims)))


def borrowed_words(
    text: str, own: Sequence[Terms], others: Sequence[Terms], ignored: Set[str]
) -> frozenset[str]:
    """Return the words of a passage that its claims contain only in a different context.

    Args:
        text: The passage.
        own: The claims that were read from this passage rather than from another.
        others: Further claims about the passage.
        ignored: Words of the topic and of the question.
    """
    if not others:
        return frozenset()
    claims = [{*terms.words, *terms.numbers} for terms in others]
    mine = frozenset[str]().union(*(terms.words | terms.numbers for terms in own))
    names = frozenset[str]().union(*(terms.names | terms.numbers for terms in others))
    borrowed = set[str]()
    for clause in _CLAUSE_END.split(text):
        words = [word for word in _words(clause) if word not in ignored]
        if own:
            borrowed |= {
                word
                for place, word in enumerate(words)
                if word in names - mine and not _is_joined(words, place, claims)
            }
        else:
            borrowed |= {*_loose_pairs(words, claims)}
    return frozenset(borrowed)


def _is_joined(words: Sequence[str], place: int, claims: Sequence[Set[str]]) -> bool:
    """Return whether a claim contains a word and a neighbour; true if there is no neighbour."""
    beside = {*words[max(0, place - _NEARBY) : place], *words[place + 1 : place + 1 + _NEARBY]}
    return not beside or any(words[place] in claim and beside & claim for claim in claims)


def _loose_pairs(words: Sequence[str], claims: Sequence[Set[str]]) -> Iterator[str]:
    """Yield both words of each adjacent pair that claims contain only separately."""
    all_words = set[str]().union(*claims)
    for pair in pairwise([word for word in words if word in all_words]):
        if not any({*pair} <= claim for claim in claims):
            yield from pair


def _words(text: str) -> Iterator[str]:
    for match in WORD_OR_NUMBER.finditer(text):
        word = match[0]
        if word[0].isdigit():
            yield from numbers_in(word)
            continue
        folded, short = fold(word), stem_of(word)
        if len(folded) > 1 and folded not in FUNCTION_WORDS | NEGATIONS and short not in COURTESIES:
            yield short
