"""Tests whether a model's reading of each document improves the labels of the encoders.

A model answers the case's question from each document alone, as in the second look. The model's
answer implies a label. If the answer equals the claim, the label is SUPPORTS. If there is no
answer, the label is IRRELEVANT. If the answer differs, the bundled encoder labels the answer as if
it were the document. The reading decides a pair if the probability of the encoders' label is below
a threshold. The threshold is chosen by accuracy on half of the cases. The figures are reported on
the other half, with gains over the encoders alone.

    python -m measurements.reading_opinion disputes.jsonl --cache FILE

Readings and labels are stored in --cache, so the same command resumes.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from time import monotonic
from typing import NamedTuple

import click

from conflictscore.answering.statements import same_answer
from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.correcting.readers import ask_documents
from conflictscore.errors import ConflictScoreError, ProviderError
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import NliByClaim, decided_by_claim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import resolve
from conflictscore.loop.state import Reader
from conflictscore.models import UsageMeter, open_model
from conflictscore.progress import CountBar
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel, Label
from measurements.embedded_stack import KeptNliModel, kept_outputs
from measurements.label_models import Figures, Numbers, counts_of, figures_of, gains
from training.cases import NaturalCase, read_case_file
from training.pairs import LABELS

# The thresholds that are tried. With 0, the encoders decide all pairs; with 1.01, the readings do.
_THRESHOLDS = (0.0, 0.4, 0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.8, 1.01)


class JudgedCase(NamedTuple):
    """A case with the labels of the encoders and the labels that the readings imply.

    Attributes:
        id: The id of the case.
        gold: The index in ``LABELS`` of the label that people gave each document.
        verdicts: The encoders' verdicts, decided by all documents of the claim together.
        readings: The label that each reading implies; None if the model gave no usable reply.
    """

    id: str
    gold: tuple[int, ...]
    verdicts: tuple[EvidenceLabel, ...]
    readings: tuple[Label | None, ...]

    def labels(self, threshold: float) -> list[int]:
        """Return the labels if readings decide the pairs that the encoders are less sure of."""
        return [
            LABELS.index(
                (
                    verdict.label if reading is None or _is_sure(verdict, threshold) else reading
                ).value
            )
            for verdict, reading in zip(self.verdicts, self.readings, strict=True)
        ]


def _is_sure(verdict: EvidenceLabel, threshold: float) -> bool:
    return verdict.probabilities is None or max(verdict.probabilities.values()) >= threshold


async def reading_of(
    case: NaturalCase, document: Document, reader: Reader, comparer: NliLabeler
) -> Label | None:
    """Return the label that the model's reading of a document implies for the case's claim."""
    try:
        answered = await ask_documents(case.question, [document], reader)
    except ProviderError:
        return None
    if not answered.rivals:
        return Label.IRRELEVANT
    statement = answered.rivals[0].statement
    if same_answer(statement, case.claim, case.question):
        return Label.SUPPORTS
    said = Document(number=1, text=statement)
    return (await comparer.label(Claim(number=1, text=case.claim), said, reader.meter)).label


async def labelled_case(
    case: NaturalCase, encoders: NliByClaim, meter: UsageMeter
) -> tuple[list[Document], ClaimEvidence]:
    """Return the documents of a case, and the labels of its claim decided by all of them."""
    claim = Claim(number=1, text=case.claim)
    documents = [
        Document(
            number=place,
            title=document.title,
            text=document.text,
            metadata={"date": document.date} if document.date else {},
        )
        for place, document in enumerate(case.documents, start=1)
    ]
    verdicts = [await encoders.label(claim, document, meter) for document in documents]
    return documents, ClaimEvidence(claim=claim, labels=tuple(decided_by_claim(verdicts)))


async def judged_cases(
    cases: Sequence[NaturalCase], reader: Reader, encoders: NliByClaim, bar: CountBar
) -> list[JudgedCase]:
    """Label and read every document of every case."""
    judged = []
    for number, case in enumerate(cases, start=1):
        documents, evidence = await labelled_case(case, encoders, reader.meter)
        readings = [
            await reading_of(case, document, reader, encoders.models[-1]) for document in documents
        ]
        gold = tuple(LABELS.index(document.label) for document in case.documents)
        judged.append(JudgedCase(case.id, gold, evidence.labels, tuple(readings)))
        bar.show(number, len(cases), case.id)
    return judged


@click.command(help=__doc__)
@click.argument("file", type=click.Path(exists=True, dir_okay=False, path_type=Path))
@click.option("--model", default="local", show_default=True, help="The model that reads.")
@click.option(
    "--cases",
    default=0,
    type=click.IntRange(0),
    help="Number of cases, from the beginning of the file; 0 for all.",
)
@click.option("--cache", "cache_file", required=True, type=click.Path(path_type=Path))
def main(file: Path, model: str, cases: int, cache_file: Path) -> None:
    """See the module."""
    try:
        chosen = read_case_file(file)[: cases or None]
        with kept_outputs(cache_file, "reading", "cases") as (cache, bar):
            encoders = NliByClaim(
                *(NliLabeler(KeptNliModel(resolve(name), cache)) for name in (NLI_MPNET.name, None))
            )
            meter = UsageMeter()
            reader = Reader(open_model(model, cache=cache), PromptSet.load(), meter)
            began = monotonic()
            judged = asyncio.run(judged_cases(chosen, reader, encoders, bar))
            seconds = monotonic() - began
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    usage = meter.usage
    pairs = sum(len(case.gold) for case in judged)
    click.echo(
        f"{len(judged)} cases, {pairs} documents; {usage.calls} calls, {usage.cached_calls} stored;"
        f" {usage.input_tokens:,} tokens read; {seconds:.0f} s"
    )
    halves = {
        half: [case for case in judged if lot("halves", 0, case.id)[0] % 2 == half]
        for half in (0, 1)
    }
    accuracy = {
        threshold: float(figures_of(_counts(halves[0], threshold)).accuracy)
        for threshold in _THRESHOLDS
    }
    best = max(_THRESHOLDS, key=accuracy.__getitem__)
    click.echo(f"chosen on {len(halves[0])} cases: readings decide below {best}")
    _print("the other half", halves[1], [0.0, best])
    _print("all cases", judged, _THRESHOLDS)


def _counts(cases: Sequence[JudgedCase], threshold: float) -> Numbers:
    return counts_of([case.gold for case in cases], [case.labels(threshold) for case in cases])


def _print(title: str, cases: Sequence[JudgedCase], thresholds: Sequence[float]) -> None:
    click.echo(f"\n| {title} | {' | '.join(Figures._fields)} |")
    click.echo(f"|{'---|' * (len(Figures._fields) + 1)}")
    alone = _counts(cases, 0.0)
    for threshold in thresholds:
        counts = _counts(cases, threshold)
        cells = [
            f"{float(value):.3f}"
            + (f" ({gain:+.3f} [{low:+.3f}, {high:+.3f}])" if threshold else "")
            for value, (gain, low, high) in zip(
                figures_of(counts), gains(alone, counts), strict=True
            )
        ]
        name = f"readings below {threshold}" if threshold else "encoders alone"
        click.echo(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
