"""Fits the temperature of an NLI model's probabilities on pairs that people labelled.

Put the file that it writes into the model's folder, as ``calibration.json``. The command prints the
log loss and the expected calibration error before and after fitting. On other pairs, the errors
after fitting are higher.
"""

import asyncio
from collections.abc import Mapping, Sequence
from math import log
from pathlib import Path
from statistics import fmean
from typing import Any

import click
import numpy as np

from conflictscore.benchmarks.conflict_detection.reliability import calibration_error
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration, FittedCalibration
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label
from training.human import balanced_sample, read_labelled
from training.pairs import Pair

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
_SLOPES = (0.02, 20.0)
"""Bounds of 1 / temperature, since perfectly separated labels have no optimum."""

Scored = tuple[Label, Mapping[Label, float]]
"""The label that people gave, and the labeler's log-probability of each label."""


def fit_temperature(scored: Sequence[Scored]) -> float:
    """Return the temperature that makes people's labels most likely, to three decimals."""
    from scipy.optimize import minimize_scalar

    logprobs = np.array([[said[label] for label in _LABELS] for _, said in scored])
    gold = np.array([_LABELS.index(label) for label, _ in scored])

    def loss(slope: float) -> float:
        values = slope * logprobs
        totals = np.logaddexp.reduce(values, axis=1)
        return float((totals - values[np.arange(len(gold)), gold]).mean())

    found: Any = minimize_scalar(loss, bounds=_SLOPES, method="bounded", options={"xatol": 1e-6})
    return round(1 / float(found.x), 3)


def _told(calibration: Calibration, scored: Sequence[Scored]) -> str:
    found = [(gold, calibration.probabilities(said)) for gold, said in scored]
    loss = fmean(-log(p[gold]) for gold, p in found)
    error = calibration_error([(max(p.values()), p[gold] == max(p.values())) for gold, p in found])
    return f"log loss {loss:.3f} (guessing {log(3):.3f}), expected calibration error {error:.3f}"


async def _scored(labeler: NliLabeler, pairs: Sequence[Pair]) -> list[Scored]:
    meter, scored = UsageMeter(), list[Scored]()
    for pair in pairs:
        claim = Claim(number=1, text=pair.claim)
        document = Document(number=1, text=pair.document, title=pair.title)
        scored.append((Label(pair.label), await labeler.logprobs(claim, document, meter)))
    return scored


@click.command(help=__doc__)
@click.argument("data", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--model", required=True, help="The folder of an NLI model.")
@click.option("--sample", type=int, help="Pairs per file, balanced by label. Default: all.")
@click.option("--seed", default=0, show_default=True)
@click.option("--out", type=click.Path(path_type=Path), required=True)
def main(data: Sequence[Path], model: str, sample: int | None, seed: int, out: Path) -> None:
    """Fit and write a calibration."""
    try:
        files = [[row.pair for row in read_labelled(file)] for file in data]
        drawn = [balanced_sample(read, sample, seed) if sample else read for read in files]
        pairs = [pair for read in drawn for pair in read]
        labeler = NliLabeler.open(model, calibration=UNCALIBRATED)
        scored = asyncio.run(_scored(labeler, pairs))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    named = ", ".join(sorted(file.stem for file in data))
    fitted = FittedCalibration(
        model=labeler.identity["model"],
        calibration=Calibration(
            temperature=fit_temperature(scored), fitted_on=f"{len(scored)} pairs of {named}"
        ),
    )
    out.write_text(fitted.model_dump_json(indent=2, exclude_none=True) + "\n", "utf-8")
    click.echo(f"as the model gives them: {_told(UNCALIBRATED, scored)}")
    click.echo(f"temperature {fitted.calibration.temperature}: {_told(fitted.calibration, scored)}")


if __name__ == "__main__":
    main()
