"""Computes the pooled figures of several runs from their records, with scipy and statsmodels.

The question is the unit of analysis: the values of all runs for a question are averaged first.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import reduce
from math import lcm
from statistics import fmean, stdev
from typing import Any, NamedTuple

import numpy as np
from scipy.stats import wilcoxon
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa
from statsmodels.stats.multitest import multipletests

from measurements.recompute_figures import judged_pairs, mean_of, reworded
from measurements.recompute_run import Run, scored_throughout

_Runs = Mapping[str, Run]
"""Runs by their names in the study."""


def study_figures(runs: _Runs, reported: Mapping[str, Any]) -> dict[str, Any]:
    """Return all recomputed figures of a study, in the form in which they are reported."""
    ids = [
        {question["id"] for question in run.questions if _is_begun(run, question)}
        for run in runs.values()
    ]
    return {
        "runs": list(runs),
        "questions": len(set.union(*ids)),
        "in_all": len(set.intersection(*ids)),
        "levels": [_level(runs, told) for told in reported["levels"]],
        "pairs": _with_holm([_pair(runs, told) for told in reported["pairs"]]),
        "transitions": [_transitions(runs, told) for told in reported["transitions"]],
        "categories": _with_holm([_gain(runs, told) for told in reported["categories"]]),
        "scores": [_scores(runs, method) for method in _scored_methods(runs)],
        "flips": [_flips(runs, told["method"]) for told in reported["flips"]],
    }


def _is_begun(run: Run, question: Mapping[str, Any]) -> bool:
    return bool(run.steps[question["id"]])


def _level(runs: _Runs, told: Mapping[str, Any]) -> dict[str, Any]:
    by_run: dict[str, list[float]] = {}
    by_question = defaultdict[str, list[float]](list)
    for name, run in runs.items():
        by_run[name] = []
        for question, answers in run.answers.items():
            verdict = answers.get(told["method"], {}).get("verdicts", {}).get(told["measure"])
            if verdict is not None:
                by_run[name].append(float(verdict))
                by_question[question].append(float(verdict))
    levels = {name: fmean(values) if values else None for name, values in by_run.items()}
    single = [level for level in levels.values() if level is not None]
    return {
        "method": told["method"],
        "measure": told["measure"],
        "level": mean_of([fmean(values) for values in by_question.values()]),
        "runs": levels,
        "between": stdev(single) if len(single) > 1 else None,
    }


def _differences(run: Run, told: Mapping[str, Any], measure: str) -> dict[str, float]:
    """Return the change of the verdict for each question whose two answers were judged."""
    against = told.get("against", "rag")
    differences = {}
    for question in run.questions:
        for before, after in judged_pairs(run, told["method"], against, measure, [question["id"]]):
            # twelve decimals, so that rounding errors do not count as differences
            differences[question["id"]] = round(after - before, 12)
    return differences


def _pair(runs: _Runs, told: Mapping[str, Any]) -> dict[str, Any]:
    by_run = [_differences(run, told, told["measure"]) for run in runs.values()]
    by_question = _merged(by_run)
    between, by_chance = _variation([one for one in by_run if one])
    return {
        "method": told["method"],
        "against": told["against"],
        "measure": told["measure"],
        "difference": mean_of([fmean(values) for values in by_question]),
        "p_value": _p_value(runs, told["measure"], by_question),
        "between": between,
        "by_chance": by_chance,
    }


def _merged(by_run: Sequence[Mapping[str, float]]) -> list[list[float]]:
    """Return the values for each question, in the order in which the questions first occur."""
    by_question = defaultdict[str, list[float]](list)
    for values in by_run:
        for question, value in values.items():
            by_question[question].append(value)
    return list(by_question.values())


def _p_value(runs: _Runs, measure: str, by_question: Sequence[Sequence[float]]) -> float | None:
    """Return p from the exact sign-flip test, or from Wilcoxon's test for a graded measure."""
    if not by_question:
        return None
    if measure in next(iter(runs.values())).graded:
        means = sorted(round(fmean(values), 12) for values in by_question)
        if not any(means):
            return 1.0
        p = float(wilcoxon(means, zero_method="pratt").pvalue)
        # the signs of k changes cannot give a smaller p than 2 / 2**k
        return max(p, 0.5 ** (np.count_nonzero(means) - 1))
    share = lcm(*map(len, by_question))
    totals = [round(fmean(values) * share) for values in by_question]
    # the probabilities of all possible sums are the coefficients of a product of polynomials
    factors = (_coin(abs(total)) for total in totals if total)
    chances = reduce(np.convolve, factors, np.ones(1))
    sums = np.arange(len(chances)) - len(chances) // 2
    return min(1.0, float(chances[np.abs(sums) >= abs(sum(totals))].sum()))


def _coin(size: int) -> Any:
    factor = np.zeros(2 * size + 1)
    factor[[0, -1]] = 0.5
    return factor


def _with_holm(tests: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    family = [test for test in tests if test["p_value"] is not None]
    if len(family) > 1:
        _, adjusted, _, _ = multipletests([test["p_value"] for test in family], method="holm")
        for test, p_holm in zip(family, adjusted, strict=True):
            test["p_holm"] = float(p_holm)
    return list(tests)


def _variation(by_run: Sequence[Mapping[str, float]]) -> tuple[float | None, float | None]:
    """Return the standard deviation of the runs' means, and the value expected by chance.

    The expected value follows from the interaction of runs and questions.
    """
    questions = set.intersection(*map(set, by_run)) if len(by_run) > 1 else set()
    if len(questions) < 2:
        return None, None
    table = np.array([[values[question] for question in sorted(questions)] for values in by_run])
    residuals = table - table.mean(axis=1, keepdims=True) - table.mean(axis=0) + table.mean()
    freedom = (table.shape[0] - 1) * (table.shape[1] - 1)
    chance = np.sqrt((residuals**2).sum() / freedom / table.shape[1])
    return float(table.mean(axis=1).std(ddof=1)), float(chance)


class _Outcome(NamedTuple):
    """The outcome of a first answer with a conflict; ``move`` is above 0 if it was corrected."""

    is_revised: bool
    move: float | None
    """The change of the verdict; None if one of the two answers was not judged."""


def _outcomes(run: Run, method: str) -> dict[str, _Outcome]:
    """Return the outcomes of first answers with a conflict, by question, if the method answered."""
    measure = run.measures[0]
    sign = -1 if measure in run.falling else 1
    outcomes = {}
    for question, answers in run.answers.items():
        if not run.conflict(question) or "text" not in answers.get(method, {}):
            continue
        pairs = judged_pairs(run, method, "rag", measure, [question])
        move = sign * round(pairs[0][1] - pairs[0][0], 12) if pairs else None
        outcomes[question] = _Outcome(bool(_is_flip(run, question, method)), move)
    return outcomes


def _is_flip(run: Run, question: str, method: str) -> bool | None:
    """Whether the method's answer makes different claims than the first answer; None if unknown."""
    first, second = (run.answers[question].get(name, {}) for name in ("rag", method))
    if "text" not in first or "text" not in second:
        return None
    same = run.same_claims(question, first["text"], second["text"])
    return reworded(first, second) and not same


def _transitions(runs: _Runs, told: Mapping[str, Any]) -> dict[str, Any]:
    by_question = defaultdict[str, list[_Outcome]](list)
    asked = set[str]()
    for run in runs.values():
        asked |= {q for q, a in run.answers.items() if run.conflict(q) and told["method"] in a}
        for question, outcome in _outcomes(run, told["method"]).items():
            by_question[question].append(outcome)
    sums = [_sums(outcomes) for outcomes in by_question.values()]
    answers, revised, judged, judged_revised, corrected, harmed = (
        [row[column] for row in sums] for column in range(6)
    )
    return {
        "method": told["method"],
        "measure": told["measure"],
        "questions": len(asked),
        "answers": sum(answers),
        "retained": _ratio([a - r for a, r in zip(answers, revised, strict=True)], answers),
        "revised": _ratio(revised, answers),
        "corrected": _ratio(corrected, judged_revised),
        "harmed": _ratio(harmed, judged_revised),
        "harmed_of_conflict": _ratio(harmed, judged),
    }


def _sums(outcomes: Sequence[_Outcome]) -> tuple[int, ...]:
    """Count answers: all, revised, judged, both revised and judged, corrected, and harmed."""
    judged = [outcome for outcome in outcomes if outcome.move is not None]
    moves = [outcome.move for outcome in judged if outcome.is_revised]
    return (
        len(outcomes),
        sum(outcome.is_revised for outcome in outcomes),
        len(judged),
        len(moves),
        sum(move is not None and move > 0 for move in moves),
        sum(move is not None and move < 0 for move in moves),
    )


def _ratio(parts: Iterable[int], wholes: Iterable[int]) -> dict[str, Any]:
    """Return a ratio of two sums over questions, with its bootstrap interval.

    All answers to a question are resampled together. There are 9,999 draws from ``default_rng(0)``.
    A draw says how often each group of questions with equal values occurs.
    """
    pairs = [(part, whole) for part, whole in zip(parts, wholes, strict=True) if whole]
    total = sum(whole for _, whole in pairs)
    if not total:
        return {"value": None, "low": None, "high": None, "n": 0}
    kinds, counts = np.unique(np.array(pairs), axis=0, return_counts=True)
    draws = np.random.default_rng(0).multinomial(len(pairs), counts / len(pairs), size=9_999)
    sums = draws @ kinds
    low, high = np.quantile(sums[:, 0] / sums[:, 1], [0.025, 0.975])
    bounds = {"low": None, "high": None} if low == high else {"low": low, "high": high}
    return {"value": sum(part for part, _ in pairs) / total, **bounds, "n": total}


def _gain(runs: _Runs, told: Mapping[str, Any]) -> dict[str, Any]:
    first = next(iter(runs.values()))
    measure = first.measures[0]
    sign = -1 if measure in first.falling else 1
    by_run = []
    for run in runs.values():
        members = {q["id"] for q in run.questions if q["category"] == told["category"]}
        differences = _differences(run, {"method": told["method"]}, measure)
        by_run.append({q: value for q, value in differences.items() if q in members})
    by_question = _merged(by_run)
    moves = [sign * value for values in by_question for value in values]
    return {
        "category": told["category"],
        "method": told["method"],
        "difference": mean_of([fmean(values) for values in by_question]),
        "corrected": sum(move > 0 for move in moves),
        "harmed": sum(move < 0 for move in moves),
        "p_value": _p_value(runs, measure, by_question),
    }


def _scored_methods(runs: _Runs) -> list[str]:
    """Return the methods whose answers were all scored, in the order of the runs."""
    answers = [answers for run in runs.values() for answers in run.answers.values()]
    methods = dict.fromkeys(method for run in runs.values() for method in run.methods)
    return [
        method
        for method in methods
        if scored_throughout(answers, method)
        and any(each.get(method, {}).get("scores") is not None for each in answers)
    ]


def _scores(runs: _Runs, method: str) -> dict[str, Any]:
    scores_by_question = defaultdict[str, list[tuple[float, float]]](list)
    for run in runs.values():
        for question, answers in run.answers.items():
            if (scores := answers.get(method, {}).get("scores")) is not None:
                scores_by_question[question].append(scores)
    return {
        "method": method,
        **{
            name: mean_of(
                [fmean(s[place] for s in scores) for scores in scores_by_question.values()]
            )
            for place, name in enumerate(("cs_c", "cs_r"))
        },
    }


def _flips(runs: _Runs, method: str) -> dict[str, Any]:
    """Return how far runs agree on which answers changed.

    Alpha is Fleiss' kappa, corrected for the sample size.
    """
    having = [run for run in runs.values() if method in run.methods]
    by_question = defaultdict[str, list[bool]](list)
    for run in having:
        for question in run.answers:
            if (is_flip := _is_flip(run, question, method)) is not None:
                by_question[question].append(is_flip)
    whole = [flips for flips in by_question.values() if len(flips) == len(having)]
    ever, always = sum(map(any, whole)), sum(map(all, whole))
    alpha = None
    if ever and always < len(whole):
        table, _ = aggregate_raters(np.array(whole, int))
        n = len(whole) * len(having)
        alpha = 1 - (1 - float(fleiss_kappa(table))) * (n - 1) / n
    return {
        "method": method,
        "questions": len(whole),
        "ever": ever,
        "always": always,
        "alpha": alpha,
    }
