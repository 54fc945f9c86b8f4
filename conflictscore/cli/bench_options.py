"""The options of ``conflictscore bench NAME``. A benchmark gets only options that apply to it."""

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
"""How many questions run at the same time: with the local model, and with a remote model.

The local model gains nothing from parallel calls. Four was chosen by hand.
"""

STUDY_TEMPERATURE = 0.7
"""Default temperature of the answers if ``--seeds`` asks for several runs; chosen by hand."""

_Option = Callable[[Any], Any]
_number = partial(click.option, type=click.IntRange(min=1), metavar="N")
_flag = partial(click.option, is_flag=True)
_default = partial(click.option, show_default=True)


def with_bench_options(benchmark_entry: "Entry", command: Any) -> Any:
    """Add the options of a command that runs a benchmark.

    If the benchmark's questions come with documents, there are no search options. ``--form`` is
    added only if there are several forms, and ``--answer-judge`` only if a model judges answers.
    """
    # decorators apply from the last to the first
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
    "How questions are asked. multiple-choice: with one true and one false option. mc1: with "
    "several options, one of which is true. mc2: with all true and all false options; the score "
    "is computed from the probabilities of their letters, so the endpoint must return "
    "log-probabilities. free-form: without options; a model judges the answer."
)
_WORST_HELP = (
    "Which claim the model reconsiders. In the paper's loop, it reconsiders only one of the claims "
    "that are in conflict. worst: the one with the highest share of contradicting evidence. "
    "first: the one that comes first in the answer. most-evidence: the one with the most evidence. "
    "asked: the one that the model names as its main claim. To compare these choices, run the "
    "benchmark with each, and pass the runs to `report`."
)


def _questions(benchmark_entry: "Entry") -> Iterator[_Option]:
    """Yield options that define the experiment: data, sample, seeds, methods, and run folder.

    ``--write-topics`` and the search options exist only for benchmarks that use them.
    """
    file: Any = {"type": click.Path(path_type=Path, dir_okay=False)}
    words = f"The benchmark's official file: {benchmark_entry.data}."
    if benchmark_entry.several:
        # no path type: a source may have a prefix, as in NAME:FILE
        file, words = {"multiple": True}, f"Any of: {benchmark_entry.data}. Repeatable."
    yield click.option("--data", required=True, metavar="FILE", help=words, **file)
    for name, words in benchmark_entry.flags.items():
        yield _flag(f"--{name.replace('_', '-')}", help=words)
    yield click.option(
        "--out",
        type=click.Path(path_type=Path, file_okay=False),
        metavar="DIR",
        help="The run's folder. If the folder already contains this run, the run is resumed. "
        "Default: runs/BENCHMARK-FORM.",
    )
    yield click.option(
        "--methods",
        metavar="NAME[,NAME...]",
        help=f"The methods to run: {', '.join(benchmark_entry.methods)}, or all for all of them. "
        "rag always runs. `conflictscore bench --help` explains each method. Default: "
        f"{','.join(usual_methods(benchmark_entry.methods))}.",
    )
    yield with_compare
    yield _number(
        "--sample", help="Run only N questions, drawn at random with --seed. Default: all."
    )
    words = "Seed for drawing the sample, and for shuffling the options of each question."
    yield _default("--seed", type=int, default=0, metavar="S", help=words)
    choices = click.Choice(["worst", "first", "most-evidence", "asked"])
    yield _default("--reconsider", type=choices, default="worst", help=_WORST_HELP)
    yield _default(
        "--seeds",
        type=click.IntRange(min=1, max=99),  # chosen by hand
        default=1,
        metavar="N",
        help="Run the benchmark N times, with seeds S, S+1 and so on, and pool the runs as "
        "one study. All runs use the same questions and documents, but each samples its "
        "own answers and verdicts. Each run has its own folder inside --out. Calls that "
        "runs share are paid for only once.",
    )
    yield click.option(
        "--temperature",
        type=click.FloatRange(0, 2),
        metavar="T",
        help=f"Temperature of the answers. Default: 0, or {STUDY_TEMPERATURE} with --seeds "
        "above 1. At temperature 0, several runs would differ only by the endpoint's own "
        "variation.",
    )
    if benchmark_entry.write_topics:
        yield click.option(
            "--write-topics",
            type=click.Path(path_type=Path, dir_okay=False),
            metavar="FILE",
            help="Do not run the benchmark. Instead, let the model of --model name the main "
            "entity of each question, as in the paper, and write these names with the documents "
            "to FILE. Correct FILE by hand, then pass it as --data.",
        )
    if benchmark_entry.searches:
        words = "How to treat a question that is missing from --search recorded:FILE."
        kinds = click.Choice(["fail", "skip"])
        yield _default("--missing", type=kinds, default="fail", help=words)
        yield _flag(
            "--exclude-benchmarks",
            help="Skip pages that may be copies of the benchmark, which are pages with both a "
            "question and one of its reference answers. The number of skipped pages is printed "
            "at the end.",
        )


def _running(benchmark_entry: "Entry") -> Iterator[_Option]:
    """Yield options that may change each time a run is resumed."""
    if benchmark_entry.judged_by:
        words = "The model that judges free-form answers. Default: the --judge model."
        yield click.option("--answer-judge", metavar="SPEC", help=words)
    yield _number(
        "--concurrency",
        help=f"How many questions to answer at the same time. Default: {REMOTE_QUESTIONS}, or "
        f"{LOCAL_QUESTIONS} with the local model.",
    )
    yield _number(
        "--max-tokens",
        help="Stop after N tokens of input and output. If the run is resumed, tokens used "
        "earlier also count.",
    )
    yield _flag("--retry-failed", help="Repeat the steps that failed in an earlier session.")
    yield _flag(
        "--no-transcripts",
        help="Do not store transcripts, which are the prompt and reply of each call, in the "
        "run's folder. Without transcripts, the run cannot be checked later.",
    )
    words = "Estimate the calls, tokens and dollars of the run, without calling a model."
    yield _flag("--dry-run", help=words)
    yield _flag("--json", "as_json", help="Print the figures as one JSON object.")
    words = "Also show long lists of categories, costs by step, and the papers' tables."
    yield _flag("--verbose", "-v", help=words)
    yield _flag("--quiet", "-q", help="Show no progress.")
