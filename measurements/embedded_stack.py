"""Compares stacks of the labelers that run locally, on the same pairs.

The command labels all validation claims, or a random sample of --claims. The command reports
figures for all claims, for each set, and for two random halves, so that settings chosen on the
first half can be reported on the second. The models' outputs for each window of a document are
cached in --cache, so the same command resumes. The model nli-mpnet is included if it has been
fetched.

Gains are relative to the local default, with 95 % bootstrap intervals, resampled by claim. A figure
is marked if it is below that of a constant answer. The constant answers are "conflict" for every
claim, for no claim, and for every claim with two or more documents.
"""

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray
from rich.console import Console

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import POOLING, NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import NliModel, TokenPair, resolve
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, Label
from conflictscore.storage.cache import ContentCache, content_key
from training.groups import validation_groups
from training.human import data_files, label_files, labelled_pairs
from training.pairs import LABELS

Numbers = NDArray[Any]

_RESAMPLES = 2000  # bootstrap; with this many, bounds of 95 % intervals vary in the third decimal
_SIBLINGS = 8
"""Maximum number of claims about the same documents that are drawn together."""


class Pairs(NamedTuple):
    """Labelled pairs, one per row.

    Attributes:
        places: The claim and the document number of each pair.
        gold: The labels that people gave.
        sets: The data set of each pair.
        claims: The number of each pair's claim.
    """

    places: tuple[tuple[ClaimGroup, int], ...]
    gold: Numbers
    sets: Numbers
    claims: Numbers

    @classmethod
    def of(cls, groups: Iterable[ClaimGroup]) -> "Pairs":
        """Return the pairs of each claim with each of its documents that people labelled."""
        kept = tuple(
            (group, number)
            for group in groups
            for number, document in enumerate(group.documents, start=1)
            if document.label is not None
        )
        labels = [group.documents[number - 1].label for group, number in kept]
        names = [(group.set, group.id) for group, _ in kept]
        first = {name: place for place, name in enumerate(dict.fromkeys(names))}
        return cls(
            kept,
            np.array([LABELS.index(label.value) for label in labels if label is not None]),
            np.array([group.set for group, _ in kept]),
            np.array([first[name] for name in names]),
        )

    def where(self, rows: Numbers) -> "Pairs":
        """Return the pairs for which the mask is true."""
        kept = tuple(place for place, wanted in zip(self.places, rows, strict=True) if wanted)
        return Pairs(kept, self.gold[rows], self.sets[rows], self.claims[rows])


@contextmanager
def kept_outputs(
    file: Path, step: str = "labelling", unit: str = "claims"
) -> Iterator[tuple[ContentCache, CountBar]]:
    """Open a cache for models' outputs that stores each at once, and a progress bar."""
    with closing(ContentCache(file)) as cache, CountBar(Console(stderr=True), step, unit) as bar:
        cache.write_at_once()
        yield cache, bar


class KeptNliModel(NliModel):
    """An NLI model that caches its outputs, so that trying different rules on them costs nothing.

    Cached verdicts would not suffice, since they depend on the rule that combines the windows of a
    document.
    """

    def __init__(self, folder: Path, cache: ContentCache) -> None:
        """Load the model; its outputs are cached under its digest and the tokens of the pair."""
        super().__init__(folder)
        self._cache = cache

    def logits(self, pairs: Sequence[TokenPair]) -> list[dict[Label, float]]:
        """See :class:`~conflictscore.labelers.nli.model.NliModel`."""
        if not hasattr(self, "_cache"):  # the model checks itself while it is loaded
            return super().logits(pairs)
        keys = [content_key({"logits": self.sha256, "ids": pair.ids}) for pair in pairs]
        known = self._cache.find(keys)
        missing = {key: p for key, p in zip(keys, pairs, strict=True) if key not in known}
        for key, said in zip(missing, super().logits([*missing.values()]), strict=True):
            known[key] = {label.value: value for label, value in said.items()}
            self._cache.keep(key, known[key])
        return [{Label(label): value for label, value in known[key].items()} for key in keys]


def _validation_claims(data: Sequence[Path]) -> list[ClaimGroup]:
    files = label_files(data_files([*data]))
    if not files:
        raise InputError("--data: there is no folder labels/ with people's labels in it")
    return validation_groups(labelled_pairs(files)[1])


def _by_lot(groups: Iterable[ClaimGroup], seed: int) -> list[ClaimGroup]:
    """Return the groups in random order, so that any prefix is a random sample.

    Up to ``_SIBLINGS`` groups with the same documents stay together.
    """
    tables: list[list[ClaimGroup]] = []
    filling: dict[tuple[str, tuple[tuple[str, str], ...]], list[ClaimGroup]] = {}
    for group in groups:
        shown = (group.set, tuple((one.text, one.title) for one in group.documents))
        table = filling.get(shown)
        if table is None or len(table) == _SIBLINGS:
            table = filling[shown] = []
            tables.append(table)
        table.append(group)
    # "judge-variants" is a former name; changing it would change the draw
    drawn = sorted(tables, key=lambda table: lot("judge-variants", seed, table[0].claim))
    return [group for table in drawn for group in table]


_Labelled = tuple[str, Numbers]
"""The name of a stack, and the stack's label for each pair."""


def _stacks(models: Sequence[NliModel]) -> Iterator[tuple[str, Labeler]]:
    """Yield combinations of the bundled model and, if fetched, nli-mpnet; the default is first."""
    labelers = [NliLabeler(model) for model in models]
    pooling = POOLING if len(labelers) > 1 else None
    yield "the default", NliByClaim(*reversed(labelers), pooling=pooling)
    for nli in labelers:
        yield nli.name, nli
        yield f"{nli.name}, by claim", NliByClaim(nli)


async def _labels(labeler: Labeler, pairs: Pairs, bar: CountBar, name: str) -> Numbers:
    found: dict[tuple[str, str, int], Label] = {}
    groups = dict.fromkeys(group for group, _ in pairs.places)
    for count, group in enumerate(groups, start=1):
        claim = Claim(number=1, text=group.claim)
        [row] = await label_table(labeler, [claim], group.shown, meter=UsageMeter(), cache=None)
        found |= {(group.set, group.id, one.document): one.label for one in row.labels}
        bar.show(count, len(groups), name)
    given = [found[group.set, group.id, number].value for group, number in pairs.places]
    return np.array([LABELS.index(label) for label in given])


def _by_claim(pairs: Pairs, given: Numbers) -> Numbers:
    """Return a row for each claim.

    The row has the number of correctly labelled pairs, the number of pairs, and whether there is a
    conflict according to people, to the labels, and to both.
    """
    rows = []
    for claim in np.unique(pairs.claims):
        own = np.flatnonzero(pairs.claims == claim)
        people, said = ({0, 1} <= {*labels[own]} for labels in (pairs.gold, given))
        rows.append([(given == pairs.gold)[own].sum(), len(own), people, said, people and said])
    return np.array(rows, float)


def _figures(rows: Numbers) -> Numbers:
    """Return label accuracy, conflict F1, and the share of claims judged correctly.

    Args:
        rows: The output of :func:`_by_claim`, of shape (..., claims, 5).
    """
    right, every, people, said, both = np.moveaxis(rows.sum(axis=-2), -1, 0)
    claims = rows.shape[-2]
    agreed = claims - people - said + 2 * both
    return np.stack([right / every, 2 * both / np.maximum(people + said, 1), agreed / claims], -1)


def constants(pairs: Pairs) -> dict[str, Numbers]:
    """Return, for each constant answer, its conflict F1 and share of claims judged correctly."""
    rows = _by_claim(pairs, pairs.gold)
    answers = {"always": rows[:, 1] > 0, "never": rows[:, 1] < 0, "two documents": rows[:, 1] > 1}
    found = {}
    for name, said in answers.items():
        rows[:, 3], rows[:, 4] = said, said * rows[:, 2]
        found[name] = _figures(rows)[1:]
    return found


def _told(known: dict[str, Numbers]) -> str:
    """Return the two figures of each constant answer as a string."""
    return ", ".join(f"{name} {f1:.3f} and {right:.3f}" for name, (f1, right) in known.items())


def _marked(value: float, known: dict[str, Numbers], place: int) -> str:
    """Return a figure as a string, with the names of the constant answers that do better."""
    beaten = ", ".join(name for name, figures_ in known.items() if figures_[place] > value)
    return f"{value:.3f}" + (f" (below {beaten})" if beaten else "")


def gain(pairs: Pairs, before: Numbers, after: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Return the gain in each figure, with its interval from resampling claims.

    Returns:
        The gains, the lower and the upper bounds, each of shape (3,).
    """
    one, other = _by_claim(pairs, before), _by_claim(pairs, after)
    drawn = np.random.default_rng(0).integers(len(one), size=(_RESAMPLES, len(one)))
    differences = _figures(other[drawn]) - _figures(one[drawn])
    low, high = np.percentile(differences, [2.5, 97.5], axis=0)
    return _figures(other) - _figures(one), low, high


@click.command(help=__doc__)
@click.option(
    "--data",
    multiple=True,
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, path_type=Path),
    help="A folder of the project's data that contains labels/.",
)
@click.option(
    "--claims", default=10_000, show_default=True, help="Number of claims, drawn at random."
)
@click.option("--seed", default=0, show_default=True)
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(data: tuple[Path, ...], claims: int, seed: int, file: Path) -> None:
    """See the module."""
    try:
        with closing(ContentCache(file)) as cache:
            cache.write_at_once()
            folders = [resolve(None), *filter(None, [NLI_MPNET.fetched()])]
            models = [KeptNliModel(folder, cache) for folder in folders]
            pairs = Pairs.of(_by_lot(_validation_claims(data), seed)[:claims])
            _print_parts(pairs, _stacks(models), seed)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _print_parts(pairs: Pairs, stacks: Iterator[tuple[str, Labeler]], seed: int) -> None:
    found = []
    with CountBar(Console(stderr=True), "labelling", "claims") as bar:
        for name, labeler in stacks:
            found.append((name, asyncio.run(_labels(labeler, pairs, bar, name))))
    _print("All sets", pairs, found)
    halves = np.array([lot("halves", seed, group.claim)[0] % 2 for group, _ in pairs.places])
    parts = [(f"half {half + 1}", halves == half) for half in np.unique(halves)]
    parts += [(name, pairs.sets == name) for name in np.unique(pairs.sets)]
    for part, own in parts:
        _print(part, pairs.where(own), [(name, given[own]) for name, given in found])


def _print(title: str, pairs: Pairs, stacks: Sequence[_Labelled]) -> None:
    known = constants(pairs)
    columns = (
        *("stack", "label accuracy", "conflict F1", "claims right"),
        *("gain in accuracy", "in F1", "in claims right"),
    )
    click.echo(
        f"\n{title}: {len(pairs.gold):,} pairs of {len({*pairs.claims}):,} claims; conflict F1 and"
        f" claims right of {_told(known)}\n"
    )
    click.echo(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for name, given in stacks:
        accuracy, *of_claims = _figures(_by_claim(pairs, given))
        cells = [f"{accuracy:.3f}"]
        cells += [_marked(value, known, place) for place, value in enumerate(of_claims)]
        gains = zip(*gain(pairs, stacks[0][1], given), strict=True)
        cells += [f"{value:+.3f} [{low:+.3f}, {high:+.3f}]" for value, low, high in gains]
        click.echo(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
