"""Effects of wrong labels on the score, and how many questions tell two systems apart.

Claims whose documents people labelled are scored by people's labels, by labels made worse at
random and by a labeler's. What a measure keeps of a true difference between two systems follows
from its means over the claims that are in conflict and over those that are not: with the share p
of claims in conflict, an answer's expected score is p times the first plus 1 - p times the second.
"""

from collections.abc import Iterable, Sequence
from math import ceil, sqrt
from typing import Annotated, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from conflictscore.benchmarks.conflict_detection.detect import Judged
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.harness.statistics import (
    proportion,
    require_statistics,
)
from conflictscore.benchmarks.validity.tracking import bootstrapped, bootstrapped_mean
from conflictscore.errors import InputError
from conflictscore.records import Label, Record

_Numbers = NDArray[Any]
_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
_ABSENT = len(_LABELS)
_RATES = (0.1, 0.2, 0.3)
_DRAWS = 50
_BASE, _CLAIMS, _QUESTIONS = 0.3, 5, 100
DIFFERENCES = (0.05, 0.1, 0.2)
"""True differences in CS-C between two systems."""
_ALPHA, _POWER = 0.05, 0.8
_PEOPLE, _AT_RANDOM, _LABELER = "people", "its table, at random", "the labeler"
_MOST_QUESTIONS = 1_000_000


class Power(Record):
    """The power of a measure to tell apart two systems whose answers have five claims each.

    Of one system's claims 30 % are in conflict, of the other's more by the difference. Claims are
    taken as independent, and so are the systems' answers: claims of one answer that hang together
    need more questions, answers to the same questions that rise and fall together need fewer.
    """

    kept: Interval
    """The share of the true difference that is seen, which is 1 without errors; bounds resample
    claims."""
    questions: dict[str, int | None]
    """By true difference, the questions that a test at 5 % needs to find it in 80 % of studies;
    None where nothing of it is seen, or so little that a million do not suffice."""
    order_right: float | None
    """How often 100 questions put two systems with a difference of .1 in the right order."""


class Condition(Record):
    """One way of labelling the same claims."""

    name: str
    accuracy: float
    """Labels that are people's own, in [0, 1]."""
    cs_c: Interval
    """The mean over claims; bounds resample claims."""
    cs_r: Interval
    by_cs_c: Power
    by_cs_r: Power


class NoiseFigures(Record):
    """A set of claims with people's labels and a labeler's."""

    set: str
    claims: Annotated[int, Field(ge=0)]
    """Claims with a document that has both labels; no other document counts."""
    documents: Annotated[int, Field(ge=0)]
    table: tuple[tuple[int, int, int], ...]
    """By people's label (SUPPORTS, CONTRADICTS, IRRELEVANT), how often the labeler gave each."""
    accuracy: Proportion
    conditions: tuple[Condition, ...]


class _Claims(NamedTuple):
    """Labels as indices, a row a claim; 3 where there is no further document."""

    gold: _Numbers
    given: _Numbers


def noise_figures(name: str, judged: Sequence[Judged]) -> NoiseFigures:
    """All figures of one set.

    Args:
        name: Of the set.
        judged: Its claims, with people's labels and a labeler's.
    """
    require_statistics()
    ordered = sorted(judged, key=lambda one: lot("validity", 0, one.group.id))
    claims = _claims(ordered)
    conflict = shares(claims.gold)[0] > 0
    if not 1 < conflict.sum() < len(conflict) - 1:
        raise InputError(
            f"--groups {name}: {conflict.sum()} of {len(conflict)} claims with labels are in"
            " conflict; at least two are needed, and two that are not"
        )
    table = table_of(claims.gold, claims.given)
    rates = table / table.sum(axis=1, keepdims=True).clip(1)
    even = [np.full((3, 3), rate / 2) + np.eye(3) * (1 - 1.5 * rate) for rate in _RATES]
    rng = np.random.default_rng(0)

    def drawn(rates: _Numbers) -> _Numbers:
        return np.stack([with_label_noise(claims.gold, rates, rng) for _ in range(_DRAWS)])

    ways = {
        _PEOPLE: claims.gold[None],
        **{
            f"{100 * rate:.0f} % wrong": drawn(made)
            for rate, made in zip(_RATES, even, strict=True)
        },
        _AT_RANDOM: drawn(rates),
        _LABELER: claims.given[None],
    }
    there = claims.gold != _ABSENT
    return NoiseFigures(
        set=name,
        claims=len(claims.gold),
        documents=int(there.sum()),
        table=tuple((int(s), int(c), int(i)) for s, c, i in table),
        accuracy=proportion(int(table.trace()), int(table.sum())),
        conditions=tuple(_condition(way, labels, claims.gold) for way, labels in ways.items()),
    )


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


def with_label_noise(labels: _Numbers, rates: _Numbers, rng: np.random.Generator) -> _Numbers:
    """Labels made worse, each on its own.

    Args:
        labels: Indices of SUPPORTS, CONTRADICTS and IRRELEVANT, 3 where there is no document.
        rates: By label the probabilities of what becomes of it, of shape (3, 3).
        rng: Draws.
    """
    bounds = np.vstack([rates, np.full(3, 1 / 3)]).cumsum(axis=1)[labels]
    made = (rng.random(labels.shape)[..., None] > bounds[..., :2]).sum(axis=-1)
    return np.where(labels == _ABSENT, _ABSENT, made)


def _claims(judged: Iterable[Judged]) -> _Claims:
    rows = []
    for one in judged:
        pairs = [
            (_LABELS.index(gold), _LABELS.index(said.label))
            for gold, said in zip(one.group.labels, one.labels, strict=True)
            if gold is not None and said.label is not Label.UNLABELLED
        ]
        if pairs:
            rows.append(pairs)
    most = max(map(len, rows), default=0)
    padded = np.array([pairs + [(_ABSENT, _ABSENT)] * (most - len(pairs)) for pairs in rows])
    padded = padded.reshape(len(rows), most, 2)
    return _Claims(padded[..., 0], padded[..., 1])


def _condition(name: str, labels: _Numbers, gold: _Numbers) -> Condition:
    """Figures of one way of labelling.

    Args:
        name: What it is called.
        labels: Of shape (draws, claims, documents).
        gold: People's, of shape (claims, documents).
    """
    truly, true_share = shares(gold)
    seen = [np.stack(found) for found in zip(*(shares(one) for one in labels), strict=True)]
    there = gold != _ABSENT
    means = [bootstrapped_mean(one.mean(axis=0)) for one in seen]
    return Condition(
        name=name,
        accuracy=float((labels == gold)[:, there].mean()),
        cs_c=means[0],
        cs_r=means[1],
        by_cs_c=_power(seen[0], truly, truly),
        by_cs_r=_power(seen[1], true_share, truly),
    )


def _power(seen: _Numbers, true: _Numbers, conflict: _Numbers) -> Power:
    """The power of a measure.

    Args:
        seen: Of shape (draws, claims).
        true: By people's labels, by claim.
        conflict: 1 where people's labels are in conflict.
    """
    pools = conflict > 0
    mean = [float(seen[:, pool].mean()) for pool in (~pools, pools)]
    spread = [float(seen[:, pool].var()) for pool in (~pools, pools)]
    true_gap = float(true[pools].mean() - true[~pools].mean())
    gap = mean[1] - mean[0]
    rows = np.column_stack([seen.mean(axis=0), true, conflict])
    kept = bootstrapped([row[None] for row in rows], _kept)
    if gap <= 0 or kept.value is None or true_gap <= 0:
        return Power(kept=kept, questions=dict.fromkeys(map(str, DIFFERENCES)), order_right=None)

    def variance(p: float) -> float:
        """Of an answer's score."""
        within = p * spread[1] + (1 - p) * spread[0]
        return (within + p * (1 - p) * gap**2) / _CLAIMS

    def effect(difference: float) -> float:
        both = (variance(_BASE) + variance(_BASE + difference)) / 2
        return difference * gap / sqrt(both)

    from scipy.stats import norm
    from statsmodels.stats.power import NormalIndPower

    def needed(difference: float) -> int | None:
        size = NormalIndPower().solve_power(effect(difference), alpha=_ALPHA, power=_POWER)
        whole = ceil(float(np.squeeze(size)))
        return whole if whole <= _MOST_QUESTIONS else None

    return Power(
        kept=kept,
        questions={str(difference): needed(difference) for difference in DIFFERENCES},
        order_right=float(norm.cdf(effect(0.1) * sqrt(_QUESTIONS / 2))),
    )


def _kept(rows: _Numbers, times: _Numbers) -> _Numbers:
    """The seen gap between the pools, by the true one; rows as ``_power`` makes them."""
    pools = np.column_stack([rows[:, 2] > 0, rows[:, 2] == 0])
    sizes = times @ pools
    sums = [times @ (pools * rows[:, [at]]) for at in (0, 1)]
    means = [np.divide(s, sizes, out=np.full(s.shape, np.nan), where=sizes > 0) for s in sums]
    seen, true = (mean[:, 0] - mean[:, 1] for mean in means)
    found: _Numbers = np.divide(seen, true, out=np.full(seen.shape, np.nan), where=true > 0)
    return found
