"""Computes the cost of a run and of each method, as paid and as if nothing had been cached.

The cost of a net correction is based on the method's cost without a cache. It includes, for

- ``regenerated-rag``: the cost of the loop after its first answer, for all questions, with or
  without a conflict: claims, labels and the second answer. As in the paper, the score and the
  explanation of the second answer are not included;
- ``guarded-rag``: the same plus that score, which the guard needs;
- all other methods: their own step.

Grading belongs to no method: it measures, and is not needed in use.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

from conflictscore.benchmarks.harness.figures import Cost
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS, steps
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.records import Usage

Money = Callable[[Mapping[str, Usage]], tuple[float | None, tuple[str, ...]]]
"""A function from usage by model to US dollars and the models with unknown prices."""

_ByModel = Mapping[str, Usage]


def run_cost(
    question_results: Sequence[QuestionResult], net_corrections: Mapping[str, int], *, money: Money
) -> Cost:
    """Add up the cost of the steps, and compare each method's cost with its net corrections."""
    usage = _sum(
        models for question_result in question_results for models in question_result.usage.values()
    )
    cold = _cold(usage)
    paid_money, paid_unknown = money(usage)
    cold_money, cold_unknown = money(usage if cold is None else cold)
    dollars: dict[str, float | None] = {}
    tokens: dict[str, float | None] = {}
    for method, net in net_corrections.items():
        dollars[method], tokens[method] = _of_a_correction(question_results, method, net, money)
    return Cost(
        usage=usage,
        by_step=_by_step(question_results),
        money=paid_money,
        cold_money=None if cold is None else cold_money,
        uncounted_calls=sum(
            model_usage.cached_calls - model_usage.counted_calls for model_usage in usage.values()
        ),
        unknown_prices=tuple(dict.fromkeys((*paid_unknown, *cold_unknown))),
        seconds=fsum(
            seconds
            for question_result in question_results
            for seconds in question_result.seconds.values()
        ),
        net_corrections=dict(net_corrections),
        cold_money_per_net_correction=dollars,
        tokens_per_net_correction=tokens,
    )


def _by_step(question_results: Sequence[QuestionResult]) -> dict[str, Usage]:
    """The usage of each step that any question reached, in the order of the steps."""
    totals: dict[str, Usage] = {}
    for question_result in question_results:
        for step, models in question_result.usage.items():
            totals[step] = sum(models.values(), totals.get(step, Usage()))
    return {step: totals[step] for step in steps() if step in totals}


def _of_a_correction(
    question_results: Sequence[QuestionResult], method: str, net: int, money: Money
) -> tuple[float | None, float | None]:
    """Dollars and tokens per net correction; None if there is none, or if they are unknown."""
    usage_beyond = _beyond_baseline(question_results, method) if net > 0 else None
    if usage_beyond is None:
        return None, None
    dollars, _ = money(usage_beyond)
    total = sum(usage_beyond.values(), Usage())
    tokens = (total.input_tokens + total.output_tokens) / net
    return None if dollars is None else dollars / net, tokens


def _beyond_baseline(
    question_results: Iterable[QuestionResult], method: str
) -> dict[str, Usage] | None:
    """The usage of a method; see the module.

    None if the cost of a cached reply or a first answer is unknown.
    """
    parts: list[_ByModel] = []
    for question_result in question_results:
        whole = _cold(question_result.usage.get(METHODS[method].step or method, {}))
        if whole is None:
            return None
        if METHODS[method].step == LOOP and LOOP in question_result.usage:
            if question_result.first_usage is None:
                return None
            checks = {} if method == "guarded-rag" else question_result.check_usage or {}
            less = _sum((question_result.first_usage, checks))
            whole = {
                model: model_usage - less.get(model, Usage())
                for model, model_usage in whole.items()
            }
        parts.append(whole)
    return _sum(parts)


def _cold(models: _ByModel) -> dict[str, Usage] | None:
    """The usage as if every cached reply had been a call; None if a cache does not know it."""
    cold_by_model = {
        model: cold for model, usage in models.items() if (cold := usage.cold) is not None
    }
    return cold_by_model if len(cold_by_model) == len(models) else None


def _sum(parts: Iterable[_ByModel]) -> dict[str, Usage]:
    total: dict[str, Usage] = {}
    for models in parts:
        for model, usage in models.items():
            total[model] = total.get(model, Usage()) + usage
    return dict(sorted(total.items()))
