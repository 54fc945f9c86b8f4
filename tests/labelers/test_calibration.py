"""From log-probabilities to probabilities that can be believed."""

from math import exp, log

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from conflictscore.labelers import calibration as module
from conflictscore.labelers.calibration import (
    UNCALIBRATED,
    Calibration,
    FittedCalibration,
    shipped_calibration,
)
from conflictscore.labelers.choice_judge import ChoiceJudge, choice_prompt_sha256
from conflictscore.models.local import DEFAULT
from conflictscore.records import Label
from tests.fakes.openai_server import OpenAIServer, script
from tests.labelers.judging import PROMPTS
from tests.models.calling import calling

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


@given(logprobs=three(_moderate))
def test_uncalibrated_probabilities_are_the_models_own_made_to_add_up(
    logprobs: dict[Label, float],
) -> None:
    total = sum(exp(value) for value in logprobs.values())
    expected = {label: exp(value) / total for label, value in logprobs.items()}
    assert UNCALIBRATED.probabilities(logprobs) == pytest.approx(expected)


@given(logprobs=three(_moderate), temperature=st.floats(0.5, 5))
def test_a_temperature_divides_the_log_odds_and_keeps_the_winner(
    logprobs: dict[Label, float], temperature: float
) -> None:
    found = fitted(temperature).probabilities(logprobs)
    distance = logprobs[Label.CONTRADICTS] - logprobs[Label.SUPPORTS]
    odds = log(found[Label.CONTRADICTS]) - log(found[Label.SUPPORTS])
    assert odds == pytest.approx(distance / temperature, abs=1e-9)
    assert found[max(logprobs, key=logprobs.__getitem__)] == max(found.values())


@pytest.mark.parametrize("temperature", [0.0, -1.0, float("nan"), float("inf")])
def test_a_temperature_that_makes_no_sense_is_refused(temperature: float) -> None:
    with pytest.raises(ValidationError):
        fitted(temperature)


def test_a_calibration_is_written_as_it_always_was() -> None:
    """It is part of what verdicts are kept under."""
    assert fitted(2.0).model_dump(mode="json") == {"temperature": 2.0, "fitted_on": "these tests"}


@pytest.fixture
def shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    entry = FittedCalibration(
        labeler="choice",
        model="test-model",
        prompt_sha256=choice_prompt_sha256(PROMPTS),
        calibration=fitted(2.0),
    )
    monkeypatch.setattr(module, "_SHIPPED", {"test-model": entry})


@pytest.mark.usefixtures("shipped")
class TestShipped:
    def test_it_is_used_for_its_model_with_the_prompt_it_was_fitted_with(self) -> None:
        found = shipped_calibration("test-model", choice_prompt_sha256(PROMPTS))
        assert found == fitted(2.0)

    def test_another_model_or_another_prompt_has_none(self) -> None:
        assert shipped_calibration("other-model", choice_prompt_sha256(PROMPTS)) == UNCALIBRATED
        assert shipped_calibration("test-model", "0" * 64) == UNCALIBRATED

    def test_a_judge_takes_it_unless_it_is_given_one(self) -> None:
        with OpenAIServer(script()) as server:
            model = calling(server)
        assert ChoiceJudge(model, PROMPTS).calibration == fitted(2.0)
        assert ChoiceJudge(model, PROMPTS, calibration=UNCALIBRATED).calibration == UNCALIBRATED


def test_the_shipped_calibrations_belong_to_the_shipped_prompt() -> None:
    """A changed prompt switches them off: fit them again (docs/findings/labelers.md)."""
    used = choice_prompt_sha256(PROMPTS)

    assert shipped_calibration(f"local:{DEFAULT.name}", used) is not UNCALIBRATED
