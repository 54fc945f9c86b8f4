"""Counts people's labels by where a document states the quantities of a claim.

Only pairs that the pooled models label SUPPORTS or CONTRADICTS are counted, for each kind of value
in the claim. There are five places. All values of a kind are in the deciding window, or all are in
the document. If a value is missing, the deciding window has the digits of a missing value with a
different unit, or a different value of the same kind, or neither. No rule on the text overrules the
models.

Files are groups of claims, as ``training.groups`` writes them. Outputs for each window are cached
in --cache, so the same command resumes.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, read_groups
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import POOLING, combined_verdict
from conflictscore.labelers.nli.model import resolve
from conflictscore.labelers.nli.word_for_word import are_comparable
from conflictscore.records import Label
from conflictscore.values import StatedValue, all_values_in, values_in
from measurements.embedded_stack import KeptNliModel, kept_outputs
from measurements.label_models import ModelAlone, drawn
from measurements.pooled_models import Judged, judged
from training.pairs import LABELS

_SIDES = (Label.SUPPORTS, Label.CONTRADICTS)


def places_of(claim: str, document: str, window: str) -> Iterator[tuple[str, str]]:
    """Yield each kind of value in the claim, and the place of the values of this kind."""
    in_document, in_window = all_values_in(document), all_values_in(window)
    of_kinds: dict[str, list[StatedValue]] = {}
    for each in values_in(claim):
        of_kinds.setdefault(_kind(each), []).append(each)
    for kind, values in of_kinds.items():
        absent = [v for v in values if not any(map(v.agrees, in_document))]
        pairs = [(own, another) for own in absent for another in in_window]
        if not absent:
            is_near = all(any(map(v.agrees, in_window)) for v in values)
            yield kind, "in the window" if is_near else "in the document"
        elif any(a.bare == b.bare and a.unit and b.unit for a, b in pairs):
            yield kind, "same digits, other unit"
        elif any(are_comparable(a, b) and (kind != "plain") for a, b in pairs):
            yield kind, "another value"
        else:
            yield kind, "absent"


def _kind(stated_value: StatedValue) -> str:
    if stated_value.is_year:
        return "year"
    if stated_value.date is not None:
        return "date"
    return "unit" if stated_value.dimension else "plain"


def counts(
    groups: Sequence[ClaimGroup], rows: Sequence[Judged], half: int
) -> Counter[tuple[str, str, str, int]]:
    """Count people's labels by the models' label, the kind of values, and their place."""
    numbers = Counter[tuple[str, str, str, int]]()
    for group, row in zip(groups, rows, strict=True):
        if lot("halves", 0, f"{row.set} {row.id}")[0] % 2 != half:
            continue
        for document, verdicts, gold in zip(group.shown, row.verdicts, row.gold, strict=True):
            verdict = combined_verdict(verdicts, POOLING)
            if gold is None or verdict.label not in _SIDES:
                continue
            whole = f"{document.title}. {document.text}"
            for kind, place in places_of(group.claim, whole, verdict.snippet or ""):
                numbers[verdict.label.value, kind, place, gold] += 1
    return numbers


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--sample", default=0, type=click.IntRange(0), help="Claims per file; 0 for all.")
@click.option("--seed", default=0, show_default=True)
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(data: tuple[Path, ...], sample: int, seed: int, file: Path) -> None:
    """See the module."""
    try:
        groups = [group for path in data for group in drawn(read_groups(path), sample, seed)]
        with kept_outputs(file) as (cache, bar):
            names = (NLI_MPNET.name, None)
            models = [ModelAlone(KeptNliModel(resolve(name), cache)) for name in names]
            rows = asyncio.run(judged(groups, models, bar))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    for half in (0, 1):
        numbers = counts(groups, rows, half)
        click.echo(f"\nhalf {half}\n\n| models | values | place | {' | '.join(LABELS)} |")
        click.echo(f"|{'---|' * (3 + len(LABELS))}")
        for row in sorted({key[:3] for key in numbers}):
            cells = [str(numbers[*row, gold]) for gold in range(len(LABELS))]
            click.echo(f"| {' | '.join((*row, *cells))} |")


if __name__ == "__main__":
    main()
