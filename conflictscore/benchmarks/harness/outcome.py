"""The outcome of a run: its results and figures, read from its folder."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.records import QuestionResult
from conflictscore.benchmarks.harness.results import first_answer_usage, results
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.harness.summarise import figures
from conflictscore.errors import BudgetError, ConfigurationError
from conflictscore.models.prices import PriceTable

__all__ = ["BenchmarkRun", "read_run", "summarised", "write_figures"]


@dataclass(frozen=True)
class BenchmarkRun:
    """A run as far as it went."""

    folder: Path
    manifest: Manifest
    results: tuple[QuestionResult, ...]
    figures: Figures
    stopped: BudgetError | None = None
    """Why it stopped before its end; the same command with a higher limit goes on."""
    notes: tuple[str, ...] = ()


def read_run(folder: str | Path, prices: PriceTable) -> BenchmarkRun:
    """A run as far as it went, ended or at work; nothing in its folder changes.

    Args:
        folder: The run's folder.
        prices: What its calls cost.

    Raises:
        InputError: There is no run in the folder, or it is damaged or of another format.
        ConfigurationError: The extra ``[bench]`` is not installed.
    """
    store = RunStore.read(folder)
    return summarised(store, prices, stopped=None, notes=store.notes)


def summarised(
    store: RunStore, prices: PriceTable, *, stopped: BudgetError | None, notes: Sequence[str]
) -> BenchmarkRun:
    """The results and figures of what a store holds.

    Args:
        store: The run.
        prices: What its calls cost.
        stopped: Why it stopped before its end.
        notes: What the user should know of it.
    """
    configuration, records = store.manifest.configuration, store.records()
    methods = tuple(name for name in configuration["methods"])
    joined = results(
        store.questions,
        records,
        methods=methods,
        measures=configuration["measures"],
    )
    endpoints = {
        described["name"]: described["endpoint"]
        for role in ("model", "judge", "answer_judge")
        if (described := configuration[role])
    }
    return BenchmarkRun(
        folder=store.folder,
        manifest=store.manifest,
        results=tuple(joined),
        figures=figures(
            joined,
            methods=methods,
            measures=configuration["measures"],
            graded=configuration.get("graded", ()),
            falling=configuration.get("falling", ()),
            money=partial(prices.cost, endpoints=endpoints),
            total_questions=len(store.questions),
            first_usage=first_answer_usage(records),
        ),
        stopped=stopped,
        notes=tuple(notes),
    )


def write_figures(run: BenchmarkRun) -> None:
    """Write ``figures.json`` into the run's folder.

    Raises:
        ConfigurationError: It cannot be written.
    """
    text = json.dumps(run.figures.to_json(), indent=2) + "\n"
    path = run.folder / "figures.json"
    try:
        path.write_text(text, "utf-8")
    except OSError as error:
        raise ConfigurationError(f"{path}: cannot be written ({error.strerror})") from None
