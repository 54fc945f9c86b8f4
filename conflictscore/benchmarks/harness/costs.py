"""Cost of a run and of each method: as paid, and as if no reply came from a cache.

The cost of a net correction is what the method costs without a cache. Counted are, for

- ``regenerated-rag``: what the loop cost beyond its first answer, so claims, labels and the second
  answer, of all questions, those without conflict included. As in the paper, the score and the
  explanation of the second answer are not part of it;
- ``guarded-rag``: the same with that score, by which the guard decides;
- all others: their own step.

Grading is counted to no method: it measures, and would not be done in use.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

from conflictscore.benchmarks.harness.figures import Cost
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS, steps
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.records import Usage

Money = Callable[[Mapping[str, Usage]], tuple[float | None, tuple[str, ...]]]
"""From usage by model to US dollars, and the models whose price is not known."""

_ByModel = Mapping[str, Usage]


def run_cost(
    results: Sequence[QuestionResult], net_corrections: Mapping[str, int], *, money: Money
) -> Cost:
    """Add up what the steps cost, and set what each method cost beside what it brought."""
    usage = _sum(models for result in results for models in result.usage.values())
    taken = [step for step in steps() if any(step in result.usage for result in results)]
    cold = _cold(usage)
    paid_money, unpriced = money(usage)
    cold_money, unknown = money(usage if cold is None else cold)
    dollars: dict[str, float | None] = {}
    tokens: dict[str, float | None] = {}
    for method, net in net_corrections.items():
        spent = _beyond_baseline(results, method) if net > 0 else None
        each = None if spent is None else money(spent)[0]
        dollars[method] = None if each is None else each / net
        total = sum((spent or {}).values(), Usage())
        tokens[method] = None if spent is None else (total.input_tokens + total.output_tokens) / net
    return Cost(
        usage=usage,
        by_step={
            step: sum((u for r in results for u in r.usage.get(step, {}).values()), Usage())
            for step in taken
        },
        money=paid_money,
        cold_money=None if cold is None else cold_money,
        uncounted_calls=sum(used.cached_calls - used.counted_calls for used in usage.values()),
        unknown_prices=tuple(dict.fromkeys((*unpriced, *unknown))),
        seconds=fsum(seconds for result in results for seconds in result.seconds.values()),
        net_corrections=dict(net_corrections),
        cold_money_per_net_correction=dollars,
        tokens_per_net_correction=tokens,
    )


def _beyond_baseline(results: Iterable[QuestionResult], method: str) -> dict[str, Usage] | None:
    """See the module; None where what a reply of a cache or a first answer cost is not known."""
    parts: list[_ByModel] = []
    for result in results:
        whole = _cold(result.usage.get(METHODS[method].step or method, {}))
        if whole is None:
            return None
        if METHODS[method].step == LOOP and LOOP in result.usage:
            if result.first_usage is None:
                return None
            checks = {} if method == "guarded-rag" else result.check_usage or {}
            less = _sum((result.first_usage, checks))
            whole = {model: used - less.get(model, Usage()) for model, used in whole.items()}
        parts.append(whole)
    return _sum(parts)


def _cold(models: _ByModel) -> dict[str, Usage] | None:
    """The usage had every reply of a cache been a call; None where a cache does not know it."""
    known = {model: cold for model, used in models.items() if (cold := used.cold) is not None}
    return known if len(known) == len(models) else None


def _sum(parts: Iterable[_ByModel]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for models in parts:
        for model, usage in models.items():
            total[model] = total.get(model, Usage()) + usage
    return dict(sorted(total.items()))
