"""``conflictscore bench … --dry-run``: the calls, tokens and dollars that a run will take."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click
from rich.console import Console

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.dry_run import Estimate, estimate
from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.outcome import read_run
from conflictscore.benchmarks.harness.power import mcnemar_power, questions_needed
from conflictscore.benchmarks.harness.setup import Setup
from conflictscore.benchmarks.paper_figures import paper_figures
from conflictscore.labelers.cascade import Cascade
from conflictscore.models.prices import PriceTable
from conflictscore.reporting.figure_text import counted, money, one_line, percent, points
from conflictscore.reporting.plain_table import Card, print_card

__all__ = ["dry_run", "estimate_card", "power_card"]

_FREE = ("corpus", "recorded")
"""Searches that cost nothing."""
_SNIPPET_TOKENS, _PAGE_TOKENS = 45, 1500
_GAINS = (0.01, 0.02, 0.03, 0.05, 0.1)
"""Gains of which a dry run tells how many questions they take."""


def dry_run(
    benchmark: Benchmark,
    folder: Path,
    setup: Setup,
    prices: PriceTable,
    settings: Mapping[str, Any],
) -> None:
    """Print what a run is expected to take, with no part of one that was begun taken off."""
    assumed = None
    if setup.context.retriever is not None and not _is_free(settings):
        whole = settings["passage_tokens"] or _PAGE_TOKENS
        assumed = settings["top_k"], whole if settings["read_pages"] else _SNIPPET_TOKENS
        click.echo(
            f"Note: {assumed[0]} documents of {assumed[1]} tokens are assumed per question;"
            " searching for them may cost money",
            err=True,
        )
    if isinstance(setup.context.labeler, Cascade):
        click.echo(
            "Note: labels are an upper bound: every pair is counted, and the cascade asks its"
            " judge about the hard ones only",
            err=True,
        )
    expected = estimate(benchmark, setup, prices=prices, assumed=assumed)
    if settings["as_json"]:
        click.echo(json.dumps(expected.to_json(), indent=2))
        return
    console = Console(highlight=False, markup=False, emoji=False)
    print_card(estimate_card(expected), console)
    if (seeds := settings["seeds"]) > 1:
        click.echo(
            f"For one run; {seeds} take at most {seeds} times as much, and less if answers are"
            " the same: labels and documents are shared."
        )
    begun = read_run(folder, prices).figures if (folder / "manifest.json").exists() else None
    if card := power_card(len(benchmark.questions), benchmark, begun):
        print_card(card, console)


def power_card(questions: int, benchmark: Benchmark, begun: Figures | None) -> Card | None:
    """The questions that show a gain over rag, if answers change as in what is known.

    ``begun`` has the figures of a run that was begun. None if the first measure is graded, so that
    there are no changes to count.
    """
    paper = paper_figures(benchmark.name, benchmark.form)
    rates = [
        ("this run so far", pair.corrected, pair.harmed, pair.n)
        for pair in (begun.paired if begun else ())
        if (pair.method, pair.measure) == ("regenerated-rag", benchmark.measures[0])
    ]
    if paper and (told := paper.transitions):
        rates.append(("the paper", told.corrections, told.harms, paper.questions))
    rates = [rate for rate in rates if rate[1] + rate[2]]
    if benchmark.measures[0] in benchmark.graded:
        return None
    rows = []
    for gain in _GAINS:
        shares = [(up + down) / n for _, up, down, n in rates] + [gain]
        needed = [questions_needed(max(gain, share), gain) for share in shares]
        rows.append((points(gain), *("none" if n is None else f"{n:,}" for n in needed)))
    notes = []
    for name, up, down, n in rates:
        note = f"{name}: {percent((up + down) / n)} % of answers change"
        if up > down:
            gain, rate = (up - down) / n, (up + down) / n
            takes, power = questions_needed(rate, gain), mcnemar_power(questions, rate, gain)
            note += (
                f"; its gain of {points(gain)} takes {takes or 0:,} questions, and this run's"
                f" {questions:,} show it with a chance of {percent(power)} %"
            )
        notes.append(note)
    return Card(
        "Questions that show a gain over rag (exact McNemar test at 5 %, power 80 %)",
        ("points", *(f"changes as in\n{name}" for name, *_ in rates), "all for\nthe better"),
        tuple(rows),
        "\n".join(notes),
    )


def _is_free(settings: Mapping[str, Any]) -> bool:
    searches = [part.strip().partition(":")[0] for part in (settings["search"] or "").split(",")]
    return not settings["read_pages"] and all(
        search in _FREE or (not search and settings["docs"]) for search in searches
    )


def estimate_card(estimate: Estimate) -> Card:
    """Calls, tokens and cost by step and model, each expected figure above its bounds."""
    rows = []
    for levels in zip(estimate.low, estimate.expected, estimate.high, strict=True):
        low, expected, high = (
            [*map(_short, (one.calls, one.input_tokens, one.output_tokens)), money(one.cost)]
            for one in levels
        )
        cells = [
            e if a == b else f"{e}\n{a} to {b}" for a, e, b in zip(low, expected, high, strict=True)
        ]
        rows.append((f"{levels[0].step}\n{one_line(levels[0].model)}".strip(), *cells))
    unknown = estimate.unknown_prices
    return Card(
        f"Expected for {counted(estimate.questions, 'question')} (low to high)",
        ("step", "calls", "tokens in", "tokens out", "dollars"),
        tuple(rows),
        free_text=True,
        after=(
            *([f"dollars: {money(None, unknown)}"] if unknown else []),
            f"Expected: {percent(estimate.conflict_rate)} % of first answers have evidence on both"
            " sides.",
            "A reply that a cache or the run's folder holds is counted as a call.",
        ),
    )


def _short(number: float) -> str:
    """A count with three or four digits, such as ``8,812``, ``120.3k`` and ``1.21M``."""
    if number < 9_999.5:
        return f"{number:,.0f}"
    return f"{number / 1e3:.1f}k" if number < 999_950 else f"{number / 1e6:,.2f}M"
