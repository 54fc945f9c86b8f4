"""Compares NLI models on the same labelled pairs, by the gains over the first model.

--data is a file of claims with labelled documents, in the format of ``conflictscore bench
conflict-detection``. With --by-claim, conflicts are decided by all documents of a claim together,
as in a run. The models' outputs for each window of a document are cached in --cache, so the same
command resumes. Each gain has a 95 % bootstrap interval, resampled by claim. --sample draws this
many claims from each file, according to --seed.
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

_RESAMPLES = 2000  # bootstrap; with this many, bounds of 95 % intervals vary in the third decimal
_SUPPORTS, _CONTRADICTS, _IRRELEVANT = range(len(LABELS))


_ALONE = "="


class ModelAlone(NliLabeler):
    """A model whose labels are not overruled by rules on quantities and word order."""

    def _change(self, *_: object) -> None:
        return None


class Figures(NamedTuple):
    """Figures of a model on some claims. Each figure is in [0, 1] and has the shape (...).

    Attributes:
        accuracy: Share of the pairs that the model labels as people do.
        macro_f1: Mean F1 over the labels that people gave.
        recall: Share of the pairs labelled CONTRADICTS by people that the model labels so, too.
        precision: Share of the pairs labelled CONTRADICTS by the model that people label so, too.
        conflict_f1: F1 of finding the claims in conflict.
        false_conflicts: Share of the claims without a conflict for which the model finds a
            conflict.
    """

    accuracy: Numbers
    macro_f1: Numbers
    recall: Numbers
    precision: Numbers
    conflict_f1: Numbers
    false_conflicts: Numbers


def counts_of(gold: Sequence[Sequence[int]], labels: Sequence[Sequence[int]]) -> Numbers:
    """Return a row for each claim.

    The row has the confusion matrix, and says whether people, the model, and both find a conflict.

    Args:
        gold: The labels that people gave the documents of each claim.
        labels: The model's labels, in the same order.

    Returns:
        An array of shape (claims, 12).
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
    """Return the figures for rows from :func:`counts_of`, of shape (..., claims, 12)."""
    total, claims = counts.sum(axis=-2), counts.shape[-2]
    confusion = total[..., :9].reshape(*total.shape[:-1], 3, 3)
    right = np.diagonal(confusion, axis1=-2, axis2=-1)
    gold, labelled = confusion.sum(axis=-1), confusion.sum(axis=-2)
    occurs = gold > 0
    f1 = 2 * right / np.maximum(gold + labelled, 1)
    # the first nine columns are the confusion matrix
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
    """Return, for each figure, the gain and the bounds of its interval, resampled by claim."""
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
    help="A folder, nli-mpnet, or an empty string for the bundled model; A+B for the mean of two,"
    " A*B for two that are pooled as in a run.",
)
@click.option("--by-claim", is_flag=True)
@click.option(
    "--sample",
    default=0,
    type=click.IntRange(0),
    help="Number of claims to draw from each file; 0 for all.",
)
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
    """Return at most ``sample`` of the groups, drawn by seed; all groups if ``sample`` is 0."""
    if not sample:
        return list(groups)
    shuffled = list(groups)
    Random(seed).shuffle(shuffled)  # noqa: S311 - a sample, not a secret
    return shuffled[:sample]


def _opened(name: str, cache: ContentCache, by_claim: bool) -> NliLabeler | NliByClaim:
    pooling = POOLING if "*" in name else None
    folders = [resolve(part or None) for part in re.split(r"[+*]", name.removeprefix(_ALONE))]
    kind = ModelAlone if name.startswith(_ALONE) else NliLabeler
    models = [kind(KeptNliModel(folder, cache)) for folder in folders]
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
    """Return the name of a model, or of a combination of models, for the table."""
    alone = " without rules" if name.startswith(_ALONE) else ""
    parts = re.split(r"([+*])", name.removeprefix(_ALONE))
    combined = " ".join(
        part if part in "+*" and part else Path(part).name or "bundled" for part in parts
    )
    return combined + alone


if __name__ == "__main__":
    main()
