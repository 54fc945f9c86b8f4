"""conflictscore model."""

from pathlib import Path

import click

from conflictscore.errors import InputError

__all__ = ["model"]


@click.group()
def model() -> None:
    """Download and list the models that run on this machine."""


@model.command("list")
def list_models() -> None:
    """List the models with their size, licence and location."""
    from conflictscore.labelers.nli.adapted import NLI_MPNET
    from conflictscore.models import local

    for weights in local.CATALOG.values():
        path = local.fetched(weights)
        click.echo(f"local:{weights.name}")
        click.echo(f"  {weights.title}, {weights.size / 1e6:,.0f} MB, {weights.licence}")
        click.echo(f"  {weights.note}")
        click.echo(f"  {path or 'not fetched; conflictscore model fetch ' + weights.name}")
    weights, path = NLI_MPNET.archive, NLI_MPNET.fetched()
    click.echo(NLI_MPNET.name)
    click.echo(f"  {weights.title}, {weights.size / 1e6:,.0f} MB, {weights.licence}")
    click.echo(f"  {NLI_MPNET.note}")
    click.echo(f"  {path or 'not fetched; conflictscore model fetch ' + NLI_MPNET.name}")


@model.command("fetch")
@click.argument("name", default="")
def fetch_model(name: str) -> None:
    """Download a model once, by default the one that ``local`` means; resumes if stopped.

    nli-mpnet is the larger model of --labeler nli.
    """
    from conflictscore.labelers.nli.adapted import NLI_MPNET
    from conflictscore.models import local

    if name == NLI_MPNET.name:
        click.echo(NLI_MPNET.fetch())
        return
    weights = local.resolve(name.removeprefix("local").removeprefix(":"))
    if isinstance(weights, Path):
        raise InputError(f"{name} is a file on this machine; use it as --model local:{weights}")
    click.echo(local.fetched(weights) or local.fetch_with_bar(weights))
