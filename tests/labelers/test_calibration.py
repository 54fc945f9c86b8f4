from math import exp

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from conflictscore.labelers.calibration import UNCALIBRATED, Calibration
from conflictscore.records import Label

LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
LOWEST_OF_LLAMA_CPP = -3.4028234663852886e38

_moderate = st.floats(-30, 0)
_any_logprob = st.floats(-1e4, 0) | st.just(LOWEST_OF_LLAMA_CPP) | st.just(-9999.0)
_temperature = st.floats(0.05, 20)


def three(values: st.SearchStrategy[float]) -> st.SearchStrategy[dict[Label, float]]:
    return st.fixed_dictionaries(dict.fromkeys(LABELS, values))


def fitted(temperature: float = 1.0) -> Calibration:
    return Calibration(temperature=temperature, fitted_on="these tests")


@given(logprobs=three(_any_logprob), temperature=_temperature)
def test_probabilities_are_probabilities_and_add_up_to_one(
    logprobs: dict[Label, float], temperature: float
) -> None:
    probabilities = fitted(temperature).probabilities(logprobs)
    assert set(probabilities) == set(LABELS)
    assert all(0 <= value <= 1 for value in probabilities.values())
    assert sum(probabilities.values()) == pytest.approx(1, abs=1e-12)


@given(logprobs=three(_moderate), temperature=st.none() | st.floats(0.5, 5))
def test_a_temperature_divides_the_log_odds_which_are_else_the_models_own(
    logprobs: dict[Label, float], temperature: float | None
) -> None:
    calibration = fitted(temperature) if temperature else UNCALIBRATED
    found = calibration.probabilities(logprobs)
    odds = {label: exp(value / (temperature or 1)) for label, value in logprobs.items()}
    assert found == pytest.approx({k: value / sum(odds.values()) for k, value in odds.items()})
    assert found[max(logprobs, key=logprobs.__getitem__)] == max(found.values())


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_makes_no_sense_is_refused(temperature: float) -> None:
    with pytest.raises(ValidationError):
        fitted(temperature)


def test_a_calibration_is_written_as_it_always_was() -> None:
    """The calibration is part of the key of stored verdicts."""
    assert fitted(2.0).model_dump(mode="json") == {"temperature": 2.0, "fitted_on": "these tests"}
