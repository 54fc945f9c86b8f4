"""conflictscore judge-check."""

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.errors import InputError, ProviderError

if TYPE_CHECKING:
    from conflictscore.models.language_model import LanguageModel

__all__ = ["judge_check"]

_EXAMPLES = """\b
Examples:
  conflictscore judge-check --answers judge_truth.jsonl --references TruthfulQA.csv --sample 200
  conflictscore judge-check --answers judge_info.jsonl --references TruthfulQA-v1.csv \\
      --model openai:gpt-4.1-mini --sample 400 --seed 7 --out verdicts.jsonl --json
  conflictscore judge-check --benchmark natconfqa --answers human_judgments.jsonl \\
      --references questions.jsonl
  conflictscore judge-check --benchmark wikicontradict --answers human_eval.jsonl --sample 100
  conflictscore judge-check --benchmark wikicontradict --answers human_eval.jsonl --nli-judge
"""


@click.command("judge-check", epilog=_EXAMPLES)
@click.option(
    "--benchmark",
    type=click.Choice(["truthfulqa", "natconfqa", "wikicontradict"]),
    default="truthfulqa",
    show_default=True,
    help="Whose judge.",
)
@click.option(
    "--answers",
    required=True,
    metavar="FILE",
    help="Answers that people judged. truthfulqa: judge_truth.jsonl for the judge of truthfulness,"
    " or judge_info.jsonl for the one of informativeness. natconfqa: human_judgments.jsonl."
    " wikicontradict: human_eval.jsonl.",
)
@click.option(
    "--references",
    metavar="FILE",
    help="The benchmark's questions. truthfulqa: TruthfulQA.csv or TruthfulQA-v1.csv, with the"
    " reference answers that the judge is shown. natconfqa: questions.jsonl. wikicontradict:"
    " questions.jsonl, which says the type of each contradiction; may be left out.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=2),
    metavar="N",
    help="Draw N answers, of truthfulqa half of each label. Default: all, in the mix that they are"
    " labelled in.",
)
@click.option("--seed", type=int, default=0, show_default=True, metavar="S", help="Of the sample.")
@click.option(
    "--model",
    metavar="SPEC",
    help="The judge: openai:NAME, local, local:NAME, local:/path/to/file.gguf, or NAME with"
    " --base-url. Default: OpenAI where OPENAI_API_KEY is set, otherwise local.",
)
@click.option(
    "--nli-judge",
    is_flag=True,
    help="wikicontradict: check the rating by the NLI model that comes along, in place of a"
    " language model; needs the extra [nli].",
)
@click.option("--base-url", metavar="URL", help="An OpenAI-compatible endpoint for --model.")
@click.option(
    "--context-window",
    type=click.IntRange(min=1024),
    metavar="TOKENS",
    help="Prompt and reply together. Default: what is known of the model, or 8192.",
)
@click.option(
    "--prompts",
    type=click.Path(path_type=Path),
    metavar="DIR",
    help="A folder with the judge's templates in words of your own, such as judge_truthful.txt,"
    " natconfqa_decompose.txt or wikicontradict_judge.txt.",
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
    prompts: Path | None,
    out: str | None,
    as_json: bool,
    nli_judge: bool,
    **settings: Any,
) -> None:
    """Hold a benchmark's judge of answers against people, on answers that they judged.

    It can be stopped at any time, and with --out or the cache the same command goes on. An answer
    that gets no verdict is counted, and is in no figure. Of truthfulqa are left out answers that
    are labelled both ways, and those that are one of the references that the judge is shown.
    """
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.cli.judge_checks import CHECKS, Request
    from conflictscore.prompts import PromptSet

    if nli_judge and benchmark != "wikicontradict":
        raise InputError("--nli-judge is for --benchmark wikicontradict")
    require_statistics()
    request = Request(
        answers=answers,
        references=references,
        sample=sample,
        seed=seed,
        prompts=PromptSet.load(folder=prompts),
        out=out,
        nli_judge=nli_judge,
        open_judge=partial(_open_judge, settings),
    )
    checked = CHECKS[benchmark](request)
    if as_json:
        click.echo(json.dumps(checked.shown, ensure_ascii=False, indent=2))
    else:
        checked.print()
    if checked.failure is not None:
        raise ProviderError(
            f"no answer could be judged: {checked.failure}", provider=checked.shown["judge"]
        )


def _open_judge(settings: dict[str, Any]) -> "LanguageModel":
    from conflictscore.models.spec import default_spec, open_model
    from conflictscore.storage.cache import ContentCache

    spec = settings["model"]
    if spec is None and settings["base_url"]:
        raise InputError("--base-url needs --model NAME, a model of that endpoint")
    if spec is None and (spec := default_spec()) == "local":
        click.echo("No OPENAI_API_KEY is set: using the embedded local model.", err=True)
    return open_model(
        spec,
        base_url=settings["base_url"],
        context_window=settings["context_window"],
        cache=None if settings["no_cache"] else ContentCache.default(),
    )
