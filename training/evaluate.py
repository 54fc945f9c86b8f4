"""Measure an exported model on all validation sets, as the NLI labeler, and write its model card.

Verdicts are added to ``--out``/verdicts.jsonl one by one, so that the same command resumes where it
was stopped; those on RAMDocs' questions kept to measure on go to ``verdicts_questions.jsonl``.
Beside them come ``figures.json`` and ``figures_questions.json``, everything that
``conflictscore bench conflict-detection`` reports, and ``MODEL_CARD.md``, but for nli-mpnet.
``groups`` holds the pairs of each set, as ``training.calibrate`` reads them.
"""

import asyncio
import json
from collections.abc import Iterable
from pathlib import Path

import click

from conflictscore.benchmarks.conflict_detection.data import balanced
from conflictscore.benchmarks.conflict_detection.detect import VerdictFile, detect, judged_groups
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, GroupDocument
from conflictscore.benchmarks.conflict_detection.measures import DetectionFigures, detection_figures
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import read_folder, resolve
from conflictscore.records import Label
from training.human import label_files, labelled_pairs
from training.model_card import encoder_of, model_card
from training.pairs import Pair
from training.passages import data_files
from training.question_pairs import measured_pairs
from training.questions import questions_in

__all__ = ["main", "validation_groups", "write_groups"]


def validation_groups(pairs: Iterable[Pair]) -> list[ClaimGroup]:
    """Validation pairs as one group a claim and set, in order."""
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
        said = {"id": group.id, "claim": group.claim, "docs": docs}
        lines.setdefault(group.set, []).append(json.dumps(said, ensure_ascii=False) + "\n")
    folder.mkdir(parents=True, exist_ok=True)
    for name, found in lines.items():
        (folder / f"{name}_groups.jsonl").write_text("".join(found), "utf-8")


def _measure(
    groups: list[ClaimGroup], labeler: NliLabeler, out: Path, suffix: str
) -> DetectionFigures:
    with VerdictFile.open(out / f"verdicts{suffix}.jsonl", labeler) as verdicts:
        asyncio.run(detect(labeler, groups, verdicts))
        figures = detection_figures(
            verdicts.labeler, list(judged_groups(groups, verdicts)), verdicts.rows
        )
    said = json.dumps(figures.to_json(), ensure_ascii=False, indent=2)
    (out / f"figures{suffix}.json").write_text(said + "\n", "utf-8")
    return figures


@click.command(help=__doc__)
@click.option("--model", required=True, help="A folder of training.export, or nli-mpnet.")
@click.option("--data", multiple=True, required=True, type=click.Path(exists=True, path_type=Path))
@click.option("--out", required=True, type=click.Path(file_okay=False, path_type=Path))
@click.option("--pair-tokens", type=int, help="By default what the model was trained for.")
@click.option("--sample", type=click.IntRange(min=2), help="Claims a set, half with a conflict.")
@click.option("--seed", default=0, show_default=True, help="Decides the sample.")
def main(
    model: str,
    data: tuple[Path, ...],
    out: Path,
    pair_tokens: int | None,
    sample: int | None,
    seed: int,
) -> None:
    """Write the figures and the card."""
    try:
        folder = resolve(model)
        labeler = NliLabeler.open(model, pair_tokens=pair_tokens)
        # First, so that hours of measuring do not end at a card that cannot be written.
        encoder = encoder_of(json.loads((folder / "config.json").read_bytes()))
        files = data_files(list(data))
        _, validation = labelled_pairs(label_files(files))
        groups = validation_groups(validation)
        questions = validation_groups(measured_pairs(list(questions_in(files))))
        if sample is not None:
            groups = balanced(groups, sample, seed)
            questions = balanced(questions, sample, seed) if questions else []
        write_groups(groups, out / "groups")
        answered = _measure(questions, labeler, out, "_questions") if questions else None
        figures = _measure(groups, labeler, out, "")
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    size = (folder / "model.onnx").stat().st_size
    card = model_card(
        figures,
        answered=answered,
        size=size,
        sha256=read_folder(folder).sha256,
        encoder=encoder,
        calibration=labeler.calibration,
    )
    if folder != NLI_MPNET.folder:  # its card says how it was trained, and is written by hand
        (out / "MODEL_CARD.md").write_text(card, "utf-8")
    click.echo(card[card.index("## Figures") :])


if __name__ == "__main__":
    main()
