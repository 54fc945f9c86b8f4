"""Turns the options of ``conflictscore bench NAME`` into the plan of its runs."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.benchmarks.registry import usual_methods
from conflictscore.cli.bench_options import STUDY_TEMPERATURE

if TYPE_CHECKING:
    from conflictscore.benchmarks.entry import Entry
    from conflictscore.benchmarks.harness.definition import Benchmark
    from conflictscore.benchmarks.harness.setup import RunSettings, Setup
    from conflictscore.models.prices import PriceTable


@dataclass(frozen=True)
class PlannedRun:
    """One run of a command. With ``--seeds`` a command has several runs."""

    folder: Path
    setup: "Setup"
    benchmark: "Benchmark"
    """The questions, with their options shuffled by this run's seed."""


@dataclass(frozen=True)
class BenchPlan:
    """The runs of a command. The models and the retriever are open, but have not been called."""

    entry: "Entry"
    settings: Mapping[str, Any]
    """The options by name, as parsed by click."""
    whole: Path
    """The folder of the run, or with ``--seeds`` the parent of all run folders."""
    runs: tuple[PlannedRun, ...]
    selection: Mapping[str, Any]
    """How the sample of questions was drawn."""
    retrieval: Mapping[str, Any]
    """How documents are found, as recorded in the manifest."""
    hashes: Mapping[str, str]
    """Hashes of the files from which the documents come."""
    compare: Sequence[tuple[str, str]]
    prices: "PriceTable"

    @property
    def setup(self) -> "Setup":
        """The models and retriever of the first run, shared by all runs."""
        return self.runs[0].setup

    @property
    def benchmark(self) -> "Benchmark":
        """The questions of the first run, with its order of options."""
        return self.runs[0].benchmark


def planned(benchmark_entry: "Entry", settings: Mapping[str, Any]) -> BenchPlan:
    """Read the questions, and open the models and the retriever without calling any of them."""
    from conflictscore.benchmarks.harness.outcome import compared_of
    from conflictscore.benchmarks.harness.setup import RunSettings, chosen_methods
    from conflictscore.models.prices import PriceTable
    from conflictscore.prompts import PromptSet

    first_seed = settings["seed"]
    benchmark, selection = _questions(benchmark_entry, settings, first_seed)
    methods = chosen_methods(_names(settings["methods"], benchmark.offered), benchmark)
    compare = compared_of(settings["compare"], methods)
    run_choices = RunSettings(
        seed=first_seed,
        methods=methods,
        reconsider=settings["reconsider"],
        temperature=settings["temperature"],
    )
    opening = {
        **settings,
        "prompts": PromptSet.open(settings["prompts"], base=benchmark.prompt_set),
        "references": _references(benchmark) if settings.get("exclude_benchmarks") else None,
    }
    setup, retrieval, hashes = _opened(benchmark_entry, run_choices, opening)
    if settings["seeds"] > 1:
        setup = _sampling(setup)
    whole: Path = settings["out"] or Path("runs") / f"{benchmark_entry.name}-{benchmark.form}"
    return BenchPlan(
        entry=benchmark_entry,
        settings=settings,
        whole=whole,
        runs=tuple(_runs(benchmark_entry, settings, whole, setup, benchmark)),
        selection=selection,
        retrieval=retrieval,
        hashes=hashes,
        compare=compare,
        prices=PriceTable.load(),
    )


def _sampling(setup: "Setup") -> "Setup":
    """Return the setup with a temperature at which the runs of a study sample different answers.

    A temperature that the user chose is kept, with a note if it is 0. If the model accepts no
    temperature, the setup stays as it is, and a note says so.
    """
    from conflictscore.benchmarks.harness.setup import takes_temperature

    model, temperature = setup.context.generator, setup.settings.temperature
    if temperature == 0:
        click.echo(
            "Note: at --temperature 0, --seeds measures only the endpoint's own variation",
            err=True,
        )
    if temperature is not None:
        return setup
    if not takes_temperature(model):
        click.echo(f"Note: {model.name} takes no temperature, so it uses its own setting", err=True)
        return setup
    return replace(setup, settings=replace(setup.settings, temperature=STUDY_TEMPERATURE))


def _runs(
    benchmark_entry: "Entry",
    settings: Mapping[str, Any],
    whole: Path,
    setup: "Setup",
    benchmark: "Benchmark",
) -> list[PlannedRun]:
    """Return one run per seed. ``replicate`` makes each further run sample its own replies."""
    if settings["seeds"] == 1:
        return [PlannedRun(whole, setup, benchmark)]
    runs = []
    for number in range(settings["seeds"]):
        seed = settings["seed"] + number
        seed_benchmark = _questions(benchmark_entry, settings, seed)[0] if number else benchmark
        seed_setup = replace(setup, settings=replace(setup.settings, seed=seed, replicate=number))
        runs.append(PlannedRun(whole / f"seed-{seed}", seed_setup, seed_benchmark))
    return runs


def _questions(
    benchmark_entry: "Entry", settings: Mapping[str, Any], seed: int
) -> tuple["Benchmark", dict[str, Any]]:
    """Return the sampled questions: the same for every seed, with options in this seed's order.

    Returns:
        The benchmark, and how its questions were drawn.
    """
    from conflictscore.benchmarks.registry import open_benchmark

    whole = open_benchmark(
        benchmark_entry.name,
        settings["data"],
        form=settings.get("form"),
        seed=seed,
        **{name: settings[name] for name in benchmark_entry.flags},
    )
    benchmark, selection = whole.selected(settings["sample"], settings["seed"])
    # If documents come from a search, the search cuts them into passages.
    return benchmark.shortened(
        0 if benchmark_entry.searches else settings["passage_tokens"]
    ), selection


def _references(benchmark: "Benchmark") -> dict[str, tuple[str, ...]]:
    """Return the answers of each question, which serve to recognise copies of the benchmark."""
    return {q.question: (*q.correct, *q.incorrect, *q.options) for q in benchmark.questions}


def _names(option: str | None, method_names: tuple[str, ...]) -> list[str]:
    if option is None:
        return usual_methods(method_names)
    names = [part.strip() for part in option.split(",") if part.strip()]
    return list(method_names) if "all" in names else names


def _opened(
    benchmark_entry: "Entry", run_choices: "RunSettings", settings: Mapping[str, Any]
) -> tuple["Setup", dict[str, Any], dict[str, str]]:
    """Open the models and the retriever.

    Returns:
        The setup, how documents are found, and hashes of the files from which they come.
    """
    from conflictscore.benchmarks.harness.manifest import found_in
    from conflictscore.benchmarks.harness.setup import Setup
    from conflictscore.cli.common import chosen_spec, open_retriever, run_settings

    hashes: dict[str, str] = {}
    retrieval: dict[str, Any] = {"documents": "of the questions"}
    # earlier versions could keep several passages; the field keeps their runs resumable
    passages = {"passage_tokens": settings["passage_tokens"], "passages": 1}
    if settings["passage_tokens"]:
        retrieval |= passages
    retriever = None
    if benchmark_entry.searches:
        retriever = open_retriever(settings)
        retrieval = {key: settings[key] for key in ("search", "top_k", "read_pages")} | passages
        if settings["exclude_benchmarks"]:
            retrieval["exclude_benchmarks"] = True
        retrieval["search"] = _searches(settings)
        hashes = found_in(settings["search"], settings["docs"] or ())
    loop, models = run_settings(settings, effort="paper", labeler=None)
    setup = Setup.open(
        run_choices,
        loop,
        model=chosen_spec(settings),
        retriever=retriever,
        answer_judge=settings.get("answer_judge"),
        **models,
    )
    return setup, retrieval, hashes


def _searches(settings: Mapping[str, Any]) -> list[str]:
    """Return the search's name, without its address, which may contain a password.

    The result is a list, since earlier versions could combine searches, and their runs can still be
    resumed.
    """
    from conflictscore.retrieval.providers import configured_search

    if settings["search"] is None:
        return ["corpus" if settings["docs"] else configured_search() or "none"]
    return [settings["search"].partition(":")[0].strip()]
