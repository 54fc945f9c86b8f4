"""Fitting the calibration of a labeler on labelled pairs, and its effect on pairs it never saw.

The labeler gives a log-probability for every label; a temperature, and where wanted a bias a label,
are found by maximum likelihood (multinomial logistic regression on three numbers).
"""

import hashlib
from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import fsum
from typing import Annotated, Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from conflictscore.benchmarks.harness.figures import Proportion
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.harness.statistics import proportion, require_statistics
from conflictscore.benchmarks.labelled_pairs import LabelledPair, scores
from conflictscore.errors import InputError
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration
from conflictscore.labelers.protocol import Labeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label, Record
from conflictscore.reporting.figure_text import counted, one_line, percent, span
from conflictscore.reporting.plain_table import Card
from conflictscore.storage.cache import ContentCache

BINS = 10


class ReliabilityBin(Record):
    """The verdicts whose score is in one tenth of [0, 1]; the upper bound is in the last only."""

    low: float
    high: float
    mean_score: float | None
    """None where no score falls here."""
    right: Proportion
    """How many of them people agree with."""


class Reliability(Record):
    """Scores beside how often they are right, of the verdicts that have both."""

    n: Annotated[int, Field(ge=0)]
    """Verdicts with a score, on documents that people labelled; the json judge gives no score."""
    bins: tuple[ReliabilityBin, ...]
    brier: float | None
    """Mean squared difference of the score and 1 where the label is right, 0 where it is not, in
    [0, 1]; lower is better. It is of the label that was given, not of all three."""
    ece: float | None
    """Expected calibration error: mean over verdicts of how far the mean score of their bin is from
    the share that is right, in [0, 1]; lower is better."""


def reliability(scored: Sequence[tuple[float, bool]]) -> Reliability:
    """Compare scores with how often they are right; the order does not matter.

    Args:
        scored: The probability in [0, 1] that the labeler gives to its label, and whether people
            give the same label.
    """
    by_bin: list[list[tuple[float, bool]]] = [[] for _ in range(BINS)]
    for score, right in scored:
        by_bin[min(BINS - 1, int(score * BINS))].append((score, right))
    n = len(scored)
    gaps = [abs(fsum(score - right for score, right in verdicts)) for verdicts in by_bin]
    return Reliability(
        n=n,
        bins=tuple(_bin(index, verdicts) for index, verdicts in enumerate(by_bin)),
        brier=fsum((score - right) ** 2 for score, right in scored) / n if n else None,
        ece=fsum(gaps) / n if n else None,
    )


def _bin(index: int, verdicts: Sequence[tuple[float, bool]]) -> ReliabilityBin:
    n = len(verdicts)
    return ReliabilityBin(
        low=index / BINS,
        high=(index + 1) / BINS,
        mean_score=fsum(score for score, _ in verdicts) / n if n else None,
        right=proportion(sum(right for _, right in verdicts), n),
    )


_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
_SLOPES = (0.02, 20.0)
"""Of 1 / temperature; labels that a labeler tells apart without a fault have no best one."""
_BIASES = (-5.0, 5.0)
_FOLDS = 2


@runtime_checkable
class LogprobLabeler(Labeler, Protocol):
    """A labeler that says how likely it takes each label to be."""

    async def logprobs(
        self, claim: Claim, document: Document, meter: UsageMeter
    ) -> dict[Label, float]:
        """Natural log-probability of each label, before calibration."""


class Scored(NamedTuple):
    """A labelled pair with what a labeler says of it."""

    claim: str
    gold: Label
    logprobs: Mapping[Label, float]


class Sureness(Record):
    """How right a labeler is, and how well it knows."""

    accuracy: float
    macro_f1: float
    log_loss: float
    """Mean of -log of the probability given to people's label; guessing has log 3 = 1.099."""
    reliability: Reliability


class CalibrationFigures(Record):
    """The effect of a calibration on claims that it was not fitted on."""

    n: Annotated[int, Field(ge=1)]
    before: Sureness
    after: Sureness
    """Each half of the claims with what was fitted on the other half."""


async def raw_logprobs(
    labeler: LogprobLabeler,
    pair: LabelledPair,
    *,
    meter: UsageMeter,
    cache: ContentCache | None = None,
) -> Scored:
    """A labeler's log-probabilities for a pair.

    Args:
        labeler: The labeler; its own calibration does not matter.
        pair: The pair.
        meter: Counts the calls, and what came from the cache.
        cache: Where it is kept by content, so that a stopped run resumes.
    """
    key = _cache_key(labeler, pair)
    if cache is not None and key is not None and (stored := cache.get(key)) is not None:
        with suppress(ValueError, TypeError):  # unreadable: it is judged again
            kept = {Label(name): float(value) for name, value in stored.items()}
            meter.cached()
            return Scored(pair.claim, pair.label, kept)
    claim = Claim(number=1, text=pair.claim)
    document = Document(number=1, text=pair.document, title=pair.title)
    said = await labeler.logprobs(claim, document, meter)
    if cache is not None and key is not None:
        cache.put(key, {label.value: value for label, value in said.items()})
    return Scored(pair.claim, pair.label, said)


def fit_calibration(scored: Sequence[Scored], fitted_on: str, *, bias: bool = False) -> Calibration:
    """Find the calibration under which people's labels are most likely.

    Args:
        scored: Pairs with what the labeler says of them, in any order.
        fitted_on: Names the data, for the record.
        bias: Also fit a bias for SUPPORTS and CONTRADICTS, against IRRELEVANT. It carries how
            common each label is in these pairs into every verdict.
    """
    if not scored:
        raise ValueError("no pairs to fit on")
    require_statistics()
    from scipy.optimize import minimize

    said = np.array(
        sorted([*(one.logprobs[k] for k in _LABELS), _LABELS.index(one.gold)] for one in scored)
    )
    logprobs, gold = said[:, :3], said[:, 3].astype(int)
    truth = np.eye(3)[gold]

    def loss(parameters: NDArray[Any]) -> tuple[float, NDArray[Any]]:
        values = parameters[0] * logprobs + np.append(parameters[1:], [0.0] * (4 - len(parameters)))
        values -= values.max(axis=1, keepdims=True)
        log_p = values - np.log(np.exp(values).sum(axis=1, keepdims=True))
        error = np.exp(log_p) - truth
        gradient = np.append((error * logprobs).sum(), error.sum(axis=0)[: len(parameters) - 1])
        return float(-log_p[truth == 1].mean()), gradient / len(gold)

    start, bounds = ([1.0, 0.0, 0.0], [_SLOPES, _BIASES, _BIASES]) if bias else ([1.0], [_SLOPES])
    found = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=bounds)
    slope, *biases = (float(value) for value in found.x)
    fitted = {label: round(b, 3) for label, b in zip(_LABELS, biases, strict=False)}
    return Calibration(temperature=round(1 / slope, 3), bias=fitted, fitted_on=fitted_on)


def cross_fitted(
    scored: Sequence[Scored], *, bias: bool = False, seed: int = 0
) -> CalibrationFigures:
    """Measure a calibration on claims that it was not fitted on.

    The claims are halved by seed; each half is measured with what was fitted on the other.
    """
    folds: list[list[Scored]] = [[] for _ in range(_FOLDS)]
    for one in sorted(scored, key=_content):  # sums of floats depend on the order
        folds[lot("calibration", seed, one.claim)[0] % _FOLDS].append(one)
    if not all(folds):
        raise InputError("too few claims to measure a calibration on others than it is fitted on")
    after: list[tuple[Scored, Mapping[Label, float]]] = []
    for held_out, fitted_on in zip(folds, reversed(folds), strict=True):
        calibration = fit_calibration(fitted_on, "the other half", bias=bias)
        after += [(one, calibration.probabilities(one.logprobs)) for one in held_out]
    before = [(one, UNCALIBRATED.probabilities(one.logprobs)) for one, _ in after]
    return CalibrationFigures(n=len(scored), before=_sureness(before), after=_sureness(after))


def _content(one: Scored) -> tuple[str, Label, list[float]]:
    return one.claim, one.gold, [one.logprobs[label] for label in _LABELS]


def _sureness(judged: Sequence[tuple[Scored, Mapping[Label, float]]]) -> Sureness:
    given = [(one.gold, max(p, key=p.__getitem__), p) for one, p in judged]
    agreement = scores((gold, label) for gold, label, _ in given)
    losses = [-np.log(max(p[gold], 1e-12)) for gold, _, p in given]
    return Sureness(
        accuracy=agreement.accuracy,
        macro_f1=agreement.macro_f1,
        log_loss=float(np.mean(losses)),
        reliability=reliability([(min(1.0, p[label]), label is gold) for gold, label, p in given]),
    )


def _cache_key(labeler: LogprobLabeler, pair: LabelledPair) -> dict[str, Any] | None:
    if labeler.identity is None:
        return None
    judge = {key: value for key, value in labeler.identity.items() if key != "calibration"}
    shown = "\0".join((pair.title, pair.document))
    document = hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
    return {"logprobs": 1, "claim": pair.claim, "document": document, "judge": judge}


_BAR_CHARS = 20


def calibration_cards(
    name: str, calibration: Calibration, figures: CalibrationFigures
) -> tuple[Card, Card]:
    """A calibration that was fitted on all pairs, with its figures on claims that it never saw."""
    parts = [f"temperature {calibration.temperature:.3f}"]
    parts += [f"bias of {label} {value:+.3f}" for label, value in calibration.bias.items()]
    before, after = figures.before, figures.after
    return Card(
        f"Calibration of {one_line(name)}: {', '.join(parts)}",
        ("", "before", "after"),
        (
            ("accuracy %", percent(before.accuracy), percent(after.accuracy)),
            ("macro-F1 %", percent(before.macro_f1), percent(after.macro_f1)),
            ("log loss", f"{before.log_loss:.3f}", f"{after.log_loss:.3f}"),
            ("Brier score", _three(before.reliability.brier), _three(after.reliability.brier)),
            ("calibration error", _three(before.reliability.ece), _three(after.reliability.ece)),
        ),
        f"{counted(figures.n, 'pair')}, each half of the claims by what the other half gives;"
        " guessing has log loss 1.099",
    ), reliability_card(after.reliability, "Is the labeler as sure as it is right, after?")


def reliability_card(found: Reliability, title: str) -> Card:
    """How often labels of each score are right; of at least one score."""
    return Card(
        title,
        ("score", "labels", "mean score %", "right %", "95 % interval", ""),
        tuple(
            (
                f"{one.low:.1f} to {one.high:.1f}",
                f"{one.right.n:,}",
                percent(one.mean_score),
                percent(one.right.value),
                span(percent(one.right.low), percent(one.right.high)),
                _bar(one),
            )
            for one in found.bins
            if one.right.n
        ),
        "bars: how many are right; |: how many the scores say",
        after=(
            f"Brier score {found.brier:.3f}, expected calibration error {found.ece:.3f} (0 is"
            f" best), {counted(found.n, 'label')}",
        ),
    )


def _three(value: float | None) -> str:
    return "none" if value is None else f"{value:.3f}"


def _bar(one: ReliabilityBin) -> str:
    right, said = (round(_BAR_CHARS * (x or 0)) for x in (one.right.value, one.mean_score))
    bar = ("#" * right).ljust(_BAR_CHARS, ".")
    return f"{bar[:said]}|{bar[said:]}"
