"""Choose the bias that is added to the logits of SUPPORTS and CONTRADICTS.

Chosen on three in ten of the validation claims, for the mean of accuracy, macro-F1 and conflict F1
over people's pairs and over RAMDocs' answers, among what costs at most a point of accuracy on
either: more conflicts are not bought with many wrong labels. What it comes to on the other seven in
ten is printed beside it. ``carry bias`` puts the two numbers into the head.

``--windows`` is what ``training.decision`` wrote of the model. Given
several times, for means with other shares, say, the model is chosen too, by the same mean on the
same claims.
"""

from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from conflictscore.errors import ConflictScoreError
from training.decision import conflict_figures, measured_on
from training.figures import figures, verdicts
from training.human import lot
from training.pairs import LABELS, Pair

__all__ = ["Chosen", "choose", "main", "shifted"]

Numbers = NDArray[Any]

_TENTHS, _CHOSEN_ON = 10, 3
_LESS_ACCURATE = 0.01
_STEPS = np.round(np.arange(-1.0, 1.51, 0.1), 1)


class Chosen(NamedTuple):
    """Bias added to the logits of the two sides."""

    supports: float
    contradicts: float


def shifted(probabilities: Numbers, bias: Chosen) -> Numbers:
    """Probabilities of windows, of shape (windows, 3), after something is added to the logits."""
    odds = probabilities * np.exp([bias.supports, bias.contradicts, 0.0])
    found: Numbers = odds / odds.sum(axis=1, keepdims=True)
    return found


def choose(probabilities: Numbers, owner: Numbers, pairs: Sequence[Pair]) -> Chosen:
    """The bias that is best on some pairs.

    Args:
        probabilities: Of the windows of the pairs, shape (windows, 3).
        owner: For each window its pair.
        pairs: People's pairs and RAMDocs' answers, some of each.
    """
    least = _on_both(probabilities, owner, pairs, Chosen(0.0, 0.0))[:, 0] - _LESS_ACCURATE

    def worth(bias: Chosen) -> tuple[bool, float]:
        found = _on_both(probabilities, owner, pairs, bias)
        return bool((found[:, 0] >= least).all()), float(found.mean())

    grid = [Chosen(float(s), float(c)) for s, c in product(_STEPS, _STEPS)]
    return max(grid, key=worth)


def _on_both(
    probabilities: Numbers, owner: Numbers, pairs: Sequence[Pair], bias: Chosen
) -> Numbers:
    """Three figures of people's pairs, and three of answers."""
    given = verdicts(shifted(probabilities, bias), owner, len(pairs))
    return np.array([_rated(given, pairs, answers) for answers in (False, True)])


def _rated(given: Numbers, pairs: Sequence[Pair], answers: bool) -> tuple[float, float, float]:
    """Accuracy, macro-F1 and conflict F1 on people's pairs, or on answers to RAMDocs' questions."""
    own = np.array([pair.source.startswith("ramdocs") is answers for pair in pairs])
    gold = np.array([LABELS.index(pair.label) for pair in pairs])
    claims = [(pair.source, pair.claim) for pair, mine in zip(pairs, own, strict=True) if mine]
    said = figures(gold[own], given[own])
    conflict, _ = conflict_figures(gold[own], given[own], claims)
    return said.accuracy, said.macro_f1, conflict


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option(
    "--windows", multiple=True, required=True, type=click.Path(exists=True, path_type=Path)
)
def main(data: tuple[Path, ...], windows: tuple[Path, ...]) -> None:
    """Print the bias, and figures without and with it on both parts."""
    try:
        pairs = measured_on(data)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    chosen_on = np.array([lot(pair.claim) % _TENTHS < _CHOSEN_ON for pair in pairs])
    found = [_chosen(path, pairs, chosen_on) for path in windows]
    for path, (worth, bias) in zip(windows, found, strict=True):
        said = f"--supports {bias.supports} --contradicts {bias.contradicts}"
        click.echo(f"{path}: {said} (mean {worth:.4f})" if len(found) > 1 else said)
    best = max(range(len(found)), key=lambda place: found[place][0])
    if len(found) > 1:
        click.echo(f"best: {windows[best]}")
    probabilities, owner = _kept(windows[best], len(pairs))
    click.echo("| pairs | claims | bias | accuracy | macro-F1 | conflict F1 |")
    click.echo("|---|---|---|---|---|---|")
    for part, own in (("chosen on", chosen_on), ("others", ~chosen_on)):
        about = (*_part(probabilities, owner, own), _of(pairs, own))
        for name, bias in (("none", Chosen(0.0, 0.0)), ("chosen", found[best][1])):
            for kind, rated in zip(("people's", "answers"), _on_both(*about, bias), strict=True):
                cells = " | ".join(f"{cell:.3f}" for cell in rated)
                click.echo(f"| {kind} | {part} | {name} | {cells} |")


def _chosen(path: Path, pairs: Sequence[Pair], own: Numbers) -> tuple[float, Chosen]:
    """Mean figure of a model on some of the pairs with its best bias, and that bias."""
    some = (*_part(*_kept(path, len(pairs)), own), _of(pairs, own))
    bias = choose(*some)
    return float(_on_both(*some, bias).mean()), bias


def _kept(path: Path, pairs: int) -> tuple[Numbers, Numbers]:
    with np.load(path) as kept:
        probabilities, owner = kept["probabilities"], kept["owner"]
    if owner[-1] != pairs - 1:
        raise click.ClickException(f"{path}: windows of other data")
    return probabilities, owner


def _of(pairs: Sequence[Pair], own: Numbers) -> list[Pair]:
    return [pair for pair, mine in zip(pairs, own, strict=True) if mine]


def _part(probabilities: Numbers, owner: Numbers, own: Numbers) -> tuple[Numbers, Numbers]:
    """The windows of some pairs, numbered anew."""
    numbers = np.cumsum(own) - 1
    kept = own[owner]
    return probabilities[kept], numbers[owner[kept]]


if __name__ == "__main__":
    main()
