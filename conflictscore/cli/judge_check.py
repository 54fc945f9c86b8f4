"""The command ``judge-check``.

Modules that only a run needs are imported in functions, so that ``--help`` is fast.
"""

import json
from typing import TYPE_CHECKING, Any, Final

import click

from conflictscore.cli.common import chosen_spec, open_single_model, run_async
from conflictscore.cli.options import seed_option, with_judge_options
from conflictscore.errors import InputError, ProviderError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from conflictscore.benchmarks.judge_agreement import RatedSet
    from conflictscore.benchmarks.judging import Judge
    from conflictscore.benchmarks.natconfqa.people import JudgedByPeople
    from conflictscore.records import Record
    from conflictscore.reporting.plain_table import Card

_EPILOG = """\b
Examples:
  conflictscore judge-check --answers human_judgments.jsonl --references questions.jsonl \\
      --model openai:o4-mini
  conflictscore judge-check --benchmark truthfulqa --answers judge_truth.jsonl \\
      --references TruthfulQA.csv --sample 200
  conflictscore judge-check --benchmark wikicontradict --answers human_eval.jsonl
"""
_FILE = click.Path(dir_okay=False)
_BENCHMARKS: Final = ("natconfqa", "truthfulqa", "wikicontradict")


@click.command(
    "judge-check", epilog=_EPILOG, short_help="Compare a benchmark's judge with people's ratings."
)
@click.option(
    "--benchmark",
    type=click.Choice(_BENCHMARKS),
    default=_BENCHMARKS[0],
    show_default=True,
    help="The benchmark whose judge is compared with people.",
)
@click.option(
    "--answers",
    required=True,
    type=_FILE,
    help="The file of answers that people judged: NatConfQA's human_judgments.jsonl, "
    "TruthfulQA's judge_truth.jsonl or judge_info.jsonl, or WikiContradict's human_eval.jsonl.",
)
@click.option(
    "--references",
    type=_FILE,
    help="The file of questions: NatConfQA's questions.jsonl, or TruthfulQA.csv. WikiContradict "
    "needs none.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=2),
    metavar="N",
    help="Judge only N answers, drawn at random with --seed. For TruthfulQA, half of the answers "
    "have the label yes, and half the label no. For WikiContradict, all five answers of a model "
    "to a question are drawn together. Default: all.",
)
@seed_option()
@with_judge_options
@click.option("--json", "as_json", is_flag=True, help="Print the output as one JSON object.")
def judge_check(
    benchmark: str,
    answers: str,
    references: str | None,
    sample: int | None,
    seed: int,
    as_json: bool,
    **settings: Any,
) -> None:
    """Compare a benchmark's judge, which is a model, with people who judged the same answers.

    The output shows their agreement, Cohen's kappa, and how often the judge and the people give
    each rating. It also shows how much of a difference between two methods remains if the judge
    rates their answers, and not people. For NatConfQA, the output shows the figures of Table 7 in
    NatConfQA's paper.

    You can stop the command at any time. To resume, run the command again: judged answers are
    cached. Answers that could not be judged are counted, but excluded from all other figures.
    """
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.benchmarks.judging import Judge
    from conflictscore.models.spec import require_effort
    from conflictscore.models.usage import UsageMeter
    from conflictscore.prompts import PromptSet

    require_statistics()
    if references is None and benchmark != "wikicontradict":
        raise InputError(f"--benchmark {benchmark} needs --references FILE with the questions")
    # TruthfulQA's judge uses the paper's prompt, as in ``bench truthfulqa``.
    prompts = PromptSet.open(
        settings["prompts"], base="paper" if benchmark == "truthfulqa" else "default"
    )
    if benchmark == "natconfqa":
        people = _natconfqa(answers, str(references), sample, seed)
    else:
        rated_set = _rated(benchmark, answers, str(references), sample, seed)
    model = open_single_model(chosen_spec(settings), settings)
    require_effort(settings["reasoning_effort"], model)
    judge = Judge(model, prompts, UsageMeter())
    if benchmark == "natconfqa":
        figures, cards, reason = _check_natconfqa(people, judge)
    else:
        figures, cards, reason = _check_ratings(rated_set, judge)
    if as_json:
        about: dict[str, Any] = {
            "judge": model.name,
            "endpoint": model.endpoint,
            "prompts": prompts.name,
            "sample_seed": None if sample is None else seed,
        }
        summary = {**about, **figures.to_json(), "usage": judge.meter.usage.to_json()}
        click.echo(json.dumps(summary, ensure_ascii=False, indent=2))
    else:
        _print(cards)
    if reason is not None:
        raise ProviderError(f"no answer could be judged: {reason}", provider=model.name)


def _natconfqa(
    answers: str, references: str, sample: int | None, seed: int
) -> "Sequence[JudgedByPeople]":
    from conflictscore.benchmarks.harness.question_sample import lot
    from conflictscore.benchmarks.natconfqa.data import read_natconfqa
    from conflictscore.benchmarks.natconfqa.people import read_people

    people = read_people(answers, read_natconfqa(references).items)
    if sample is None:
        return people
    return sorted(people, key=lambda row: lot("judged", seed, row.id))[:sample]


def _rated(
    benchmark: str, answers: str, references: str, sample: int | None, seed: int
) -> "RatedSet":
    if benchmark == "truthfulqa":
        from conflictscore.benchmarks.truthfulqa.people import rated_truthfulqa

        return rated_truthfulqa(answers, references, sample=sample, seed=seed)
    from conflictscore.benchmarks.wikicontradict.people import rated_wikicontradict

    return rated_wikicontradict(answers, sample=sample, seed=seed)


def _check_natconfqa(
    people: "Sequence[JudgedByPeople]", judge: "Judge"
) -> "tuple[Record, list[Card], str | None]":
    """Return the figures, their tables and, if no answer could be judged, the reason."""
    from rich.console import Console

    from conflictscore.benchmarks.natconfqa.agreement import (
        agreement_card,
        check_judge,
        decisions_card,
    )
    from conflictscore.reporting.displays import ItemProgress

    with ItemProgress(Console(stderr=True, highlight=False), "judging", "answers") as bar:
        bar.begin(len(people))
        figures = run_async(check_judge(people, judge, bar.count))
    name = f"{judge.model.name} at {judge.model.endpoint}"
    all_failed = len(figures.failures) == len(people)
    reason = next(iter(figures.failures.values()))[0] if all_failed else None
    return figures, [agreement_card(figures, name), decisions_card(figures)], reason


def _check_ratings(
    rated_set: "RatedSet", judge: "Judge"
) -> "tuple[Record, list[Card], str | None]":
    """Do the same as ``_check_natconfqa``, for ratings of whole answers."""
    from rich.console import Console

    from conflictscore.benchmarks.judge_agreement import rated_by_judge, rating_agreement
    from conflictscore.benchmarks.judge_agreement_cards import agreement_cards
    from conflictscore.reporting.displays import ItemProgress

    with ItemProgress(Console(stderr=True, highlight=False), "judging", "answers") as bar:
        bar.begin(len(rated_set.answers))
        ratings = run_async(rated_by_judge(rated_set, judge, bar.count))
    figures = rating_agreement(rated_set, ratings)
    name = f"{judge.model.name} at {judge.model.endpoint}"
    reason = ratings[0].error if figures.unrated == figures.answers else None
    return figures, list(agreement_cards(figures, name)), reason


def _print(cards: "Sequence[Card]") -> None:
    from rich.console import Console

    from conflictscore.reporting.plain_table import print_card

    console = Console(highlight=False, markup=False, emoji=False)
    for card in cards:
        print_card(card, console)
