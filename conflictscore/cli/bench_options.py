"""The options of ``conflictscore bench NAME``, limited to those that apply to the benchmark."""

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
"""How many questions run at a time, with the local model and with remote models."""

STUDY_TEMPERATURE = 0.7
"""Default temperature for answers in a study of several seeds."""

_Option = Callable[[Any], Any]
_number = partial(click.option, type=click.IntRange(min=1), metavar="N")
_flag = partial(click.option, is_flag=True)
_default = partial(click.option, show_default=True)


def with_bench_options(benchmark_entry: "Entry", command: Any) -> Any:
    """Add the options of a command that runs a benchmark.

    Search options are omitted if the benchmark's questions come with documents, ``--form`` if it
    has only one form, and judge options if no model judges its answers.
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
    "How questions are asked. mc1: several options, one of which is true. mc2: all "
    "true and all false options, scored by the probabilities of their letters; the "
    "endpoint must return log-probabilities."
)
_WORST_HELP = (
    "Which conflicting claim the paper's loop asks the model to reconsider: the most "
    "contradicted one, the first, the one with most evidence, or the one that the "
    "model calls its main claim. To compare the choices, run each and pass the runs "
    "to `report`."
)


def _questions(benchmark_entry: "Entry") -> Iterator[_Option]:
    """Options for the experiment: data, sample, seeds, methods, and the run's folder.

    ``--write-topics`` and the search options exist only for benchmarks that use them.
    """
    file: Any = {"type": click.Path(path_type=Path, dir_okay=False)}
    words = f"The benchmark's official file: {benchmark_entry.data}."
    if benchmark_entry.several:
        file, words = {"multiple": True}, f"Repeatable: {benchmark_entry.data}."
    yield click.option("--data", required=True, metavar="FILE", help=words, **file)
    for name, words in benchmark_entry.flags.items():
        yield _flag(f"--{name.replace('_', '-')}", help=words)
    yield click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The run's folder. A run that is already there is resumed. Default: "
        "runs/BENCHMARK-FORM.",
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
    words = "Seed for the order of options and the sample."
    yield _default("--seed", type=int, default=0, metavar="S", help=words)
    choices = click.Choice(["worst", "first", "most-evidence", "asked"])
    yield _default("--reconsider", type=choices, default="worst", help=_WORST_HELP)
    yield _default(
        "--seeds",
        type=click.IntRange(min=1, max=99),
        default=1,
        metavar="N",
        help="Run N times, with seeds S, S+1 and so on, and pool the runs as one "
        "study. All runs use the same questions and documents, but sample their "
        "own answers and verdicts. Each has its own folder inside --out; work "
        "that they share is paid for once.",
    )
    yield click.option(
        "--temperature",
        type=click.FloatRange(0, 2),
        metavar="T",
        help=f"Temperature of the answers. Default: 0, or {STUDY_TEMPERATURE} with "
        "--seeds above 1, since at 0 seeds measure only how much the endpoint "
        "varies.",
    )
    if benchmark_entry.write_topics:
        yield click.option(
            "--write-topics",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Only have --model name the main entity of each question, as the "
            "paper does, and write the names with the documents to FILE. "
            "Correct FILE by hand, then pass it as --data.",
        )
    if benchmark_entry.searches:
        words = (
            "Whether to fail on, or skip, questions that are missing from --search recorded:FILE."
        )
        kinds = click.Choice(["fail", "skip"])
        yield _default("--missing", type=kinds, default="fail", help=words)
        yield _flag(
            "--exclude-benchmarks",
            help="Skip pages that give the benchmark away: pages with both a "
            "question and one of its reference answers. Their number is printed "
            "at the end.",
        )


def _running(benchmark_entry: "Entry") -> Iterator[_Option]:
    """Options that may change each time a run is resumed."""
    if benchmark_entry.judged_by:
        words = "The model that judges free-form answers. Default: the --judge model."
        yield click.option("--answer-judge", metavar="SPEC", help=words)
    yield _number(
        "--concurrency",
        help=f"Questions at a time. Default: {REMOTE_QUESTIONS}, or {LOCAL_QUESTIONS} with the"
        " local model.",
    )
    yield _number(
        "--max-tokens",
        help="Stop after N tokens (input and output), counted over all sessions of the run.",
    )
    yield _flag("--retry-failed", help="Retry what failed in an earlier session.")
    yield _flag(
        "--no-transcripts",
        help="Do not store the prompt and reply of each call in the run's folder. "
        "Without them nobody can check the run.",
    )
    words = "Only estimate the calls, tokens and dollars of the run."
    yield _flag("--dry-run", help=words)
    yield _flag("--json", "as_json", help="Print the figures as one JSON object.")
    words = "Also show long lists of categories, costs by step, and the papers' tables."
    yield _flag("--verbose", "-v", help=words)
    yield _flag("--quiet", "-q", help="Show no progress.")
