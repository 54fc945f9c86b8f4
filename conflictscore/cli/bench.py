"""The command group ``bench``, with a command for each benchmark."""

import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, cast

import click

from conflictscore.benchmarks.harness.methods.registry import METHODS
from conflictscore.benchmarks.registry import BENCHMARKS
from conflictscore.cli.bench_options import LOCAL_QUESTIONS, REMOTE_QUESTIONS, with_bench_options
from conflictscore.cli.bench_plan import BenchPlan, PlannedRun, planned
from conflictscore.cli.conflict_detection import conflict_detection
from conflictscore.cli.options import ManyDocs
from conflictscore.cli.validity import validity

if TYPE_CHECKING:
    from conflictscore.benchmarks.entry import Entry
    from conflictscore.benchmarks.harness.outcome import BenchmarkRun


_METHOD_LINES = "\n".join(f"  {name:15}  {method.summary}" for name, method in METHODS.items())
_EPILOG = f"""\b
Methods (select them with --methods):
{_METHOD_LINES}

\b
Examples:
  conflictscore bench ramdocs --help
  conflictscore bench ramdocs --data RAMDocs_test.jsonl --sample 60 --dry-run
  conflictscore bench ramdocs --data RAMDocs_test.jsonl --sample 60 --methods rag,revised-rag
"""


@click.group(epilog=_EPILOG, short_help="Run a benchmark and compare methods.")
def bench() -> None:
    """Run a benchmark, and show which methods are right more often and which answers changed.

    Each run is stored in its own folder. To resume a run after Ctrl-C, a crash or a used-up budget,
    repeat the same command. Only calls in flight are lost; finished calls are not paid for again.
    """


def _bench_command(benchmark_entry: "Entry") -> click.Command:
    """Return the command that runs a benchmark; its help is made from the benchmark's entry."""

    def run(**settings: Any) -> None:
        _run(benchmark_entry, settings)

    # the description of the data begins with the name of the file
    file = benchmark_entry.data.split()[0].rstrip(",;:")
    examples = benchmark_entry.examples or (
        f"bench {benchmark_entry.name} --data {file} --sample 20 --methods all",
    )
    epilog = "\n".join(["\b", "Examples:", *(f"  conflictscore {line}" for line in examples)])
    where = (
        "The documents come from --search or --docs."
        if benchmark_entry.searches
        else "The benchmark's questions come with documents."
    )
    purpose = f"Test {benchmark_entry.summary}."
    words = (
        f"{purpose}\n\n{where} The default labeler is json, the paper's "
        "labeler, which makes one call per pair. With the local model, the default is nli. See "
        f"{benchmark_entry.docs}."
    )
    make = click.command(
        benchmark_entry.name,
        cls=ManyDocs,
        help=words,
        short_help=purpose,  # click would otherwise shorten it in the list of benchmarks
        epilog=epilog,
    )
    return cast("click.Command", make(with_bench_options(benchmark_entry, run)))


def _run(benchmark_entry: "Entry", settings: Mapping[str, Any]) -> None:
    """Estimate the cost, name the topics, or run each seed, as the options say."""
    from conflictscore.cli.bench_estimate import print_estimate
    from conflictscore.cli.report import print_study, read_report_runs, write_study

    plan = planned(benchmark_entry, settings)
    if settings["dry_run"]:
        print_estimate(plan)
        return
    if benchmark_entry.write_topics is not None and settings.get("write_topics") is not None:
        _write_topics(plan, benchmark_entry.write_topics)
        return
    for run in plan.runs:
        _run_one(plan, run)
    if len(plan.runs) > 1:
        folders = tuple(run.folder for run in plan.runs)
        study = read_report_runs(folders, compare=plan.compare)
        write_study(study, plan.whole)
        print_study(study, as_json=settings["as_json"])
        click.echo(
            f"To see all runs and flips on one page: conflictscore report {plan.whole}", err=True
        )


def _write_topics(plan: BenchPlan, write: Callable[..., None]) -> None:
    """Let a model name the topic of each question, and write the topics; no report is written."""
    topics, context = plan.settings["write_topics"], plan.setup.context
    write(
        plan.benchmark,
        topics,
        context.generator,
        context.prompts,
        lambda question, topic: click.echo(f"{question}\n    {topic}"),
    )
    click.echo(f"No report was written. Check {topics}, then pass it as --data.", err=True)


def _run_one(plan: BenchPlan, planned_run: PlannedRun) -> None:
    """Run one seed with a progress bar. Print the run's figures if the plan has no other seed.

    Raises:
        BudgetError: The budget is used up. Finished answers are kept.
        ClickException: No question was answered.
    """
    from rich.console import Console

    from conflictscore.benchmarks.harness.report.bench_progress import BenchProgress
    from conflictscore.benchmarks.running import Limits, arun_benchmark
    from conflictscore.cli.common import run_async

    settings = plan.settings
    is_local = planned_run.setup.context.generator.is_local
    at_a_time = LOCAL_QUESTIONS if is_local else REMOTE_QUESTIONS
    bar = BenchProgress(
        Console(stderr=True, highlight=False),
        len(planned_run.benchmark.questions),
        visible=not settings["quiet"],
    )
    with bar as progress:
        run = run_async(
            arun_benchmark(
                planned_run.benchmark,
                planned_run.folder,
                planned_run.setup,
                limits=Limits(settings["concurrency"] or at_a_time, settings["max_tokens"]),
                retrieval=plan.retrieval,
                hashes=plan.hashes,
                selection=plan.selection,
                missing=settings.get("missing", "fail"),
                retry_failed=settings["retry_failed"],
                prices=plan.prices,
                compare=plan.compare,
                listener=progress,
                transcripts=not settings["no_transcripts"],
                study=[seed_run.folder for seed_run in plan.runs if seed_run is not planned_run],
            )
        )
    _print_notes(run, plan, is_last=planned_run is plan.runs[-1])
    if len(plan.runs) == 1:
        _deliver(run, plan)
    # raised only now, so that the figures of the finished questions are printed first
    if run.stopped:
        raise run.stopped
    if not any(
        m.answer for question_result in run.results for m in question_result.methods.values()
    ):
        raise click.ClickException(
            "no question was answered; fix the cause of the failures and rerun with --retry-failed"
        )


def _deliver(run: "BenchmarkRun", plan: BenchPlan) -> None:
    """Print the figures of a run on stdout."""
    from conflictscore.benchmarks.harness.report.tables import print_figures
    from conflictscore.benchmarks.paper_figures import paper_figures
    from conflictscore.cli.common import plain_console

    settings, benchmark, context = plan.settings, plan.benchmark, plan.setup.context
    if settings["as_json"]:
        click.echo(json.dumps(run.figures.to_json(), ensure_ascii=False, indent=2))
    else:
        print_figures(
            run.figures,
            plain_console(),
            title=f"{benchmark.name}, {benchmark.form}",
            paper=paper_figures(benchmark.name, benchmark.form, context.generator.name),
            question_results=run.results,
            verbose=settings["verbose"],
        )
    click.echo(f"To see every flip on one page: conflictscore report {run.folder}", err=True)


def _print_notes(run: "BenchmarkRun", plan: BenchPlan, *, is_last: bool) -> None:
    """Print a run's notes on stderr and, after the last run, the numbers of skipped documents.

    All runs of a plan share one retriever, which counts the skipped documents of all runs.
    """
    from conflictscore.reporting.figure_text import counted

    for note in run.notes:
        click.echo(f"Note: {note}", err=True)
    for why, count in _left_out(plan.setup.context.retriever).items() if is_last else ():
        click.echo(f"Note: this session skipped {counted(count, 'document')} {why}", err=True)


def _left_out(retriever: Any) -> Mapping[str, int]:
    """Return how many documents a retriever and the retrievers inside it skipped, by reason."""
    while retriever is not None and not hasattr(retriever, "left_out"):
        retriever = getattr(retriever, "retriever", None)
    return retriever.left_out if retriever is not None else {}


for _command in (*map(_bench_command, BENCHMARKS.values()), conflict_detection, validity):
    bench.add_command(_command)
