"""Computes the cost of a run and of each method, both as paid and as if nothing had been cached.

The cost per net correction is the cost of a method divided by the method's number of net
corrections. The cost is computed as if nothing had been cached. The parts of the cost depend on the
method:

- ``regenerated-rag``: the cost of everything that the loop does after its first answer, that is, of
  extracting claims, of labelling them and of giving the second answer. Questions without a conflict
  are included. As in the paper, the cost of scoring and explaining the second answer is not
  included.
- ``guarded-rag``: the same cost plus the cost of scoring the second answer, which the guard needs.
- any other method: the cost of its own step.

The cost of grading is not attributed to any method, since answers are graded only to measure the
methods.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import fsum

from conflictscore.benchmarks.harness.figures import Cost
from conflictscore.benchmarks.harness.methods.registry import LOOP, METHODS, steps
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.records import Usage

Money = Callable[[Mapping[str, Usage]], tuple[float | None, tuple[str, ...]]]
"""A function that takes the usage of each model. The function returns the cost in US dollars, and
the models with unknown prices.
"""

_ByModel = Mapping[str, Usage]


def run_cost(
    question_results: Sequence[QuestionResult], net_corrections: Mapping[str, int], *, money: Money
) -> Cost:
    """Add up the cost of the steps, and divide the cost of each method by its net corrections."""
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
    """Add up the usage of each step, in the order of the steps; leave out steps never reached."""
    totals: dict[str, Usage] = {}
    for question_result in question_results:
        for step, models in question_result.usage.items():
            totals[step] = sum(models.values(), totals.get(step, Usage()))
    return {step: totals[step] for step in steps() if step in totals}


def _of_a_correction(
    question_results: Sequence[QuestionResult], method: str, net: int, money: Money
) -> tuple[float | None, float | None]:
    """Compute dollars and tokens per net correction; None if they are unknown or undefined."""
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
    """Add up the usage that a method adds to the baseline, as the module's docstring describes.

    Returns None if the cost of a cached reply or of a first answer is unknown.
    """
    parts: list[_ByModel] = []
    for question_result in question_results:
        # if the step has not run for this question, it has cost nothing
        whole = _cold(question_result.usage.get(METHODS[method].step or method, {}))
        if whole is None:
            return None
        if METHODS[method].step == LOOP and LOOP in question_result.usage:
            if question_result.first_usage is None:
                return None
            # Of the loop's methods, only guarded-rag needs the score of the last answer. The loop
            # states both parts or neither, so the check's usage is not missing here.
            checks = {} if method == "guarded-rag" else question_result.check_usage or {}
            less = _sum((question_result.first_usage, checks))
            whole = {
                model: model_usage - less.get(model, Usage())
                for model, model_usage in whole.items()
            }
        parts.append(whole)
    return _sum(parts)


def _cold(models: _ByModel) -> dict[str, Usage] | None:
    """Compute the usage as if nothing had been cached; None if a cache lacks token counts."""
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
