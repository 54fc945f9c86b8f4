"""Sides that the bundled NLI model takes on traps of language: kept, or left unlabelled.

Claims are drawn by lot from the validation sets, and the halves are told apart by the claim, so a
choice made on one can be reported on the other. Verdicts are kept in --cache, and the same command
resumes. Where a doubted pair is UNLABELLED, accuracy is that of the pairs with a label. A conflict
F1 below that of a constant answer is marked.
"""

import asyncio
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.by_claim import NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, EvidenceLabel
from conflictscore.storage.cache import ContentCache
from measurements.embedded_stack import by_claim, constants, figures, marked, told_constants
from measurements.kept_scores import Numbers, Pairs
from measurements.validation_sample import by_lot, places_of, validation_claims
from training.pairs import LABELS

__all__ = ["main"]

_NEITHER = LABELS.index("IRRELEVANT")
_Verdicts = dict[tuple[str, str, int], EvidenceLabel]


@click.command(help=__doc__)
@click.option(
    "--data",
    multiple=True,
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, path_type=Path),
    help="The folder labels/.",
)
@click.option("--claims", default=400, show_default=True, help="Claims by lot, of both halves.")
@click.option("--cache", "file", required=True, metavar="FILE", type=click.Path(path_type=Path))
def main(data: Sequence[Path], claims: int, file: Path) -> None:
    """See the module."""
    try:
        drawn = by_lot(validation_claims(data), 0)[:claims]
        with closing(ContentCache(file)) as cache:
            verdicts = asyncio.run(_verdicts(drawn, cache))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    click.echo("| half | pairs, claims | doubted | | accuracy | coverage | conflict F1 |")
    click.echo("|---|---|---|---|---|---|---|")
    for half in (0, 1):
        _print_half(half, [one for one in drawn if _half(one) == half], verdicts)


def _half(group: ClaimGroup) -> int:
    return lot("traps", 0, group.claim)[0] % 2


async def _verdicts(groups: Sequence[ClaimGroup], cache: ContentCache) -> _Verdicts:
    labeler, found = NliByClaim(NliLabeler.open()), _Verdicts()
    with CountBar(Console(stderr=True), "labelling", "claims") as bar:
        for count, group in enumerate(groups, start=1):
            claim = Claim(number=1, text=group.claim)
            [row] = await label_table(
                labeler, [claim], group.shown, meter=UsageMeter(), cache=cache
            )
            found |= {(group.set, group.id, one.document): one for one in row.labels}
            bar.show(count, len(groups), "")
    return found


def _print_half(half: int, groups: Sequence[ClaimGroup], verdicts: _Verdicts) -> None:
    pairs = Pairs.of(places_of(groups))
    said = [verdicts[group.set, group.id, number] for group, number in pairs.places]
    given = np.array([LABELS.index(one.label.value) for one in said])
    doubted = np.array([(one.reasoning or "").startswith("doubtful") for one in said])
    told = f"| {half + 1} | {len(said):,}, {len(groups):,} | {doubted.mean():.3f}"
    for way, labelled, label in (
        ("kept", np.ones(len(said), bool), given),
        ("UNLABELLED", ~doubted, np.where(doubted, _NEITHER, given)),
    ):
        click.echo(f"{told} | {way} | {_figures(pairs, labelled, label)} |")
        told = "| | | "
    click.echo(f"| | {told_constants(constants(pairs))} (conflict F1, claims right) | | | | | |")


def _figures(pairs: Pairs, labelled: Numbers, label: Numbers) -> str:
    _, f1, _ = figures(by_claim(pairs, label))
    right = (label == pairs.gold)[labelled].mean()
    return f"{right:.3f} | {labelled.mean():.3f} | {marked(f1, constants(pairs), 0)}"


if __name__ == "__main__":
    main()
