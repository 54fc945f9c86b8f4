"""The commands ``model list`` and ``model fetch``."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.storage.fetching import Weights


_EXAMPLES = """\b
Examples:
  conflictscore model list
  conflictscore model fetch
  conflictscore model fetch nli-mpnet
"""


@click.group(epilog=_EXAMPLES)
def model() -> None:
    """Download and list the models that run on this machine."""


@model.command("list", short_help="List the models, with size, licence and location.")
def list_models() -> None:
    """List the models that can be downloaded, with size, licence and location."""
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
    click.echo(f"  {path or f'not downloaded yet; run: {command}'}")


@model.command("fetch", epilog=_EXAMPLES)
@click.argument("name", default="")
def fetch_model(name: str) -> None:
    """Download the model NAME, or resume its download. `model list` shows the names.

    Without NAME, download everything that local use needs: the language model behind `local` and,
    if the extra [nli] is installed, nli-mpnet. This NLI model labels better than the bundled one;
    runs with a local model use it as soon as it is downloaded.
    """
    from conflictscore.labelers.nli.adapted import NLI_MPNET
    from conflictscore.labelers.registry import nli_is_installed
    from conflictscore.models.local import resolve
    from conflictscore.storage.fetching import fetch_with_bar, fetched

    if name == NLI_MPNET.name:
        click.echo(NLI_MPNET.fetch())
        return
    # `model list` shows the prefix "local:", but the name is enough
    weights = resolve("" if name == "local" else name.removeprefix("local:"))
    if isinstance(weights, Path):
        raise InputError(f"{name} is a file on this machine; use it as --model local:{weights}")
    click.echo(fetched(weights) or fetch_with_bar(weights))
    if not name and nli_is_installed():
        click.echo(NLI_MPNET.fetch())
