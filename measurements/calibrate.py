"""Fit the calibration of the labeler ``choice`` on labelled pairs.

Takes the rows that ``python -m measurements.label_accuracy --labeler choice`` wrote,
and fits one temperature by maximum likelihood. Fit on other data than you measure on. With
``--write`` the result becomes the one that this package ships for the model.
"""

import json
from importlib.resources import files
from pathlib import Path
from typing import Any

import click

from conflictscore.benchmarks.calibration_fit import Scored, fit_calibration
from conflictscore.labelers.choice_judge import choice_prompt_sha256
from conflictscore.prompts import PromptSet
from conflictscore.records import Label
from measurements.label_accuracy import read_rows

__all__ = ["main"]


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
    scored = [
        Scored(row["id"], Label(row["gold"]), {Label(k): v for k, v in row["logprobs"].items()})
        for row in chosen
    ]
    calibration = fit_calibration(scored, f"{len(chosen)} pairs of {', '.join(sources)}")
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
