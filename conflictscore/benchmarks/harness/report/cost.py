"""Cost and failures of a run, as tables."""

from collections import defaultdict
from collections.abc import Iterable, Iterator

from conflictscore.benchmarks.harness.figures import Cost
from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.records import Usage
from conflictscore.reporting.figure_text import counted, money, one_line, seconds
from conflictscore.reporting.plain_table import Card

SHOWN_REASONS = 5
CHANGES = ("corrected", "harmed")


def failure_cards(results: Iterable[QuestionResult], most: int | None = None) -> Iterator[Card]:
    """Why methods failed, and why answers have no verdict or score; equal reasons folded.

    Questions are counted, so a reason that several methods of a question share counts once.
    """
    found = defaultdict[str, defaultdict[str, dict[str, None]]](lambda: defaultdict(dict))
    for result in results:
        for name, method in result.methods.items():
            verdicts = (("Unjudged", verdict.error) for verdict in method.verdicts.values())
            report = method.report if name == BASELINE else None
            for what, error in (
                ("Failed", method.error),
                *verdicts,
                ("Not scored", report.error if report else None),
            ):
                if error is not None:
                    found[what][one_line(error)][result.question.id] = None
    for what, reasons in found.items():
        rows = [
            (reason, f"{len(ids):,}", one_line(next(iter(ids)), 40))
            for reason, ids in reasons.items()
        ]
        more = len(rows[most:]) if most else 0
        yield Card(
            what,
            ("reason", "questions", "such as"),
            tuple(rows[:most]),
            f"and {counted(more, 'more reason')}" if more else "",
            free_text=True,
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
