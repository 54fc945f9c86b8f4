"""How often a claim alone, or a document alone, gives the label away.

A set where either does so far more often than the commonest label teaches and rewards shortcuts.
The guess is made by naive Bayes over the words that occur, on five parts in turn, each by the other
four; a claim (or a document) is in one part only.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from math import log
from pathlib import Path
from typing import NamedTuple

import click

from training.human import lot
from training.pairs import Pair, read_rows

__all__ = ["Shortcut", "guessed_right", "main", "shortcuts"]

_PARTS = 5
_MOST_PAIRS = 5000
"""Of a set, drawn by the hash of the claim."""


class Shortcut(NamedTuple):
    """What can be told without comparing; shares of 0 to 1.

    Attributes:
        pairs: How many there are.
        commonest: The share of the commonest label.
        claim: How often the claim alone gives the label.
        document: How often the document alone does.
    """

    pairs: int
    commonest: float
    claim: float
    document: float


def shortcuts(pairs: Sequence[Pair]) -> Shortcut:
    """Measure one set; at least one pair."""
    labels = [pair.label for pair in pairs]
    return Shortcut(
        len(pairs),
        max(Counter(labels).values()) / len(labels),
        guessed_right([pair.claim for pair in pairs], labels),
        guessed_right([pair.document for pair in pairs], labels),
    )


def guessed_right(texts: Sequence[str], labels: Sequence[str]) -> float:
    """The share of the labels that the texts alone give, each text judged by others."""
    words = [frozenset(re.findall(r"\w+", text.lower())) for text in texts]
    known = len(frozenset().union(*words))
    parts = [lot(text) % _PARTS for text in texts]
    right = 0
    for part in range(_PARTS):
        sizes: Counter[str] = Counter()
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for said, label, other in zip(words, labels, parts, strict=True):
            if other != part:
                sizes[label] += 1
                counts[label].update(said)
        totals = {label: counts[label].total() + known for label in sizes}
        for said, label, other in zip(words, labels, parts, strict=True):
            if other == part and sizes:
                scores = {
                    one: log(sizes[one])
                    + sum(log((counts[one][word] + 1) / totals[one]) for word in said)
                    for one in sorted(sizes)
                }
                right += max(scores, key=scores.__getitem__) == label
    return right / len(labels)


@click.command(help=__doc__)
@click.option("--pairs", required=True, type=click.Path(exists=True, path_type=Path))
def main(pairs: Path) -> None:
    """Print a line for each part and set of a ``pairs.jsonl.gz``."""
    sets: dict[tuple[str, str], list[Pair]] = defaultdict(list)
    for part, pair in read_rows(pairs):
        sets[part, pair.source].append(pair)
    click.echo("| part | set | pairs | commonest label | claim alone | document alone |")
    click.echo("|---|---|---|---|---|---|")
    for (name, source), found in sorted(sets.items()):
        drawn = sorted(found, key=lambda pair: lot(pair.claim))[:_MOST_PAIRS]
        one = shortcuts(drawn)
        shares = " | ".join(f"{share:.2f}" for share in one[1:])
        click.echo(f"| {name} | {source} | {one.pairs} | {shares} |")


if __name__ == "__main__":
    main()
