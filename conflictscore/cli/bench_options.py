"""The options of ``conflictscore bench NAME``: those that make sense for the benchmark."""

from collections.abc import Callable
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
    from conflictscore.benchmarks.registry import Entry

__all__ = ["LOCAL_QUESTIONS", "REMOTE_QUESTIONS", "with_bench_options"]

LOCAL_QUESTIONS, REMOTE_QUESTIONS = 1, 4
"""How many questions are worked on at a time, with the local model and with others."""

_MC = (
    " mc1: several options, one of them true. mc2: all true and all false ones, by the"
    " probabilities of their letters, which the model's endpoint must give."
)
_Option = Callable[[Any], Any]


def with_bench_options(entry: "Entry", command: Any) -> Any:
    """Add the options of a command that runs a benchmark.

    Options about searching, about the form and about the judge are left out if the benchmark
    brings its documents, has one form, or asks no model to judge.
    """
    for option in reversed([*_questions(entry), *_running(entry), *_output]):
        command = option(command)
    command = with_evidence_options(with_model_choice(command))
    if entry.searches:
        command = with_search_options(with_passage_tokens(command))
    else:
        command = with_passage_tokens(command, tokens=0)
    if len(entry.forms) > 1:
        command = _form(entry)(command)
    return command


def _form(entry: "Entry") -> _Option:
    return click.option(
        "--form",
        type=click.Choice(entry.forms),
        default=entry.forms[0],
        show_default=True,
        help=f"How questions are asked.{_MC if 'mc2' in entry.forms else ''}",
    )


def _questions(entry: "Entry") -> list[_Option]:
    usual = ",".join(usual_methods(entry.methods))
    options = [
        _data(entry),
        *(
            click.option(f"--{name.replace('_', '-')}", is_flag=True, help=words)
            for name, words in entry.flags.items()
        ),
        click.option(
            "--out",
            type=click.Path(path_type=Path, file_okay=False),
            metavar="DIR",
            help="The run's folder; a run that it holds is resumed. Default: runs/BENCHMARK-FORM.",
        ),
        click.option(
            "--methods",
            metavar="NAME[,NAME...]",
            help=f"Some of {', '.join(entry.methods)}; all runs every one, and rag is always run."
            f" `conflictscore bench --help` says what each does. Default: {usual}.",
        ),
        with_compare,
        click.option(
            "--limit", type=click.IntRange(min=1), metavar="N", help="The first N questions."
        ),
        click.option(
            "--sample",
            type=click.IntRange(min=1),
            metavar="N",
            help="N questions, drawn by --seed.",
        ),
        click.option(
            "--seed",
            type=int,
            default=0,
            show_default=True,
            metavar="S",
            help="Decides the order of options and the sample.",
        ),
        click.option(
            "--reconsider",
            type=click.Choice(["worst", "first", "most-evidence", "asked"]),
            default="worst",
            show_default=True,
            help="The claim that the paper's loop puts back, of those with conflicts: the most"
            " contradicted, the first, the one with most evidence, or the one that the model names"
            " as its main claim. `report` of a run by each shows what it changes.",
        ),
        click.option(
            "--seeds",
            type=click.IntRange(min=1, max=99),
            default=1,
            show_default=True,
            metavar="N",
            help="Run N times, with the seeds S, S+1 and so on, and pool the runs as one study: the"
            " same questions and documents, with answers and verdicts sampled anew. A folder each,"
            " in that of --out; what does not change is paid for once.",
        ),
    ]
    if entry.write_topics:
        options.append(
            click.option(
                "--write-topics",
                type=click.Path(path_type=Path, dir_okay=False),
                metavar="FILE",
                help="Only have --model name the main entity of each question, as the paper does,"
                " show the names and write them with the documents into FILE. Correct them there,"
                " and give it as --data.",
            )
        )
    if entry.searches:
        options += [
            click.option(
                "--missing",
                type=click.Choice(["fail", "skip"]),
                default="fail",
                show_default=True,
                help="Fail on questions that --search recorded:FILE lacks, or skip them.",
            ),
            click.option(
                "--exclude-benchmarks",
                is_flag=True,
                help="Leave out pages that give the benchmark away: those that hold a question"
                " beside one of its reference answers. Their number is printed at the end.",
            ),
        ]
    return options


def _data(entry: "Entry") -> _Option:
    if entry.several:
        words = f"May be given several times: {entry.data}."
        return click.option("--data", required=True, multiple=True, metavar="FILE", help=words)
    return click.option(
        "--data",
        required=True,
        type=click.Path(path_type=Path, dir_okay=False),
        metavar="FILE",
        help=f"The benchmark's official file: {entry.data}.",
    )


def _running(entry: "Entry") -> list[_Option]:
    judge = click.option(
        "--answer-judge",
        metavar="SPEC",
        help="The model that judges free-form answers. Default: that of --judge.",
    )
    return [*([judge] if entry.judged_by else []), *_limits]


_limits = [
    click.option(
        "--concurrency",
        type=click.IntRange(min=1),
        metavar="N",
        help=f"Questions at a time. Default: {REMOTE_QUESTIONS}, or {LOCAL_QUESTIONS} with the"
        " local model.",
    ),
    click.option(
        "--max-tokens",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop once N tokens were used, in and out, by all sessions of the run together.",
    ),
    click.option(
        "--max-cost",
        type=click.FloatRange(min=0, min_open=True),
        metavar="USD",
        help="Stop once this much was spent; needs a published price for every model.",
    ),
    click.option(
        "--retry-failed", is_flag=True, help="Try again what failed in an earlier session."
    ),
]
_output = [
    click.option(
        "--dry-run",
        is_flag=True,
        help="Only estimate the calls, tokens and dollars that the run will take.",
    ),
    click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object."),
    click.option(
        "--verbose",
        "-v",
        is_flag=True,
        help="Also show long lists of categories, costs by step, and the papers' tables.",
    ),
    click.option("--quiet", "-q", is_flag=True, help="Show no progress."),
]
