"""Reads the outcome of a run, that is, its results and figures, from the run's folder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.methods.method_opening import method_of
from conflictscore.benchmarks.harness.methods.registry import COMPARED
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.results import results
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.harness.transition_counts import figures
from conflictscore.errors import BudgetError, InputError
from conflictscore.models.prices import PriceTable
from conflictscore.storage.private_files import write_whole


@dataclass(frozen=True)
class BenchmarkRun:
    """A benchmark run, finished or not."""

    folder: Path
    manifest: Manifest
    results: tuple[QuestionResult, ...]
    figures: Figures
    stopped: BudgetError | None = None
    """Why the run stopped early; the same command with a higher limit resumes it."""
    notes: tuple[str, ...] = ()


def read_run(
    folder: str | Path, prices: PriceTable, compare: Sequence[tuple[str, str]] = ()
) -> BenchmarkRun:
    """Read a run, finished or still running, without changing its folder.

    Raises:
        InputError: The folder contains no run, or the run is damaged or has an unknown format.
        ConfigurationError: The extra ``[bench]`` is not installed.
    """
    store = RunStore.read(folder)
    compare = compare or store.manifest.compare  # without --compare, use the last session's pairs
    notes = (*store.notes, *store.lacking())
    return summarised(store, prices, budget_error=None, notes=notes, compare=compare)


def summarised(
    store: RunStore,
    prices: PriceTable,
    *,
    budget_error: BudgetError | None,
    notes: Sequence[str],
    compare: Sequence[tuple[str, str]] = (),
) -> BenchmarkRun:
    """Compute the results and figures from a store's records."""
    configuration = store.manifest.configuration
    question_results = results(
        store.questions,
        store.records(),
        methods=tuple(configuration["methods"]),
        measures=configuration["measures"],
    )
    return BenchmarkRun(
        folder=store.folder,
        manifest=store.manifest,
        results=tuple(question_results),
        figures=figures_by(store.manifest, question_results, prices, compare),
        stopped=budget_error,
        notes=tuple(notes),
    )


def figures_by(
    manifest: Manifest,
    question_results: Sequence[QuestionResult],
    prices: PriceTable,
    compare: Sequence[tuple[str, str]] = (),
) -> Figures:
    """Compute the figures of a run's results, with the settings from its manifest."""
    configuration = manifest.configuration
    methods = tuple(configuration["methods"])
    endpoints = {
        description["name"]: description["endpoint"]
        for role in ("model", "judge", "answer_judge")
        if (description := configuration[role])  # None if no model has this role
    }
    return figures(
        question_results,
        methods=methods,
        measures=configuration["measures"],
        graded=configuration.get("graded", ()),
        falling=configuration.get("falling", ()),
        money=partial(prices.cost, endpoints=endpoints),
        total_questions=len(question_results),
        compare=compared_of(compare, methods) or COMPARED,
    )


def compared_of(
    pairs: Sequence[tuple[str, str]], methods: Sequence[str]
) -> Sequence[tuple[str, str]]:
    """Return the pairs, after checking that each consists of two methods of the run.

    Raises:
        InputError: A method was not run, or its answers are judged by a separate criterion, so a
            comparison would have no meaning.
    """
    for method, against in pairs:
        if method == against:
            # the comparison would show nothing, but would count as one more test for Holm
            raise InputError(f"--compare {method}:{against}: name two different methods")
        for name in (method, against):
            if name not in methods:
                raise InputError(
                    f"--compare {method}:{against}: the run has no method {name!r}; it has"
                    f" {', '.join(methods)}"
                )
            if method_of(name).own_judge:
                raise InputError(
                    f"--compare {method}:{against}: {name} is judged by a different measure"
                )
    return pairs


def write_figures(run: BenchmarkRun) -> None:
    """Write the figures into the file ``figures.json`` in the run's folder."""
    text = json.dumps(run.figures.to_json(), indent=2) + "\n"
    write_whole(run.folder / "figures.json", text.encode())
