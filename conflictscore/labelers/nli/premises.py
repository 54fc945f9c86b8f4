"""A document as premises: overlapping windows that the model can read, each under the title."""

from typing import NamedTuple

from conflictscore.records import Document
from conflictscore.retrieval.token_windows import Vocabulary, cut_windows

__all__ = ["MOST_WINDOWS", "Premises", "premise_tokens", "premises"]

MOST_WINDOWS = 128
"""The most windows that are read of a document; the rest of a longer one is left out."""

_TITLE_TOKENS = 24
_CLAIM_TOKENS = 40
"""Room for most claims, so that a document's windows are the same for all of them."""
_PREMISE_TOKENS = 48
"""No window is smaller, however long the claim."""


class Premises(NamedTuple):
    """What is read of a document.

    Attributes:
        texts: What the model reads: a window, under the title.
        windows: The windows by themselves, as they stand in the document.
        cut: Whether the document has more windows than are read.
    """

    texts: tuple[str, ...]
    windows: tuple[str, ...]
    cut: bool


def premise_tokens(claim_tokens: int, pair_tokens: int, marks: int) -> int:
    """The most tokens of a premise beside a claim.

    Args:
        claim_tokens: Of the claim.
        pair_tokens: Of claim, premise and marks together; a claim that is longer than most leaves
            more than that.
        marks: Tokens that are neither claim nor premise.
    """
    return max(pair_tokens - marks - max(claim_tokens, _CLAIM_TOKENS), _PREMISE_TOKENS)


def premises(document: Document, size: int, vocabulary: Vocabulary) -> Premises:
    """Cut a document.

    A window overlaps the one before it by a quarter, so that two sentences in a row stand together
    in one of them. The title stands before each, as a sentence of its own: without it a window
    from the midst of a document often does not say what it speaks of.

    Args:
        document: The document.
        size: The most tokens of a premise, at least 48.
        vocabulary: How the model counts tokens.
    """
    heading = _heading(document, vocabulary)
    room = size - vocabulary.count(heading)

    def count(part: str) -> int:
        return vocabulary.count(heading + part) - size + room

    cut = cut_windows(document.text, room, room - room // 4, Vocabulary(vocabulary.starts, count))
    read = tuple(document.text[window.start : window.end] for window in cut[:MOST_WINDOWS])
    return Premises(
        texts=tuple(heading + window for window in read),
        windows=read,
        cut=len(cut) > MOST_WINDOWS,
    )


def _heading(document: Document, vocabulary: Vocabulary) -> str:
    title = " ".join(document.title.split())
    if not title or document.text.lstrip().startswith(title):
        return ""
    starts = vocabulary.starts(title)
    if len(starts) > _TITLE_TOKENS:
        title = title[: starts[_TITLE_TOKENS]].rstrip()
    return title + (" " if title.endswith((".", "!", "?", "…")) else ". ")
