"""Measures how well a second annotator agrees with the labels of the corpus, by kind of case.

A second person labelled a random tenth of the cases, seeing only what ``--show`` prints: the
claims, and the titles, dates and texts of the documents. ``second_labels.jsonl`` has the second
labels, one case per line: ``id``, and ``labels`` by document title; a document that was added later
has no label. A case that was changed or removed after the comparison stays in the file, with its
``kind`` and, as ``before``, its old labels. This preserves the cases on which the annotators
disagreed. ``second_labels_further.jsonl`` has further claims with the second annotator's labels.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import click

from training.cases import CORPUS, FurtherClaim, NaturalCase, further_claims, read_cases
from training.human import lot
from training.pairs import LABELS, Label

SECOND_LABELS = CORPUS / "second_labels.jsonl"
SECOND_FURTHER = CORPUS / "second_labels_further.jsonl"
_DRAWN = 10
"""One case in this many is labelled a second time."""


class Compared(NamedTuple):
    """A document with two labels."""

    kind: str
    first: Label
    second: Label


def is_drawn(case: NaturalCase) -> bool:
    """Return whether a case is labelled a second time."""
    return lot(f"second {case.id}") % _DRAWN == 0


def compared(cases: Iterable[NaturalCase], lines: Iterable[str]) -> list[Compared]:
    """Return the documents that have two labels."""
    by_id = {case.id: case for case in cases}
    found = []
    for record in map(json.loads, lines):
        if "before" in record:
            kind, first = record["kind"], record["before"]
        else:
            case = by_id[record["id"]]
            kind = case.kind
            first = {document.title: document.label for document in case.documents}
        labels = record["labels"]
        found += [Compared(kind, first[title], labels[title]) for title in labels]
    return found


def compared_further(claims: Iterable[FurtherClaim], lines: Iterable[str]) -> list[Compared]:
    """Return the documents that have two labels for a further claim."""
    first_labels = {(claim.case, claim.claim): claim.labels for claim in claims}
    documents = []
    for second in map(FurtherClaim.model_validate_json, lines):
        labels = first_labels[second.case, second.claim]
        pairs = zip(labels, second.labels, strict=True)
        documents += [Compared(second.kind, first_label, label) for first_label, label in pairs]
    return documents


def kappa(documents: Sequence[Compared]) -> float:
    """Return Cohen's kappa: the agreement beyond that expected by chance."""
    total = len(documents)
    agreed = sum(one.first == one.second for one in documents) / total
    first, second = (
        Counter(labels) for labels in zip(*[(d.first, d.second) for d in documents], strict=True)
    )
    chance = sum(first[label] * second[label] for label in LABELS) / total**2
    return (agreed - chance) / (1 - chance)


@click.command(help=__doc__)
@click.option("--show", is_flag=True, help="Print what the second annotator sees.")
@click.option("--cases", "folder", default=CORPUS, type=click.Path(exists=True, path_type=Path))
def main(*, show: bool, folder: Path) -> None:
    """Compare the labels, or show the cases."""
    cases = read_cases(folder)
    if show:
        for case in filter(is_drawn, cases):
            click.echo(f"\n## {case.id}: {case.claim}")
            for number, document in enumerate(case.documents, start=1):
                click.echo(f"[{number}] {document.title} ({document.date})\n{document.text}")
        return
    _print_agreement(compared(cases, SECOND_LABELS.read_text("utf-8").splitlines()))
    further = further_claims(cases, folder)
    click.echo("\nFurther claims:")
    _print_agreement(compared_further(further, SECOND_FURTHER.read_text("utf-8").splitlines()))


def _print_agreement(documents: Sequence[Compared]) -> None:
    agreed = sum(one.first == one.second for one in documents)
    click.echo(
        f"{len(documents)} documents: the same label for {agreed} ({agreed / len(documents):.3f}),"
        f" kappa {kappa(documents):.3f}"
    )
    click.echo("\n| kind | documents | same label |\n|---|---|---|")
    for kind, count in Counter(one.kind for one in documents).most_common():
        same = sum(one.first == one.second for one in documents if one.kind == kind)
        click.echo(f"| {kind} | {count} | {same} |")
    differing = Counter((one.first, one.second) for one in documents if one.first != one.second)
    for (first, second), count in differing.most_common():
        click.echo(f"{first} and then {second}: {count}")


if __name__ == "__main__":
    main()
