"""Writes the pairs to measure on as groups: a file for each set, a line for each claim.

``conflictscore bench conflict-detection`` measures models on them, and ``training.calibrate`` fits
scores to them. There are five kinds of sets: pairs labelled by people; answers to the questions of
RAMDocs; claims that name their entity, with all documents of their question, from RAMDocs' second
half; the natural cases that no model learns from; and all natural cases by those authors from whom
the shipped models have not learned.
"""

import json
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.errors import ConflictScoreError
from conflictscore.records import Label
from training.build_natural import is_kept_out, telling_pairs
from training.cases import CORPUS, NaturalCase, pairs_of, read_cases
from training.entity_pairs import entity_pairs, halves
from training.human import data_files, label_files, labelled_pairs
from training.pairs import Pair
from training.question_pairs import measured_pairs
from training.questions import questions_in


def measured_on(data: Sequence[Path]) -> list[Pair]:
    """Return the validation pairs of a data folder: first people's, then RAMDocs' answers.

    Raises:
        InputError: A file cannot be read.
    """
    files = data_files(list(data))
    _, validation = labelled_pairs(label_files(files))
    return [*validation, *measured_pairs(list(questions_in(files)))]


def entities_measured_on(data: Sequence[Path]) -> list[Pair]:
    """Return the pairs of RAMDocs' second half, with claims that name their entity.

    Raises:
        InputError: A file cannot be read.
    """
    return list(entity_pairs(halves(data_files(list(data)))[1], seed=0))


LEARNED_HANDS = "abc"
"""The authors whose cases the shipped models have learned; an author is the first letter of a
case's id."""


def natural_kept_out(folder: Path = CORPUS) -> list[Pair]:
    """Return the pairs of the cases that no model learns from, each with the date before the text.

    Raises:
        InputError: A file cannot be read.
    """
    kept_out = [case for case in read_cases(folder) if is_kept_out(case)]
    return _dated(kept_out, folder, "natural_kept_out")


def natural_not_learned(folder: Path = CORPUS) -> list[Pair]:
    """Return the pairs of all authors but ``LEARNED_HANDS``, each with the date before the text.

    Raises:
        InputError: A file cannot be read.
    """
    cases = [case for case in read_cases(folder) if case.id[0] not in LEARNED_HANDS]
    hands = sorted({case.id[0] for case in cases})
    return [
        pair
        for hand in hands
        for pair in _dated([c for c in cases if c.id[0] == hand], folder, f"natural_{hand}")
    ]


def _dated(cases: Sequence[NaturalCase], folder: Path, source: str) -> list[Pair]:
    return [
        pair._replace(document=". ".join(filter(None, (pair.date, pair.document))), source=source)
        for pair in (*pairs_of(cases), *telling_pairs(cases, folder))
    ]


def validation_groups(pairs: Iterable[Pair]) -> list[ClaimGroup]:
    """Group validation pairs by set and claim, in order."""
    documents: dict[tuple[str, str], list[GroupDocument]] = {}
    for pair in pairs:
        document = GroupDocument(text=pair.document, title=pair.title, label=Label(pair.label))
        documents.setdefault((pair.source, pair.claim), []).append(document)
    groups = []
    for number, ((source, claim), found) in enumerate(documents.items()):
        labels = {document.label for document in found}
        groups.append(
            ClaimGroup(
                set=source,
                id=str(number),
                claim=claim,
                documents=tuple(found),
                has_conflict={Label.SUPPORTS, Label.CONTRADICTS} <= labels,
            )
        )
    return groups


def write_groups(groups: Iterable[ClaimGroup], folder: Path) -> None:
    """Write a file for each set, such as ``scifact_groups.jsonl``: a line for each group."""
    lines: dict[str, list[str]] = {}
    for group in groups:
        docs = [document.model_dump(mode="json") for document in group.documents]
        said = {
            "id": group.id,
            "claim": group.claim,
            "docs": docs,
            "has_conflict": group.has_conflict,
        }
        lines.setdefault(group.set, []).append(json.dumps(said, ensure_ascii=False) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in lines.items():
        (folder / f"{name}_groups.jsonl").write_text("".join(found), "utf-8")


@click.command(help=__doc__)
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
def main(data: tuple[Path, ...], out: Path) -> None:
    """Write the files."""
    try:
        pairs = [*measured_on(data), *entities_measured_on(data), *natural_kept_out()]
        pairs += natural_not_learned()
        write_groups(validation_groups(pairs), out)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


if __name__ == "__main__":
    main()
