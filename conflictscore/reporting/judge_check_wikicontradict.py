"""What a check of WikiContradict's judge shows."""

from collections.abc import Mapping
from typing import Any

import click

from conflictscore.benchmarks.wikicontradict.agreement import UNJUDGED, Agreement, JudgeCheck
from conflictscore.benchmarks.wikicontradict.judge import Rating
from conflictscore.records import Usage

__all__ = ["print_wikicontradict_check"]


def print_wikicontradict_check(about: Mapping[str, Any], figures: JudgeCheck, usage: Usage) -> None:
    """Show how well the judge agrees with people.

    Args:
        about: ``judge`` and ``endpoint``.
        figures: The agreement.
        usage: What it cost.
    """
    click.echo(f"judge of wikicontradict: {about['judge']} at {about['endpoint']}")
    said = (*reversed(Rating), UNJUDGED)
    click.echo(f"\n{'people say':>18} | " + " ".join(f"{one:>17}" for one in said))
    for rating in reversed(Rating):
        cells = " ".join(f"{figures.overall.confusion[rating][one]:>17}" for one in said)
        click.echo(f"{rating:>18} | {cells}")
    click.echo(
        f"\n{'':30} {'judged':>8} {'accuracy':>9} {'commonest':>9} {'balanced':>9} {'kappa':>7}"
    )
    _print_row("all", figures.overall)
    for prompt, part in figures.by_prompt.items():
        _print_row(f"template {prompt}", part)
    for kind, part in figures.by_type.items():
        _print_row(kind, part)
    whole = figures.overall
    mean = whole.accuracy_by_question
    bounds = "" if mean.low is None else f" [{mean.low:.3f}, {mean.high:.3f}]"
    click.echo("commonest: the accuracy of always giving the rating that people gave most")
    click.echo(f"\naccuracy by question, bootstrap 95 % interval: {_number(mean.value)}{bounds}")
    click.echo(f"kappa where one step off is half wrong: {_number(whole.cohen_kappa_linear)}")
    click.echo(
        f"\n{usage.calls} calls and {usage.cached_calls} replies from the cache;"
        f" {usage.input_tokens} input and {usage.output_tokens} output tokens"
    )


def _print_row(name: str, part: Agreement) -> None:
    click.echo(
        f"{name:30} {f'{part.n - part.unjudged}/{part.n}':>8} {_number(part.accuracy.value):>9}"
        f" {_number(part.commonest.value):>9} {_number(part.balanced_accuracy):>9}"
        f" {_number(part.cohen_kappa):>7}"
    )


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
