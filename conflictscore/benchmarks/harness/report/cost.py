"""What a run cost, what failed in it, and what it would cost, for a person at a terminal."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from conflictscore.benchmarks.harness.figures import Cost
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import counted, money, one_line, seconds
from conflictscore.reporting.plain_table import add_row, aside, heading, plain_table

__all__ = ["print_cost", "print_failures"]

_SHOWN_REASONS = 5
_CHANGES = ("corrected", "harmed")


def print_failures(results: Iterable[QuestionResult], console: Console) -> None:
    """Print why methods failed and why answers are unjudged; equal reasons folded, few shown.

    Questions are counted, so a reason that several methods of a question share counts once.
    """
    failed: dict[str, set[str]] = {}
    unjudged: dict[str, set[str]] = {}
    for result in results:
        for method in result.methods.values():
            if method.error is not None:
                failed.setdefault(one_line(method.error), set()).add(result.question.id)
            for verdict in method.verdicts.values():
                if verdict.error is not None:
                    unjudged.setdefault(one_line(verdict.error), set()).add(result.question.id)
    for what, reasons in (("Failed", failed), ("Unjudged", unjudged)):
        if not reasons:
            continue
        heading(console, what)
        table = Table.grid(padding=(0, 2))
        for reason, questions in list(reasons.items())[:_SHOWN_REASONS]:
            add_row(table, counted(len(questions), "question"), reason)
        console.print(table)
        if (more := len(reasons) - _SHOWN_REASONS) > 0:
            aside(console, f"and {counted(more, 'more reason')}")


def print_cost(
    cost: Cost, console: Console, *, verbose: bool, changes: tuple[str, str] = _CHANGES
) -> None:
    """Print calls and tokens by model, money, time, and what a net correction cost.

    Args:
        cost: What the run cost.
        console: Where to.
        verbose: Also calls and tokens by step.
        changes: What a change for the better and one for the worse are called.
    """
    heading(console, "Cost")
    if not cost.usage:
        console.print(Text("no model was called"))
        return
    _print_usage("model", cost.usage.items(), console)
    if verbose:
        console.print()
        _print_usage("step", ((step, used) for step, used in cost.by_step.items()), console)
    if found := sum(used.cache_read_tokens for used in cost.usage.values()):
        console.print(Text(f"of the tokens in, {found:,} were in a provider's prompt cache"))
    console.print(Text(f"dollars: {money(cost.money, cost.unknown_prices)}"))
    console.print(Text(f"time of all steps together: {seconds(cost.seconds)}"))
    if not cost.net_corrections:
        return
    console.print()
    net_name = "net corrections" if changes == _CHANGES else " less ".join(changes)
    table = plain_table("method", net_name, "dollars for each", "tokens for each")
    for method, net in cost.net_corrections.items():
        dollars = cost.money_per_net_correction.get(method)
        tokens = cost.tokens_per_net_correction.get(method)
        add_row(
            table,
            method,
            f"{net:+,}" if net else "0",
            "no gain" if net <= 0 else money(dollars),
            "no gain" if net <= 0 else "unknown" if tokens is None else f"{tokens:,.0f}",
        )
    console.print(table)


def _print_usage(what: str, usages: Iterable[tuple[str, Usage]], console: Console) -> None:
    table = plain_table(what, "calls", "from the cache", "tokens in", "tokens out", free_text=True)
    for name, used in usages:
        add_row(
            table,
            one_line(name),
            f"{used.calls:,}",
            f"{used.cached_calls:,}",
            f"{used.input_tokens:,}",
            f"{used.output_tokens:,}",
        )
    console.print(table)
