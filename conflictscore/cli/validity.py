"""The command ``bench validity``."""

import json
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import open_labeler_of, plain_console, run_async
from conflictscore.cli.options import seed_option, with_model_choice
from conflictscore.errors import InputError

if TYPE_CHECKING:
    from conflictscore.benchmarks.validity.judged_answers import JudgedAnswer
    from conflictscore.benchmarks.validity.tracking import PartFigures
    from conflictscore.reporting.plain_table import Card

_LOCAL_CLAIMS, _REMOTE_CLAIMS = 1, 4
"""How many claims are judged at the same time: on this machine, and at an endpoint.

A labeler on this machine gains nothing from parallel calls. The number for an endpoint was chosen
by hand.
"""
_FILE = click.Path(dir_okay=False)
_EXAMPLES = """\b
Examples:
  conflictscore bench validity --wikicontradict human_eval.jsonl --labeler nli
  conflictscore bench validity --natconfqa questions.jsonl human_judgments.jsonl --sample 20
"""


@click.command(
    "validity", epilog=_EXAMPLES, short_help="Compare the scores of answers with people's ratings."
)
@click.option(
    "--wikicontradict",
    type=_FILE,
    help="WikiContradict's human_eval.jsonl, with answers that people rated as correct, "
    "partially correct or incorrect.",
)
@click.option(
    "--natconfqa",
    type=(_FILE, _FILE),
    metavar="QUESTIONS JUDGMENTS",
    help="NatConfQA's questions.jsonl and human_judgments.jsonl, with people's judgements of how "
    "well an answer reports conflicts.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=2),
    metavar="N",
    help="Draw N questions of each set using --seed, with all their answers. Default: all.",
)
@seed_option()
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@with_model_choice
def validity(
    wikicontradict: str | None,
    natconfqa: tuple[str, str] | None,
    sample: int | None,
    seed: int,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Compare the scores of answers with people's judgements of these answers.

    The score and human annotators judge the same answers. Each sentence of an answer counts as a
    claim and is labelled against each document; no model splits answers. For each prompt, the
    output shows how CS-C, CS-R and simple baselines correlate with people's judgement (Spearman's
    rho). The default labeler is json, the paper's labeler, which makes one call per pair.

    Verdicts are cached, so the same command resumes an interrupted run. See
    docs/findings/validity.md.
    """
    from rich.console import Console

    from conflictscore.benchmarks.conflict_detection.measures import detect
    from conflictscore.benchmarks.harness.statistics import require_statistics
    from conflictscore.benchmarks.validity.tracking import (
        ValidityFigures,
        labels_by_group,
        track,
    )
    from conflictscore.models.usage import UsageMeter
    from conflictscore.prompts import PromptSet
    from conflictscore.reporting.displays import ItemProgress
    from conflictscore.reporting.plain_table import print_card

    require_statistics()
    answers = _read(wikicontradict, natconfqa, sample, seed)
    # the score under test is the paper's, so its prompts are the default
    settings["prompts"] = PromptSet.open(settings["prompts"], base="paper")
    labeler, cache, is_local = open_labeler_of(settings)
    groups = [
        group
        for judged_answers in answers.values()
        for answer in judged_answers
        for group in answer.groups
    ]
    console = Console(stderr=True, highlight=False)
    # one reason suffices: the lines name no pair, and the bar counts all failures
    with ItemProgress(console, "judging", "pairs", visible=not quiet, reasons=1) as progress:
        progress.begin(sum(len(group.documents) for group in groups))
        verdicts = run_async(
            detect(
                labeler,
                groups,
                meter=UsageMeter(),  # required, but not read: these figures show no usage
                cache=cache,
                concurrency=_LOCAL_CLAIMS if is_local else _REMOTE_CLAIMS,
                on_pair=lambda label: progress.count(label.error, "a pair"),
            )
        )
    labels = labels_by_group(verdicts)
    figures = ValidityFigures(
        labeler=labeler.name,
        parts=tuple(
            part
            for name, judged_answers in answers.items()
            for part in track(name, judged_answers, labels)
        ),
    )
    if as_json:
        click.echo(json.dumps(figures.to_json(), ensure_ascii=False, indent=2))
        return
    for part in figures.parts:
        print_card(_card(part, figures.labeler), plain_console())


def _read(
    wikicontradict: str | None,
    natconfqa: tuple[str, str] | None,
    sample: int | None,
    seed: int,
) -> "dict[str, list[JudgedAnswer]]":
    from conflictscore.benchmarks.validity.judged_answers import (
        drawn_questions,
        natconfqa_answers,
        wikicontradict_answers,
    )

    sets = {}
    if wikicontradict is not None:
        sets["WikiContradict"] = wikicontradict_answers(wikicontradict)
    if natconfqa is not None:
        sets["NatConfQA"] = natconfqa_answers(*natconfqa)
    if not sets:
        raise InputError("give --wikicontradict or --natconfqa, or both")
    return {
        name: drawn_questions(judged_answers, sample, seed) for name, judged_answers in sets.items()
    }


def _card(part: "PartFigures", labeler: str) -> "Card":
    """Build the table of a part's measures, with a note on its labels and unscored answers."""
    from conflictscore.reporting.figure_text import one_line, span
    from conflictscore.reporting.plain_table import card_of

    def number(figure: float | None) -> str:
        return "none" if figure is None else f"{figure:.2f}"

    return card_of(
        f"{part.set}, {part.part}: {part.answers:,} answers to {part.questions:,} questions",
        ("measure", "a better answer has", "mean", "rho with people", "95 % interval"),
        [
            (
                measure.measure,
                "more" if measure.expected > 0 else "less",
                number(measure.mean),
                number(measure.rho.value),
                span(number(measure.rho.low), number(measure.rho.high)),
            )
            for measure in part.measures
        ],
        f"labels by {one_line(labeler)}; people's mean {number(part.people_mean)}"
        + (
            f"; answers without scores: {part.unscored:,} (no claim was labelled, or too many"
            " of the labeler's replies were unusable)"
            if part.unscored
            else ""
        ),
    )
