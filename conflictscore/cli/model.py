"""conflictscore model."""

from pathlib import Path

import click

from conflictscore.errors import InputError

__all__ = ["model"]


@click.group()
def model() -> None:
    """Download and list the embedded local models."""


@model.command("list")
def list_models() -> None:
    """List the local models with their size, licence and location."""
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
    """Download a local model once, by default the one that ``local`` means; resumes if stopped."""
    from conflictscore.models import local

    weights = local.resolve(name.removeprefix("local").removeprefix(":"))
    if isinstance(weights, Path):
        raise InputError(f"{name} is a file on this machine; use it as --model local:{weights}")
    click.echo(local.fetched(weights) or local.fetch_with_bar(weights))
