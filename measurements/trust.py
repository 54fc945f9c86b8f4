"""Do weights for documents bring an answer nearer to the right one?

Questions whose documents people labelled are played at once, without the loop around them, with
people's labels and with these spoiled as ``nli``'s confusion table says. Two things are measured by
who weighs the documents: nobody; their agreement, as TruthFinder and ACCU have it; or a simulated
table, which is right about a share of the documents and gives a quarter of the weight to those that
it takes for wrong. First, whether the better-weighted side of a claim in conflict is the right one,
by which side has more documents. Second, what is corrected and harmed by a model that obeys: asked
again, it follows the side with more documents, and the guard alone goes by the weights; or it
follows the side with more trust itself. With --outnumbered, each question keeps one document with
a right answer, and those without two that give a wrong one are left out.
"""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from statistics import fmean
from typing import Any, NamedTuple

import click

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.shortening import shortened
from conflictscore.benchmarks.ramdocs.benchmark import normalised
from conflictscore.errors import ConflictScoreError
from conflictscore.metric import balance, better_evidence, disputed_claims
from conflictscore.prompts import PromptSet
from conflictscore.records import ClaimEvidence, Label
from conflictscore.trust.truth_discovery import AgreementTrust
from measurements.intervals import mean_interval
from measurements.obedient_model import NOTHING, settled
from measurements.people_labels import SETS, LabelledQuestion, Spoiler, as_benchmark
from measurements.refuting_rules import PlayedQuestion

__all__ = [
    "METHODS",
    "SIDES",
    "Sided",
    "main",
    "outcome",
    "outnumbered",
    "side_taken",
    "sided",
]

Claims = Sequence[ClaimEvidence]
Weigh = Callable[[PlayedQuestion, Claims, int], Mapping[int, float]]
_DISTRUSTED = 0.25
_PASSAGE_TOKENS = 96
SIDES = ("more documents", "as many", "fewer documents")
"""What the right side of a claim has, by people's labels."""


def _alike(one: PlayedQuestion, claims: Claims, seed: int) -> Mapping[int, float]:
    return {}


def _agreement(trust: AgreementTrust) -> Weigh:
    return lambda one, claims, seed: trust.weights(one.documents, claims)


def _table(share: float) -> Weigh:
    """A table that is right about so many of the documents, each by a draw of its own."""

    def weigh(one: PlayedQuestion, claims: Claims, seed: int) -> Mapping[int, float]:
        right = set(map(normalised, one.asked.right))
        weights = {}
        for document in one.documents:
            gives = normalised(str(document.metadata.get("gives") or ""))
            digest = hashlib.sha256(f"{seed}\0{document.text}".encode()).digest()
            knows = Random(digest).random() < share  # noqa: S311 - a draw, not a secret
            trusted = (not gives or gives in right) == knows
            weights[document.number] = 1.0 if trusted else _DISTRUSTED
        return weights

    return weigh


METHODS: dict[str, Weigh] = {
    "nobody": _alike,
    "truthfinder": _agreement(AgreementTrust("truthfinder")),
    "accu": _agreement(AgreementTrust("accu")),
    **{f"table, {share:.0%} right": _table(share) for share in (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)},
}
"""By who weighs the documents."""


def outnumbered(labelled: Sequence[LabelledQuestion]) -> list[LabelledQuestion]:
    """The questions with one right document left, and two or more that give a wrong answer."""
    made = []
    for one in labelled:
        right, kept, wrong = set(map(normalised, one.right)), list[Mapping[str, Any]](), 0
        for document in one.question.documents:
            gives = normalised(document["metadata"]["gives"])
            if gives in right and any(normalised(d["metadata"]["gives"]) in right for d in kept):
                continue
            wrong += bool(gives) and gives not in right
            kept.append(document)
        if wrong > 1 and not one.rivals:
            question = one.question.model_copy(update={"documents": tuple(kept)})
            made.append(one._replace(question=question))
    return made


class Sided(NamedTuple):
    """A claim in conflict, whose truth is known.

    Attributes:
        holds: Whether it is true.
        documents: What its right side has, one of :data:`SIDES`.
        balance: By the weights; above 0 where more trust stands behind it.
    """

    holds: bool
    documents: str
    balance: float

    @property
    def right(self) -> float:
        """1 where the better-weighted side is right, 0 where it is wrong, a half on a tie."""
        return 0.5 if not self.balance else float((self.balance > 0) == self.holds)


def sided(one: PlayedQuestion, weigh: Weigh, spoiler: Spoiler) -> Iterator[Sided]:
    """The claims in conflict of an answer that names whatever the question's documents give.

    None where two right answers are at odds: no side is wrong there.
    """
    if one.asked.rivals:
        return
    given = dict.fromkeys(str(d.metadata["gives"]) for d in one.documents if d.metadata["gives"])
    said = " ".join(f"One answer is {answer}." for answer in given)
    claims, truth = one.claims(said, spoiler), one.claims(said, Spoiler())
    weights = weigh(one, claims, spoiler.seed)
    right = set(map(normalised, one.asked.right))
    for claim, known in zip(claims, truth, strict=True):
        if claim.conflicting:
            holds = set(map(normalised, one.asked.stated(claim.claim.text))) <= right
            lead = len(known.supports) - len(known.contradicts)
            place = 1 if not lead else 0 if (lead > 0) == holds else 2
            yield Sided(holds, SIDES[place], _told_apart(balance(claim, {}, weights)))


def _told_apart(lead: float) -> float:
    """A balance, 0 where rounding alone makes it none."""
    return lead if abs(lead) > 1e-6 else 0.0


def side_taken(claim: ClaimEvidence, weights: Mapping[int, float]) -> ClaimEvidence:
    """The claim as a model sees it that follows the better-weighted side: without the other."""
    lead = _told_apart(balance(claim, {}, weights))
    lost = {-1: Label.SUPPORTS, 0: None, 1: Label.CONTRADICTS}[(lead > 0) - (lead < 0)]
    kept = tuple(pair for pair in claim.labels if pair.label is not lost)
    return claim.model_copy(update={"labels": kept})


def outcome(one: PlayedQuestion, weigh: Weigh, spoiler: Spoiler, *, follows: bool) -> int:
    """1 where the loop corrects the first answer, -1 where it harms it, otherwise 0.

    Args:
        one: The question.
        weigh: Who weighs its documents.
        spoiler: What becomes of people's labels.
        follows: Whether the model follows the better-weighted side, and not the larger one.
    """
    before = one.claims(one.first, spoiler)
    weights = weigh(one, before, spoiler.seed)
    order = disputed_claims(before, ("conflict", "refuted"), weights=weights)
    doubted = [before[number - 1] for number in order]
    if follows and weights:
        doubted = [side_taken(claim, weights) for claim in doubted]
    told = [(claim.claim.text, one.shown(claim)) for claim in doubted]
    after = settled(one.first, told, one.asked, hedge=True)
    if after in (one.first, NOTHING):
        return 0
    now = one.claims(after, spoiler)
    known = {claim.claim.text: claim for claim in (*before, *now)}
    if not _stands(before, now, weigh(one, list(known.values()), spoiler.seed)):
        return 0
    return one.is_right(after) - one.is_right(one.first)


def _stands(before: Claims, after: Claims, weights: Mapping[int, float]) -> bool:
    """The guard's rule, for a whole answer."""
    said = {claim.claim.text for claim in before}
    one, other = ([balance(claim, {}, weights) for claim in side] for side in (before, after))
    new = [balance(claim, {}, weights) for claim in after if claim.claim.text not in said]
    supported = any(claim.supports for claim in after)
    return better_evidence(one, other) and supported and all(lead >= 0 for lead in new)


@click.command(help=__doc__)
@click.option("--data", "data", multiple=True, required=True, help="NAME=FILE, as break_even's.")
@click.option("--seed", default=1, show_default=True)
@click.option("--draws", default=6, show_default=True, help="Draws of spoiled labels and tables.")
@click.option("--outnumbered", "few", is_flag=True, help="One right document against two or more.")
def main(data: tuple[str, ...], seed: int, draws: int, few: bool) -> None:
    """See the module."""
    seeds = range(seed, seed + draws)
    conditions = {
        "people's labels": [Spoiler(seed=one) for one in seeds],
        "labels as nli errs": [Spoiler(table="nli", seed=one) for one in seeds],
    }
    for name, _, file in (one.partition("=") for one in data):
        if name not in SETS:
            raise click.UsageError(f"--data {name}: give NAME=FILE, NAME one of {', '.join(SETS)}")
        try:
            known = SETS[name](Path(file))
            known = outnumbered(known) if few else known
        except ConflictScoreError as error:
            raise click.ClickException(str(error)) from error
        played = _played(name, known)
        for labels, spoilers in conditions.items():
            click.echo(f"\n{name}, {len(played)} questions, {labels}, {draws} draws\n")
            if any(not one.asked.rivals for one in played):
                _print_sides(played, spoilers)
            _print_outcomes(played, spoilers)


def _played(name: str, known: Sequence[LabelledQuestion]) -> list[PlayedQuestion]:
    short = shortened(as_benchmark(name, known, (BASELINE,)), _PASSAGE_TOKENS).questions
    prompts = PromptSet.load()
    cut = zip(known, short, strict=True)
    return [PlayedQuestion(one._replace(question=question), prompts) for one, question in cut]


def _print_sides(played: Sequence[PlayedQuestion], spoilers: Sequence[Spoiler]) -> None:
    """How often the better-weighted side is right: means over questions, with their intervals."""
    _row("the better-weighted side is right", ["all", *(f"it has {side}" for side in SIDES)])
    click.echo("|---|" + "---|" * (1 + len(SIDES)))
    for method, weigh in METHODS.items():
        cells = []
        found = [[c for s in spoilers for c in sided(one, weigh, s)] for one in played]
        for side in (None, *SIDES):
            of = [[c.right for c in claims if side in (None, c.documents)] for claims in found]
            means = [fmean(rights) for rights in of if rights]
            cells.append(f"{mean_interval(means)} of {len(means)}" if means else "–")
        _row(method, cells)
    click.echo()


def _print_outcomes(played: Sequence[PlayedQuestion], spoilers: Sequence[Spoiler]) -> None:
    """What is corrected and harmed in the mean of the draws, and the difference in percent."""
    told = ("corrected, harmed", "net, % of the questions")
    _row("guarded by", [*told, *(f"model too: {what}" for what in told)])
    click.echo("|---|---|---|---|---|")
    for method, weigh in METHODS.items():
        cells = []
        for follows in (False, True):
            by_question = [
                [outcome(one, weigh, spoiler, follows=follows) for spoiler in spoilers]
                for one in played
            ]
            corrected, harmed = (
                sum(fmean(came == sign for came in draws) for draws in by_question)
                for sign in (1, -1)
            )
            net = mean_interval([100 * fmean(draws) for draws in by_question])
            shown = f"{net.value:+.1f} [{net.low:+.1f}, {net.high:+.1f}]"
            cells += [f"+{corrected:.1f} −{harmed:.1f}", shown]  # noqa: RUF001 - a minus
        _row(method, cells)


def _row(name: str, cells: Sequence[str]) -> None:
    click.echo(f"| {name} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
