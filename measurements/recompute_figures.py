"""Computes the figures of a benchmark run from its records, with scipy and statsmodels."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import bootstrap, wilcoxon
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests
from statsmodels.stats.proportion import proportion_confint

from measurements.recompute_run import Answers, Run, scored_throughout

_TYPED = ("pipeline", "taxonomy-aware")
_COUNTS = ("calls", "cached_calls", "input_tokens", "cache_read_tokens", "output_tokens")


def proportion_of(count: int, n: int) -> dict[str, Any]:
    """Return a count out of a total, with its Wilson interval."""
    if not n:
        return {"count": 0, "n": 0, "value": None, "low": None, "high": None}
    low, high = proportion_confint(count, n, method="wilson")
    return {"count": count, "n": n, "value": count / n, "low": low, "high": high}


def mean_of(values: Sequence[float]) -> dict[str, Any]:
    """Return a mean with its percentile bootstrap interval; no interval if all values are equal."""
    if not values or len(set(values)) == 1:
        return {"value": values[0] if values else None, "low": None, "high": None, "n": len(values)}
    interval = bootstrap(
        (np.sort(np.asarray(values, float)),),
        np.mean,
        n_resamples=9_999,
        batch=500,  # resamples that are in memory at the same time
        method="percentile",
        rng=np.random.default_rng(0),
    ).confidence_interval
    return {
        "value": float(np.mean(values)),
        "low": float(interval.low),
        "high": float(interval.high),
        "n": len(values),
    }


def figures_of(run: Run) -> dict[str, Any]:
    """Return all recomputed figures, in the form of figures.json."""
    shown = [method["method"] for method in run.figures["methods"]]
    return {
        "questions": len(run.questions),
        "failed": sum(
            any("error" in a and "text" not in a for a in q.values()) for q in _each(run)
        ),
        "methods": [_method(run, method) for method in shown],
        **_tests(run),
        "transitions": [
            {**_transitions(run, told["method"]), "by_wording": _worded(run, told)}
            for told in run.figures["transitions"]
        ],
        "categories": [_category(run, one, shown) for one in run.figures["categories"]],
        "types": [_types(run, method) for method in shown if method in _TYPED and _typed(run)],
        "scores": list(_scores(run, shown)),
        "coverage": mean_of(
            [
                report["coverage"]
                for question in run.questions
                if "rag" in run.answers[question["id"]]
                if (report := run.first_report(question["id"])) is not None
                if report["coverage"] is not None
            ]
        ),
        "cost": {"usage": _usage(run)},
    }


def _each(run: Run) -> list[Answers]:
    return [run.answers[question["id"]] for question in run.questions]


def _scores(run: Run, methods: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the mean CS-C and CS-R of each method whose answers were all scored."""
    for method in methods:
        if not scored_throughout(_each(run), method):
            continue
        scores = [s for a in _each(run) if (s := a.get(method, {}).get("scores")) is not None]
        if scores:
            cs_c, cs_r = zip(*scores, strict=True)
            yield {"method": method, "cs_c": mean_of(cs_c), "cs_r": mean_of(cs_r)}


def _level(run: Run, measure: str, answers: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    values = [v for a in answers if (v := a.get("verdicts", {}).get(measure)) is not None]
    if measure in run.graded:
        return mean_of([float(value) for value in values])
    return proportion_of(sum(map(bool, values)), len(values))


def _method(run: Run, method: str) -> dict[str, Any]:
    answers = [each[method] for each in _each(run) if method in each]
    return {
        "method": method,
        "questions": len(answers),
        "failed": sum("text" not in answer for answer in answers),
        "measures": {measure: _level(run, measure, answers) for measure in run.measures},
        "unjudged": {
            measure: sum(
                measure in a.get("verdicts", {}) and a["verdicts"][measure] is None for a in answers
            )
            for measure in run.measures
        },
    }


def judged_pairs(
    run: Run, method: str, against: str, measure: str, ids: Sequence[str] | None = None
) -> list[tuple[float, float]]:
    """Return pairs of verdicts (from 0 to 1) on the answers of ``against`` and ``method``.

    There is a pair for each question for which both answers were judged. The questions are those in
    ``ids``, by default all questions of the run in their order.
    """
    pairs = []
    for question in ids if ids is not None else [one["id"] for one in run.questions]:
        answers = run.answers[question]
        values = [answers.get(m, {}).get("verdicts", {}).get(measure) for m in (against, method)]
        if values[0] is not None and values[1] is not None:
            pairs.append((float(values[0]), float(values[1])))
    return pairs


def _moves(run: Run, measure: str, pairs: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """Return the number of pairs that improved, and the number of pairs that became worse."""
    sign = -1 if measure in run.falling else 1
    # twelve decimals, so that rounding errors do not count as differences
    differences = [sign * round(after - before, 12) for before, after in pairs]
    return sum(d > 0 for d in differences), sum(d < 0 for d in differences)


def _pair(run: Run, told: Mapping[str, Any]) -> dict[str, Any]:
    method, against, measure = told["method"], told["against"], told["measure"]
    pairs = judged_pairs(run, method, against, measure)
    corrected, harmed = _moves(run, measure, pairs)
    differences = [round(after - before, 12) for before, after in pairs]
    graded = measure in run.graded
    if not pairs:
        p = None
    elif not graded:
        p = float(mcnemar([[0, corrected], [harmed, 0]], exact=True).pvalue)
    else:
        p = 1.0
        if any(differences):
            p = float(wilcoxon(np.sort(differences), zero_method="pratt").pvalue)
            # the signs of k changes cannot give a smaller p than 2 / 2**k
            p = max(p, 0.5 ** (np.count_nonzero(differences) - 1))
    return {
        "method": method,
        "against": against,
        "measure": measure,
        "n": len(pairs),
        "both_right": None if graded else pairs.count((1.0, 1.0)),
        "both_wrong": None if graded else pairs.count((0.0, 0.0)),
        "corrected": corrected,
        "harmed": harmed,
        "p_value": p,
        "difference": mean_of(differences),
    }


def _tests(run: Run) -> dict[str, list[dict[str, Any]]]:
    tests = {
        family: [_pair(run, told) for told in run.figures[family]]
        for family in ("paired", "compared")
    }
    family = [pair for pairs in tests.values() for pair in pairs if pair["p_value"] is not None]
    if len(family) > 1:
        _, adjusted, _, _ = multipletests([pair["p_value"] for pair in family], method="holm")
        for pair, p_holm in zip(family, adjusted, strict=True):
            pair["p_holm"] = float(p_holm)
    return tests


def reworded(first: Mapping[str, Any], second: Mapping[str, Any]) -> bool:
    """Whether two answers choose different options or, in free form, differ in their words."""
    if first["option"] is not None:
        return bool(first["option"] != second["option"])
    return bool(first["text"].casefold().split() != second["text"].casefold().split())


def _transitions(run: Run, method: str, *, by_wording: bool = False) -> dict[str, Any]:
    measure = run.measures[0]
    conflicts = [
        question["id"]
        for question in run.questions
        if run.conflict(question["id"]) and method in run.answers[question["id"]]
    ]
    answered = [q for q in conflicts if "text" in run.answers[q][method]]
    in_other_words = [
        q for q in answered if reworded(run.answers[q]["rag"], run.answers[q][method])
    ]
    same = {
        q: run.same_claims(q, run.answers[q]["rag"]["text"], run.answers[q][method]["text"])
        for q in in_other_words
    }
    revised = [q for q in in_other_words if by_wording or not same[q]]
    pairs = judged_pairs(run, method, "rag", measure, revised)
    corrections, harms = _moves(run, measure, pairs)
    first = [before for before, _ in judged_pairs(run, method, "rag", measure, answered)]
    told = {
        "method": method,
        "measure": measure,
        "conflict": len(conflicts),
        "failed": len(conflicts) - len(answered),
        "retained": proportion_of(len(answered) - len(revised), len(answered)),
        "revised": proportion_of(len(revised), len(answered)),
        "corrections": proportion_of(corrections, len(pairs)),
        "harms": proportion_of(harms, len(pairs)),
        "neutral": proportion_of(len(pairs) - corrections - harms, len(pairs)),
        "unjudged": len(revised) - len(pairs),
        "harms_of_conflict": proportion_of(harms, len(first)),
    }
    if measure not in run.graded:
        told["recovered_of_wrong"] = proportion_of(corrections, first.count(0.0))
    return told


def _worded(run: Run, told: Mapping[str, Any]) -> dict[str, Any] | None:
    return (
        None if told["by_wording"] is None else _transitions(run, told["method"], by_wording=True)
    )


def _category(run: Run, told: Mapping[str, Any], methods: Sequence[str]) -> dict[str, Any]:
    ids = [q["id"] for q in run.questions if q["category"] == told["category"]]
    answers = {m: [run.answers[q][m] for q in ids if m in run.answers[q]] for m in methods}
    return {
        "category": told["category"],
        "questions": len(ids),
        "measures": {
            method: {measure: _level(run, measure, answers[method]) for measure in run.measures}
            for method in methods
        },
    }


def _typed(run: Run) -> list[dict[str, Any]]:
    return [question for question in run.questions if question.get("conflict_type")]


def _types(run: Run, method: str) -> dict[str, Any]:
    right, n, untold = 0, 0, 0
    for question in _typed(run):
        record = run.steps[question["id"]].get((method, ""))
        if record is None:
            continue
        kind = record["value"]["conflict_type"] if record["error"] is None else None
        n += 1
        right += kind == question["conflict_type"]
        untold += kind is None
    return {"method": method, "accuracy": proportion_of(right, n), "untold": untold}


def _usage(run: Run) -> dict[str, dict[str, int]]:
    usage: dict[str, dict[str, int]] = {}
    for record in run.records:
        for model, spent in record["usage"].items():
            total = usage.setdefault(model, dict.fromkeys(_COUNTS, 0))
            for name in _COUNTS:
                total[name] += spent.get(name, 0)
    return usage
