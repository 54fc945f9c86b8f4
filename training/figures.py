"""Measures how well a model's labels agree with people's labels, per set."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from training.pairs import LABELS

Numbers = NDArray[Any]
_SUPPORTS, _CONTRADICTS, _IRRELEVANT = range(len(LABELS))


class SetFigures(NamedTuple):
    """Agreement on one set.

    Attributes:
        pairs: Number of pairs.
        accuracy: The share of correct labels.
        macro_f1: The mean F1 over the labels that people gave.
        confusion: Rows are people's labels and columns the model's, both in the order of LABELS.
    """

    pairs: int
    accuracy: float
    macro_f1: float
    confusion: list[list[int]]


def verdicts(probabilities: Numbers, owner: Numbers, pairs: int) -> Numbers:
    """Turn a model's probabilities for windows into labels of documents, like the NLI labeler.

    Among the windows in which a side is more likely than IRRELEVANT, the one with the highest
    probability of its side decides. If there are none, the document is IRRELEVANT.

    Args:
        probabilities: Shape (windows, 3).
        owner: For each window, its pair.
        pairs: Number of pairs.

    Returns:
        For each pair, its label.
    """
    sides = probabilities[:, :_IRRELEVANT]
    side, strength = sides.argmax(axis=1), sides.max(axis=1)
    labels = np.full(pairs, _IRRELEVANT)
    best = np.zeros(pairs)
    for window in np.flatnonzero(strength > probabilities[:, _IRRELEVANT]):
        pair = owner[window]
        if strength[window] > best[pair]:
            best[pair], labels[pair] = strength[window], side[window]
    return labels


def figures(gold: Numbers, given: Numbers) -> SetFigures:
    """Compare people's labels with a model's; there must be at least one pair."""
    confusion = np.zeros((len(LABELS), len(LABELS)), int)
    np.add.at(confusion, (gold, given), 1)
    right = confusion.diagonal()
    sums = confusion.sum(axis=1) + confusion.sum(axis=0)
    occurs = confusion.sum(axis=1) > 0
    f1 = 2 * right[occurs] / sums[occurs]
    accuracy = float(right.sum() / confusion.sum())
    return SetFigures(int(confusion.sum()), accuracy, float(f1.mean()), confusion.tolist())


def mean_macro_f1(sets: dict[str, SetFigures]) -> float:
    """Return the mean macro-F1 over the sets; all sets have the same weight."""
    return float(np.mean([one.macro_f1 for one in sets.values()]))
