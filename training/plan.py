"""Plan of a training run, complete before the run begins."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from training.batches import batched
from training.packed import Numbers, Packed


@dataclass(frozen=True)
class Settings:
    """Settings of a training run, beside the data and the weights to start from.

    Attributes:
        epochs: Epochs on what a teacher labelled (``training.teach``).
        taught_share: How much of the loss is about what the teacher said of each window; the rest
            is about the label of the pair.
        rate: The highest learning rate.
        warmup: Share of the steps in which the rate rises; then it falls to 0.
        batch_tokens: Tokens of a batch, padding included.
        decay: Weight decay.
        dropout: Share of values left out.
        smoothing: Label smoothing.
        frozen: How many of the first layers stay as they are, and the embeddings with them; 0 for
            none of either.
        rank: Columns of the narrow matrices whose products are learned beside the matrices of the
            layers that are not frozen; 0 to learn the matrices themselves.
        averaged: Share of the steps, from the end, whose weights are averaged; 0 for the last ones.
            An average that moves by a fiftieth a step.
        keep_from: From so many frozen layers on, what they say is kept in a file on a processor,
            and they are asked once instead of in every epoch.
        validated: Pairs of a set, drawn by seed, that an epoch is measured on; 0 for all.
        seed: Of all that is left to chance.
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
        batches: For each step the places of its pairs.
        rates: For each step its learning rate.
    """

    batches: list[Numbers]
    rates: list[float]


class Plan:
    """The epochs of a run; the same for the same data and settings, so that it can be taken up."""

    def __init__(self, packed: Packed, settings: Settings) -> None:
        self._packed, self._settings = packed, settings
        self._lengths = [len(self._batches(number)) for number in range(settings.epochs)]

    def epoch(self, number: int) -> Epoch:
        """Build one epoch, from 0."""
        done, total = sum(self._lengths[:number]), sum(self._lengths)
        rates = [self._rate(done + step, total) for step in range(self._lengths[number])]
        return Epoch(self._batches(number), rates)

    def progress(self, number: int, step: int) -> float:
        """Share of all steps that are done before a step of an epoch, in [0, 1]."""
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
