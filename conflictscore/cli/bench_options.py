"""The options of ``conflictscore bench NAME``: those that make sense for the benchmark."""

from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.benchmarks.registry import usual_methods
from conflictscore.cli.options import (
    with_evidence_options,
    with_model_choice,
    with_passage_tokens,
    with_search_options,
)
from conflictscore.cli.report import with_compare

if TYPE_CHECKING:
    from conflictscore.benchmarks.entry import Entry

LOCAL_QUESTIONS, REMOTE_QUESTIONS = 1, 4
"""How many questions are worked on at a time, with the local model and with others."""

STUDY_TEMPERATURE = 0.7
"""Default temperature of the answers in a study of several seeds."""

_Option = Callable[[Any], Any]
_number = partial(click.option, type=click.IntRange(min=1), metavar="N")
_flag = partial(click.option, is_flag=True)
_default = partial(click.option, show_default=True)


def with_bench_options(benchmark_entry: "Entry", command: Any) -> Any:
    """Add the options of a command that runs a benchmark.

    Options about searching, about the form and about the judge are left out if the benchmark
    brings its documents, has one form, or asks no model to judge.
    """
    for option in reversed([*_questions(benchmark_entry), *_running(benchmark_entry)]):
        command = option(command)
    command = with_evidence_options(with_model_choice(command))
    if benchmark_entry.searches:
        command = with_search_options(with_passage_tokens(command))
    else:
        command = with_passage_tokens(command, tokens=0)
    if len(benchmark_entry.forms) > 1:
        form = _default(
            "--form",
            type=click.Choice(benchmark_entry.forms),
            default=benchmark_entry.forms[0],
            help=_MC,
        )
        command = form(command)
    return command


_MC = (
    "How questions are asked. mc1: several options, one of them true. mc2: all true and all false"
    " ones, by the probabilities of their letters, which the model's endpoint must give."
)
_WORST_HELP = (
    "The claim that the paper's loop puts back, of those with conflicts: the most contradicted, the"
    " first, the one with most evidence, or the one that the model names as its main claim."
    " `report` of a run by each shows what it changes."
)


def _questions(benchmark_entry: "Entry") -> Iterator[_Option]:
    """Options that decide what is asked: data, sample, seeds, methods, and the run's folder.

    ``--write-topics`` and the options of a search are there only for benchmarks that have them.
    """
    file: Any = {"type": click.Path(path_type=Path, dir_okay=False)}
    words = f"The benchmark's official file: {benchmark_entry.data}."
    if benchmark_entry.several:
        file, words = {"multiple": True}, f"May be given several times: {benchmark_entry.data}."
    yield click.option("--data", required=True, metavar="FILE", help=words, **file)
    for name, words in benchmark_entry.flags.items():
        yield _flag(f"--{name.replace('_', '-')}", help=words)
    yield click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The run's folder; a run that it holds is resumed. Default: runs/BENCHMARK-FORM.",
    )
    yield click.option(
        "--methods",
        metavar="NAME[,NAME...]",
        help=f"Some of {', '.join(benchmark_entry.methods)}; all runs every one, and rag is always"
        " run."
        " `conflictscore bench --help` says what each does. Default:"
        f" {','.join(usual_methods(benchmark_entry.methods))}.",
    )
    yield with_compare
    yield _number("--sample", help="N questions, drawn by --seed.")
    words = "Decides the order of options and the sample."
    yield _default("--seed", type=int, default=0, metavar="S", help=words)
    choices = click.Choice(["worst", "first", "most-evidence", "asked"])
    yield _default("--reconsider", type=choices, default="worst", help=_WORST_HELP)
    yield _default(
        "--seeds",
        type=click.IntRange(min=1, max=99),
        default=1,
        metavar="N",
        help="Run N times, with the seeds S, S+1 and so on, and pool the runs as one study: the"
        " same questions and documents, with answers and verdicts sampled anew. A folder each, in"
        " that of --out; what does not change is paid for once.",
    )
    yield click.option(
        "--temperature",
        type=click.FloatRange(0, 2),
        metavar="T",
        help="Temperature of the answers. Default: 0, and with --seeds above 1"
        f" {STUDY_TEMPERATURE}, since seeds at 0 measure the endpoint alone.",
    )
    if benchmark_entry.write_topics:
        yield click.option(
            "--write-topics",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Only have --model name the main entity of each question, as the paper does, show"
            " the names and write them with the documents into FILE. Correct them there, and give"
            " it as --data.",
        )
    if benchmark_entry.searches:
        words = "Fail on questions that --search recorded:FILE lacks, or skip them."
        kinds = click.Choice(["fail", "skip"])
        yield _default("--missing", type=kinds, default="fail", help=words)
        yield _flag(
            "--exclude-benchmarks",
            help="Leave out pages that give the benchmark away: those that hold a question beside"
            " one of its reference answers. Their number is printed at the end.",
        )


def _running(benchmark_entry: "Entry") -> Iterator[_Option]:
    """Options of running alone: they may differ each time a run is resumed."""
    if benchmark_entry.judged_by:
        words = "The model that judges free-form answers. Default: that of --judge."
        yield click.option("--answer-judge", metavar="SPEC", help=words)
    yield _number(
        "--concurrency",
        help=f"Questions at a time. Default: {REMOTE_QUESTIONS}, or {LOCAL_QUESTIONS} with the"
        " local model.",
    )
    yield _number(
        "--max-tokens",
        help="Stop once N tokens were used, in and out, by all sessions of the run together.",
    )
    yield _flag("--retry-failed", help="Try again what failed in an earlier session.")
    yield _flag(
        "--no-transcripts",
        help="Do not write the prompt and reply of each call into the run's folder, where they let"
        " others check the run.",
    )
    words = "Only estimate the calls, tokens and dollars that the run will take."
    yield _flag("--dry-run", help=words)
    yield _flag("--json", "as_json", help="Print the figures as one JSON object.")
    words = "Also show long lists of categories, costs by step, and the papers' tables."
    yield _flag("--verbose", "-v", help=words)
    yield _flag("--quiet", "-q", help="Show no progress.")
