"""How well texts fit a question: by words, by meaning, or by both."""

import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Annotated, Any, Literal, Protocol, get_args

import numpy as np
from numpy.typing import NDArray
from pydantic import BeforeValidator

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.scripts import UNSPACED, spaced_out
from conflictscore.storage.cache import ContentCache

with warnings.catch_warnings():  # in a notebook it misses a widget, for bars that are not shown
    warnings.filterwarnings("ignore", message="IProgress not found")
    import bm25s

__all__ = ["BM25Ranker", "FusedRanker", "Ranker", "Ranking", "RankingField", "open_ranker"]

Ranking = Literal["bm25", "dense", "both"]
"""``bm25`` counts shared words, ``dense`` compares meanings, ``both`` fuses their two orders."""

_TERM = rf"(?u)\b\w\w+\b|[{UNSPACED}]"
_FUSION_CONSTANT = 60
"""As in Cormack, Clarke and Buettcher, SIGIR 2009: how little the first ranks stand out."""


class Ranker(Protocol):
    """Knows some texts, and tells how well each fits a question; thread-safe."""

    def scores(self, query: str) -> NDArray[np.float32]:
        """One score per text, in their order; higher is better, above 0 only if it fits at all."""


class BM25Ranker:
    """Scores from 0 by the words that a text shares with the question.

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
        """See `Ranker`."""
        words = _words([query])[0]
        if self._index is None or not words:
            return np.zeros(self._size, np.float32)
        scores: NDArray[np.float32] = self._index.get_scores(words)
        return scores


class FusedRanker:
    """Reciprocal rank fusion: a text's score is the sum over rankers of 1 / (60 + its rank).

    A ranker that a text does not fit at all adds nothing to it.
    """

    def __init__(self, rankers: Sequence[Ranker]) -> None:
        self._rankers = rankers

    def scores(self, query: str) -> NDArray[np.float32]:
        """See `Ranker`."""
        shares = [_by_rank(ranker.scores(query)) for ranker in self._rankers]
        fused: NDArray[np.float32] = np.sum(shares, axis=0)
        return fused


def open_ranker(
    ranking: Ranking, texts: Sequence[str], *, cache: ContentCache | None = None
) -> Ranker:
    """A ranker of these texts.

    Args:
        ranking: How to rank.
        texts: At least one.
        cache: Where the texts' embeddings are kept; None computes them each time.
    """
    if ranking == "bm25":
        return BM25Ranker(texts)
    from conflictscore.retrieval.dense import DenseRanker

    dense = DenseRanker(texts, cache=cache)
    return dense if ranking == "dense" else FusedRanker([BM25Ranker(texts), dense])


def _words(texts: Sequence[str]) -> list[list[str]]:
    words: list[list[str]] = bm25s.tokenize(
        [spaced_out(text) for text in texts],
        token_pattern=_TERM,
        stopwords="en",
        return_ids=False,
        show_progress=False,
    )
    return words


def _by_rank(scores: NDArray[np.float32]) -> NDArray[np.float32]:
    ranks = np.empty(len(scores), np.float32)
    ranks[np.argsort(-scores, kind="stable")] = np.arange(1, len(scores) + 1)
    return np.where(scores > 0, 1 / (_FUSION_CONSTANT + ranks), 0).astype(np.float32)


def _usable(ranking: Any) -> Any:
    known = get_args(Ranking)
    if ranking not in known:
        raise InputError(f"there is no ranking {ranking!r}; choose from {', '.join(known)}")
    if ranking != "bm25":
        require_dense(f"the ranking {ranking}")
    return ranking


def require_dense(what: str) -> None:
    """Refuse what needs the extra ``dense`` where it is not installed.

    Raises:
        ConfigurationError: It is not; names what needs it.
    """
    missing = [name for name in ("threadpoolctl", "tokenizers") if find_spec(name) is None]
    if missing:
        raise ConfigurationError(f"{what} needs the package {missing[0]}: {install_hint('dense')}")


RankingField = Annotated[Ranking, BeforeValidator(_usable)]
"""A retriever's field; a ranking that is not known or not installed is refused when it is built."""
