"""Finds the bound above which two documents count as disagreeing, by number of documents.

The bound applies to the largest product of one document's P(SUPPORTS) and another document's
P(CONTRADICTS). This product grows with the number of documents, even if they agree. The bound
therefore grows too: bound * (documents / 2) ** growth. The bound and its growth are chosen on one
half of the claims, by the F1 of finding conflicts, and reported on the other half. Each claim is
tried with its first 2, 3, 5 and 7 documents and with all of them, so that there are sets of
documents of every size. All these sets of a claim are in the same half.

--conflicts takes the file of the CONFLICTS benchmark. This option adds the questions that people
labelled "no conflict", with claims that we wrote (no_conflict_claims.json). For questions labelled
"no conflict", figures are reported by number of documents.
"""

import asyncio
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from numpy.typing import NDArray

from conflictscore.benchmarks.conflict_detection.groups import (
    ClaimGroup,
    GroupDocument,
    read_groups,
)
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.by_claim import NliByClaim, least_product, most_likely_pair
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import resolve
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, Label
from measurements.embedded_stack import KeptNliModel, kept_outputs

Numbers = NDArray[Any]

NO_CONFLICT = "conflicts_no_conflict"
_CLAIMS = Path(__file__).with_name("no_conflict_claims.json")
_PREFIXES = (2, 3, 5, 7)  # each claim is tried with its first 2, 3, 5 and 7 documents
_BOUNDS = np.arange(0.1, 0.62, 0.02)
_GROWTHS = np.arange(0, 0.85, 0.05)
_MOST = 0.95  # the labeler's maximum for the bound


class Prefix(NamedTuple):
    """A claim with the first few of its documents.

    Attributes:
        set: The name of the data set that contains the claim.
        claim: The claim.
        documents: Number of documents.
        product: The largest product of P(SUPPORTS) and P(CONTRADICTS) of two of the documents.
        is_conflict: Whether people labelled some documents SUPPORTS and others CONTRADICTS.
    """

    set: str
    claim: str
    documents: int
    product: float
    is_conflict: bool


def no_conflict_groups(path: Path) -> Iterator[ClaimGroup]:
    """Yield CONFLICTS' questions that people labelled "no conflict", each with a true claim."""
    claims = json.loads(_CLAIMS.read_text("utf-8"))
    for number, (_, record) in enumerate(read_json_lines(path)):
        if record["query"] in claims and record["conflict_type"] == "No conflict":
            yield ClaimGroup(
                set=NO_CONFLICT,
                id=str(number),
                claim=claims[record["query"]],
                documents=tuple(GroupDocument(text=page["text"]) for page in record["docs"]),
                has_conflict=False,
            )


async def prefixes_of(
    labeler: NliByClaim, groups: Sequence[ClaimGroup], bar: CountBar
) -> list[Prefix]:
    """Return each claim once per number of first documents, in the order of the claims."""
    meter = UsageMeter()
    found: list[Prefix] = []
    for number, group in enumerate(groups, start=1):
        claim = Claim(number=1, text=group.claim)
        verdicts = [await labeler.label(claim, document, meter) for document in group.shown]
        sizes = {min(size, len(verdicts)) for size in (*_PREFIXES, len(verdicts))}
        for size in sorted(sizes):
            known = {v.document: v.probabilities for v in verdicts[:size] if v.probabilities}
            labels = {*group.labels[:size]}
            conflict = {Label.SUPPORTS, Label.CONTRADICTS} <= labels
            product = most_likely_pair(known)[0]
            found.append(Prefix(group.set, group.claim, size, product, conflict))
        bar.show(number, len(groups), group.set)
    return found


def f1_of(prefixes: Sequence[Prefix], bound: float, growth: float) -> float:
    """Return the F1 of finding conflicts with this bound and growth."""
    gold = np.array([one.is_conflict for one in prefixes])
    called = _called(prefixes, bound, growth)
    return 2 * float((gold & called).sum()) / max(1, int(gold.sum() + called.sum()))


def _called(prefixes: Sequence[Prefix], bound: float, growth: float) -> Numbers:
    sizes = np.array([one.documents for one in prefixes])
    products = np.array([one.product for one in prefixes])
    return products > np.minimum(bound * (sizes / 2) ** growth, _MOST)


def best_rule(prefixes: Sequence[Prefix]) -> tuple[float, float]:
    """Return the bound (for two documents) and the growth that yield the highest F1."""
    rules = [(float(bound), float(growth)) for bound in _BOUNDS for growth in _GROWTHS]
    return max(rules, key=lambda rule: f1_of(prefixes, *rule))


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--conflicts", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--model",
    "names",
    multiple=True,
    default=("",),
    help="An NLI model; repeat it to use the mean of several.",
)
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(
    data: tuple[Path, ...], conflicts: Path | None, names: tuple[str, ...], file: Path
) -> None:
    """See the module."""
    try:
        groups = [group for path in data for group in read_groups(path)]
        groups += no_conflict_groups(conflicts) if conflicts else ()
        with kept_outputs(file) as (cache, bar):
            models = [NliLabeler(KeptNliModel(resolve(name or None), cache)) for name in names]
            prefixes = asyncio.run(prefixes_of(NliByClaim(*models), groups, bar))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    halves = [lot("halves", 0, one.claim)[0] % 2 for one in prefixes]
    first, second = (
        [one for one, half in zip(prefixes, halves, strict=True) if half == wanted]
        for wanted in (0, 1)
    )
    bound, growth = best_rule(first)
    flat = max(_BOUNDS, key=lambda value: f1_of(first, float(value), 0))
    click.echo(f"chosen on {len(first)}: bound {bound:.2f}, growth {growth:.2f}; flat {flat:.2f}")
    shipped = least_product(2)
    rules = {
        f"flat {flat:.2f}": (float(flat), 0.0),
        f"{bound:.2f} * (n / 2) ** {growth:.2f}": (bound, growth),
        "as shipped": (shipped, float(np.log2(least_product(4) / shipped))),
    }
    _print(second, rules)


def _print(prefixes: Sequence[Prefix], rules: dict[str, tuple[float, float]]) -> None:
    parts = {"all": prefixes} | {
        name: [one for one in prefixes if one.set == name]
        for name in dict.fromkeys(one.set for one in prefixes)
    }
    click.echo(f"\n| reported half | claims' prefixes, conflicts | {' | '.join(rules)} |")
    click.echo(f"|{'---|' * (len(rules) + 2)}")
    for name, own in parts.items():
        conflicts = sum(one.is_conflict for one in own)
        cells = [_cell(own, rule, conflicts) for rule in rules.values()]
        click.echo(f"| {name} | {len(own)}, {conflicts} | {' | '.join(cells)} |")
    for size in _sizes(prefixes):
        own = [one for one in prefixes if one.set == NO_CONFLICT and one.documents == size]
        cells = [f"{int(_called(own, *rule).sum())} called" for rule in rules.values()]
        click.echo(f"| no conflict, {size} documents | {len(own)}, 0 | {' | '.join(cells)} |")


def _cell(own: Sequence[Prefix], rule: tuple[float, float], conflicts: int) -> str:
    if conflicts:
        return f"F1 {f1_of(own, *rule):.3f}"
    return f"{int(_called(own, *rule).sum())} called"


def _sizes(prefixes: Iterable[Prefix]) -> list[int]:
    return sorted({one.documents for one in prefixes if one.set == NO_CONFLICT})


if __name__ == "__main__":
    main()
