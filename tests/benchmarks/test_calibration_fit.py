"""Fitting a calibration: it finds what was put in, and is measured on claims it never saw."""

import random
from math import exp, log

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conflictscore.benchmarks.calibration_fit import Scored, cross_fitted, fit_calibration
from conflictscore.errors import InputError
from conflictscore.labelers.calibration import Calibration
from conflictscore.records import Label

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)


def said_by(true: Calibration, count: int, seed: int = 0) -> list[Scored]:
    """Pairs whose labels are drawn with the probabilities that this calibration gives."""
    rng = random.Random(seed)
    found = []
    for n in range(count):
        weights = [exp(rng.gauss(0, 1.5)) for _ in _LABELS]
        logprobs = {k: log(w / sum(weights)) for k, w in zip(_LABELS, weights, strict=True)}
        p = true.probabilities(logprobs)
        [gold] = rng.choices(_LABELS, [p[label] for label in _LABELS])
        found.append(Scored(f"claim {n}", gold, logprobs))
    return found


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_the_temperature_that_was_put_in_is_found(temperature: float) -> None:
    true = Calibration(temperature=temperature, fitted_on="made")
    fitted = fit_calibration(said_by(true, 4000), "4000 made pairs")
    assert fitted.temperature == pytest.approx(temperature, rel=0.1)
    assert fitted.bias == {}
    assert fitted.fitted_on == "4000 made pairs"


def test_the_bias_that_was_put_in_is_found() -> None:
    bias = {Label.SUPPORTS: -1.2, Label.CONTRADICTS: 0.7}
    true = Calibration(temperature=2.0, bias=bias, fitted_on="made")
    fitted = fit_calibration(said_by(true, 6000), "made", bias=True)
    assert fitted.temperature == pytest.approx(2.0, rel=0.15)
    assert fitted.bias == {label: pytest.approx(value, abs=0.15) for label, value in bias.items()}


def test_a_labeler_without_a_fault_gets_a_finite_temperature() -> None:
    sure = {Label.SUPPORTS: -0.1, Label.CONTRADICTS: -3.0, Label.IRRELEVANT: -3.0}
    fitted = fit_calibration([Scored("c", Label.SUPPORTS, sure)], "one pair", bias=True)
    assert 0.04 < fitted.temperature <= 1


@settings(max_examples=10)
@given(st.randoms(use_true_random=False))
def test_the_order_of_pairs_does_not_matter(rng: random.Random) -> None:
    pairs = said_by(Calibration(temperature=1.5, fitted_on="made"), 60)
    shuffled = rng.sample(pairs, len(pairs))
    assert fit_calibration(shuffled, "x", bias=True) == fit_calibration(pairs, "x", bias=True)


def test_what_it_brings_is_measured_on_the_other_half() -> None:
    true = Calibration(temperature=4.0, bias={Label.SUPPORTS: -2.0}, fitted_on="made")
    figures = cross_fitted(said_by(true, 3000), bias=True)

    before, after = figures.before, figures.after
    assert figures.n == 3000
    assert after.log_loss < before.log_loss - 0.2
    assert after.macro_f1 > before.macro_f1
    assert after.reliability.ece is not None
    assert before.reliability.ece is not None
    assert after.reliability.ece < 0.05 < before.reliability.ece


def test_a_temperature_alone_changes_no_label() -> None:
    figures = cross_fitted(said_by(Calibration(temperature=4.0, fitted_on="made"), 500))
    assert figures.after.accuracy == figures.before.accuracy
    assert figures.after.log_loss < figures.before.log_loss


def test_one_claim_cannot_be_halved() -> None:
    pairs = [
        one._replace(claim="the one claim")
        for one in said_by(Calibration(temperature=1.0, fitted_on="made"), 9)
    ]
    with pytest.raises(InputError, match="too few claims to measure a calibration"):
        cross_fitted(pairs)


def test_there_must_be_pairs() -> None:
    with pytest.raises(ValueError, match="no pairs to fit on"):
        fit_calibration([], "nothing")
