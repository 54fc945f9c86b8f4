"""From the log-probabilities of three letters to calibrated probabilities of three labels.

Temperature scaling: one number a model, fitted on labelled pairs
(``python -m conflictscore.benchmarks.calibrate``). It makes the probabilities honest and never
changes which label wins.
"""

import json
from collections.abc import Mapping
from functools import cache
from importlib import resources
from math import exp, fsum

from pydantic import BaseModel, ConfigDict, Field

from conflictscore.records import Label

__all__ = ["UNCALIBRATED", "Calibration", "shipped_calibration"]


class Calibration(BaseModel):
    """Probability of a label = softmax over labels of log-probability / temperature."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    temperature: float = Field(gt=0)
    """Above 1 where the model is too sure of itself, below 1 where it is too shy."""
    fitted_on: str
    """The data, and how many pairs of it."""

    def probabilities(self, logprobs: Mapping[Label, float]) -> dict[Label, float]:
        """Calibrated probabilities, in [0, 1], that add up to 1.

        Args:
            logprobs: Natural log-probability of each label's letter.
        """
        top = max(logprobs.values())
        weights = {k: exp((value - top) / self.temperature) for k, value in logprobs.items()}
        total = fsum(weights.values())
        return {label: weight / total for label, weight in weights.items()}


UNCALIBRATED = Calibration(temperature=1.0, fitted_on="nothing")
"""The model's own probabilities, made to add up to 1."""


def shipped_calibration(model: str, prompt_sha256: str) -> Calibration:
    """The calibration that comes with this package for a model and the prompt it was fitted with.

    Returns:
        :data:`UNCALIBRATED` for another model, or where the prompt is no longer the same.
    """
    entry = _shipped().get(model)
    if entry is None or entry.prompt_sha256 != prompt_sha256:
        return UNCALIBRATED
    return entry.calibration


class _Shipped(BaseModel):
    model_config = ConfigDict(extra="forbid")

    prompt_sha256: str
    calibration: Calibration


@cache
def _shipped() -> dict[str, _Shipped]:
    text = (resources.files(__package__) / "calibrations.json").read_text("utf-8")
    return {model: _Shipped.model_validate(entry) for model, entry in json.loads(text).items()}
