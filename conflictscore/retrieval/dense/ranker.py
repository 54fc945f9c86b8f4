"""Ranks texts by how close they are to the question in meaning."""

import logging
import time
from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence
from itertools import accumulate
from threading import Lock

import numpy as np
from numpy.typing import NDArray

from conflictscore.retrieval.dense.encoder import PIECE_TOKENS, shared_encoder
from conflictscore.retrieval.dense.model_file import MINILM
from conflictscore.storage.cache import ContentCache

__all__ = ["DenseRanker"]

_log = logging.getLogger(__name__)

_SECONDS_BETWEEN_LINES = 10.0

Floats = NDArray[np.float32]


class DenseRanker:
    """Scores from -1 to 1: the cosine of the angle between the question's and the text's meaning.

    A text of more than 254 tokens counts by its closest piece. The texts are read at the first
    question, once; a line in the log says how far it is where that takes long.
    """

    def __init__(self, texts: Sequence[str], *, cache: ContentCache | None = None) -> None:
        """Take the texts, at least one, and where their embeddings are kept."""
        self._texts = tuple(texts)
        self._cache = cache
        self._lock = Lock()
        self._vectors: Floats | None = None
        self._first_pieces: list[int] = []
        self._places: list[int] = []

    def scores(self, query: str) -> Floats:
        """See `Ranker`.

        Raises:
            ProviderError: The model cannot be fetched.
            ConfigurationError: The cache folder cannot be written.
        """
        with self._lock:
            if self._vectors is None:
                self._vectors = self._load()
            vectors = self._vectors
        (wanted,) = shared_encoder().encode([query])
        closeness = (vectors @ wanted.T).max(axis=1)
        scores: Floats = np.maximum.reduceat(closeness, self._first_pieces)[self._places]
        return scores

    def _load(self) -> Floats:
        read = dict(self._read())
        place = {text: number for number, text in enumerate(read)}
        self._places = [place[text] for text in self._texts]
        sizes = [len(vectors) for vectors in read.values()]
        self._first_pieces = list(accumulate(sizes[:-1], initial=0))
        return np.concatenate(list(read.values()))

    def _read(self) -> Iterator[tuple[str, Floats]]:
        """Each different text with its vectors, one a piece."""
        new = []
        for text in dict.fromkeys(self._texts):
            if self._cache and (kept := self._cache.get(_content(text))):
                vectors = np.frombuffer(b64decode(kept["vectors"]), "<f4")
                yield text, vectors.reshape(kept["pieces"], -1)
            else:
                new.append(text)
        told = time.monotonic()
        encoded = shared_encoder().encode(new)
        for count, (text, vectors) in enumerate(zip(new, encoded, strict=True), 1):
            if self._cache:
                kept = {"pieces": len(vectors), "vectors": b64encode(vectors.tobytes()).decode()}
                self._cache.put(_content(text), kept)
            if time.monotonic() - told >= _SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                _log.info("read %d of %d texts for ranking by meaning", count, len(new))
            yield text, vectors


def _content(text: str) -> dict[str, str | int]:
    return {"embedded": text, "model": MINILM.sha256, "piece_tokens": PIECE_TOKENS}
