"""Tests how well a model's probabilities of "Yes" and "No" separate two kinds of documents.

Some documents say yes, and some say no. Only cases whose answer begins with yes or no are used. The
area under the ROC curve is printed for the pooled encoders, for the reading, and for the sum of
their log-odds. Then the claims that the encoders' labels dispute are counted. The output
shows how many disputed claims are correct, and how many the reading opposes, so that the opposite
may count as a rival (see ``correcting/yes_or_no.py``).

    python -m measurements.yes_or_no training/natural/cases_[ef].jsonl --cache FILE

Readings and labels are stored in --cache, so the same command resumes.
"""

import asyncio
from collections import Counter
from collections.abc import Iterator, Sequence
from math import log, nan
from pathlib import Path
from typing import NamedTuple

import click

from conflictscore.correcting.yes_or_no import Readings, read_yes_or_no
from conflictscore.errors import ConflictScoreError
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.nli.model import resolve
from conflictscore.loop.state import Reader
from conflictscore.models import UsageMeter, open_model
from conflictscore.progress import CountBar
from conflictscore.prompts import PromptSet
from conflictscore.records import ClaimEvidence, Label
from measurements.embedded_stack import KeptNliModel, kept_outputs
from measurements.reading_opinion import labelled_case
from training.cases import NaturalCase, read_case_file

_LEAST = 1e-3  # keeps the log of a probability finite
_SIDES = {"yes": True, "no": False}


class ReadCase(NamedTuple):
    """A case with the labels of its claim, and whether the reading opposes the claim.

    Attributes:
        case: The case.
        evidence: The encoders' labels.
        readings: The reader's log-odds of yes.
    """

    case: NaturalCase
    evidence: ClaimEvidence
    readings: Readings

    @property
    def is_opposed(self) -> bool:
        """Whether the opposite of the claim may count as its rival."""
        return self.readings.oppose(self.evidence, is_yes=bool(side_of(self.case.answer)))

    @property
    def is_correct(self) -> bool | None:
        """Whether the answer is correct; None if a correct answer names both sides."""
        if self.case.resolution in {"no_dispute", "refuted"}:
            return self.case.resolution == "no_dispute"
        if self.case.resolution == "name_both":
            return None
        correct_words = " ".join(self.case.right).casefold().split()
        return side_of(self.case.answer) is ("yes" in correct_words)

    @property
    def is_disputed(self) -> bool:
        """Whether the encoders' labels make the claim conflicting or refuted."""
        contradicting = len(self.evidence.contradicts)
        return contradicting > 1 or bool(contradicting and self.evidence.supports)

    def odds_by_side(self) -> Iterator[tuple[bool, tuple[float, float, float]]]:
        """Return, for each document that says yes or no, its side and its log-odds of yes.

        The log-odds are those of the encoders, of the reading, and their sum.
        """
        is_yes = side_of(self.case.answer)
        for pair, document in zip(self.evidence.labels, self.case.documents, strict=True):
            reading = self.readings.odds.get(pair.document)
            if document.label == "IRRELEVANT" or reading is None or pair.probabilities is None:
                continue
            supports, contradicts = (
                log(max(_LEAST, pair.probabilities.get(label, 0.0)))
                for label in (Label.SUPPORTS, Label.CONTRADICTS)
            )
            encoders = (supports - contradicts) * (1 if is_yes else -1)
            side = is_yes is (document.label == "SUPPORTS")
            yield side, (encoders, reading, encoders + reading)


def area_under_curve(yes: Sequence[float], no: Sequence[float]) -> float:
    """Return how often a document that says yes has higher log-odds than one that says no."""
    wins = sum((high > low) + 0.5 * (high == low) for high in yes for low in no)
    return wins / (len(yes) * len(no)) if yes and no else nan


def side_of(answer: str) -> bool | None:
    """Return whether an answer begins with yes (True) or no (False); None for any other answer."""
    return _SIDES.get(answer.split()[0].strip(",.;:").casefold()) if answer.split() else None


async def read_cases(
    cases: Sequence[NaturalCase], reader: Reader, encoders: NliByClaim, bar: CountBar
) -> list[ReadCase]:
    """Label and read every document of every case."""
    read = []
    for number, case in enumerate(cases, start=1):
        documents, evidence = await labelled_case(case, encoders, reader.meter)
        readings = await read_yes_or_no(case.question, documents, reader, quotations={})
        read.append(ReadCase(case, evidence, readings))
        bar.show(number, len(cases), case.id)
    return read


@click.command(help=__doc__)
@click.argument(
    "files", nargs=-1, required=True, type=click.Path(exists=True, dir_okay=False, path_type=Path)
)
@click.option("--model", default="local", show_default=True, help="The model that reads.")
@click.option(
    "--cases",
    default=0,
    type=click.IntRange(0),
    help="Number of cases, from the beginning of the files; 0 for all.",
)
@click.option("--cache", "cache_file", required=True, type=click.Path(path_type=Path))
def main(files: tuple[Path, ...], model: str, cases: int, cache_file: Path) -> None:
    """See the module."""
    try:
        every = [case for file in files for case in read_case_file(file)]
        chosen = [case for case in every if side_of(case.answer) is not None][: cases or None]
        with kept_outputs(cache_file, "reading", "cases") as (cache, bar):
            encoders = NliByClaim(
                *(NliLabeler(KeptNliModel(resolve(name), cache)) for name in (NLI_MPNET.name, None))
            )
            reader = Reader(open_model(model, cache=cache), PromptSet.load(), UsageMeter())
            read = asyncio.run(read_cases(chosen, reader, encoders, bar))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error
    odds = [each for case in read for each in case.odds_by_side()]
    yes, no = ([values for side, values in odds if side is wanted] for wanted in (True, False))
    click.echo(f"{len(read)} cases; {len(yes)} documents say yes, {len(no)} say no")
    for place, name in enumerate(("encoders", "reading", "both")):
        area = area_under_curve([each[place] for each in yes], [each[place] for each in no])
        click.echo(f"{name}: area under the curve {area:.3f}")
    counts = Counter((each.is_correct, each.is_opposed) for each in read if each.is_disputed)
    for is_correct, name in ((True, "correct"), (False, "wrong"), (None, "both sides hold")):
        opposed = counts[is_correct, True]
        disputed = opposed + counts[is_correct, False]
        click.echo(f"disputed claims, {name}: {opposed} of {disputed} are opposed by the reading")


if __name__ == "__main__":
    main()
