"""Accuracy of the labelers that run on this machine alone: NLI model, `choice`, cascade.

No model is called: replies of the embedded model come from --replies, where
measurements.judge_replies stored them, and the NLI model reads the 308 pairs in half a minute. The
package's own class runs the cascade. With --verdicts, from `training.evaluate` with the same NLI
model, it also prints how often that model is right at each score, over all validation pairs.

asked: share of the pairs that the language model is asked about. better, worse, p: labels compared
with those of `choice`, by McNemar's test. The last row gives two constants: the commonest label,
and "conflict" for every claim.
"""

import asyncio
from collections.abc import Iterable, Iterator
from pathlib import Path

import click
import numpy as np
from rich.console import Console

from conflictscore.benchmarks.conflict_detection.detect import PairRow
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.labelers.cascade import Cascade, Thresholds
from conflictscore.labelers.nli.by_claim import decided_by_claim
from conflictscore.labelers.nli.labeler import NliLabeler, open_nli
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.record_file import RecordLines
from measurements.kept_scores import (
    Numbers,
    Pairs,
    Row,
    asked_of,
    kept_replies,
    normalised,
    print_rows,
)
from measurements.validation_sample import (
    places_of,
    sample_options,
    validation_claims,
    validation_sample,
)
from training.pairs import LABELS

__all__ = ["KeptLabeler", "main", "nli_scores", "played", "rows_of", "standing"]

_SCORES = (0.9, 0.8, 0.7, 0.6, 0.5, 0.45)
_SURE = (0.9, 0.85, 0.8, 0.75, 0.7, 0.65, 0.6, 0.55, 0.5, 0.45)


class KeptLabeler:
    """Gives what was kept of a labeler, for the package's own code to put together."""

    identity = None

    def __init__(self, name: str, pairs: Pairs, logprobs: Numbers) -> None:
        """Take what it said.

        Args:
            name: Its name.
            pairs: The pairs.
            logprobs: Of each pair; a row that is not finite was never asked.
        """
        self.name, self.asked = name, set[int]()
        self._logprobs = logprobs
        self._places = {
            (group.claim, group.documents[number - 1].title, group.documents[number - 1].text): row
            for row, (group, number) in enumerate(pairs.places)
        }

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """See :class:`~conflictscore.labelers.protocol.Labeler`."""
        place = self._places[claim.text, document.title, document.text]
        self.asked.add(place)
        row = self._logprobs[place]
        best = int(row.argmax())
        return EvidenceLabel(
            claim=claim.number,
            document=document.number,
            label=Label(LABELS[best]),
            score=min(1.0, float(np.exp(row[best]))),
        )


def nli_scores(labeler: NliLabeler, pairs: Pairs) -> Numbers:
    """Calibrated log-probabilities of an NLI model, a row a pair.

    Raises:
        ContextWindowError: A claim is too long for it.
    """

    async def read() -> list[list[float]]:
        meter, rows = UsageMeter(), []
        with CountBar(Console(stderr=True), "reading", "pairs") as bar:
            for count, (group, number) in enumerate(pairs.places, start=1):
                claim = Claim(number=1, text=group.claim)
                said = await labeler.logprobs(claim, group.shown[number - 1], meter)
                sure = labeler.calibration.probabilities(said)
                rows.append([float(np.log(max(sure[Label(label)], 1e-30))) for label in LABELS])
                bar.show(count, len(pairs.places))
        return rows

    return np.array(asyncio.run(read()))


def played(
    pairs: Pairs, cheap: Numbers, judge: Numbers, certain: Thresholds, name: str = "cascade"
) -> Row:
    """A cascade of two labelers, by what was kept of both."""
    first, second = KeptLabeler("nli", pairs, cheap), KeptLabeler("judge", pairs, judge)
    cascade = Cascade(first, second, certain)
    found: dict[tuple[str, str, int], Label] = {}

    async def judge_all() -> None:
        for group in dict.fromkeys(group for group, _ in pairs.places):
            claim = Claim(number=1, text=group.claim)
            said: list[EvidenceLabel] = []
            await cascade.label_in_stages(
                [(claim, document) for document in group.shown], UsageMeter(), said.append
            )
            found.update({(group.set, group.id, one.document): one.label for one in said})

    asyncio.run(judge_all())
    given = [found[group.set, group.id, number].value for group, number in pairs.places]
    asked = np.isin(np.arange(len(given)), sorted(second.asked))
    return Row(name, np.array([LABELS.index(label) for label in given]), asked)


def rows_of(
    pairs: Pairs, nli: Numbers, judge: Numbers, own: Thresholds | None = None
) -> Iterator[Row]:
    """Labels of the NLI model, of `choice`, and of cascades of both.

    Args:
        pairs: The pairs.
        nli: Log-probabilities of the NLI model.
        judge: Log-probabilities of `choice`.
        own: Scores from which the NLI model's verdicts stand by default.
    """
    yield Row("choice", judge.argmax(axis=1), np.ones(len(nli), bool))
    never = np.zeros(len(nli), bool)
    yield Row("nli", nli.argmax(axis=1), never)
    yield Row("nli, by claim", _by_claim(pairs, nli), never)
    for score in _SCORES:
        yield played(pairs, nli, judge, Thresholds.from_score(score), f"cascade {score}")
    yield played(pairs, nli, judge, own or Thresholds(), "cascade, by default")


def _by_claim(pairs: Pairs, nli: Numbers) -> Numbers:
    """Labels where the documents of a claim decide together whether they disagree."""
    labels: Numbers = nli.argmax(axis=1)
    for claim in np.unique(pairs.claims):
        rows = np.flatnonzero(pairs.claims == claim)
        verdicts = [
            EvidenceLabel(
                claim=1,
                document=int(row) + 1,
                label=Label(LABELS[labels[row]]),
                probabilities=dict(zip(map(Label, LABELS), np.exp(nli[row]), strict=True)),
            )
            for row in rows
        ]
        decided = decided_by_claim(verdicts)
        labels[rows] = [LABELS.index(one.label.value) for one in decided]
    return labels


def standing(
    verdicts: Iterable[PairRow], groups: Iterable[ClaimGroup]
) -> Iterator[tuple[float, Label, float, float | None]]:
    """How often an NLI model is right where it is this sure, on all validation pairs.

    Yields:
        A score, a label, the share of all pairs that have this label with at least this score, and
        the share of these with people's label; None where there are none.
    """
    gold = {
        (group.set, group.id, number): document.label
        for group in groups
        for number, document in enumerate(group.documents, start=1)
    }
    said = [(row.label, gold.get((row.set, row.group, row.label.document))) for row in verdicts]
    for score in _SURE:
        for label in map(Label, LABELS):
            right = [
                one.label is people
                for one, people in said
                if one.label is label and (one.score or 0.0) >= score
            ]
            share = sum(right) / len(right) if right else None
            yield score, label, len(right) / max(1, len(said)), share


@click.command(help=__doc__)
@sample_options
@click.option(
    "--replies",
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="--out of measurements.judge_replies.",
)
@click.option("--nli-model", metavar="MODEL", help="By default the bundled one.")
@click.option(
    "--verdicts",
    metavar="FILE",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    help="verdicts.jsonl of training.evaluate, of the same NLI model.",
)
def main(
    data: tuple[Path, ...],
    replies: Path,
    nli_model: str | None,
    verdicts: Path | None,
    groups: int,
    seed: int,
) -> None:
    """See the module."""
    try:
        labeler = open_nli(nli_model)
        sample = validation_sample(data, groups, seed)
        every = Pairs.of(places_of(sample))
        pairs, judge = _judged(every, replies)
        rows = rows_of(pairs, nli_scores(labeler, pairs), judge, Thresholds.of(nli_model))
        print_rows(pairs, rows, "choice")
        if verdicts is not None:
            _print_standing(standing(_read(verdicts), validation_claims(data)))
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _judged(every: Pairs, replies: Path) -> tuple[Pairs, Numbers]:
    """The pairs of all claims whose every document `choice` was asked about, and its replies."""
    choice, _ = kept_replies(replies / "choice.jsonl", every)
    incomplete = every.claims[~asked_of(choice)]
    whole = ~np.isin(every.claims, incomplete)  # a conflict needs the labels of all documents
    if not whole.any():
        raise InputError(f"{replies}: choice was asked about no claim with all its documents")
    if not whole.all():
        click.echo(f"choice was asked about {whole.sum()} of {len(whole)} pairs: these alone\n")
    return every.where(whole), normalised(choice[whole])


def _read(path: Path) -> Iterator[PairRow]:
    """Rows of verdicts.

    Raises:
        InputError: The file holds something else.
    """
    for line in RecordLines(path):
        if line.number > 1:
            try:
                yield PairRow.model_validate_json(line.text)
            except ValueError:
                where = f"{path}, row {line.number}"
                raise InputError(f"{where}: no verdict of training.evaluate") from None


def _print_standing(rows: Iterable[tuple[float, Label, float, float | None]]) -> None:
    click.echo("\n| score | label | pairs | right |\n|---|---|---|---|")
    for score, label, share, right in rows:
        said = "" if right is None else f"{100 * right:.0f} %"
        click.echo(f"| {score} | {label} | {100 * share:.1f} % | {said} |")


if __name__ == "__main__":
    main()
