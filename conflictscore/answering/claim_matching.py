"""Decides which claims are about a passage of an answer. Time is linear in the number of words."""

import re
from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence, Set
from itertools import pairwise
from typing import NamedTuple

from conflictscore.answering.claim_terms import Terms

# A letter or word with a number, such as "Q1" or "table3", with the marks and the space after it.
_LABEL = re.compile(r"(?<!\w)([^\W\d_]{1,20})(\d{1,3})(?!\w)(?:[.:)\]](?=\s))?\s?")
# A word with a number in an answer, such as "Q1", "table3" or "table 3".
_NUMBERED = re.compile(r"(?<!\w)([^\W\d_]{1,20}) ?\d{1,3}(?!\w)")
# A word that occurs in more passages than this is not used to match claims to passages. The limit,
# which was chosen by hand, bounds the time; an answer with fewer passages is not affected.
_MOST_PLACES = 50
# A word that occurs in more claims than this does not show which passage a claim is about. Two are
# allowed, since models often split a sentence into two claims that share its words.
_FEW_CLAIMS = 2


class ClaimsAbout(NamedTuple):
    """The indices of all claims about a passage, and of the claims that fit this passage best."""

    all: set[int]
    own: set[int]


def claims_about(
    passages: Sequence[Set[str]],
    starts: Sequence[int],
    claims: Sequence[Terms],
    spans: Sequence[tuple[int, int] | None],
    asked: frozenset[str],
) -> list[ClaimsAbout]:
    """Return, for each passage, the indices of the claims about it.

    A claim is about a passage in three cases. First, the claim was read from the passage. Second,
    the words that both contain make up half of the words of either. Claims repeat the question, so
    the question's words in a claim may be ignored here. Third, claim and passage share two words
    that occur in no other passage and in at most one other claim. Such a word must not be a name or
    occur in the question, since claims repeat the names of their subject. One such word is not
    enough. Words that occur in very many passages are ignored: they identify no passage, and
    ignoring them keeps the time linear.

    Args:
        passages: The words of each passage.
        starts: The offsets of the passages in the answer, in order.
        claims: The terms of each claim.
        spans: For each claim, the passage that it was read from; None if unknown.
        asked: The words of the question.
    """
    telling = _passages_by_word(passages)
    sizes = [len(telling.keys() & words) for words in passages]
    rare = _rare_words(claims, asked)
    about = [ClaimsAbout(set(), set()) for _ in passages]
    for index, terms in enumerate(claims):
        start, end = spans[index] or (0, 0)
        # A claim's span may cover several passages. The one at its start is always the claim's
        # own, even if another passage repeats its words.
        near = {*range(bisect_left(starts, start), bisect_left(starts, end))}
        words = terms.of_a_place & telling.keys()
        counts = Counter([n for word in words for n in telling[word]])
        # Frequent words count here: half of the claim as it is written must occur in the passage.
        least = len(terms.of_a_place)
        near |= {n for n in counts if 2 * counts[n] >= min(sizes[n], least)}
        # without a question, the line above has already found these passages
        near |= _with_half_of(terms.of_a_place - asked, telling) if asked else set()
        # Two numbers may recur by chance, such as years, so only words count here.
        near |= _with_two_of(terms.words & rare, telling)
        most = max(counts.values(), default=0)
        own = {n for n in near if counts[n] == most or starts[n] == start < end}
        _add(index, about, near, own)
    return about


def _add(index: int, about: Sequence[ClaimsAbout], near: Set[int], own: Set[int]) -> None:
    for number in near:
        about[number].all.add(index)
    for number in own:
        about[number].own.add(index)


def _with_half_of(words: Set[str], telling: dict[str, list[int]]) -> set[int]:
    """Return the passages that contain at least half of the given words."""
    counts = Counter([n for word in words & telling.keys() for n in telling[word]])
    return {n for n, count in counts.items() if 2 * count >= len(words)}


def _with_two_of(words: Set[str], telling: dict[str, list[int]]) -> set[int]:
    """Return the passages that contain at least two words found in no other passage."""
    counts = Counter(_only_passages(words, telling))
    return {n for n, count in counts.items() if count > 1}


def _rare_words(claims: Sequence[Terms], asked: frozenset[str]) -> frozenset[str]:
    """Return the words that occur in at most two claims, except names and words of the question."""
    # A word may be a name in only one claim, since a capital at the start of a sentence marks none.
    ignored = asked.union(*(terms.names for terms in claims))
    counts = Counter([word for terms in claims for word in terms.words - ignored])
    return frozenset([word for word, count in counts.items() if count <= _FEW_CLAIMS])


def _only_passages(words: Set[str], telling: dict[str, list[int]]) -> list[int]:
    """Return, for each word that occurs in only one passage, the number of that passage."""
    places = [telling[word] for word in words & telling.keys()]
    return [numbers[0] for numbers in places if len(numbers) == 1]


def _passages_by_word(passages: Sequence[Iterable[str]]) -> dict[str, list[int]]:
    """Return, for each word, the numbers of its passages; words in many passages are left out."""
    passages_by_word: dict[str, list[int]] = defaultdict(list)
    for number, words in enumerate(passages):
        for word in words:
            passages_by_word[word].append(number)
    return {
        word: numbers for word, numbers in passages_by_word.items() if len(numbers) <= _MOST_PLACES
    }


def without_labels(claims: Sequence[str], answer: str) -> list[str]:
    """Remove labels such as "F1:" and "F2:" from claims.

    Some models number their claims in this way: each claim has the same word, with an increasing
    number. Otherwise, the number of a label would count as a number that the answer lacks. If the
    answer itself uses the word with a number, as in the name of a road or room, the word is not a
    label. The remaining text serves only for comparison with the answer.
    """
    labels = [{match[1]: match[2] for match in _LABEL.finditer(claim)} for claim in claims]
    if len(claims) < 2:
        return list(claims)
    counting = {
        word
        for word in labels[0].keys() - set(_NUMBERED.findall(answer))
        if all(word in of_claim for of_claim in labels)
        and all(int(a[word]) < int(b[word]) for a, b in pairwise(labels))
    }
    return [
        _LABEL.sub(lambda match: "" if match[1] in counting else match[0], claim)
        for claim in claims
    ]
