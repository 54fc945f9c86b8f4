"""What a check of NatConfQA's judge shows."""

from collections.abc import Mapping
from typing import Any

import click

from conflictscore.benchmarks.natconfqa.correlation import (
    Coefficient,
    DecisionAgreement,
    JudgeAgreement,
)
from conflictscore.records import Usage

__all__ = ["print_natconfqa_check"]


def print_natconfqa_check(about: Mapping[str, Any], figures: JudgeAgreement, usage: Usage) -> None:
    """Show how well the judge follows people.

    Args:
        about: ``judge``, ``endpoint``, ``uncounted`` (by answer and measure, why people's decisions
            cannot be counted) and ``failures`` (by answer, why decisions could not be had).
        figures: The agreement.
        usage: What it cost.
    """
    click.echo(f"judge of natconfqa: {about['judge']} at {about['endpoint']}")
    click.echo(f"{figures.answers} answers, judged by it and by people\n")
    click.echo(
        f"{'':20} {'n':>4} {'undefined':>9} {'unjudged':>8} {'uncounted':>9} {'people':>7}"
        f" {'judge':>7}"
    )
    for name, row in figures.measures.items():
        click.echo(
            f"{_named(name):20} {row.n:4} {row.undefined:9} {row.unjudged:8} {row.uncounted:9}"
            f" {_number(row.people_mean):>7} {_number(row.judge_mean):>7}"
        )
    click.echo("people, judge: the means of the measure over the n answers with both\n")
    click.echo(f"{'correlation':20} {'Pearson':>17} {'Spearman':>17} {'Kendall':>17}")
    for name, row in figures.measures.items():
        click.echo(
            f"{_named(name):20} {_shown(row.pearson):>17} {_shown(row.spearman):>17}"
            f" {_shown(row.kendall):>17}"
        )
    click.echo()
    _print_decisions("reference answers", figures.references)
    _print_decisions("conflicts of the questions", figures.reference_conflicts)
    for answer, reasons in about["uncounted"].items():
        for measure, reason in reasons.items():
            click.echo(f"people's {_named(measure)} of {answer} is not counted: {reason}")
    for answer, errors in about["failures"].items():
        click.echo(f"{answer}: {'; '.join(errors)}")
    click.echo(
        f"\n{usage.calls} calls and {usage.cached_calls} replies from the cache;"
        f" {usage.input_tokens} input and {usage.output_tokens} output tokens"
    )


def _print_decisions(name: str, figures: DecisionAgreement) -> None:
    same = figures.agreement
    click.echo(
        f"{name}: {same.count} of {same.n} decisions the same"
        f" ({_number(same.value)} [{_number(same.low)}, {_number(same.high)}]),"
        f" Cohen's kappa {_number(figures.cohen_kappa)}"
    )


def _named(measure: str) -> str:
    return measure.replace("_", " ")


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def _shown(coefficient: Coefficient | None) -> str:
    if coefficient is None:
        return "-"
    return f"{coefficient.value:.3f} (p {coefficient.p_value:.2g})"
