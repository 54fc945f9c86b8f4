"""Labels of several labelers on the same pairs, compared with people's labels.

Labels are indices into LABELS: SUPPORTS, CONTRADICTS, IRRELEVANT.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.conflict_detection.detect import content_of
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.harness.statistics import mcnemar
from conflictscore.errors import InputError
from conflictscore.records import Label
from measurements.judge_replies import Reply
from training.decision import conflict_figures
from training.figures import SetFigures, figures
from training.pairs import LABELS

__all__ = [
    "Figures",
    "Pairs",
    "Row",
    "asked_of",
    "better_and_worse",
    "constants",
    "kept_replies",
    "measured",
    "normalised",
    "print_rows",
]

Numbers = NDArray[Any]


class Pairs(NamedTuple):
    """Labelled pairs, a row each.

    Attributes:
        places: Each pair's claim, and the number of its document.
        gold: People's labels.
        sets: The set of each.
        claims: A number for each claim.
    """

    places: tuple[tuple[ClaimGroup, int], ...]
    gold: Numbers
    sets: Numbers
    claims: Numbers

    @classmethod
    def of(cls, places: Iterable[tuple[ClaimGroup, int]]) -> "Pairs":
        """Pairs of claims and numbers of documents that people labelled."""
        kept = tuple(places)
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
        """The pairs for which it is true."""
        kept = tuple(place for place, wanted in zip(self.places, rows, strict=True) if wanted)
        return Pairs(kept, self.gold[rows], self.sets[rows], self.claims[rows])


class Figures(NamedTuple):
    """How labels agree with people's."""

    labels: SetFigures
    conflict_f1: float
    conflict_accuracy: float


class Row(NamedTuple):
    """A way to label.

    Attributes:
        name: As the table calls it.
        given: The label of each pair.
        asked: Whether the language model is asked about it.
    """

    name: str
    given: Numbers
    asked: Numbers


def kept_replies(path: Path, pairs: Pairs) -> tuple[Numbers, list[Reply | None]]:
    """Log-probabilities that the judge gave each pair; NaN where it was not asked.

    Raises:
        InputError: The file cannot be read, or holds something else.
    """
    try:
        lines = path.read_text("utf-8").splitlines()[1:]
        rows = [Reply.model_validate_json(line) for line in lines]
    except (OSError, ValueError) as error:
        reason = str(error).partition("\n")[0]
        raise InputError(f"{path}: no replies of measurements.judge_replies ({reason})") from None
    known = {(row.set, row.content): row for row in rows}
    found = [known.get((group.set, content_of(group, number))) for group, number in pairs.places]
    nothing = [np.nan] * len(LABELS)
    said = [nothing if one is None else [one.logprobs[Label(x)] for x in LABELS] for one in found]
    return np.array(said), found


def asked_of(logprobs: Numbers) -> Numbers:
    """Whether the judge was asked about each pair."""
    found: Numbers = np.isfinite(logprobs[:, 0])
    return found


def measured(pairs: Pairs, given: Numbers) -> Figures:
    """Hold labels against people's."""
    claims = [int(claim) for claim in pairs.claims]
    return Figures(figures(pairs.gold, given), *conflict_figures(pairs.gold, given, claims))


def constants(pairs: Pairs) -> tuple[float, float]:
    """Label accuracy of always the same label, and conflict F1 of always saying "conflict"."""
    shares = np.bincount(pairs.gold, minlength=len(LABELS)) / len(pairs.gold)
    sides = [{*pairs.gold[pairs.claims == claim]} for claim in np.unique(pairs.claims)]
    conflicts = sum({0, 1} <= one for one in sides)
    return float(shares.max()), 2 * conflicts / (conflicts + len(sides))


def better_and_worse(pairs: Pairs, before: Numbers, after: Numbers) -> tuple[int, int, float]:
    """Pairs that went from wrong to right, from right to wrong, and McNemar's p."""
    one, other = before == pairs.gold, after == pairs.gold
    better, worse = int((other & ~one).sum()), int((one & ~other).sum())
    return better, worse, mcnemar(better, worse)


def print_rows(pairs: Pairs, rows: Iterable[Row], beside: str) -> None:
    """Print a table in Markdown, line by line as the rows come.

    Args:
        pairs: The pairs.
        rows: The ways to label them.
        beside: The row whose labels all others are held against.
    """
    click.echo(
        "| labeler | label accuracy | macro-F1 | conflict F1 | conflict accuracy | asked"
        f" | beside {beside}: better, worse, p |\n|---|---|---|---|---|---|---|"
    )
    waiting: list[Row] = []
    reference: Row | None = None
    for row in rows:
        reference = row if row.name == beside else reference
        waiting.append(row)
        if reference is not None:
            for one in waiting:
                click.echo(_line(pairs, one, reference))
            waiting.clear()
    label, conflict = constants(pairs)
    click.echo(f"| always the same | {label:.3f} | | {conflict:.3f} | | | |")


def _line(pairs: Pairs, row: Row, reference: Row) -> str:
    one = measured(pairs, row.given)
    better, worse, p = better_and_worse(pairs, reference.given, row.given)
    values = (one.labels.accuracy, one.labels.macro_f1, one.conflict_f1, one.conflict_accuracy)
    shown = " | ".join(f"{value:.3f}" for value in values)
    compared = "" if row is reference else f"{better}, {worse}, {p:.2g}"
    return f"| {row.name} | {shown} | {100 * row.asked.mean():.0f} % | {compared} |"


def normalised(logprobs: Numbers) -> Numbers:
    """Log-probabilities of the three labels alone, so that they add up to 1."""
    shifted = logprobs - logprobs.max(axis=1, keepdims=True)
    found: Numbers = shifted - np.log(np.exp(shifted).sum(axis=1, keepdims=True))
    return found
