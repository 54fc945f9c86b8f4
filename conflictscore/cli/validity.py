"""conflictscore bench validity."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from conflictscore.cli.common import open_labeler_of
from conflictscore.cli.conflict_detection import judged_by
from conflictscore.cli.options import with_model_choice

if TYPE_CHECKING:
    from conflictscore.benchmarks.conflict_detection.detect import Judged
    from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
    from conflictscore.benchmarks.validity.judged_answers import JudgedAnswer
    from conflictscore.benchmarks.validity.validity_cards import ValidityFigures

__all__ = ["validity"]

_EXAMPLES = """\b
Examples:
  conflictscore bench validity --rated human_eval.jsonl --made questions.jsonl --labeler nli
  conflictscore bench validity --natconfqa questions.jsonl human_judgments.jsonl --labeler nli
  conflictscore bench validity --groups climatefever_groups.jsonl --labeler nli --limit 200
"""

_FILE = click.Path(exists=True, dir_okay=False)


@click.command("validity", epilog=_EXAMPLES)
@click.option(
    "--rated",
    type=_FILE,
    help="WikiContradict's human_eval.jsonl: does the score follow people's ratings?",
)
@click.option(
    "--natconfqa",
    type=(_FILE, _FILE),
    metavar="QUESTIONS JUDGMENTS",
    help="NatConfQA's questions.jsonl and human_judgments.jsonl: does it follow people's recall of"
    " conflicting answers?",
)
@click.option(
    "--made",
    type=_FILE,
    help="WikiContradict's questions.jsonl: are one-sided, hedged, attributed and evasive answers,"
    " made of its two answers by fixed sentences, ordered as a reader would?",
)
@click.option(
    "--groups",
    multiple=True,
    metavar="FILE",
    help="Claims with documents that people labelled, as of bench conflict-detection: what do wrong"
    " labels do to the score? May be given several times.",
)
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the first N questions, and of --groups the first N claims, of each file.",
)
@click.option(
    "--out",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("runs/validity.jsonl"),
    show_default=True,
    metavar="FILE",
    help="Verdicts, added one by one; the same command resumes a file that exists.",
)
@click.option("--concurrency", type=click.IntRange(min=1), metavar="N", help="Claims at a time.")
@click.option("--retry-failed", is_flag=True, help="Judge again what failed in an earlier run.")
@click.option("--json", "as_json", is_flag=True, help="Print the figures as one JSON object.")
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@with_model_choice
def validity(
    rated: str | None,
    natconfqa: tuple[str, str] | None,
    made: str | None,
    groups: tuple[str, ...],
    limit: int | None,
    out: Path,
    concurrency: int | None,
    retry_failed: bool,
    as_json: bool,
    quiet: bool,
    **settings: Any,
) -> None:
    """Ask whether the score measures what it says, and how far wrong labels move it.

    Answers are taken apart by sentences, without a language model, and every sentence is labelled
    against every document. Rivals of the score are made of the same labels.

    More: docs/findings/validity.md
    """
    from conflictscore.benchmarks.harness.statistics import require_statistics

    if not (rated or natconfqa or made or groups):
        raise click.UsageError("Give --rated, --natconfqa, --made or --groups.")
    require_statistics()
    answers, labelled = _read(rated, natconfqa, made, groups, limit)
    opened = open_labeler_of(settings)
    from conflictscore.benchmarks.validity.judged_answers import claim_groups

    asked = claim_groups(answer for some in answers.values() for answer in some)
    judged, _ = judged_by(
        opened,
        [*asked, *labelled],
        out,
        concurrency=concurrency,
        retry_failed=retry_failed,
        quiet=quiet,
    )
    figures = _figures(opened.labeler.name, answers, judged)
    if as_json:
        click.echo(json.dumps(figures.to_json(), ensure_ascii=False, indent=2))
        return
    from rich.console import Console

    from conflictscore.benchmarks.validity.validity_cards import validity_cards
    from conflictscore.reporting.plain_table import print_card

    console = Console(highlight=False, markup=False, emoji=False)
    for card in validity_cards(figures):
        print_card(card, console)


def _read(
    rated: str | None,
    natconfqa: tuple[str, str] | None,
    made: str | None,
    groups: tuple[str, ...],
    limit: int | None,
) -> tuple[dict[str, tuple["JudgedAnswer", ...]], list["ClaimGroup"]]:
    """Answers by set, and claims that people labelled."""
    from conflictscore.benchmarks.conflict_detection.data import first_of_each, read_data
    from conflictscore.benchmarks.validity.judged_answers import (
        first_questions,
        made_answers,
        natconfqa_answers,
        wikicontradict_answers,
    )
    from conflictscore.benchmarks.wikicontradict.data import read_questions

    answers: dict[str, tuple[JudgedAnswer, ...]] = {}
    if rated:
        answers["WikiContradict"] = wikicontradict_answers(rated)
    if natconfqa:
        answers["NatConfQA"] = natconfqa_answers(*natconfqa)
    if made:
        answers[_MADE] = made_answers(read_questions(made))
    kept = first_of_each(read_data(groups) if groups else [], limit)
    return {name: first_questions(some, limit) for name, some in answers.items()}, kept


_MADE = "made"


def _figures(
    labeler: str, answers: dict[str, tuple["JudgedAnswer", ...]], judged: list["Judged"]
) -> "ValidityFigures":
    from conflictscore.benchmarks.validity.judged_answers import ANSWERS
    from conflictscore.benchmarks.validity.label_noise import noise_figures
    from conflictscore.benchmarks.validity.tracking import made_figures, track
    from conflictscore.benchmarks.validity.validity_cards import ValidityFigures

    labels = {one.group.id: one.labels for one in judged if one.group.set == ANSWERS}
    sets = dict.fromkeys(one.group.set for one in judged if one.group.set != ANSWERS)
    return ValidityFigures(
        labeler=labeler,
        parts=tuple(
            part
            for name, some in answers.items()
            if name != _MADE
            for part in track(name, some, labels)
        ),
        made=made_figures(answers[_MADE], labels) if _MADE in answers else None,
        noise=tuple(
            noise_figures(name, [one for one in judged if one.group.set == name]) for name in sets
        ),
    )
