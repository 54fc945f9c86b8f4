"""CS-C and CS-R corrected for a known confusion table.

A claim's score hangs on how many of its documents support and contradict it. How often each pair of
such numbers is seen follows from how often each is true, by the confusion table; what is true is
estimated from what is seen by maximum likelihood (expectation-maximisation, Dempster, Laird and
Rubin 1977), for each number of documents on its own. It takes errors as independent of each other
and of the claim; where they are not, the correction is off, and no interval shows it.
"""

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.harness.figures import Interval
from conflictscore.records import Record

__all__ = ["Correction", "corrected", "corrections", "shares", "table_of"]

_Numbers = NDArray[Any]
_RESAMPLES, _STEPS = 200, 300
_MOST = 8
"""Documents of a claim that are corrected for; of a claim with more, the first ones."""
_ABSENT = 3


class Correction(Record):
    """A score of one half of the claims, corrected by the confusion table of the other half."""

    labels: str
    """Whose labels are corrected."""
    measure: str
    people: Interval
    """By people's labels. All bounds resample claims."""
    seen: Interval
    corrected: Interval
    """Bounds resample the claims of both halves."""


def shares(labels: _Numbers) -> tuple[_Numbers, _Numbers]:
    """Whether each claim is in conflict (1 or 0), and its |D-| / (|D+| + |D-|), 0 without either.

    Args:
        labels: Of shape (claims, documents), 0 for SUPPORTS and 1 for CONTRADICTS.
    """
    plus, minus = (labels == 0).sum(axis=1), (labels == 1).sum(axis=1)
    return ((plus > 0) & (minus > 0)).astype(float), minus / np.maximum(plus + minus, 1)


def table_of(gold: _Numbers, given: _Numbers) -> _Numbers:
    """How often each label (column) was given, by people's (row)."""
    there = gold != _ABSENT
    return np.bincount(3 * gold[there] + given[there], minlength=9).reshape(3, 3)


def corrected(given: _Numbers, rates: _Numbers) -> tuple[float, float]:
    """CS-C and CS-R as the labels would give them without errors, each in [0, 1].

    Args:
        given: Labels as indices, of shape (claims, documents); 3 where there is no document.
        rates: By true label (row) the probability that each (column) is given.
    """
    codes = _codes(given[:, :_MOST])
    [found] = _estimated(np.bincount(codes, minlength=len(_patterns()))[None], rates[None])
    return float(found[0]), float(found[1])


def corrections(name: str, gold: _Numbers, given: _Numbers) -> Iterator[Correction]:
    """Correct every second claim by the confusion table of the others.

    Args:
        name: Whose labels they are.
        gold: People's labels, of shape (claims, documents), in an order drawn by lot.
        given: The labels to correct.
    """
    gold, given = gold[:, :_MOST], given[:, :_MOST]
    fit, test = slice(0, None, 2), slice(1, None, 2)
    rng = np.random.default_rng(0)
    learned, applied = (_times(len(gold[half]), rng) for half in (fit, test))
    tables = np.stack(
        [table_of(*pair) for pair in zip(gold[fit, None], given[fit, None], strict=True)]
    )
    counts = np.tensordot(learned, tables, axes=1) + 0.5
    patterns = np.eye(len(_patterns()))[_codes(given[test])]
    made = _estimated(applied @ patterns, counts / counts.sum(axis=2, keepdims=True))
    own = [applied @ np.column_stack(shares(one[test])) / len(gold[test]) for one in (gold, given)]
    values = np.stack([*own, made])
    low, high = np.percentile(values[:, 1:], [2.5, 97.5], axis=1)
    for at, measure in enumerate(("CS-C", "CS-R")):
        people, seen, mended = (
            Interval(
                value=float(values[row, 0, at]),
                low=float(low[row, at]),
                high=float(high[row, at]),
                n=len(gold[test]),
            )
            for row in range(len(values))
        )
        yield Correction(labels=name, measure=measure, people=people, seen=seen, corrected=mended)


def _times(n: int, rng: np.random.Generator) -> _Numbers:
    """How often each of n claims is drawn: first all once, then the resamples."""
    return np.vstack([np.ones(n), rng.multinomial(n, np.full(n, 1 / n), size=_RESAMPLES)])


@cache
def _patterns() -> dict[tuple[int, int, int], int]:
    """Documents, and how many of them support and contradict, each with its place."""
    found = (
        (size, plus, minus)
        for size in range(1, _MOST + 1)
        for plus in range(size + 1)
        for minus in range(size + 1 - plus)
    )
    return {pattern: at for at, pattern in enumerate(found)}


def _codes(labels: _Numbers) -> _Numbers:
    """The place of each claim's pattern."""
    plus, minus = (labels == 0).sum(axis=1), (labels == 1).sum(axis=1)
    sizes = (labels != _ABSENT).sum(axis=1)
    return np.array([_patterns()[one] for one in zip(sizes, plus, minus, strict=True)], dtype=int)


def _estimated(seen: _Numbers, rates: _Numbers) -> _Numbers:
    """CS-C and CS-R of every resample, of shape (resamples, 2).

    Args:
        seen: How often each pattern is seen, of shape (resamples, patterns).
        rates: Of shape (resamples, 3, 3).
    """
    places, moves = np.array([*_patterns()]), _moves(rates)
    found = np.zeros((len(seen), 2))
    for size in np.unique(places[seen.any(axis=0), 0]):
        here = places[:, 0] == size
        given, chances = seen[:, here], moves[:, here][:, :, here]
        true = given.sum(axis=1, keepdims=True) / here.sum() * np.ones(here.sum())
        for _ in range(_STEPS):
            expected = np.matmul(chances, true[..., None])[..., 0]
            told = given / np.maximum(expected, 1e-300)
            true = true * np.matmul(told[:, None], chances)[:, 0]
        worth = [(i > 0 < j, j / max(i + j, 1)) for _, i, j in places[here].tolist()]
        found += true @ np.array(worth, dtype=float)
    shared: _Numbers = found / seen.sum(axis=1, keepdims=True)
    return shared


def _moves(rates: _Numbers) -> _Numbers:
    """How likely each pattern (row) is to be seen where another (column) is true, by resample."""
    index = _patterns()
    start = np.zeros((len(rates), _MOST + 1, _MOST + 1))
    start[:, 0, 0] = 1.0
    tables = {(0, 0, 0): start}
    moves = np.zeros((len(rates), len(index), len(index)))
    for (size, plus, minus), column in index.items():
        label = 0 if plus else 1 if minus else 2
        before = tables[size - 1, plus - (label == 0), minus - (label == 1)]
        chance = rates[:, label, :, None, None]
        made = chance[:, 2] * before
        made[:, 1:] += chance[:, 0] * before[:, :-1]
        made[:, :, 1:] += chance[:, 1] * before[:, :, :-1]
        tables[size, plus, minus] = made
        for (other, i, j), row in index.items():
            if other == size:
                moves[:, row, column] = made[:, i, j]
    return moves
