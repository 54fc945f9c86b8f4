"""Converts the log-probabilities of three labels into calibrated probabilities.

Temperature scaling brings probabilities closer to actual frequencies without changing which label
is the most probable. Each NLI model has one temperature, fitted on labelled pairs
(``training/calibrate.py``).
"""

from collections.abc import Mapping
from math import exp, fsum
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conflictscore.errors import ConfigurationError
from conflictscore.records import Label, first_fault


class Calibration(BaseModel):
    """Temperature scaling: P(label) is the softmax over labels of log-probability / temperature."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    temperature: float = Field(gt=0)
    """Above 1 for an overconfident model, below 1 for an underconfident one."""
    fitted_on: str
    """The name of the data set used for fitting, and the number of its pairs."""

    def probabilities(self, logprobs: Mapping[Label, float]) -> dict[Label, float]:
        """Return calibrated probabilities, which sum to 1, for natural log-probabilities."""
        scores = {k: x / self.temperature for k, x in logprobs.items()}
        top = max(scores.values())  # subtracted, so that no exponential overflows
        weights = {label: exp(score - top) for label, score in scores.items()}
        total = fsum(weights.values())
        return {label: weight / total for label, weight in weights.items()}


def rounded(probabilities: Mapping[Label, float]) -> dict[Label, float]:
    """Return probabilities as records hold them: in [0, 1], rounded to four places.

    More places would only make records longer. Rounding errors may take a sum slightly above 1.
    """
    return {label: min(1.0, round(p, 4)) for label, p in probabilities.items()}


UNCALIBRATED = Calibration(temperature=1.0, fitted_on="nothing")
"""The calibration that keeps the model's own probabilities, normalised to sum to 1."""


class FittedCalibration(BaseModel):
    """A calibration with the model that it was fitted for; it is valid for no other model."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    labeler: Literal["nli"] = "nli"
    model: str
    """The digest of the model's files."""
    calibration: Calibration


def read_calibration(path: Path, *, model: str) -> Calibration:
    """Read a calibration from a JSON file that contains a :class:`FittedCalibration`."""
    try:
        fitted_calibration = FittedCalibration.model_validate_json(path.read_bytes())
    except OSError as error:
        raise ConfigurationError(f"cannot read the calibration: {error}") from error
    except ValidationError as error:
        field, why = first_fault(error)
        raise ConfigurationError(f"{path}: {field or 'the file'}: {why}") from error
    if fitted_calibration.model != model:
        raise ConfigurationError(
            f"{path} was fitted for the model {fitted_calibration.model}, but this is "
            f"{model}; fit it again or remove it"
        )
    return fitted_calibration.calibration
