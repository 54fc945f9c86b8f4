"""What ``conflictscore bench … --dry-run`` says."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from conflictscore.benchmarks.harness.benchmark import Benchmark
    from conflictscore.benchmarks.harness.setup import Setup
    from conflictscore.models.prices import PriceTable

__all__ = ["dry_run"]

_FREE = ("corpus", "recorded")
"""Searches that cost nothing."""


def dry_run(
    benchmark: "Benchmark",
    folder: Path,
    setup: "Setup",
    prices: "PriceTable",
    settings: Mapping[str, Any],
) -> None:
    """Print what the run is expected to take, or what is left of one that was begun."""
    from rich.console import Console

    from conflictscore.benchmarks.harness.dry_run import MOST_PLAYED, estimate
    from conflictscore.benchmarks.harness.report.estimate import print_estimate
    from conflictscore.benchmarks.harness.store import RunStore

    recorded = RunStore.read(folder).records() if (folder / "manifest.json").exists() else ()
    expected = estimate(
        benchmark,
        setup,
        prices=prices,
        free_search=setup.context.retriever is not None and _costs_nothing(settings),
        recorded=recorded,
        retry_failed=settings["retry_failed"],
    )
    if len(benchmark.questions) > MOST_PLAYED:
        click.echo(
            f"Note: counted on {MOST_PLAYED} of {len(benchmark.questions)} questions, and scaled",
            err=True,
        )
    if note := _labels_note(setup):
        click.echo(note, err=True)
    if settings["as_json"]:
        click.echo(json.dumps(expected.to_json(), indent=2))
    else:
        print_estimate(expected, Console(highlight=False, markup=False, emoji=False))


def _costs_nothing(settings: Mapping[str, Any]) -> bool:
    searches = [part.strip().partition(":")[0] for part in (settings["search"] or "").split(",")]
    return not settings["read_pages"] and all(
        search in _FREE or (not search and settings["docs"]) for search in searches
    )


def _labels_note(setup: "Setup") -> str | None:
    """How far the labels are in the estimate, where that is not all of it."""
    from conflictscore.labelers.cascade import Cascade
    from conflictscore.labelers.nli.labeler import NliLabeler

    match setup.context.labeler:
        case Cascade():
            return (
                "Note: labels are an upper bound: every pair is counted, and the cascade"
                " asks its judge about the hard ones only"
            )
        case NliLabeler():
            return "Note: labels are made on this machine, by no call"
    return None
