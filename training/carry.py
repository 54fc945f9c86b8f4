"""Make the weights to start from, average and adjust them, and carry them in pieces."""

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
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option(
    "--encoder",
    default="minilm",
    type=click.Choice(["minilm", "mpnet"]),
    show_default=True,
    help="all-MiniLM-L6-v2, 6 layers, 91 MB to fetch; or all-mpnet-base-v2, 12 layers, 404 MB.",
)
@click.option("--layers", type=click.IntRange(min=1), help="Only so many, the first; else all.")
def start(out: Path, encoder: str, layers: int | None) -> None:
    """Write start.npz, the weights of an encoder, and its tokenizer.json; fetched if need be."""
    from conflictscore.labelers.nli.adapted import MPNET
    from conflictscore.storage.fetching import fetch_with_bar, fetched
    from training.encoder_files import MINILM, open_minilm, open_mpnet

    if encoder == "minilm":
        found = open_minilm(fetched(MINILM) or fetch_with_bar(MINILM))
        read = weights.from_minilm(found.tensors)
    else:
        found = open_mpnet(fetched(MPNET) or fetch_with_bar(MPNET))
        read = weights.from_mpnet(found.tensors)
    if layers is not None:
        try:
            read = weights.first_layers(read, layers)
        except ValueError as error:
            raise click.BadParameter(str(error), param_hint="--layers") from error
    out.mkdir(parents=True, exist_ok=True)
    weights.save(read, out / "start.npz")
    (out / "tokenizer.json").write_text(found.tokenizer, "utf-8")


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
        found, pooling = unpacked(folder / "model.onnx")
    except (ConflictScoreError, ValueError) as error:
        raise click.BadParameter(str(error), param_hint="--model") from error
    out.mkdir(parents=True, exist_ok=True)
    weights.save(found, out / "start.npz", pooling=pooling)
    (out / "tokenizer.json").write_bytes((folder / "tokenizer.json").read_bytes())


@main.command()
@click.argument("trained", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--share", "shares", multiple=True, type=float, help="Of each; default: the same.")
def mean(trained: tuple[Path, ...], file: Path, shares: tuple[float, ...]) -> None:
    """Write the mean of TRAINED weights, of runs from the same start, as FILE."""
    try:
        found = weights.mean([weights.load(path) for path in trained], shares or None)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="TRAINED") from error
    weights.save(found, file, pooling=weights.pooling_of(trained[0]))


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
    weights.save(found, file, pooling=weights.pooling_of(trained))


@main.command()
@click.argument("file", type=click.Path(exists=True, path_type=Path))
@click.argument("folder", type=click.Path(file_okay=False, path_type=Path))
def split(file: Path, folder: Path) -> None:
    """Cut FILE in pieces of at most 15 MiB."""
    for piece in weights.split(file, folder):
        click.echo(f"{piece} {piece.stat().st_size}")


@main.command()
@click.argument("pieces", nargs=-1, required=True, type=click.Path(exists=True, path_type=Path))
@click.argument("file", type=click.Path(path_type=Path))
def join(pieces: tuple[Path, ...], file: Path) -> None:
    """Put PIECES together as FILE."""
    weights.join(list(pieces), file)


if __name__ == "__main__":
    main()
