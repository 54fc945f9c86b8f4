"""Builds tables of a run's usage and cost, by model, by step and per net correction.

A method's net corrections are the answers that it made better, less those that it made worse.
"""

from collections.abc import Iterator, Sequence

from conflictscore.benchmarks.harness.figures import Cost, Figures
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import counted, money, one_line, seconds
from conflictscore.reporting.plain_table import Card, card_of


def cost_cards(figures: Figures, cost: Cost, *, verbose: bool) -> Iterator[Card]:
    """Tabulate the usage by model, and the cost per net correction.

    If ``verbose``, the usage is also shown by step.
    """
    if not cost.usage:
        yield Card("Cost", after=("no model was called",))
        return
    lines = list(_cost_lines(cost))
    yield _usage("Cost", "model", cost.usage, () if verbose else lines)
    if verbose:
        yield _usage("", "step", cost.by_step, lines)
    if cost.net_corrections:
        yield _corrections(figures, cost)


def _cost_lines(cost: Cost) -> Iterator[str]:
    """Describe tokens from providers' caches, the cost with and without our cache, and the time."""
    if cache_read_tokens := sum(usage.cache_read_tokens for usage in cost.usage.values()):
        yield f"{cache_read_tokens:,} of the input tokens came from a provider's prompt cache"
    yield f"dollars: {money(cost.money, cost.unknown_prices)}"
    if any(usage.cached_calls for usage in cost.usage.values()):
        calls = counted(cost.uncounted_calls, "call")
        why = f" ({calls} came from a cache without token counts)" if cost.uncounted_calls else ""
        yield f"without a cache: {money(cost.cold_money)}{why}"
    yield f"total time of all steps: {seconds(cost.seconds)}"


def _usage(title: str, what: str, usage: dict[str, Usage], after: Sequence[str]) -> Card:
    return card_of(
        title,
        (what, "calls", "from the cache", "tokens in", "tokens out"),
        [
            (one_line(name), u.calls, u.cached_calls, u.input_tokens, u.output_tokens)
            for name, u in usage.items()
        ],
        free_text=True,
        after=tuple(after),
    )


def _corrections(figures: Figures, cost: Cost) -> Card:
    """Tabulate dollars and tokens per net correction, as if nothing had been cached."""
    rows = []
    for method, net in cost.net_corrections.items():
        tokens = cost.tokens_per_net_correction.get(method)
        each = ("no gain", "no gain")
        if net > 0:
            dollars = money(cost.cold_money_per_net_correction.get(method))
            each = (dollars, "unknown" if tokens is None else f"{tokens:,.0f}")
        # the sign format would print 0 as +0
        rows.append((method, f"{net:+,}" if net else "0", *each))
    is_graded = figures.measures and figures.is_graded(figures.measures[0])
    changes = " less ".join(figures.change_words(figures.measures[0])) if is_graded else ""
    columns = ("method", changes or "net corrections", "dollars for\neach", "tokens for\neach")
    return card_of("", columns, rows, "without a cache")
