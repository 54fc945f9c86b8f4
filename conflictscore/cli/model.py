"""conflictscore model."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.storage.fetching import Weights


@click.group()
def model() -> None:
    """Download and list the models that run on this machine."""


@model.command("list")
def list_models() -> None:
    """List the models with their size, licence and location."""
    from conflictscore.labelers.nli.adapted import NLI_MPNET
    from conflictscore.models.local import CATALOG
    from conflictscore.storage.fetching import fetched

    for weights in CATALOG.values():
        _show(f"local:{weights.name}", weights, weights.note, fetched(weights))
    _show(NLI_MPNET.name, NLI_MPNET.archive, NLI_MPNET.note, NLI_MPNET.fetched())


def _show(name: str, weights: "Weights", note: str, path: Path | None) -> None:
    click.echo(name)
    click.echo(f"  {weights.title}, {weights.size / 1e6:,.0f} MB, {weights.licence}")
    click.echo(f"  {note}")
    command = f"conflictscore model fetch {name.removeprefix('local:')}"
    click.echo(f"  {path or f'not fetched; {command}'}")


@model.command("fetch")
@click.argument("name", default="")
def fetch_model(name: str) -> None:
    """Download a model; resume an interrupted download.

    Without NAME, download everything that local use needs: the language model behind `local`, and
    nli-mpnet, an NLI model that labels better than the bundled one and is asked before the language
    model.
    """
    from conflictscore.labelers.nli.adapted import NLI_MPNET
    from conflictscore.labelers.registry import nli_is_installed
    from conflictscore.models.local import resolve
    from conflictscore.storage.fetching import fetch_with_bar, fetched

    if name == NLI_MPNET.name:
        click.echo(NLI_MPNET.fetch())
        return
    weights = resolve(name.removeprefix("local").removeprefix(":"))
    if isinstance(weights, Path):
        raise InputError(f"{name} is a file on this machine; use it as --model local:{weights}")
    click.echo(fetched(weights) or fetch_with_bar(weights))
    if not name and nli_is_installed():
        click.echo(NLI_MPNET.fetch())
