"""Plan of a training run, complete before the run begins."""

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from training.batches import balanced, batched
from training.packed import PARTS, Numbers, Packed
from training.pairs import LABELS

__all__ = ["Epoch", "Plan", "Settings", "Stage"]

Stage = Literal["questions", "taught"]


@dataclass(frozen=True)
class Settings:
    """Settings of a training run, beside the data and the weights to start from.

    Attributes:
        question_epochs: Epochs on answers to questions, with some of all other pairs, at most.
        drawn_questions: Pairs of a question and an answer in such an epoch, at most.
        drawn_human: Pairs that people labelled in such an epoch, at most.
        drawn_general: Pairs of public inference sets in such an epoch.
        drawn_made: Made pairs in such an epoch.
        drawn_neutral: Pairs of a claim and a passage on its topic that says nothing of it in such
            an epoch: half of them made, half labelled by people.
        taught_epochs: Epochs on what a teacher labelled (``training.teach``).
        taught_share: How much of their loss is about what the teacher said of each window; the rest
            is about the label of the pair.
        question_rate: The highest learning rate of epochs on questions.
        taught_rate: That of epochs on what a teacher labelled.
        warmup: Share of the steps of a stage in which the rate rises; then it falls to 0.
        batch_tokens: Tokens of a batch, padding included.
        decay: Weight decay.
        dropout: Share of values left out.
        smoothing: Label smoothing.
        windows: Windows to learn from of a document, the closest to the claim; 0 for all.
        frozen: How many of the first layers stay as they are, and the embeddings with them; 0 for
            none of either.
        rank: Columns of the narrow matrices that are learned instead of the wide ones of each
            layer (``training.low_rank``); 0 to learn the wide ones.
        own_head: Whether sets that label otherwise (``training.pairs.OTHERWISE``) have a head of
            their own, which is left out of what is saved.
        validated: Pairs of a set, drawn by seed, that an epoch is measured on; 0 for all.
        seed: Of all that is left to chance.
    """

    question_epochs: int = 1
    drawn_questions: int = 4000
    drawn_human: int = 3000
    drawn_general: int = 3000
    drawn_made: int = 1000
    drawn_neutral: int = 2000
    taught_epochs: int = 0
    taught_share: float = 0.7
    question_rate: float = 5e-5
    taught_rate: float = 1e-4
    warmup: float = 0.06
    batch_tokens: int = 16_384
    decay: float = 0.01
    dropout: float = 0.1
    smoothing: float = 0.05
    windows: int = 0
    frozen: int = 0
    rank: int = 0
    own_head: bool = False
    validated: int = 0
    seed: int = 0


class Epoch(NamedTuple):
    """One epoch.

    Attributes:
        stage: What it learns from.
        batches: For each step the places of its pairs.
        rates: For each step its learning rate.
    """

    stage: Stage
    batches: list[Numbers]
    rates: list[float]


class Plan:
    """The epochs of a run; the same for the same data and settings, so that it can be taken up."""

    def __init__(self, packed: Packed, settings: Settings) -> None:
        self._packed = packed
        self._settings = settings
        self._stages: list[Stage] = ["questions"] * settings.question_epochs
        self._stages += ["taught"] * settings.taught_epochs
        self._parts = {part: packed.of_part(part) for part in PARTS}
        self._lengths: dict[int, int] = {}

    def __len__(self) -> int:
        return len(self._stages)

    def stage(self, number: int) -> Stage:
        """Pairs of an epoch, from 0."""
        return self._stages[number]

    def epoch(self, number: int) -> Epoch:
        """Build one epoch, from 0."""
        stage = self._stages[number]
        batches = self._batches(number)
        done, total = 0, 0
        for other, its_stage in enumerate(self._stages):
            if its_stage == stage:
                done += self._length(other) if other < number else 0
                total += self._length(other)
        rates = [self._rate(stage, done + step, total) for step in range(len(batches))]
        return Epoch(stage, batches, rates)

    def _length(self, number: int) -> int:
        if number not in self._lengths:
            self._lengths[number] = len(self._batches(number))
        return self._lengths[number]

    def _batches(self, number: int) -> list[Numbers]:
        rng = np.random.default_rng([self._settings.seed, number])
        taught = self._stages[number] == "taught"
        order = rng.permutation(self._parts["taught"]) if taught else self._of_all(rng)
        return batched(self._packed, order, self._settings.batch_tokens, rng)

    def _of_all(self, rng: np.random.Generator) -> Numbers:
        """Pairs of every part, each in the proportions that it has or, made ones, in balance."""
        chosen, parts = self._settings, self._parts
        drawn = [
            rng.permutation(parts["questions"])[: chosen.drawn_questions],
            rng.permutation(parts["human"])[: chosen.drawn_human],
        ]
        for part, size in (("general", chosen.drawn_general), ("synthetic", chosen.drawn_made)):
            if size and len(parts[part]):
                drawn.append(balanced(self._packed, parts[part], size, rng))
        human = parts["human"]
        neutral = human[self._packed.label[human] == LABELS.index("IRRELEVANT")]
        half = chosen.drawn_neutral // 2
        drawn += [rng.permutation(places)[:half] for places in (neutral, parts["neutral"])]
        return rng.permutation(np.concatenate(drawn))

    def _rate(self, stage: Stage, step: int, total: int) -> float:
        chosen = self._settings
        top = chosen.taught_rate if stage == "taught" else chosen.question_rate
        rising = max(1, round(chosen.warmup * total))
        if step < rising:
            return top * (step + 1) / rising
        return top * (total - step) / max(1, total - rising)
