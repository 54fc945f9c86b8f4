"""Fit the calibration of the labeler ``choice`` on labelled pairs.

Takes the rows that ``python -m measurements.label_accuracy --labeler choice`` wrote,
and fits one temperature by maximum likelihood. Fit on other data than you measure on. With
``--write`` the result becomes the one that this package ships for the model.
"""

import json
from collections.abc import Mapping, Sequence
from importlib.resources import files
from pathlib import Path
from typing import Any

import click
import numpy as np

from conflictscore.labelers.calibration import Calibration
from conflictscore.labelers.choice_judge import choice_prompt_sha256
from conflictscore.prompts import PromptSet
from conflictscore.records import Label
from measurements.label_accuracy import read_rows

__all__ = ["fit", "main"]

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
_SLOPES = np.geomspace(0.02, 20, 2000)
"""Values of 1 / temperature that are tried."""


def fit(pairs: Sequence[tuple[Mapping[Label, float], Label]], fitted_on: str) -> Calibration:
    """Find the temperature under which people's labels are most likely.

    Args:
        pairs: (log-probability of each label's letter, people's label), at least one.
        fitted_on: Names the data, for the record.

    Raises:
        ValueError: There are no pairs.
    """
    if not pairs:
        raise ValueError("no pairs to fit on")
    logprobs = np.array([[scores[label] for label in _LABELS] for scores, _ in pairs])
    gold = np.array([_LABELS.index(people) for _, people in pairs])
    scores = _SLOPES[:, None, None] * (logprobs - logprobs.max(axis=1, keepdims=True))
    right = scores[:, np.arange(len(pairs)), gold]
    likelihood = (right - np.log(np.exp(scores).sum(axis=2))).sum(axis=1)
    slope = float(_SLOPES[likelihood.argmax()])
    return Calibration(temperature=round(1 / slope, 3), fitted_on=fitted_on)


@click.command(help=__doc__)
@click.argument("rows", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", required=True, help="The model's name, as the rows' labeler shows it.")
@click.option("--write", is_flag=True, help="Put the result into the package.")
def main(rows: Path, model: str, write: bool) -> None:
    """Print the calibration as JSON."""
    chosen = [
        row for row in read_rows(rows) if row["labeler"] == f"choice({model})" and "logprobs" in row
    ]
    if not chosen:
        raise click.ClickException(f"{rows}: no rows of choice({model}) with log-probabilities")
    sources = sorted({row["id"].split(":")[0] for row in chosen})
    calibration = fit(
        [({Label(k): v for k, v in row["logprobs"].items()}, Label(row["gold"])) for row in chosen],
        f"{len(chosen)} pairs of {', '.join(sources)}",
    )
    entry: dict[str, Any] = {
        "prompt_sha256": choice_prompt_sha256(PromptSet.load()),
        "calibration": calibration.model_dump(mode="json"),
    }
    click.echo(json.dumps({model: entry}, indent=2))
    if write:
        shipped = Path(str(files("conflictscore.labelers") / "calibrations.json"))
        known = json.loads(shipped.read_text("utf-8"))
        shipped.write_text(json.dumps(known | {model: entry}, indent=2) + "\n", "utf-8")


if __name__ == "__main__":
    main()
