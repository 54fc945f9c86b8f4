"""conflictscore bench."""

import json
from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from conflictscore.benchmarks.harness.methods.registry import METHODS
from conflictscore.benchmarks.registry import BENCHMARKS, usual_methods
from conflictscore.cli.bench_options import LOCAL_QUESTIONS, REMOTE_QUESTIONS, with_bench_options
from conflictscore.cli.conflict_detection import conflict_detection
from conflictscore.cli.options import ManyDocs

if TYPE_CHECKING:
    from rich.console import Console

    from conflictscore.benchmarks.entry import Entry
    from conflictscore.benchmarks.harness.definition import Benchmark
    from conflictscore.benchmarks.harness.outcome import BenchmarkRun
    from conflictscore.benchmarks.harness.setup import Setup
    from conflictscore.models.prices import PriceTable

_SNIPPET_TOKENS, _PAGE_TOKENS = 45, 1500
"""Of a result of a search that is not asked for an estimate."""


_EPILOG = "\n".join(
    ["\b", "Methods:", *(f"  {name:15}  {method.summary}" for name, method in METHODS.items())]
)


@click.group(epilog=_EPILOG, short_help="Run a benchmark: who is right more often.")
def bench() -> None:
    """Run a benchmark: who is right more often, and who changed whose mind.

    A run is kept in a folder. Ctrl-C, a crash or a spent budget lose at most the calls in flight:
    the same command resumes it, and nothing is paid for twice.
    """


def _bench_command(entry: "Entry") -> click.Command:
    def run(**settings: Any) -> None:
        _run(entry, settings)

    file = entry.data.split()[0].rstrip(",;:")
    examples = entry.examples or (f"bench {entry.name} --data {file} --sample 20 --methods all",)
    epilog = "\n".join(["\b", "Examples:", *(f"  conflictscore {line}" for line in examples)])
    where = "found by --search or in --docs" if entry.searches else "those of its questions"
    words = (
        f"{entry.summary[0].upper()}{entry.summary[1:]}.\n\nDocuments: {where}. See {entry.docs}."
    )
    make = click.command(entry.name, cls=ManyDocs, help=words, epilog=epilog)
    return cast("click.Command", make(with_bench_options(entry, run)))


def _run(entry: "Entry", settings: Mapping[str, Any]) -> None:
    from rich.console import Console

    from conflictscore.benchmarks.harness.outcome import compared_of
    from conflictscore.benchmarks.harness.report.bench_progress import BenchProgress
    from conflictscore.benchmarks.harness.setup import RunSettings, chosen_methods
    from conflictscore.benchmarks.running import Limits, arun_benchmark
    from conflictscore.cli.common import run_async
    from conflictscore.cli.report import print_study, read_report_runs
    from conflictscore.models.prices import PriceTable
    from conflictscore.prompts import PromptSet

    first = settings["seed"]
    benchmark, selection = _chosen(entry, settings, first)
    methods = chosen_methods(_names(settings["methods"], benchmark.offered), benchmark)
    compare = compared_of(settings["compare"], methods)
    prices = PriceTable.load()
    if settings.get("exclude_benchmarks"):
        told = {q.question: (*q.correct, *q.incorrect, *q.options) for q in benchmark.questions}
        settings = {**settings, "references": told}
    asked = PromptSet.open(settings["prompts"], base=benchmark.prompt_set)
    decided = RunSettings(seed=first, methods=methods, reconsider=settings["reconsider"])
    setup, retrieval, hashes = _open(entry, decided, {**settings, "prompts": asked})
    whole: Path = settings["out"] or Path("runs") / f"{entry.name}-{benchmark.form}"
    seeds = range(first, first + settings["seeds"])
    folders = [whole / f"seed-{seed}" for seed in seeds] if len(seeds) > 1 else [whole]
    if settings["dry_run"]:
        _estimate(benchmark, folders[0], setup, prices, settings)
        return
    if (topics := settings.get("write_topics")) is not None and entry.write_topics:
        context = setup.context
        entry.write_topics(
            benchmark,
            topics,
            context.generator,
            context.prompts,
            lambda question, topic: click.echo(f"{question}\n    {topic}"),
        )
        click.echo(f"No report was asked for. Read {topics}, and give it as --data.", err=True)
        return
    at_a_time = LOCAL_QUESTIONS if setup.context.generator.is_local else REMOTE_QUESTIONS
    work = partial(
        arun_benchmark,
        limits=Limits(settings["concurrency"] or at_a_time, settings["max_tokens"]),
        retrieval=retrieval,
        hashes=hashes,
        selection=selection,
        missing=settings.get("missing", "fail"),
        retry_failed=settings["retry_failed"],
        prices=prices,
        compare=compare,
    )
    for number, (seed, folder) in enumerate(zip(seeds, folders, strict=True)):
        ordered = _chosen(entry, settings, seed)[0] if number else benchmark
        repeated = replace(setup, settings=replace(decided, seed=seed, replicate=number))
        others = [other for other in folders if other != folder]
        bar = BenchProgress(
            Console(stderr=True, highlight=False),
            len(ordered.questions),
            enabled=not settings["quiet"],
        )
        with bar as progress:
            run = run_async(work(ordered, folder, repeated, listener=progress, study=others))
        if not others:
            _deliver(run, benchmark, setup, settings)
        if run.stopped:
            raise run.stopped
        if not any(m.answer for result in run.results for m in result.methods.values()):
            raise click.ClickException(
                "no question was answered; fix what failed, and run it again with --retry-failed"
            )
    if len(folders) > 1:
        print_study(read_report_runs(tuple(folders), compare=compare), as_json=settings["as_json"])
        click.echo(f"Every run and flip on a page: conflictscore report {whole}", err=True)


def _estimate(
    benchmark: "Benchmark",
    folder: Path,
    setup: "Setup",
    prices: "PriceTable",
    settings: Mapping[str, Any],
) -> None:
    """Print what a run is expected to take, with no part of one that was begun taken off."""
    from conflictscore.benchmarks.harness.dry_run import estimate, estimate_card, power_card
    from conflictscore.benchmarks.harness.outcome import read_run
    from conflictscore.reporting.plain_table import print_card

    assumed = None
    if setup.context.retriever is not None and not _is_free(settings):
        page_tokens = settings["passage_tokens"] or _PAGE_TOKENS
        assumed = settings["top_k"], page_tokens if settings["read_pages"] else _SNIPPET_TOKENS
        click.echo(
            f"Note: {assumed[0]} documents of {assumed[1]} tokens are assumed per question;"
            " searching for them may cost money",
            err=True,
        )
    expected = estimate(benchmark, setup, prices=prices, assumed=assumed)
    if settings["as_json"]:
        click.echo(json.dumps(expected.to_json(), indent=2))
        return
    begun = (folder / "manifest.json").exists()
    cards = [
        estimate_card(expected),
        power_card(benchmark, read_run(folder, prices).figures.paired if begun else ()),
    ]
    for card in filter(None, cards):
        print_card(card, _console())
    if (seeds := settings["seeds"]) > 1:
        click.echo(
            f"For one run; {seeds} take at most {seeds} times as much, and less if answers are"
            " the same: labels and documents are shared."
        )


def _is_free(settings: Mapping[str, Any]) -> bool:
    searches = [part.strip().partition(":")[0] for part in (settings["search"] or "").split(",")]
    return not settings["read_pages"] and all(
        search in ("corpus", "recorded") or (not search and settings["docs"]) for search in searches
    )


def _console() -> "Console":
    from rich.console import Console

    return Console(highlight=False, markup=False, emoji=False)


def _chosen(
    entry: "Entry", settings: Mapping[str, Any], seed: int
) -> tuple["Benchmark", dict[str, Any]]:
    """The questions, the same for every seed, with their options in the order of this one."""
    from conflictscore.benchmarks.harness.question_sample import shortened
    from conflictscore.benchmarks.registry import open_benchmark

    whole = open_benchmark(
        entry.name,
        settings["data"],
        form=settings.get("form"),
        seed=seed,
        **{name: settings[name] for name in entry.flags},
    )
    benchmark, selection = whole.selected(settings["sample"], settings["seed"])
    tokens = 0 if entry.searches else settings["passage_tokens"]
    return shortened(benchmark, tokens) if tokens else benchmark, selection


def _names(given: str | None, offered: tuple[str, ...]) -> list[str]:
    if given is None:
        return usual_methods(offered)
    names = [part.strip() for part in given.split(",") if part.strip()]
    return list(offered) if "all" in names else names


def _open(
    entry: "Entry", decided: Any, settings: Mapping[str, Any]
) -> tuple["Setup", dict[str, Any], dict[str, str]]:
    """Models and retriever, how documents are found, and the hashes of what they are found in."""
    from conflictscore.benchmarks.harness.manifest import found_in
    from conflictscore.benchmarks.harness.setup import Setup
    from conflictscore.cli.common import chosen_spec, open_retriever, run_settings

    hashes: dict[str, str] = {}
    retrieval: dict[str, Any] = {"documents": "of the questions"}
    cut = {"passage_tokens": settings["passage_tokens"], "passages": 1}
    if settings["passage_tokens"]:
        retrieval |= cut
    retriever = None
    if entry.searches:
        retriever = open_retriever(settings)
        retrieval = {key: settings[key] for key in ("search", "top_k", "read_pages")} | cut
        if settings["exclude_benchmarks"]:
            retrieval["exclude_benchmarks"] = True
        retrieval["search"] = _searches(settings)
        hashes = found_in(settings["search"], settings["docs"] or ())
    loop, models = run_settings(settings, effort="paper", labeler=None)
    setup = Setup.open(
        decided,
        loop,
        model=chosen_spec(settings),
        retriever=retriever,
        answer_judge=settings.get("answer_judge"),
        **models,
    )
    return setup, retrieval, hashes


def _searches(settings: Mapping[str, Any]) -> list[str]:
    """Which searches are asked, in order, by their kind: an address may hold a password."""
    from conflictscore.retrieval.providers import configured_search

    if settings["search"] is None:
        return ["corpus" if settings["docs"] else configured_search() or "none"]
    return [part.strip().partition(":")[0] for part in settings["search"].split(",")]


def _left_out(retriever: Any) -> Mapping[str, int]:
    while retriever is not None and not hasattr(retriever, "left_out"):
        retriever = getattr(retriever, "retriever", None)
    return retriever.left_out if retriever is not None else {}


def _deliver(
    run: "BenchmarkRun",
    benchmark: "Benchmark",
    setup: "Setup",
    settings: Mapping[str, Any],
) -> None:
    from conflictscore.benchmarks.harness.report.tables import print_figures
    from conflictscore.benchmarks.paper_figures import paper_figures

    for note in run.notes:
        click.echo(f"Note: {note}", err=True)
    for why, count in _left_out(setup.context.retriever).items():
        click.echo(f"Note: documents left out {why}, in this session: {count}", err=True)
    if settings["as_json"]:
        click.echo(json.dumps(run.figures.to_json(), ensure_ascii=False, indent=2))
    else:
        print_figures(
            run.figures,
            _console(),
            title=f"{benchmark.name}, {benchmark.form}",
            paper=paper_figures(benchmark.name, benchmark.form, setup.context.generator.name),
            results=run.results,
            verbose=settings["verbose"],
        )
    click.echo(f"Every flip on a page: conflictscore report {run.folder}", err=True)


for _command in (*map(_bench_command, BENCHMARKS.values()), conflict_detection):
    bench.add_command(_command)
