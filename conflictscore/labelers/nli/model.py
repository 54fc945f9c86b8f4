"""An NLI model, loaded once a process and tried out before it judges."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from threading import Lock

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.labelers.nli.folder import read_folder, resolve
from conflictscore.labelers.nli.session import PairSession
from conflictscore.labelers.nli.tokenizing import PairTokenizer, TokenPair
from conflictscore.records import Label

__all__ = ["LEAST_TOKENS", "MOST_TOKENS", "NliModel", "shared_model"]

LEAST_TOKENS = 96
"""The fewest tokens of a pair that have room for a claim and a premise."""

MOST_TOKENS = 512
"""More tokens of a pair are never used, whatever the model could read."""
_PAIR_TOKENS = 128
"""Tokens of a pair where the tokenizer was set up for no length: three sentences or so, which as
evidence can be shown whole."""


class NliModel:
    """A three-way cross-encoder and its tokenizer. Thread-safe.

    Attributes:
        folder: Where it was loaded from.
        sha256: Digest of its files.
        most_tokens: The most tokens that the model reads of a pair, with its marks.
        pair_tokens: The length of a pair that it is best at: the one that its tokenizer was set up
            for, otherwise 128.
        tokenizer: Turns texts into pairs.
        threads: How many pairs it reads at a time.
    """

    def __init__(self, path: Path) -> None:
        """Load a model from a folder.

        Raises:
            ConfigurationError: The extra ``nli`` is not installed, a file is missing or unreadable,
                or the files are not those of one three-way NLI model.
        """
        try:
            import onnxruntime  # noqa: F401 - whether it is there
            import tokenizers  # noqa: F401
        except ImportError as error:
            raise ConfigurationError(
                f'the labeler nli needs the package {error.name}: pip install "conflictscore[nli]"'
            ) from error
        said = read_folder(path)
        self.folder = path
        self.sha256 = said.sha256
        self._labels = said.labels
        self.tokenizer = PairTokenizer(said)
        self.most_tokens = min(said.positions, MOST_TOKENS)
        self.pair_tokens = min(self.tokenizer.truncation or _PAIR_TOKENS, self.most_tokens)
        if self.pair_tokens < LEAST_TOKENS:
            raise ConfigurationError(
                f"{path} reads {self.pair_tokens} tokens at most;"
                f" an NLI labeler needs at least {LEAST_TOKENS}"
            )
        self._session = PairSession(path / "model.onnx")
        self.threads = self._session.threads
        self._try_out()

    def logits(self, pairs: Sequence[TokenPair]) -> list[dict[Label, float]]:
        """What the model says of each pair, before any calibration; blocks.

        Raises:
            ProviderError: The model failed.
        """
        rows = self._session.logits(pairs).tolist()
        return [dict(zip(self._labels, row, strict=True)) for row in rows]

    def _try_out(self) -> None:
        """Meet what the files do not say before the first pair does."""
        pair = self.tokenizer.pairs([""], "")[0]
        largest = [*pair.ids, self.tokenizer.largest_id]
        side = pair.sides[-1]
        longest = pair.ids + [pair.ids[-1]] * (self.most_tokens - len(pair.ids))
        trials = [
            (pair.ids, "it cannot be run"),
            (
                largest,
                f"it has no embedding for token {self.tokenizer.largest_id} of tokenizer.json:"
                " that is another model's tokenizer",
            ),
            (longest, f"it cannot read {self.most_tokens} tokens, though its files say so"),
        ]
        for ids, trouble in trials:
            sides = pair.sides + [side] * (len(ids) - len(pair.ids))
            try:
                self.logits([TokenPair(ids, sides)])
            except ProviderError as error:
                raise ConfigurationError(
                    f"{self.folder} is no NLI model: {trouble} ({error})"
                ) from error


def shared_model(model: str | Path | None) -> NliModel:
    """The one model of this process for a folder.

    Args:
        model: As for :func:`~conflictscore.labelers.nli.folder.resolve`.

    Raises:
        ConfigurationError: There is no such model, or it cannot be used.
    """
    with _loading:  # a cache alone would load one for each thread that comes first
        return _loaded(resolve(model))


_loading = Lock()


@cache
def _loaded(path: Path) -> NliModel:
    return NliModel(path)
