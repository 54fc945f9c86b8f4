"""conflictscore model."""

from pathlib import Path

import click

from conflictscore.errors import InputError

__all__ = ["model"]


@click.group()
def model() -> None:
    """Fetch and list the embedded local models."""


@model.command("list")
def list_models() -> None:
    """List the local models, with size, licence, and where they lie."""
    from conflictscore.models import local

    for weights in local.CATALOG.values():
        path = local.fetched(weights)
        click.echo(f"local:{weights.name}")
        click.echo(f"  {weights.title}, {weights.size / 1e6:,.0f} MB, {weights.licence}")
        click.echo(f"  {weights.note}")
        click.echo(f"  {path or 'not fetched; conflictscore model fetch ' + weights.name}")


@model.command("fetch")
@click.argument("name", default="")
def fetch_model(name: str) -> None:
    """Fetch a local model (by default the one that ``local`` means), once; goes on if stopped."""
    from conflictscore.models import local

    weights = local.resolve(name.removeprefix("local").removeprefix(":"))
    if isinstance(weights, Path):
        raise InputError(f"{name} is a file already; use it as --model local:{weights}")
    click.echo(local.fetched(weights) or local.fetch_with_bar(weights))
