"""Plans a training run completely before it begins."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from training.batches import batched
from training.packed import Numbers, Packed


@dataclass(frozen=True)
class Settings:
    """The settings of a training run, besides the data and the initial weights.

    Attributes:
        epochs: Epochs over the pairs that a teacher labelled (``training.teach``).
        taught_share: The share of the loss that compares each window with the teacher. The
            remaining share compares each pair with its label.
        rate: The highest learning rate.
        warmup: The share of the steps in which the rate rises; after these steps, it falls to 0.
        batch_tokens: Tokens of a batch, padding included.
        decay: Weight decay.
        dropout: Share of values left out.
        smoothing: Label smoothing.
        frozen: How many of the first layers are frozen, together with the embeddings; 0 freezes
            nothing.
        rank: Columns of the narrow matrices whose products are trained beside the matrices of
            unfrozen layers; 0 trains the matrices themselves.
        averaged: The share of steps, at the end of the run, in which a moving average of the
            weights is updated, with a rate of 1/50. If it is 0, the weights of the last step are
            used.
        keep_from: If at least this many layers are frozen, their output is stored in a file when a
            CPU is used. So they run once instead of in every epoch.
        validated: Pairs per set, drawn by seed, on which an epoch is measured; 0 for all.
        seed: Seed for all random choices.
    """

    epochs: int = 2
    taught_share: float = 0.7
    rate: float = 1e-4
    warmup: float = 0.06
    batch_tokens: int = 3072
    decay: float = 0.01
    dropout: float = 0.0
    smoothing: float = 0.05
    frozen: int = 1
    rank: int = 0
    averaged: float = 0.0
    keep_from: int = 3
    validated: int = 60
    seed: int = 0


class Epoch(NamedTuple):
    """One epoch.

    Attributes:
        batches: For each step, the indices of its pairs.
        rates: For each step, its learning rate.
    """

    batches: list[Numbers]
    rates: list[float]


class Plan:
    """The epochs of a run; equal data and settings give equal epochs, so that a run can resume."""

    def __init__(self, packed: Packed, settings: Settings) -> None:
        self._packed, self._settings = packed, settings
        self._lengths = [len(self._batches(number)) for number in range(settings.epochs)]

    def epoch(self, number: int) -> Epoch:
        """Build an epoch, numbered from 0."""
        done, total = sum(self._lengths[:number]), sum(self._lengths)
        rates = [self._rate(done + step, total) for step in range(self._lengths[number])]
        return Epoch(self._batches(number), rates)

    def progress(self, number: int, step: int) -> float:
        """Return the share of all steps that precede a step of an epoch, in [0, 1]."""
        return (sum(self._lengths[:number]) + step) / sum(self._lengths)

    def _batches(self, number: int) -> list[Numbers]:
        rng = np.random.default_rng([self._settings.seed, number])
        order = rng.permutation(self._packed.of_part("taught"))
        return batched(self._packed, order, self._settings.batch_tokens, rng)

    def _rate(self, step: int, total: int) -> float:
        rising = max(1, round(self._settings.warmup * total))
        if step < rising:
            return self._settings.rate * (step + 1) / rising
        return self._settings.rate * (total - step) / max(1, total - rising)
