"""Which pairs tell most about an answer: those whose document speaks of what the claim says."""

import re
from collections import Counter
from collections.abc import Sequence
from math import log

from conflictscore.records import Claim, Document

__all__ = ["most_telling", "telling"]

_WORD = re.compile(r"\w+")


def telling(claims: Sequence[Claim], documents: Sequence[Document]) -> list[list[float]]:
    """How much each document is likely to say of each claim, from 0 to 1.

    The share of a claim's words that stand in the document, each weighted by how few of the
    documents have it: a word of all of them tells nothing.

    Returns:
        A row a claim, a number a document.
    """
    contents = [_words(f"{document.title} {document.text}") for document in documents]
    spread = Counter(word for words in contents for word in words)
    rows = []
    for claim in claims:
        weights = {word: log(1 + len(documents) / spread[word]) for word in _known(claim, spread)}
        total = sum(weights.values())
        rows.append(
            [
                sum(weight for word, weight in weights.items() if word in words) / total
                if total
                else 0.0
                for words in contents
            ]
        )
    return rows


def most_telling(rows: Sequence[Sequence[float]], most: int) -> list[int]:
    """The indices of the claims that the documents say most of, ascending.

    A claim counts by the two documents that say most of it, since a conflict takes two.
    """
    worth = [sum(sorted(row, reverse=True)[:2]) for row in rows]
    best = sorted(range(len(rows)), key=lambda index: -worth[index])[:most]
    return sorted(best)


def _words(text: str) -> set[str]:
    return set(_WORD.findall(text.casefold()))


def _known(claim: Claim, spread: Counter[str]) -> list[str]:
    return [word for word in sorted(_words(claim.text)) if word in spread]
