"""conflictscore judge-check."""

import json
from typing import Any

import click

from conflictscore.cli.common import chosen_spec, open_single_model, run_async
from conflictscore.cli.options import with_judge_options
from conflictscore.errors import ProviderError

_EPILOG = """\b
Example:
  conflictscore judge-check --answers human_judgments.jsonl --references questions.jsonl \\
      --model openai:o4-mini
"""
_FILE = click.Path(dir_okay=False)


@click.command("judge-check", epilog=_EPILOG, short_help="Compare NatConfQA's judge with people.")
@click.option(
    "--answers",
    required=True,
    type=_FILE,
    help="Answers that people judged: NatConfQA's human_judgments.jsonl.",
)
@click.option(
    "--references", required=True, type=_FILE, help="NatConfQA's questions: questions.jsonl."
)
@with_judge_options
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
def judge_check(
    answers: str,
    references: str,
    as_json: bool,
    **settings: Any,
) -> None:
    """Compare a model as NatConfQA's judge with people, on answers that they judged (Table 7).

    You can stop it at any time: the same command resumes from the cache. Answers that could not be
    judged are counted and enter no figure.
    """
    from rich.console import Console

    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.benchmarks.judging import Judge
    from conflictscore.benchmarks.natconfqa.agreement import agreement_card, check_judge
    from conflictscore.benchmarks.natconfqa.data import read_natconfqa
    from conflictscore.benchmarks.natconfqa.people import read_people
    from conflictscore.models.spec import require_effort
    from conflictscore.models.usage import UsageMeter
    from conflictscore.prompts import PromptSet
    from conflictscore.reporting.displays import ItemProgress
    from conflictscore.reporting.plain_table import print_card

    require_statistics()
    people = read_people(answers, read_natconfqa(references).items)
    prompts = PromptSet.open(settings["prompts"])
    model = open_single_model(chosen_spec(settings), settings)
    require_effort(settings["reasoning_effort"], model)
    meter = UsageMeter()
    with ItemProgress(Console(stderr=True, highlight=False), "judging", "answers") as bar:
        bar.begin(len(people))
        figures = run_async(check_judge(people, Judge(model, prompts, meter), bar.count))
    if as_json:
        about = {"judge": model.name, "endpoint": model.endpoint, "prompts": prompts.name}
        summary = {**about, **figures.to_json(), "usage": meter.usage.to_json()}
        click.echo(json.dumps(summary, ensure_ascii=False, indent=2))
    else:
        console = Console(highlight=False, markup=False, emoji=False)
        print_card(agreement_card(figures, f"{model.name} at {model.endpoint}"), console)
    if len(figures.failures) == len(people):
        reason = next(iter(figures.failures.values()))[0]
        raise ProviderError(f"no answer could be judged: {reason}", provider=model.name)
