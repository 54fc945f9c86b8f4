"""Cost and failures of a run, as tables."""

from collections.abc import Iterable, Iterator

from conflictscore.benchmarks.harness.figures import Cost
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import counted, money, one_line, seconds
from conflictscore.reporting.plain_table import Card

_SHOWN_REASONS = 5
CHANGES = ("corrected", "harmed")


def failure_cards(results: Iterable[QuestionResult]) -> Iterator[Card]:
    """Why methods failed and why answers are unjudged; equal reasons folded, few shown.

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
        if reasons:
            shown = list(reasons.items())[:_SHOWN_REASONS]
            more = len(reasons) - len(shown)
            yield Card(
                what,
                (),
                tuple((counted(len(ids), "question"), reason) for reason, ids in shown),
                f"and {counted(more, 'more reason')}" if more else "",
                gap=2,
            )


def cost_cards(cost: Cost, *, verbose: bool, changes: tuple[str, str] = CHANGES) -> Iterator[Card]:
    """Calls and tokens by model, money, time, and what a net correction cost."""
    if not cost.usage:
        yield Card("Cost", after=("no model was called",))
        return
    told = [f"dollars: {money(cost.money, cost.unknown_prices)}"]
    if any(used.cached_calls for used in cost.usage.values()):
        lost = cost.uncounted_calls
        why = f" ({counted(lost, 'call')} from a cache that knows no tokens)" if lost else ""
        told.append(f"without a cache: {money(cost.cold_money)}{why}")
    if found := sum(used.cache_read_tokens for used in cost.usage.values()):
        told.insert(0, f"of the tokens in, {found:,} were in a provider's prompt cache")
    told.append(f"time of all steps together: {seconds(cost.seconds)}")
    yield _usage("Cost", "model", cost.usage.items(), () if verbose else told)
    if verbose:
        yield _usage("", "step", cost.by_step.items(), told)
    if not cost.net_corrections:
        return
    rows = []
    for method, net in cost.net_corrections.items():
        dollars = cost.cold_money_per_net_correction.get(method)
        tokens = cost.tokens_per_net_correction.get(method)
        rows.append(
            (
                method,
                f"{net:+,}" if net else "0",
                "no gain" if net <= 0 else money(dollars),
                "no gain" if net <= 0 else "unknown" if tokens is None else f"{tokens:,.0f}",
            )
        )
    net_name = "net corrections" if changes == CHANGES else " less ".join(changes)
    yield Card(
        "",
        ("method", net_name, "dollars for\neach", "tokens for\neach"),
        tuple(rows),
        "without a cache",
    )


def _usage(
    title: str, what: str, usages: Iterable[tuple[str, Usage]], after: Iterable[str]
) -> Card:
    return Card(
        title,
        (what, "calls", "from the cache", "tokens in", "tokens out"),
        tuple(
            (
                one_line(name),
                f"{used.calls:,}",
                f"{used.cached_calls:,}",
                f"{used.input_tokens:,}",
                f"{used.output_tokens:,}",
            )
            for name, used in usages
        ),
        free_text=True,
        after=tuple(after),
    )
