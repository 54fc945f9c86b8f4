"""The cost estimate that ``conflictscore bench NAME --dry-run`` prints.

Limits without a stated reason were chosen by hand.
"""

import json
from collections.abc import Mapping
from typing import Any

import click

from conflictscore.cli.bench_plan import BenchPlan
from conflictscore.cli.common import plain_console

_SNIPPET_TOKENS, _PAGE_TOKENS = 45, 1500
"""Assumed lengths, in tokens, of a search result's snippet and of its page.

An estimate runs no search, so it cannot measure these lengths.
"""


def print_estimate(plan: BenchPlan) -> None:
    """Print the expected cost of a whole run, including any part that is already done."""
    from conflictscore.benchmarks.harness.dry_run import estimate, estimate_card, power_card
    from conflictscore.benchmarks.harness.outcome import read_run
    from conflictscore.reporting.plain_table import print_card

    settings, benchmark = plan.settings, plan.benchmark
    costs = estimate(benchmark, plan.setup, prices=plan.prices, assumed_documents=_assumed(plan))
    if settings["as_json"]:
        click.echo(json.dumps(costs.to_json(), indent=2))
        return
    folder = plan.runs[0].folder
    has_begun = (folder / "manifest.json").exists()
    cards = [
        estimate_card(costs),
        power_card(benchmark, read_run(folder, plan.prices).figures.paired if has_begun else ()),
    ]
    for card in filter(None, cards):
        print_card(card, plain_console())
    if (seeds := settings["seeds"]) > 1:
        click.echo(
            f"The estimate is for one run; {seeds} runs cost at most {seeds} times as much. "
            "Identical answers share their labels, and all runs share documents."
        )


def _assumed(plan: BenchPlan) -> tuple[int, int] | None:
    """Return the assumed number of documents per question, and the tokens per document.

    If no search costs money, the documents can be counted, and the function returns None. Otherwise
    a note tells the user what is assumed.
    """
    settings = plan.settings
    if plan.setup.context.retriever is None or _is_free(settings):
        return None
    page_tokens = settings["passage_tokens"] or _PAGE_TOKENS
    tokens = page_tokens if settings["read_pages"] else _SNIPPET_TOKENS
    click.echo(
        f"Note: the estimate assumes {settings['top_k']} documents of {tokens} tokens per "
        "question; the search itself may cost money",
        err=True,
    )
    return settings["top_k"], tokens


def _is_free(settings: Mapping[str, Any]) -> bool:
    """Return whether all documents come from files on this machine."""
    search = (settings["search"] or "").partition(":")[0].strip()
    is_local = search in ("corpus", "recorded") or (not search and bool(settings["docs"]))
    return is_local and not settings["read_pages"]
