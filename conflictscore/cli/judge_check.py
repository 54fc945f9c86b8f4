"""conflictscore judge-check."""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from conflictscore.benchmarks.registry import BENCHMARKS
from conflictscore.cli.common import run_async
from conflictscore.cli.options import reasoning_effort_option
from conflictscore.errors import InputError, ProviderError

if TYPE_CHECKING:
    from conflictscore.models.language_model import LanguageModel

__all__ = ["judge_check"]

_CHECKS = {name: entry.check for name, entry in BENCHMARKS.items() if entry.check}
_DEFAULT = next(iter(_CHECKS))
_FLAGS = {flag: name for name, check in _CHECKS.items() for flag in check.flags}
"""The benchmark that an option is for."""
_EPILOG = "\n".join(
    [
        "\b",
        "Examples:",
        *(
            f"  conflictscore judge-check {example}"
            for check in _CHECKS.values()
            for example in check.examples
        ),
    ]
)


def _of_each(words: Mapping[str, str]) -> str:
    """The meaning of an option for each benchmark."""
    return " ".join(f"{name}: {said.rstrip('.')}." for name, said in words.items() if said)


def _with_flags(command: Any) -> Any:
    for flag, name in _FLAGS.items():
        words = _of_each({name: _CHECKS[name].flags[flag]})
        command = click.option(_option(flag), is_flag=True, help=words)(command)
    return command


def _option(flag: str) -> str:
    return f"--{flag.replace('_', '-')}"


@click.command(
    "judge-check",
    epilog=_EPILOG,
    short_help="Compare a benchmark's judge of answers with people.",
)
@click.option(
    "--benchmark",
    type=click.Choice([*_CHECKS]),
    default=_DEFAULT,
    show_default=True,
    help="The benchmark whose judge is checked.",
)
@click.option(
    "--answers",
    required=True,
    metavar="FILE",
    help="Answers that people judged. "
    + _of_each({name: check.answers for name, check in _CHECKS.items()}),
)
@click.option(
    "--references",
    metavar="FILE",
    help="The benchmark's questions. "
    + _of_each({name: check.references for name, check in _CHECKS.items()}),
)
@click.option(
    "--sample",
    type=click.IntRange(min=2),
    metavar="N",
    help="Draw N answers. Default: all, in the mix that they are labelled in. "
    + _of_each({name: check.sample for name, check in _CHECKS.items()}),
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Of the sample.")
@click.option(
    "--model",
    metavar="SPEC",
    help="The judge: openai:NAME, local, local:NAME, local:/path/to/file.gguf, or NAME with"
    " --base-url. Default: OpenAI where OPENAI_API_KEY is set, otherwise local.",
)
@_with_flags
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint for --model.")
@click.option(
    "--context-window",
    type=click.IntRange(min=1024),
    metavar="TOKENS",
    help="Prompt and reply together. Default: what is known of the model, or 8192.",
)
@reasoning_effort_option
@click.option(
    "--prompts",
    metavar="SET|DIR",
    help="default; paper, worded by the paper's own tables; or a folder with the judge's templates"
    " in your own words, such as "
    + " or ".join(f"{check.template}.txt" for check in _CHECKS.values())
    + ".",
)
@click.option("--no-cache", is_flag=True, help="Neither use nor keep replies.")
@click.option(
    "--out",
    metavar="FILE",
    help="Append every verdict to FILE as it comes; those that it holds are not asked for again.",
)
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def judge_check(
    benchmark: str,
    answers: str,
    references: str | None,
    sample: int | None,
    seed: int,
    prompts: str | None,
    out: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Hold a benchmark's judge of answers against people, on answers that they judged.

    You can stop it at any time: with --out or the cache, the same command resumes. Answers that
    get no verdict are counted, and are in no figure.
    """
    from conflictscore.benchmarks.agreement import Request, run_check
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.prompts import PromptSet

    for flag, name in _FLAGS.items():
        if settings[flag] and benchmark != name:
            raise InputError(f"{_option(flag)} is for --benchmark {name}")
    require_statistics()
    request = Request(
        answers=answers,
        references=references,
        sample=sample,
        seed=seed,
        prompts=PromptSet.open(prompts, base=_CHECKS[benchmark].prompt_set),
        flags={flag: settings[flag] for flag in _FLAGS},
        open_judge=partial(_open_judge, settings),
    )
    check = _CHECKS[benchmark].open(request)
    checked = run_async(run_check(check, out, progress=_progress))
    if as_json:
        click.echo(json.dumps(checked.shown, ensure_ascii=False, indent=2))
    else:
        click.echo(checked.text)
    if checked.failure is not None:
        raise ProviderError(
            f"no answer could be judged: {checked.failure}", provider=checked.shown["judge"]
        )


def _open_judge(settings: Mapping[str, Any]) -> "LanguageModel":
    from conflictscore.models.spec import default_spec, open_model, require_effort
    from conflictscore.storage.cache import ContentCache

    spec = settings["model"]
    if spec is None and settings["base_url"]:
        raise InputError("--base-url needs --model NAME, a model of that endpoint")
    if spec is None and (spec := default_spec()) == "local":
        click.echo("No OPENAI_API_KEY is set: using the embedded local model.", err=True)
    model = open_model(
        spec,
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        cache=None if settings["no_cache"] else ContentCache.default(),
        reasoning_effort=settings["reasoning_effort"],
    )
    require_effort(settings["reasoning_effort"], model)
    return model


@contextmanager
def _progress(done: int, total: int) -> Iterator[Callable[[bool], None]]:
    """Counts judgements on stderr."""
    from rich.console import Console

    from conflictscore.progress import CountBar

    unjudged = 0
    with CountBar(Console(stderr=True, highlight=False), "judging", "answers") as bar:

        def advance(failed: bool) -> None:
            nonlocal done, unjudged
            done, unjudged = done + 1, unjudged + failed
            bar.show(done, total, f"{unjudged} unjudged" if unjudged else "")

        bar.show(done, total)
        yield advance
