"""Cost of a run and of each method: as paid, and as if no reply came from a cache.

The cost of a net correction is what the method costs without a cache. Counted are, for

- ``regenerated-rag``: what the loop cost beyond its first answer, so claims, labels and the second
  answer, of all questions, those without conflict included. As in the paper, the score and the
  explanation of the second answer are not part of it;
- ``guarded-rag``: the same with that score, by which the guard decides;
- others that look again because of the conflict that the loop found: the same, without which they
  would not know what to ask, and their own step; the loop's second answer is counted in where the
  run has one;
- all others: their own step.

Grading is counted to no method: it measures, and would not be done in use.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

from conflictscore.benchmarks.harness.figures import Cost
from conflictscore.benchmarks.harness.methods.registry import LOOP, method_of, steps
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.records import Usage

Money = Callable[[Mapping[str, Usage]], tuple[float | None, tuple[str, ...]]]
"""From usage by model to US dollars, and the models whose price is not known."""

_ByModel = Mapping[str, Usage]


def run_cost(
    results: Sequence[QuestionResult],
    net_corrections: Mapping[str, int],
    *,
    money: Money,
    first_usage: Mapping[str, _ByModel],
    check_usage: Mapping[str, _ByModel] = {},
) -> Cost:
    """Add up what the steps cost, and set what each method cost beside what it brought.

    Args:
        results: One a question.
        net_corrections: Corrected less harmed, by the methods other than the baseline.
        money: What usage costs.
        first_usage: What the first answers alone cost, by question and model. What a second look
            cost is not known where a question with a loop is absent.
        check_usage: What it cost to score and explain the last answers, by question and model.
    """
    usage = _sum(models for result in results for models in result.usage.values())
    paid = {
        step: _sum(result.usage.get(step, {}) for result in results)
        for step in steps()
        if any(step in result.usage for result in results)
    }
    cold = _cold(usage)
    cold_money, unknown = money(usage if cold is None else cold)
    spent = {
        method: _beyond_baseline(results, method, first_usage, check_usage)
        for method in net_corrections
    }
    each = net_corrections.items()
    return Cost(
        usage=usage,
        by_step={step: _all_models(models) for step, models in paid.items()},
        money=money(usage)[0],
        cold_money=None if cold is None else cold_money,
        uncounted_calls=sum(used.cached_calls - used.counted_calls for used in usage.values()),
        unknown_prices=tuple(dict.fromkeys((*money(usage)[1], *unknown))),
        seconds=fsum(seconds for result in results for seconds in result.seconds.values()),
        net_corrections=dict(net_corrections),
        cold_money_per_net_correction={
            m: _each(money(models)[0] if (models := spent[m]) is not None else None, net)
            for m, net in each
        },
        tokens_per_net_correction={m: _each(_tokens(spent[m]), net) for m, net in each},
    )


def _beyond_baseline(
    results: Iterable[QuestionResult],
    method: str,
    first_usage: Mapping[str, _ByModel],
    check_usage: Mapping[str, _ByModel],
) -> dict[str, Usage] | None:
    """See the module; None where what a reply of a cache or a first answer cost is not known."""
    look = method_of(method)
    parts: list[_ByModel | None] = []
    for result in results:
        if look.step != LOOP:
            parts.append(_cold(result.usage.get(look.step, {})))
        if look.looks_again and not look.own_loop and LOOP in result.usage:
            whole, first = _cold(result.usage[LOOP]), first_usage.get(result.question.id)
            if whole is None or first is None:
                return None
            beyond = _less(whole, first)
            if method != "guarded-rag":
                beyond = _less(beyond, check_usage.get(result.question.id, {}))
            parts.append(beyond)
    known = [part for part in parts if part is not None]
    return _sum(known) if len(known) == len(parts) else None


def _cold(models: _ByModel) -> dict[str, Usage] | None:
    """The usage had every reply of a cache been a call; None where a cache does not know it."""
    cold = {model: used.cold for model, used in models.items()}
    known = {model: used for model, used in cold.items() if used is not None}
    return known if len(known) == len(cold) else None


def _sum(parts: Iterable[_ByModel]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for models in parts:
        for model, usage in models.items():
            total[model] = total.get(model, Usage()) + usage
    return dict(sorted(total.items()))


def _less(whole: _ByModel, part: _ByModel) -> dict[str, Usage]:
    return {model: usage - part.get(model, Usage()) for model, usage in whole.items()}


def _all_models(models: _ByModel) -> Usage:
    return sum(models.values(), Usage())


def _tokens(models: _ByModel | None) -> int | None:
    if models is None:
        return None
    total = _all_models(models)
    return total.input_tokens + total.output_tokens


def _each(spent: float | None, net: int) -> float | None:
    return spent / net if spent is not None and net > 0 else None
