"""Counts the labels of claims that differ from a sentence of their document in one place.

The pairs are in ``minimal_pairs.toml``: quantities with a different unit, magnitude, sign, date or
number, swapped names, different words of direction, and a dropped "not". Some cases are controls,
in which the claim says the same as the document. Labels are counted by kind. With ``--alone``, no
rule on the text overrules the models.

    python -m measurements.minimal_pairs small
    python -m measurements.minimal_pairs mean --list
"""

import asyncio
import tomllib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import click

from conflictscore.labelers.nli.by_claim import POOLING, NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import shared_model
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, Label
from measurements.label_models import ModelAlone
from measurements.undisputed import LABELERS


class MinimalPair(NamedTuple):
    """A claim, a document, and the correct label.

    Attributes:
        part: ``chosen`` if rules were chosen on it, ``fresh`` if it was written after them, else
            ``reported``.
        kind: What differs.
        claim: The text of the claim.
        document: The text of the document.
        label: The correct label.
    """

    part: str
    kind: str
    claim: str
    document: str
    label: Label


def read_pairs() -> list[MinimalPair]:
    """The constructed pairs."""
    parts = tomllib.loads(Path(__file__).with_name("minimal_pairs.toml").read_text("utf-8"))
    return [
        MinimalPair(part, kind, claim, document, Label(label))
        for part, kinds in parts.items()
        for kind, rows in kinds.items()
        for claim, document, label in rows
    ]


async def labelled(pairs: Sequence[MinimalPair], labels: str, *, alone: bool) -> list[Label]:
    """The label of each pair, with each document labelled separately."""
    names = [None] if LABELERS[labels] is None else [LABELERS[labels], None]
    kind = ModelAlone if alone else NliLabeler
    models = [kind(shared_model(name)) for name in names]
    labeler = NliByClaim(*models, pooling=POOLING if len(models) > 1 else None)
    meter = UsageMeter()
    return [
        (
            await labeler.label(
                Claim(number=1, text=pair.claim), Document(number=1, text=pair.document), meter
            )
        ).label
        for pair in pairs
    ]


@click.command(help=__doc__)
@click.argument("labels", type=click.Choice([*LABELERS]))
@click.option("--list", "listing", is_flag=True, help="List the pairs with a wrong label.")
@click.option("--alone", is_flag=True)
def main(labels: str, listing: bool, alone: bool) -> None:
    """See the module."""
    pairs = read_pairs()
    given_labels = asyncio.run(labelled(pairs, labels, alone=alone))
    rows = [*zip(pairs, given_labels, strict=True)]
    click.echo("| part | kind | wanted | pairs | SUPPORTS | CONTRADICTS | IRRELEVANT |")
    click.echo("|---|---|---|---|---|---|---|")
    for part, kind, wanted in dict.fromkeys((p.part, p.kind, p.label) for p in pairs):
        own = [label for p, label in rows if (p.part, p.kind, p.label) == (part, kind, wanted)]
        counts = Counter(own)
        cells = [part, kind, wanted.value, len(own)]
        cells += [counts[label] for label in (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)]
        click.echo(f"| {' | '.join(map(str, cells))} |")
    for pair, label in rows if listing else ():
        if label is not pair.label:
            click.echo(f"{pair.part} {pair.kind}: {label.value}: {pair.claim} | {pair.document}")


if __name__ == "__main__":
    main()
