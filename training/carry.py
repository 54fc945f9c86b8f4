"""Take a model's weights out to start from, average and adjust them."""

from pathlib import Path

import click
import numpy as np

from conflictscore.errors import ConflictScoreError
from training import weights

__all__ = ["main"]


@click.group(help=__doc__)
def main() -> None:
    """Group of the commands."""


@main.command()
@click.option(
    "--model",
    help="A folder of training.export, or nli-mpnet; by default the model of the package.",
)
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
def unpack(model: str | None, out: Path) -> None:
    """Write start.npz out of a model, to train it further, and its tokenizer.json."""
    from conflictscore.labelers.nli.model import resolve
    from training.unpacking import unpacked

    try:
        folder = resolve(model)
        found = unpacked(folder / "model.onnx")
    except (ConflictScoreError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--model") from error
    out.mkdir(parents=True, exist_ok=True)
    weights.save(found, out / "start.npz")
    (out / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())


@main.command()
@click.argument("trained", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def mean(trained: tuple[Path, ...], file: Path) -> None:
    """Write the mean of TRAINED weights, of runs from the same start, as FILE."""
    try:
        found = weights.mean([weights.load(path) for path in trained])
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="TRAINED") from error
    weights.save(found, file)


@main.command()
@click.argument("trained", type=click.Path(exists=True, path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--supports", default=0.0, show_default=True, help="Added to its logit.")
@click.option("--contradicts", default=0.0, show_default=True, help="Added to its logit.")
def bias(trained: Path, file: Path, supports: float, contradicts: float) -> None:
    """Write TRAINED weights that take sides more readily, or less, as FILE."""
    found = weights.load(trained)
    if "head.bias" not in found:
        raise click.BadParameter("these weights were not trained", param_hint="TRAINED")
    found["head.bias"] += np.array([supports, contradicts, 0.0], np.float32)
    weights.save(found, file)


if __name__ == "__main__":
    main()
