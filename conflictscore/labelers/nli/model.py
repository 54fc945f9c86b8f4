"""An NLI model, which is loaded only once per process.

Each pair is processed separately on one thread. Each core processes a different pair. On a CPU,
parallel pairs are as fast as batches if pairs have at least about 50 tokens, and they need no
padding. More importantly, the result for a pair does not depend on other pairs. A dynamically
quantised model would scale all pairs of a batch together, so each pair would influence the others.

Limits without a stated reason were chosen by hand.
"""

import hashlib
import json
import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from threading import Lock, Semaphore
from typing import Any, NamedTuple

import numpy as np

from conflictscore.errors import ConfigurationError, ProviderError, install_hint
from conflictscore.labelers.nli import adapted
from conflictscore.records import Label, encodable
from conflictscore.retrieval.token_windows import Vocabulary
from conflictscore.threads import usable_cores

_SHIPPED = Path(__file__).parent / "minilm"
_FILES = ("model.onnx", "tokenizer.json", "config.json")
_RECORDS = frozenset((".sha256", ".json"))  # endings of files that record digests of others
_NAMES = {
    "entailment": Label.SUPPORTS,
    "supports": Label.SUPPORTS,
    "contradiction": Label.CONTRADICTS,
    "contradicts": Label.CONTRADICTS,
    "neutral": Label.IRRELEVANT,
    "irrelevant": Label.IRRELEVANT,
}
_CHUNK = 1 << 20  # bytes of a file that are read at a time

LEAST_TOKENS = 96
"""Minimum length of a pair, in tokens, so that both a claim of a sentence and a premise of a
sentence or two fit."""
MOST_TOKENS = 512
"""Maximum length of a pair, in tokens, even if the model could read more. Encoders for NLI are
trained on pairs of at most this length."""
_PAIR_TOKENS = 128
"""Length of a pair, in tokens, if the tokenizer does not set one.

The length is about three sentences, which can be shown in full as evidence.
"""
# With more threads, a small model's threads mostly wait for memory.
_MOST_THREADS = 16
# How many numbers of an unusable output are shown, so that the message stays on a line.
_SHOWN_NUMBERS = 10
_INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def resolve(model: str | Path | None) -> Path:
    """Return the folder of a model."""
    if model is None:
        return _SHIPPED
    larger = adapted.NLI_MPNET
    if model == larger.name:
        if folder := larger.fetched():
            return folder
        raise ConfigurationError(
            f"{larger.name} is not downloaded yet; run: conflictscore model fetch {larger.name}"
        )
    path = Path(model).expanduser()
    if not path.is_dir():
        raise ConfigurationError(
            f"there is no NLI model {model}: give {larger.name}, or a folder with"
            f" {', '.join(_FILES)}"
        )
    return path.resolve()


def _read_config(path: Path) -> tuple[tuple[Label, ...], int]:
    """Read the label of each output, in order, and the maximum length of a pair, in tokens.

    The order of labels differs between models, so it is never guessed.
    """
    source = path / "config.json"
    try:
        config = json.loads(source.read_bytes())
        names, positions = config["id2label"], int(config["max_position_embeddings"])
        labels = tuple(_NAMES[names[str(place)].strip().lower()] for place in range(len(names)))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise ConfigurationError(
            f"cannot read {source}: {type(error).__name__}: {error}; id2label must "
            "map the three outputs to entailment, contradiction and neutral"
        ) from error
    if sorted(labels) != sorted(set(_NAMES.values())):
        raise ConfigurationError(
            f"{source}: id2label must map the three outputs 0, 1 and 2 to entailment, "
            "contradiction and neutral, in the model's own order"
        )
    return labels, positions


def _digest(path: Path) -> str:
    """Return a digest of a model's files, including a separate file of weights if there is one.

    Files that record digests of these files are left out, since they are written later.
    """
    digest = hashlib.sha256()
    parts = {file for file in path.glob("model.onnx*") if file.suffix not in _RECORDS}
    for file in sorted({*parts, *(path / name for name in _FILES)}):
        digest.update(f"{file.name}\0{file.stat().st_size}\0".encode())
        with file.open("rb") as content:
            while chunk := content.read(_CHUNK):
                digest.update(chunk)
    return digest.hexdigest()


class TokenPair(NamedTuple):
    """The token ids of a premise and a claim with special tokens, and the segment of each token."""

    ids: list[int]
    sides: list[int]


class PairTokenizer:
    """A tokenizer that turns texts into tokens; it is thread-safe.

    Special tokens in a text are read as plain words, so a document cannot end the premise and add a
    claim. ``marks`` is the number of special tokens in a pair. ``truncation`` is the pair length
    that the tokenizer's file sets, if any.
    """

    def __init__(self, source: Path) -> None:
        from tokenizers import Tokenizer

        try:
            self._tokenizer = Tokenizer.from_str(source.read_text("utf-8"))
        except Exception as error:  # tokenizers raises plain Exceptions
            raise ConfigurationError(f"cannot read {source}: {error}") from error
        truncation = self._tokenizer.truncation
        self.truncation: int | None = truncation["max_length"] if truncation else None
        self._tokenizer.no_truncation()
        self._tokenizer.no_padding()
        self._tokenizer.encode_special_tokens = True
        self.vocabulary = Vocabulary(self._starts, self.count)
        self.marks: int = self._tokenizer.num_special_tokens_to_add(is_pair=True)

    def count(self, text: str) -> int:
        """Return the number of tokens in a text, without special tokens."""
        return len(self._starts(text))

    def pairs(self, premises: Sequence[str], claim: str) -> list[TokenPair]:
        """Return the tokens of each premise together with the tokens of the claim."""
        encodings = self._tokenizer.encode_batch(
            [(encodable(premise), encodable(claim)) for premise in premises]
        )
        return [TokenPair(pair.ids, pair.type_ids) for pair in encodings]

    def _starts(self, text: str) -> list[int]:
        offsets = self._tokenizer.encode(encodable(text), add_special_tokens=False).offsets
        return [start for start, _ in offsets]


class NliModel:
    """A cross-encoder with three outputs, and its tokenizer; thread-safe.

    ``most_tokens`` is the maximum length of a pair, including special tokens. ``pair_tokens`` is
    the length that works best: that set in the tokenizer's file, or else 128. The model reads
    ``threads`` pairs in parallel.
    """

    def __init__(self, path: Path) -> None:
        try:
            import onnxruntime  # noqa: F401 - whether it is installed
            import tokenizers  # noqa: F401
        except ImportError as error:
            raise ConfigurationError(
                f"the labeler nli needs the package {error.name}: {install_hint('nli')}"
            ) from error
        for name in _FILES:
            if not (path / name).is_file():
                raise ConfigurationError(f"{path} is not an NLI model: {name} is missing")
        self.folder = path
        self.sha256 = _digest(path)
        self._labels, positions = _read_config(path)
        self.tokenizer = PairTokenizer(path / "tokenizer.json")
        self.most_tokens = min(positions, MOST_TOKENS)
        self.pair_tokens = min(self.tokenizer.truncation or _PAIR_TOKENS, self.most_tokens)
        self._session, self._types = _graph(path / "model.onnx")
        self.threads = _threads()
        self._pool = ThreadPoolExecutor(self.threads, "conflictscore nli")
        # Limits the calls that wait in the pool, since after Ctrl-C the pool still finishes all of
        # them.
        self._turns = Semaphore(self.threads)

    def logits(self, pairs: Sequence[TokenPair]) -> list[dict[Label, float]]:
        """Return the model's outputs for each pair, before calibration; the call blocks."""
        with self._turns:
            return list(self._pool.map(self._run, pairs))

    def _run(self, pair: TokenPair) -> dict[Label, float]:
        array_by_input = dict(
            zip(_INPUTS, (pair.ids, [1] * len(pair.ids), pair.sides), strict=True)
        )
        feed = {name: np.array([array_by_input[name]], kind) for name, kind in self._types.items()}
        name = self.folder.name
        try:
            logits = np.asarray(self._session.run(None, feed)[0], np.float32)
        except Exception as error:  # the library's errors have no common base
            raise ProviderError(
                f"the NLI model {name} failed: {_first_line(error)}", provider="nli"
            ) from error
        if logits.shape != (1, len(self._labels)) or not np.isfinite(logits).all():
            # a model of a different kind may have an output of any size
            output = (
                logits.tolist() if logits.size <= _SHOWN_NUMBERS else f"{logits.size:,} numbers"
            )
            raise ProviderError(
                f"the NLI model {name} gave {output} for a pair, not 3 numbers",
                provider="nli",
            )
        return dict(zip(self._labels, logits[0].tolist(), strict=True))


def _threads() -> int:
    # the variable with which users limit the threads of most numerical libraries
    threads_setting = os.environ.get("OMP_NUM_THREADS", "")
    thread_count = int(threads_setting) if threads_setting.isdecimal() else 0
    return min(thread_count or usable_cores(), _MOST_THREADS)


def _graph(path: Path) -> tuple[Any, dict[str, Any]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    # log fatal errors only; all other errors are raised as exceptions
    options.log_severity_level = 4
    onnxruntime.disable_telemetry_events()
    try:
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    except Exception as error:  # the library's errors have no common base
        raise ConfigurationError(f"cannot load {path}: {_first_line(error)}") from error
    # exported graphs differ in the integer type of their inputs, and refuse the wrong type
    types = {
        node.name: np.int32 if "32" in node.type else np.int64 for node in session.get_inputs()
    }
    return session, {name: types[name] for name in _INPUTS if name in types}


def _first_line(error: Exception) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)


def shared_model(model: str | Path | None) -> NliModel:
    """Return the model in a folder, which is loaded only once per process."""
    with _loading:  # only one thread loads it
        return _loaded(resolve(model))


_loading = Lock()


@cache
def _loaded(path: Path) -> NliModel:
    return NliModel(path)
