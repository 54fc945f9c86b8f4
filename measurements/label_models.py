"""Compares NLI models on the same labelled pairs: figures of the first, gains of the others.

It takes files of claims with labelled documents, as ``conflictscore bench conflict-detection``
reads them. ``--by-claim`` decides conflicts by claim, as a run does. Outputs for each window are
cached in --cache, so the same command resumes. Each gain has a 95 % interval, drawn by claim.
--sample draws as many claims of each file, by --seed.
"""

import asyncio
import re
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, read_groups
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.by_claim import POOLING, NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import resolve
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim
from conflictscore.storage.cache import ContentCache
from measurements.embedded_stack import KeptNliModel, kept_outputs
from training.pairs import LABELS

Numbers = NDArray[Any]

_RESAMPLES = 2000  # of the bootstrap; bounds of 95 % intervals then vary in the third decimal
_SUPPORTS, _CONTRADICTS, _IRRELEVANT = range(len(LABELS))


class Figures(NamedTuple):
    """Figures of one model on some claims, each of shape (...), in [0, 1].

    Attributes:
        accuracy: Share of the pairs on which the model gives people's label.
        macro_f1: Mean F1 over the labels that people gave.
        recall: Share of people's CONTRADICTS that the model labels CONTRADICTS.
        precision: Share of the model's CONTRADICTS that people label CONTRADICTS.
        conflict_f1: F1 of finding the claims in conflict.
        false_conflicts: Share of the claims without a conflict that the model calls a conflict.
    """

    accuracy: Numbers
    macro_f1: Numbers
    recall: Numbers
    precision: Numbers
    conflict_f1: Numbers
    false_conflicts: Numbers


def counts_of(gold: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]) -> Numbers:
    """For each claim: its confusion matrix; whether people, the model, and both see a conflict.

    Args:
        gold: For each claim, people's labels of its documents.
        labels: The model's labels, in the same order.

    Returns:
        Shape (claims, 12).
    """
    rows = []
    for people, model in zip(gold, labels, strict=True):
        confusion = np.zeros((3, 3))
        np.add.at(confusion, ([*people], [*model]), 1)
        ours, theirs = (
            {_SUPPORTS, _CONTRADICTS} <= {*labels_of_claim} for labels_of_claim in (people, model)
        )
        rows.append([*confusion.ravel(), ours, theirs, ours and theirs])
    return np.array(rows, float)


def figures_of(counts: Numbers) -> Figures:
    """The figures of rows from :func:`counts_of`, of shape (..., claims, 12)."""
    total, claims = counts.sum(axis=-2), counts.shape[-2]
    confusion = total[..., :9].reshape(*total.shape[:-1], 3, 3)
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    gold, labelled = confusion.sum(axis=-1), confusion.sum(axis=-2)
    occurs = gold > 0
    f1 = 2 * right / np.maximum(gold + labelled, 1)
    # nine columns of the confusion matrix come first
    people, model, both = (total[..., place] for place in (9, 10, 11))
    return Figures(
        right.sum(axis=-1) / gold.sum(axis=-1),
        (f1 * occurs).sum(axis=-1) / occurs.sum(axis=-1),
        right[..., _CONTRADICTS] / np.maximum(gold[..., _CONTRADICTS], 1),
        right[..., _CONTRADICTS] / np.maximum(labelled[..., _CONTRADICTS], 1),
        2 * both / np.maximum(people + model, 1),
        (model - both) / np.maximum(claims - people, 1),
    )


def gains(before: Numbers, after: Numbers) -> list[tuple[float, float, float]]:
    """For each figure, its gain and the bounds of its interval, drawn by claim."""
    drawn = np.random.default_rng(0).integers(len(before), size=(_RESAMPLES, len(before)))
    old, new = figures_of(before), figures_of(after)
    differences = [
        two - one
        for one, two in zip(figures_of(before[drawn]), figures_of(after[drawn]), strict=True)
    ]
    bounds = [np.percentile(values, [2.5, 97.5]) for values in differences]
    return [
        (float(two - one), float(low), float(high))
        for one, two, (low, high) in zip(old, new, bounds, strict=True)
    ]


async def _labelled(
    labeler: NliLabeler | NliByClaim, groups: Sequence[ClaimGroup], bar: CountBar
) -> list[list[int]]:
    labels = []
    for number, group in enumerate(groups, start=1):
        claim = Claim(number=1, text=group.claim)
        [row] = await label_table(labeler, [claim], group.shown, meter=UsageMeter(), cache=None)
        by_number = {one.document: LABELS.index(one.label.value) for one in row.labels}
        labels.append([by_number[place] for place in _labelled_places(group)])
        bar.show(number, len(groups), group.set)
    return labels


def _labelled_places(group: ClaimGroup) -> list[int]:
    return [place for place, label in enumerate(group.labels, start=1) if label is not None]


def _gold(group: ClaimGroup) -> list[int]:
    return [LABELS.index(label.value) for label in group.labels if label is not None]


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--model",
    "names",
    multiple=True,
    default=("",),
    help="A folder, nli-mpnet, or nothing for the bundled model; A+B for the mean of two, A*B for"
    " two that are pooled as in a run.",
)
@click.option("--by-claim", is_flag=True)
@click.option("--sample", default=0, type=click.IntRange(0), help="Claims of each file; 0 for all.")
@click.option("--seed", default=0, show_default=True)
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(
    data: tuple[Path, ...],
    names: tuple[str, ...],
    by_claim: bool,
    sample: int,
    seed: int,
    file: Path,
) -> None:
    """See the module."""
    try:
        groups = [group for path in data for group in drawn(read_groups(path), sample, seed)]
        with kept_outputs(file) as (cache, bar):
            counts = [
                counts_of(
                    [_gold(group) for group in groups],
                    asyncio.run(_labelled(_opened(name, cache, by_claim), groups, bar)),
                )
                for name in names
            ]
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    sets = np.array([group.set for group in groups])
    for title, own in [(name, sets == name) for name in np.unique(sets)] + [("all", sets != "")]:
        _print(title, names, [rows[own] for rows in counts])


def drawn(groups: Sequence[ClaimGroup], sample: int, seed: int) -> list[ClaimGroup]:
    """At most ``sample`` of the groups, drawn by seed; all of them if ``sample`` is 0."""
    if not sample:
        return list(groups)
    shuffled = list(groups)
    Random(seed).shuffle(shuffled)  # noqa: S311 - a sample, not a secret
    return shuffled[:sample]


def _opened(name: str, cache: ContentCache, by_claim: bool) -> NliLabeler | NliByClaim:
    pooling = POOLING if "*" in name else None
    folders = [resolve(part or None) for part in re.split(r"[+*]", name)]
    models = [NliLabeler(KeptNliModel(folder, cache)) for folder in folders]
    if len(models) > 1 and not by_claim:
        raise click.UsageError("several models decide by claim: add --by-claim")
    return NliByClaim(*models, pooling=pooling) if by_claim else models[0]


def _print(title: str, names: Sequence[str], counts: Sequence[Numbers]) -> None:
    pairs = int(counts[0][:, :9].sum())
    click.echo(f"\n{title}: {pairs:,} pairs of {len(counts[0]):,} claims\n")
    click.echo(f"| model | {' | '.join(Figures._fields)} |\n|{'---|' * (len(Figures._fields) + 1)}")
    for name, rows in zip(names, counts, strict=True):
        cells = [f"{float(value):.3f}" for value in figures_of(rows)]
        if rows is not counts[0]:
            cells = [
                f"{cell} ({gain:+.3f} [{low:+.3f}, {high:+.3f}])"
                for cell, (gain, low, high) in zip(cells, gains(counts[0], rows), strict=True)
            ]
        click.echo(f"| {_title(name)} | {' | '.join(cells)} |")


def _title(name: str) -> str:
    """The name of a model or a mean of models in a table."""
    parts = re.split(r"([+*])", name)
    return " ".join(
        part if part in "+*" and part else Path(part).name or "bundled" for part in parts
    )


if __name__ == "__main__":
    main()
