"""Groups pairs into batches, in an order that is the same on every machine."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from training.packed import Numbers, Packed
from training.pairs import LABELS

_PAD = 0
"""The token of the padding; any token would do, since padding is masked."""
_SORTED_TOGETHER = 32
"""Number of batches whose pairs are sorted by length together."""


class Batch(NamedTuple):
    """Windows with their claims, padded to the length of the longest.

    Attributes:
        ids: Token numbers, of shape (windows, length).
        sides: 0 up to the claim, then 1; same shape.
        mask: Whether a position has a token rather than padding; same shape.
        windows: For each window, its index among all windows.
        owner: For each window, the index of its pair in the batch, ascending.
        labels: For each pair, its label.
        taught: For each window, the teacher's probabilities, of shape (windows, 3), or zeros.
    """

    ids: Numbers
    sides: Numbers
    mask: Numbers
    windows: Numbers
    owner: Numbers
    labels: Numbers
    taught: Numbers


def balanced(packed: Packed, places: Numbers, size: int, rng: np.random.Generator) -> Numbers:
    """Draw the same number of pairs for each label; larger sets contribute more pairs.

    The number of pairs from a set is proportional to the square root of its size. A pair is drawn
    twice only after all others of its set and label have been drawn.

    Args:
        packed: The pairs.
        places: Indices of the pairs to draw from.
        size: How many pairs to draw.
        rng: Decides which pairs are drawn.

    Returns:
        Indices of pairs in random order.
    """
    drawn = []
    labels = np.unique(packed.label[places])
    for label in labels:
        of_label = places[packed.label[places] == label]
        sources, counts = np.unique(packed.source[of_label], return_counts=True)
        share = np.sqrt(counts) / np.sqrt(counts).sum()
        for source, part in zip(sources, share, strict=True):
            found = of_label[packed.source[of_label] == source]
            wanted = round(size / len(labels) * part)
            turns = [rng.permutation(found) for _ in range(-(-wanted // len(found)))]
            drawn.append(np.concatenate([*turns, found[:0]])[:wanted])
    return rng.permutation(np.concatenate(drawn))


def measured(packed: Packed, of_set: int, seed: int) -> Numbers:
    """Return the indices of up to ``of_set`` validation pairs per set; 0 means all pairs."""
    places = packed.of_part("validation")
    if not of_set:
        return places
    rng = np.random.default_rng(seed)
    sets = [places[packed.source[places] == source] for source in np.unique(packed.source[places])]
    return np.concatenate([np.sort(rng.permutation(found)[:of_set]) for found in sets])


def batched(packed: Packed, order: Numbers, tokens: int, rng: np.random.Generator) -> list[Numbers]:
    """Divide ordered pairs into batches of pairs of similar length.

    Args:
        packed: The pairs.
        order: Indices of pairs.
        tokens: The maximum tokens of a batch, including padding; a longer pair gets its own batch.
        rng: Decides the order of the batches.

    Returns:
        For each batch, the indices of its pairs.
    """
    if not len(order):
        return []
    longest = _longest(packed, order)
    cost = longest * packed.window_count[order].astype(np.int64)
    together = max(1, int(_SORTED_TOGETHER * tokens / max(1.0, float(cost.mean()))))
    found: list[Numbers] = []
    for start in range(0, len(order), together):
        chunk, lengths = order[start : start + together], longest[start : start + together]
        by_length = np.argsort(lengths, kind="stable")
        found += _filled(packed, chunk[by_length], lengths[by_length], tokens)
    return [found[at] for at in rng.permutation(len(found))]


def _longest(packed: Packed, order: Numbers) -> Numbers:
    windows = packed.windows.lengths()
    counts = packed.window_count[order].astype(np.int64)
    first = packed.first_window[order].astype(np.int64)
    most = np.zeros(len(order), np.int64)
    for step in range(int(counts.max(initial=0))):
        has = counts > step
        most[has] = np.maximum(most[has], windows[first[has] + step])
    return most + packed.claims.lengths()[packed.claim[order]] + packed.marks.total


def _filled(packed: Packed, order: Numbers, lengths: Numbers, tokens: int) -> list[Numbers]:
    found: list[Numbers] = []
    begin = windows = 0
    for at, (pair, length) in enumerate(zip(order, lengths, strict=True)):
        count = int(packed.window_count[pair])
        if at > begin and (windows + count) * length > tokens:
            found.append(order[begin:at])
            begin, windows = at, 0
        windows += count
    return [*found, order[begin:]] if len(order) else found


def assemble(packed: Packed, pairs: Sequence[int] | Numbers) -> Batch:
    """Assemble the tokens of a batch of pairs, with their special tokens."""
    rows: list[tuple[Numbers, Numbers]] = []
    owner, places = [], []
    for place, pair in enumerate(pairs):
        claim = packed.claims.text(int(packed.claim[pair]))
        first = int(packed.first_window[pair])
        for window in range(first, first + int(packed.window_count[pair])):
            rows.append((packed.windows.text(window), claim))
            owner.append(place)
            places.append(window)
    start, middle, end = packed.marks
    length = max(len(premise) + len(said) for premise, said in rows) + packed.marks.total
    ids = np.full((len(rows), length), _PAD, np.int64)
    sides, mask = np.zeros_like(ids), np.zeros(ids.shape, bool)
    for row, (premise, said) in enumerate(rows):
        before = [*start, *premise, *middle]
        tokens = [*before, *said, *end]
        ids[row, : len(tokens)] = tokens
        sides[row, len(before) : len(tokens)] = 1
        mask[row, : len(tokens)] = True
    labels = packed.label[np.asarray(pairs)].astype(np.int64)
    taught = np.zeros((len(rows), len(LABELS)), np.float32)
    if packed.taught is not None:
        taught = packed.taught[places].astype(np.float32)
    return Batch(ids, sides, mask, np.array(places), np.array(owner), labels, taught)
