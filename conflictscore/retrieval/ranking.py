"""How well texts fit a question, by the words that they share with it (BM25)."""

import re
import warnings
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from conflictscore.scripts import UNSPACED, fold, spaced_out

with warnings.catch_warnings():  # in a notebook it misses a widget, for bars that are not shown
    warnings.filterwarnings("ignore", message="IProgress not found")
    import bm25s

_DIVIDED = re.compile(r"(?<=[^\W\d_])[-\u2010][ \t]{0,8}\r?\n[ \t]{0,40}(?=[^\W\d_])")
"""A word that is divided at the end of a line."""
_TERM = rf"(?u)\b\w\w+\b|[{UNSPACED}]"


class BM25Ranker:
    """Scores texts from 0 by the words that they share with a question; thread-safe.

    English stop words and words of one letter do not count. Where a script has no spaces, two
    characters in a row are a word.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._size = len(texts)
        self._index: bm25s.BM25 | None = None
        words = _words(texts)
        if any(words):  # bm25s fails on texts without a single word
            self._index = bm25s.BM25()
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> NDArray[np.float32]:
        """One score a text, in their order; higher is better, and 0 is no shared word."""
        words = _words([query])[0]
        if self._index is None or not words:
            return np.zeros(self._size, np.float32)
        scores: NDArray[np.float32] = self._index.get_scores(words)
        return scores


def _words(texts: Sequence[str]) -> list[list[str]]:
    words: list[list[str]] = bm25s.tokenize(
        [spaced_out(fold(_DIVIDED.sub("", text))) for text in texts],
        token_pattern=_TERM,
        stopwords="en",
        return_ids=False,
        show_progress=False,
    )
    return words
