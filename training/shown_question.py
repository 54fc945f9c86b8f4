"""Whether the labeler does better where it sees the question that a claim answers.

RAMDocs' answers as statements have one, and the claims of WikiContradict and of HealthVer, in
whichever set they stand. Their validation pairs are labelled twice: the claim by itself, and the
question with the claim after it.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np

from conflictscore.benchmarks.harness.statistics import mcnemar
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import ConflictScoreError, ContextWindowError
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel
from training.decision import conflict_figures
from training.figures import figures
from training.human import label_files, labelled_pairs
from training.pairs import LABELS, Pair
from training.passages import data_files
from training.question_pairs import measured_pairs
from training.questions import questions_in
from training.wordings import statement

__all__ = ["Asked", "asked_pairs", "main"]


class Asked(NamedTuple):
    """A validation pair and the question that its claim answers."""

    question: str
    pair: Pair


def asked_pairs(files: Sequence[Path]) -> Iterator[Asked]:
    """The validation pairs of people and of RAMDocs that have a question.

    Raises:
        InputError: A file cannot be read.
    """
    labelled = label_files(list(files))
    questions: dict[str, str] = {}
    for path in labelled:
        for _, record in read_json_lines(path):
            if question := (record.get("question") or "").strip():
                questions[record["claim"].strip()] = question
    answered = list(questions_in(list(files)))
    for one in answered:
        for answer in one.answers:
            if one.source == "ramdocs" and (said := statement(one.text, answer)) is not None:
                questions[said.text] = one.text
    _, validation = labelled_pairs(labelled)
    for pair in [*validation, *measured_pairs(answered)]:
        if pair.source != "ramdocs_questions" and pair.claim in questions:
            yield Asked(questions[pair.claim], pair)


async def _labels(labeler: NliLabeler, claims: Sequence[str], pairs: Sequence[Pair]) -> list[int]:
    table = [
        (Claim(number=1, text=claim), Document(number=1, title=pair.title, text=pair.document))
        for claim, pair in zip(claims, pairs, strict=True)
    ]
    found: list[EvidenceLabel] = []
    with click.progressbar(length=len(table), label="labelling") as progress:

        def on_label(label: EvidenceLabel) -> None:
            found.append(label)
            progress.update(1)

        await labeler.label_all(table, UsageMeter(), on_label)
    if errors := [one.error for one in found if one.error is not None]:
        raise ContextWindowError(errors[0])
    return [LABELS.index(one.label.value) for one in found]


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--model", type=click.Path(exists=True, path_type=Path), help="Default: bundled.")
def main(data: tuple[Path, ...], model: Path | None) -> None:
    """Print a line for each set and way, and how many pairs the question mends and spoils."""
    try:
        labeler = NliLabeler.open(model)
        sets: dict[str, list[Asked]] = defaultdict(list)
        for one in asked_pairs(data_files(list(data))):
            sets[one.pair.source].append(one)
        click.echo("| set | pairs | shown | accuracy | macro-F1 | conflict F1 |")
        click.echo("|---|---|---|---|---|---|")
        for source, found in sets.items():
            _compare(source, found, labeler)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _compare(source: str, found: Sequence[Asked], labeler: NliLabeler) -> None:
    pairs = [one.pair for one in found]
    gold = np.array([LABELS.index(pair.label) for pair in pairs])
    ways = {
        "claim": [pair.claim for pair in pairs],
        "question and claim": [f"{one.question} {one.pair.claim}" for one in found],
    }
    right = []
    for way, claims in ways.items():
        given = np.array(asyncio.run(_labels(labeler, claims, pairs)))
        right.append(given == gold)
        said = figures(gold, given)
        conflict, _ = conflict_figures(gold, given, [pair.claim for pair in pairs])
        cells = " | ".join(f"{cell:.3f}" for cell in (said.accuracy, said.macro_f1, conflict))
        click.echo(f"| {source} | {len(pairs)} | {way} | {cells} |")
    mended, spoiled = int((right[1] & ~right[0]).sum()), int((right[0] & ~right[1]).sum())
    p = mcnemar(mended, spoiled)
    click.echo(f"{source}: the question mends {mended} and spoils {spoiled} (p = {p:.3f})")


if __name__ == "__main__":
    main()
