"""What a run is expected to take, for a person at a terminal who decides whether to start it."""

from collections.abc import Callable, Iterator

from rich.console import Console
from rich.text import Text

from conflictscore.benchmarks.harness.estimate import Amount, Estimate, Range
from conflictscore.reporting.figure_text import counted, money, one_line, percent
from conflictscore.reporting.plain_table import add_row, heading, plain_table

__all__ = ["print_estimate"]


def print_estimate(estimate: Estimate, console: Console) -> None:
    """Print calls, tokens and cost by step and model: what to expect, and between which bounds.

    Args:
        estimate: The result of a dry run.
        console: Where to.
    """
    if not estimate.questions:
        console.print(Text("Nothing is left to ask."))
        return
    heading(console, f"Expected for {counted(estimate.questions, 'question')} (low to high)")
    table = plain_table("step", "calls", "tokens in", "tokens out", "dollars", free_text=True)
    for part in estimate.parts:
        add_row(table, f"{part.step}\n{one_line(part.model)}", *_cells(part))
    if len(estimate.by_model) > 1:
        for name, amount in estimate.by_model.items():
            table.add_section()
            add_row(table, f"all steps\n{one_line(name)}", *_cells(amount))
    table.add_section()
    add_row(table, "total", *_cells(estimate.total), style="bold")
    console.print(table)
    for sentence in _assumed(estimate):
        console.print(Text(sentence))


def _cells(amount: Amount) -> list[str]:
    dollars = "unknown" if amount.cost is None else _range(amount.cost, money)
    counts = (amount.calls, amount.input_tokens, amount.output_tokens)
    return [*(_range(count, _short) for count in counts), dollars]


def _range(amount: Range, written: Callable[[float], str]) -> str:
    """The expected figure above its bounds, which are left out where they say nothing more."""
    low, expected, high = map(written, (amount.low, amount.expected, amount.high))
    return expected if low == high else f"{expected}\n{low} to {high}"


def _short(number: float) -> str:
    """A count with three or four digits, such as ``8,812``, ``120.3k`` and ``1.21M``."""
    if number < 9_999.5:
        return f"{number:,.0f}"
    return f"{number / 1e3:.1f}k" if number < 999_950 else f"{number / 1e6:,.2f}M"


def _assumed(estimate: Estimate) -> Iterator[str]:
    if estimate.unknown_prices:
        yield f"dollars: {money(None, estimate.unknown_prices)}"
    if estimate.assumed_documents:
        told = estimate.assumptions
        tokens = told.document_tokens
        yield (
            f"The documents of {counted(estimate.assumed_documents, 'question')} are not known yet:"
            f" {told.documents.expected:.0f} a question are assumed, of {tokens.low:.0f} to"
            f" {tokens.high:.0f} tokens."
        )
    rate = estimate.assumptions.conflict_rate
    yield (
        f"Assumed: {percent(rate.expected)} % of first answers have evidence on both sides"
        f" ({percent(rate.low)} to {percent(rate.high)})."
    )
    yield "A reply that a cache holds is counted as a call."
