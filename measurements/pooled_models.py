"""Fits the weights with which two NLI models are pooled, on half of the claims.

The weights and factors are chosen to make people's labels of the first half of the claims most
likely. Then several bounds are tried. For each bound, the labels are decided by all documents of a
claim together, and compared with the labels from the mean of the two models. There are three
comparisons: on the first half (to choose the bound), on the second half, and on the files given
with --apart, from which nothing is learned. --conflicts takes the file of the CONFLICTS benchmark.
For its questions with a claim that we wrote, the number of disputed claims is printed.

The models' outputs for each window of a document are cached in --cache, so the same command
resumes.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from scipy.optimize import minimize

from conflictscore.benchmarks.conflict_detection.groups import (
    ClaimGroup,
    GroupDocument,
    read_groups,
)
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import (
    LEAST_PRODUCT,
    POOLING,
    Pooling,
    combined_verdict,
    decided_by_claim,
)
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import resolve
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, EvidenceLabel, Label
from measurements.conflicts import read_asked
from measurements.embedded_stack import KeptNliModel, kept_outputs
from measurements.label_models import Figures, Numbers, counts_of, drawn, figures_of
from training.pairs import LABELS

_BOUNDS = (0.22, 0.26, 0.3, 0.35, 0.4, 0.45)  # bounds to try; the first one is the default
_FLOOR = 1e-4  # probabilities in verdicts have four decimals, so smaller ones are 0


class Judged(NamedTuple):
    """A claim with both models' verdicts on each of its documents.

    Attributes:
        set: The name of the data set; for CONFLICTS, the type of conflict.
        id: The id of the claim in the set.
        gold: For each document, the index in ``LABELS`` of the label that people gave; None if they
            gave no label.
        verdicts: For each document, the verdicts of all models.
    """

    set: str
    id: str
    gold: tuple[int | None, ...]
    verdicts: tuple[tuple[EvidenceLabel, ...], ...]

    def labels(self, pooling: Pooling | None) -> list[int]:
        """Return the labels of documents that people labelled, decided by all documents."""
        combined = [combined_verdict(of_document, pooling) for of_document in self.verdicts]
        of_two = LEAST_PRODUCT if pooling is None else pooling.least_product
        decided = decided_by_claim(combined, of_two)
        return [
            LABELS.index(verdict.label.value)
            for verdict, label in zip(decided, self.gold, strict=True)
            if label is not None
        ]

    def is_called_disputed(self, pooling: Pooling | None) -> bool:
        """Whether the documents, with or without people's label, make the claim disputed."""
        everything = self._replace(gold=tuple(0 for _ in self.verdicts))
        return {0, 1} <= {*everything.labels(pooling)}


async def judged(
    groups: Sequence[ClaimGroup], models: Sequence[NliLabeler], bar: CountBar
) -> list[Judged]:
    """Label every document of every claim with each model."""
    meter, rows = UsageMeter(), []
    for number, group in enumerate(groups, start=1):
        claim = Claim(number=1, text=group.claim)
        verdicts = [
            tuple([await model.label(claim, document, meter) for model in models])
            for document in group.shown
        ]
        gold = tuple(None if label is None else LABELS.index(label.value) for label in group.labels)
        rows.append(Judged(group.set, group.id, gold, tuple(verdicts)))
        bar.show(number, len(groups), group.set)
    return rows


def conflicts_groups(path: Path) -> list[ClaimGroup]:
    """Read the questions of CONFLICTS that have a claim; ``set`` is the type of conflict."""
    return [
        ClaimGroup(
            set=asked.kind,
            id=str(number),
            claim=asked.claim,
            documents=tuple(
                GroupDocument(text=document["text"], title=f"Page {place}")
                for place, document in enumerate(asked.documents, start=1)
            ),
            has_conflict=asked.kind != "no conflict",
        )
        for number, asked in enumerate(read_asked(path))
    ]


def fitted(rows: Sequence[Judged]) -> Pooling:
    """Return the pooling that makes people's labels most likely, with the bound of ``POOLING``."""
    pairs = [
        (verdicts, label)
        for row in rows
        for verdicts, label in zip(row.verdicts, row.gold, strict=True)
        if label is not None and all(verdict.probabilities for verdict in verdicts)
    ]
    gold = np.array([label for _, label in pairs])
    logs = np.log(np.maximum(_FLOOR, _probabilities([verdicts for verdicts, _ in pairs])))

    def loss(numbers: Numbers) -> float:
        own = np.einsum("pml,m->pl", logs, numbers[:-2]) + np.array([*numbers[-2:], 0.0])
        own -= own.max(axis=1, keepdims=True)
        likely = own[np.arange(len(gold)), gold] - np.log(np.exp(own).sum(axis=1))
        return -float(likely.mean())

    models = logs.shape[1]
    start = np.array([1.0 / models] * models + [0.0, 0.0])
    # this method needs no derivatives, but more steps than the default maximum
    numbers = minimize(loss, start, method="Nelder-Mead", options={"maxiter": 4000}).x
    *weights, supports, contradicts = (round(float(number), 3) for number in numbers)
    return Pooling(tuple(weights), supports, contradicts, POOLING.least_product)


def _probabilities(verdicts: Sequence[Sequence[EvidenceLabel]]) -> Numbers:
    """Return the probabilities as an array of shape (pairs, models, labels)."""
    return np.array(
        [
            [[(verdict.probabilities or {})[Label(label)] for label in LABELS] for verdict in each]
            for each in verdicts
        ]
    )


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--whole",
    multiple=True,
    type=click.Path(exists=True, path_type=Path),
    help="Like --data, but all claims are used even with --sample.",
)
@click.option("--apart", multiple=True, type=click.Path(exists=True, path_type=Path))
@click.option("--conflicts", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--model",
    "names",
    multiple=True,
    default=(NLI_MPNET.name, ""),
    help="A folder, nli-mpnet, or an empty string for the bundled model; give two models.",
)
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
    whole: tuple[Path, ...],
    apart: tuple[Path, ...],
    conflicts: Path | None,
    names: tuple[str, ...],
    sample: int,
    seed: int,
    file: Path,
) -> None:
    """See the module."""
    try:
        groups = [group for path in data for group in drawn(read_groups(path), sample, seed)]
        groups += [group for path in whole for group in read_groups(path)]
        others = [group for path in apart for group in read_groups(path)]
        of_conflicts = conflicts_groups(conflicts) if conflicts else []
        with kept_outputs(file) as (cache, bar):
            models = [NliLabeler(KeptNliModel(resolve(name or None), cache)) for name in names]
            rows, rows_apart, asked = (
                asyncio.run(judged(some, models, bar)) for some in (groups, others, of_conflicts)
            )
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    halves: Mapping[int, list[Judged]] = {
        half: [row for row in rows if lot("halves", 0, f"{row.set} {row.id}")[0] % 2 == half]
        for half in (0, 1)
    }
    pooling = fitted(halves[0])
    click.echo(
        f"chosen on {len(halves[0])} claims: weights {pooling.weights}, supports"
        f" {pooling.supports}, contradicts {pooling.contradicts}"
    )
    rules: dict[str, Pooling | None] = {"mean": None}
    rules |= {f"bound {bound}": pooling._replace(least_product=bound) for bound in _BOUNDS}
    rules["as shipped"] = POOLING
    parts = {"first half": halves[0], "second half": halves[1]}
    for part, own in parts.items():
        for name, is_natural in (("natural", True), ("nine sets", False)):
            some = [row for row in own if row.set.startswith("natural") == is_natural]
            _print(f"{part}, {name}", some, rules)
    for name in dict.fromkeys(row.set for row in rows_apart):
        _print(name, [row for row in rows_apart if row.set == name], rules)
    for kind in dict.fromkeys(row.set for row in asked):
        own = [row for row in asked if row.set == kind]
        counts = [sum(row.is_called_disputed(rule) for row in own) for rule in rules.values()]
        cells = (f"{name} {count}" for name, count in zip(rules, counts, strict=True))
        click.echo(f"{kind}, called disputed of {len(own)}: {', '.join(cells)}")


def _print(title: str, rows: Sequence[Judged], rules: Mapping[str, Pooling | None]) -> None:
    if not rows:
        return
    click.echo(f"\n| {title}, {len(rows)} claims | {' | '.join(Figures._fields)} |")
    click.echo(f"|{'---|' * (len(Figures._fields) + 1)}")
    gold = [[label for label in row.gold if label is not None] for row in rows]
    for name, rule in rules.items():
        figures = figures_of(counts_of(gold, [row.labels(rule) for row in rows]))
        click.echo(f"| {name} | {' | '.join(f'{float(value):.3f}' for value in figures)} |")


if __name__ == "__main__":
    main()
