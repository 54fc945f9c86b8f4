"""Stacks of the labelers that run on this machine alone, on the same pairs.

With --replies, a sample on which replies of the embedded language model were stored
(measurements.judge_replies; those of the published tables: measurements/recorded), and the stacks
that ask it. Without, all validation claims and all of RAMDocs' answers, or --claims of them by lot,
and what NLI models say alone: of all, of each set, and of each half by lot, so that what was chosen
on the first is reported on the second. Outputs for each window are kept in --cache, so the same
command resumes. nli-mpnet takes part where it was fetched; --single compares its 8 bits with single
precision (python -m training.carry single --out FOLDER).

asked, seconds: share of the pairs that the language model is asked about, and its time for them.
Gains are beside the local default, with 95 % intervals by claim. A figure below that of a constant
answer is marked: one that says "conflict" of every claim, of none, or of each with two documents.
"""

import asyncio
import time
from collections.abc import Iterator, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import click
import numpy as np
from rich.console import Console

from conflictscore.benchmarks.harness.question_sample import lot
from conflictscore.errors import ConflictScoreError, InputError
from conflictscore.labelers.calibration import UNCALIBRATED, Calibration
from conflictscore.labelers.cascade import Cascade, Thresholds
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.by_claim import NliByClaim
from conflictscore.labelers.nli.labeler import NliLabeler, verdict_on
from conflictscore.labelers.nli.model import NliModel, resolve
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.progress import CountBar
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from measurements.kept_scores import KeptNliModel, Numbers, Pairs, asked_of, kept_replies
from measurements.validation_sample import (
    answers_sample,
    by_lot,
    places_of,
    sample_options,
    validation_claims,
    validation_sample,
)
from training.pairs import LABELS

__all__ = [
    "KeptJudge",
    "Stack",
    "by_claim",
    "constants",
    "figures",
    "gain",
    "main",
    "marked",
    "stacks_of",
    "told_constants",
]

_RESAMPLES = 2000
_TIMED = 40
"""Pairs on which the time of both precisions is taken, one after the other."""
_QWEN = Calibration(temperature=0.656, fitted_on="180 pairs")
"""The shipped one, which the name of the recorded model would give."""
_SIDES = (Label.SUPPORTS, Label.CONTRADICTS)


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


class BestOdds(NliLabeler):
    """Each side has the odds of its own best window, where otherwise one window decides."""

    def _verdict(self, reading: Any) -> EvidenceLabel:
        verdict = super()._verdict(reading)
        known = [self.calibration.probabilities(said) for said in reading.said]
        odds = {side: max(p[side] / p[Label.IRRELEVANT] for p in known) for side in _SIDES}
        total = 1 + sum(odds.values())
        found = {Label.IRRELEVANT: 1 / total} | {side: one / total for side, one in odds.items()}
        label = verdict_on(found)
        told = {"label": label, "score": min(1.0, found[label]), "probabilities": found}
        return verdict.model_copy(update=told)


class Stack(NamedTuple):
    """A way to label, and what it gave for each pair."""

    name: str
    given: Numbers
    asked: float = 0.0
    seconds: float = 0.0


def stacks_of(models: Sequence[NliModel], judge: KeptJudge | None) -> Iterator[tuple[str, Labeler]]:
    """The stacks, the local default first.

    Args:
        models: The bundled model, and nli-mpnet where it was fetched.
        judge: Makes the cascades.
    """
    labelers = [NliLabeler(model) for model in models]
    yield "the default", NliByClaim(*reversed(labelers))
    for nli, own in zip(labelers, (Thresholds(), Thresholds.of(NLI_MPNET.name)), strict=False):
        yield nli.name, nli
        yield f"{nli.name}, by claim", NliByClaim(nli)
        if judge is not None:
            yield f"cascade of {nli.name}", Cascade(nli, judge, own)
    if judge is not None:
        yield "choice", judge
    else:
        yield f"{labelers[0].name}, best odds, by claim", NliByClaim(BestOdds(models[0]))


async def _labels(labeler: Labeler, pairs: Pairs, bar: CountBar, name: str) -> Numbers:
    found: dict[tuple[str, str, int], Label] = {}
    groups = dict.fromkeys(group for group, _ in pairs.places)
    for count, group in enumerate(groups, start=1):
        claim = Claim(number=1, text=group.claim)
        [row] = await label_table(labeler, [claim], group.shown, meter=UsageMeter(), cache=None)
        found |= {(group.set, group.id, one.document): one.label for one in row.labels}
        bar.show(count, len(groups), name)
    given = [found[group.set, group.id, number].value for group, number in pairs.places]
    return np.array([LABELS.index(label) for label in given])


def by_claim(pairs: Pairs, given: Numbers) -> Numbers:
    """For each claim: pairs right, pairs, conflict by people, by the labels, and by both."""
    rows = []
    for claim in np.unique(pairs.claims):
        own = np.flatnonzero(pairs.claims == claim)
        people, said = ({0, 1} <= {*labels[own]} for labels in (pairs.gold, given))
        rows.append([(given == pairs.gold)[own].sum(), len(own), people, said, people and said])
    return np.array(rows, float)


def figures(rows: Numbers) -> Numbers:
    """Label accuracy, conflict F1 and the share of claims right, of rows of claims.

    Args:
        rows: As of :func:`by_claim`, of shape (..., claims, 5).
    """
    right, every, people, said, both = np.moveaxis(rows.sum(axis=-2), -1, 0)
    claims = rows.shape[-2]
    agreed = claims - people - said + 2 * both
    return np.stack([right / every, 2 * both / np.maximum(people + said, 1), agreed / claims], -1)


def constants(pairs: Pairs) -> dict[str, Numbers]:
    """Conflict F1 and claims right of the constant answers."""
    rows = by_claim(pairs, pairs.gold)
    answers = {"always": rows[:, 1] > 0, "never": rows[:, 1] < 0, "two documents": rows[:, 1] > 1}
    found = {}
    for name, said in answers.items():
        rows[:, 3], rows[:, 4] = said, said * rows[:, 2]
        found[name] = figures(rows)[1:]
    return found


def told_constants(known: dict[str, Numbers]) -> str:
    """Both figures of each constant answer, in words."""
    return ", ".join(f"{name} {f1:.3f} and {right:.3f}" for name, (f1, right) in known.items())


def marked(value: float, known: dict[str, Numbers], place: int) -> str:
    """A figure, with the constant answers whose figure at this place is higher."""
    beaten = ", ".join(name for name, figures_ in known.items() if figures_[place] > value)
    return f"{value:.3f}" + (f" (below {beaten})" if beaten else "")


def gain(pairs: Pairs, before: Numbers, after: Numbers) -> tuple[Numbers, Numbers, Numbers]:
    """Gain in each of the figures, with the bounds of its interval by claim.

    Returns:
        The gains, the lower and the upper bounds, each of shape (3,).
    """
    one, other = by_claim(pairs, before), by_claim(pairs, after)
    drawn = np.random.default_rng(0).integers(len(one), size=(_RESAMPLES, len(one)))
    differences = figures(other[drawn]) - figures(one[drawn])
    low, high = np.percentile(differences, [2.5, 97.5], axis=0)
    return figures(other) - figures(one), low, high


@click.command(help=__doc__)
@sample_options
@click.option("--answers", default=20, show_default=True, help="Claims of RAMDocs, as statements.")
@click.option(
    "--replies",
    metavar="DIR",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="--out of measurements.judge_replies.",
)
@click.option("--claims", default=10_000, show_default=True, help="By lot, without --replies.")
@click.option(
    "--single",
    metavar="FOLDER",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="nli-mpnet in single precision, of training.carry single.",
)
@click.option("--cache", "file", required=True, type=click.Path(dir_okay=False, path_type=Path))
def main(
    data: tuple[Path, ...],
    replies: Path | None,
    file: Path,
    groups: int,
    claims: int,
    answers: int,
    seed: int,
    single: Path | None,
) -> None:
    """See the module."""
    try:
        with closing(ContentCache(file)) as cache:
            cache.write_at_once()
            folders = [resolve(None), *filter(None, [NLI_MPNET.fetched()])]
            models = [KeptNliModel(folder, cache) for folder in folders]
            if replies is not None:
                for title, sample in (
                    ("Nine sets", validation_sample(data, groups, seed)),
                    ("Answers", answers_sample(data, answers, seed)),
                ):
                    if sample:
                        pairs, judge = _judged(Pairs.of(places_of(sample)), replies)
                        _print(title, pairs, _measured(stacks_of(models, judge), pairs, judge))
                return
            every = Pairs.of(places_of(by_lot(validation_claims(data), seed)[:claims]))
            if single is not None:
                _compare(every, models[-1], KeptNliModel(single, cache))
                return
            answered = Pairs.of(places_of(by_lot(answers_sample(data, claims, seed), seed)))
            for title, pairs in (("Nine sets", every), ("Answers", answered)):
                if not pairs.places:
                    continue
                found = _measured(stacks_of(models, None), pairs, None)
                _print(title, pairs, found)
                halves = [lot("halves", seed, group.claim)[0] % 2 for group, _ in pairs.places]
                parts = [(f"{title}, half {n + 1}", np.array(halves) == n) for n in (0, 1)]
                parts += [(name, pairs.sets == name) for name in sorted({*pairs.sets})]
                for part, own in parts:
                    if own.any():
                        of_part = [one._replace(given=one.given[own]) for one in found]
                        _print(part, pairs.where(own), of_part)
    except ConflictScoreError as error:
        raise click.ClickException(str(error)) from error


def _measured(
    stacks: Iterator[tuple[str, Labeler]], pairs: Pairs, judge: KeptJudge | None
) -> list[Stack]:
    found = []
    with CountBar(Console(stderr=True), "labelling", "claims") as bar:
        for name, labeler in stacks:
            given = asyncio.run(_labels(labeler, pairs, bar, name))
            found.append(Stack(name, given, *(judge.spent() if judge is not None else ())))
    return found


def _print(title: str, pairs: Pairs, stacks: Sequence[Stack]) -> None:
    known = constants(pairs)
    columns = (
        *("stack", "label accuracy", "conflict F1", "claims right", "asked", "seconds"),
        *("gain in accuracy", "in F1", "in claims right"),
    )
    click.echo(
        f"\n{title}: {len(pairs.gold):,} pairs of {len({*pairs.claims}):,} claims; conflict F1 and"
        f" claims right of {told_constants(known)}\n"
    )
    click.echo(f"| {' | '.join(columns)} |\n|{'---|' * len(columns)}")
    for stack in stacks:
        accuracy, *of_claims = figures(by_claim(pairs, stack.given))
        cells = [f"{accuracy:.3f}"]
        cells += [marked(value, known, place) for place, value in enumerate(of_claims)]
        cells += [f"{100 * stack.asked:.0f} %", f"{stack.seconds:.0f}"]
        gains = zip(*gain(pairs, stacks[0].given, stack.given), strict=True)
        cells += [f"{value:+.3f} [{low:+.3f}, {high:+.3f}]" for value, low, high in gains]
        click.echo(f"| {stack.name} | {' | '.join(cells)} |")


def _compare(pairs: Pairs, packed: NliModel, single: NliModel) -> None:
    """Print how nli-mpnet as it is shipped compares with the same in single precision."""
    shipped = NliLabeler(packed)
    labelers = ("8 bits", shipped), ("single", NliLabeler(single, calibration=shipped.calibration))
    stacks = _measured(iter(labelers), pairs, None)
    _print("nli-mpnet", pairs, stacks)
    same = int((stacks[0].given == stacks[1].given).sum())
    click.echo(f"\nThe same label on {same:,} of {len(pairs.gold):,} pairs.")
    for (name, _), kept in zip(labelers, (packed, single), strict=True):
        size = sum(one.stat().st_size for one in kept.folder.glob("model.onnx*"))
        took = _seconds(NliLabeler(NliModel(kept.folder), calibration=UNCALIBRATED), pairs)
        click.echo(f"{name}: {size / 1e6:.0f} MB, {1000 * took:.0f} ms of a core a pair")


def _seconds(labeler: NliLabeler, pairs: Pairs) -> float:
    """Processor time of a pair, of the first ones."""
    few, meter = pairs.places[:_TIMED], UsageMeter()
    begun = time.process_time()
    for group, number in few:
        claim = Claim(number=1, text=group.claim)
        asyncio.run(labeler.label(claim, group.shown[number - 1], meter))
    return (time.process_time() - begun) / len(few)


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
