"""Stacks of the labelers that run on this machine alone, on the same pairs.

The language model is not called: replies of the embedded model come from --replies, where
measurements.judge_replies stored them (those of the published tables: measurements/recorded). NLI
models read the pairs through the package's own labelers, and verdicts are kept in --cache, so the
same command resumes. nli-mpnet takes part where it was fetched.

asked, seconds: share of the pairs that the language model is asked about, and its time for them.
Gains are beside the local default, with 95 % intervals by claim. A conflict F1 below that of a
constant answer is marked: one that says "conflict" of every claim, or of each with two documents.
"""

import asyncio
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import click
import numpy as np
from rich.console import Console

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.labelers.calibration import Calibration
from conflictscore.labelers.cascade import Cascade, Thresholds
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from measurements.kept_scores import Numbers, Pairs, asked_of, kept_replies
from measurements.validation_sample import (
    answers_sample,
    places_of,
    sample_options,
    validation_sample,
)
from training.decision import conflict_figures
from training.pairs import LABELS

__all__ = ["KeptJudge", "Stack", "constants", "gain", "main", "stacks_of"]

_RESAMPLES = 2000
_QWEN = Calibration(temperature=0.656, fitted_on="180 pairs")
"""The shipped one, which the name of the recorded model would give."""


class KeptJudge:
    """Gives the replies that were stored of the labeler ``choice``."""

    identity = None
    embedded = True

    def __init__(self, pairs: Pairs, logprobs: Numbers, seconds: Numbers) -> None:
        """Take them, a row a pair."""
        self.name, self.asked = "choice", set[int]()
        self._logprobs, self._seconds = logprobs, seconds
        self._rows = {
            (group.claim, group.documents[number - 1].title, group.documents[number - 1].text): row
            for row, (group, number) in enumerate(pairs.places)
        }

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """See :class:`~conflictscore.labelers.protocol.Labeler`."""
        row = self._rows[claim.text, document.title, document.text]
        self.asked.add(row)
        said = dict(zip(map(Label, LABELS), self._logprobs[row], strict=True))
        known = _QWEN.probabilities(said)
        label = max(known, key=known.__getitem__)
        score = min(1.0, known[label])
        return EvidenceLabel(claim=claim.number, document=document.number, label=label, score=score)

    def spent(self) -> tuple[float, float]:
        """Share of the pairs that were asked, and the seconds; the next labeler starts anew."""
        rows, self.asked = sorted(self.asked), set()
        return len(rows) / len(self._logprobs), float(self._seconds[rows].sum())


class Stack(NamedTuple):
    """A way to label, and what it gave for each pair."""

    name: str
    given: Numbers
    asked: float
    seconds: float


def stacks_of(
    small: NliLabeler, large: NliLabeler | None, judge: KeptJudge
) -> Iterator[tuple[str, Labeler]]:
    """The stacks, the local default first."""
    both = [small] if large is None else [large, small]
    yield "the default", NliByClaim(*both)
    yield "choice", judge
    for model, own in ((small, Thresholds()), (large, Thresholds.of(NLI_MPNET.name))):
        if model is not None:
            name = model.name
            yield name, model
            yield f"{name}, by claim", NliByClaim(model)
            yield f"cascade of {name}", Cascade(model, judge, own)


async def _labels(
    labeler: Labeler, pairs: Pairs, cache: ContentCache, bar: CountBar, name: str
) -> Numbers:
    found: dict[tuple[str, str, int], Label] = {}
    groups = dict.fromkeys(group for group, _ in pairs.places)
    for count, group in enumerate(groups, start=1):
        claim = Claim(number=1, text=group.claim)
        [row] = await label_table(labeler, [claim], group.shown, meter=UsageMeter(), cache=cache)
        found |= {(group.set, group.id, one.document): one.label for one in row.labels}
        bar.show(count, len(groups), name)
    given = [found[group.set, group.id, number].value for group, number in pairs.places]
    return np.array([LABELS.index(label) for label in given])


def constants(pairs: Pairs) -> dict[str, float]:
    """Conflict F1 of saying "conflict" of every claim, and of each with two documents."""
    _, places = np.unique(pairs.claims, return_inverse=True)
    many = np.bincount(places) > 1
    sides = [{*pairs.gold[pairs.claims == claim]} for claim in np.unique(pairs.claims)]
    true = np.array([{0, 1} <= one for one in sides])
    said = {"always": np.ones(len(true), bool), "two documents": many}
    return {name: 2 * (true & one).sum() / (true.sum() + one.sum()) for name, one in said.items()}


def gain(pairs: Pairs, before: Numbers, after: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Gain in label accuracy and conflict F1, with the bounds of its interval by claim.

    Returns:
        The gains, the lower and the upper bounds, each of shape (2,).
    """
    by_claim = [np.flatnonzero(pairs.claims == claim) for claim in np.unique(pairs.claims)]

    def counts(given: Numbers) -> Numbers:
        """For each claim: pairs right, pairs, conflict by people, by the labels, by both."""
        rows = []
        for own in by_claim:
            people, said = ({0, 1} <= {*labels[own]} for labels in (pairs.gold, given))
            rows.append([(given == pairs.gold)[own].sum(), len(own), people, said, people and said])
        return np.array(rows, float)

    def figures(sums: Numbers) -> Numbers:
        right, every, people, said, both = np.moveaxis(sums, -1, 0)
        return np.stack([right / every, 2 * both / np.maximum(people + said, 1)], axis=-1)

    one, other = counts(before), counts(after)
    drawn = np.random.default_rng(0).integers(len(by_claim), size=(_RESAMPLES, len(by_claim)))
    differences = figures(other[drawn].sum(axis=1)) - figures(one[drawn].sum(axis=1))
    low, high = np.percentile(differences, [2.5, 97.5], axis=0)
    return figures(other.sum(axis=0)) - figures(one.sum(axis=0)), low, high


@click.command(help=__doc__)
@sample_options
@click.option("--answers", default=20, show_default=True, help="Claims of RAMDocs, as statements.")
@click.option(
    "--replies",
    required=True,
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="--out of measurements.judge_replies.",
)
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(
    data: tuple[Path, ...], replies: Path, file: Path, groups: int, answers: int, seed: int
) -> None:
    """See the module."""
    try:
        small = NliLabeler.open()
        large = NliLabeler.open(NLI_MPNET.name) if NLI_MPNET.fetched() else None
        with closing(ContentCache(file)) as cache:
            for title, sample in (
                ("Nine sets", validation_sample(data, groups, seed)),
                ("Answers", answers_sample(data, answers, seed)),
            ):
                if sample:
                    _measure(title, sample, replies, small, large, cache)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _measure(
    title: str,
    sample: Sequence[ClaimGroup],
    replies: Path,
    small: NliLabeler,
    large: NliLabeler | None,
    cache: ContentCache,
) -> None:
    pairs, judge = _judged(Pairs.of(places_of(sample)), replies)
    known = constants(pairs)
    click.echo(
        f"\n{title}: {len(pairs.gold)} pairs of {len({*pairs.claims})} claims; conflict F1 of "
        + ", ".join(f"{name} {value:.3f}" for name, value in known.items())
        + "\n\n| stack | label accuracy | conflict F1 | claims right | asked | seconds"
        " | gain in accuracy | in F1 |\n|---|---|---|---|---|---|---|---|"
    )
    reference: Numbers | None = None
    with CountBar(Console(stderr=True), "labelling", "claims") as bar:
        for name, labeler in stacks_of(small, large, judge):
            given = asyncio.run(_labels(labeler, pairs, cache, bar, name))
            reference = given if reference is None else reference
            click.echo(_line(pairs, Stack(name, given, *judge.spent()), reference, known))


def _line(pairs: Pairs, stack: Stack, reference: Numbers, known: dict[str, float]) -> str:
    f1, right = conflict_figures(pairs.gold, stack.given, [int(claim) for claim in pairs.claims])
    beaten = [name for name, value in known.items() if value > f1]
    mark = f" (below {', '.join(beaten)})" if beaten else ""
    accuracy = (stack.given == pairs.gold).mean()
    gains = zip(*gain(pairs, reference, stack.given), strict=True)
    told = " | ".join(f"{value:+.3f} [{low:+.3f}, {high:+.3f}]" for value, low, high in gains)
    return (
        f"| {stack.name} | {accuracy:.3f} | {f1:.3f}{mark} | {right:.3f}"
        f" | {100 * stack.asked:.0f} % | {stack.seconds:.0f} | {told} |"
    )


def _judged(every: Pairs, replies: Path) -> tuple[Pairs, KeptJudge]:
    """The pairs of all claims whose every document `choice` was asked about, and its replies."""
    logprobs, rows = kept_replies(replies / "choice.jsonl", every)
    incomplete = every.claims[~asked_of(logprobs)]
    whole = ~np.isin(every.claims, incomplete)  # a conflict needs the labels of all documents
    if not whole.any():
        raise InputError(f"{replies}: choice was asked about no claim with all its documents")
    pairs = every.where(whole)
    seconds = np.array([row.seconds for row, own in zip(rows, whole, strict=True) if own and row])
    return pairs, KeptJudge(pairs, logprobs[whole], seconds)


if __name__ == "__main__":
    main()
