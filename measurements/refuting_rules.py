"""When should a claim that no document supports count as refuted, and what should a guard refuse?

Each rule is played on the questions of ``break_even`` with a model that follows the evidence, at
once for the whole answer and without the loop around it, so that many draws of spoiled labels cost
seconds. Choose on one half of the questions and tell of the other (--half). With --denied, first
answers claim what all documents deny.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

import click

from conflictscore.benchmarks.harness.methods.registry import BASELINE
from conflictscore.benchmarks.harness.shortening import shortened
from conflictscore.benchmarks.ramdocs.benchmark import exact_match
from conflictscore.errors import ConflictScoreError
from conflictscore.metric import balance, better_evidence, disputed_claims
from conflictscore.nodes.conflict_details import sourced_details
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, ClaimEvidence, Document, EvidenceLabel
from measurements.break_even import denied, drawn
from measurements.obedient_model import NOTHING, first_answer, sentences, settled
from measurements.people_labels import SETS, LabelledQuestion, Spoiler, as_benchmark

__all__ = ["RULES", "PlayedQuestion", "Rule", "main", "played"]

Claims = Sequence[ClaimEvidence]
_PASSAGE_TOKENS = 96
_CELL = "{:>14}"


def _better(before: Claims, after: Claims) -> bool:
    """The rule that the guard had: better evidence, and something that is supported."""
    one, other = ([balance(claim) for claim in claims] for claims in (before, after))
    return better_evidence(one, other) and any(claim.supports for claim in after)


def _uncontested(before: Claims, after: Claims) -> bool:
    """The rule that it has: no new claim has more against it than for it, either."""
    known = {claim.claim.text for claim in before}
    new = [claim for claim in after if claim.claim.text not in known]
    return _better(before, after) and all(balance(claim) >= 0 for claim in new)


def _without(claims: Claims, document: int) -> list[ClaimEvidence]:
    kept = [tuple(p for p in claim.labels if p.document != document) for claim in claims]
    return [c.model_copy(update={"labels": k}) for c, k in zip(claims, kept, strict=True)]


def _whichever_goes(before: Claims, after: Claims) -> bool:
    """Better evidence whichever document is left out, so that no label decides alone."""

    def better(document: int) -> bool:
        one, other = (_without(claims, document) for claims in (before, after))
        return better_evidence(list(map(balance, one)), list(map(balance, other)))

    return _better(before, after) and all(better(p.document) for p in before[0].labels)


class Rule(NamedTuple):
    """A rule for claims that documents contradict and none supports, and one for changes.

    Attributes:
        refuted: From a claim to whether it is looked at again; one in conflict always is.
        stands: From the claims of an answer before and after to whether the change stands.
    """

    refuted: Callable[[ClaimEvidence], bool]
    stands: Callable[[Claims, Claims], bool] = _better


RULES = {
    "one document": Rule(lambda claim: True),
    "no claim": Rule(lambda claim: False),
    "half of all": Rule(lambda claim: len(claim.contradicts) >= len(claim.irrelevant)),
    "two": Rule(lambda claim: len(claim.contradicts) > 1),
    "two, uncontested": Rule(lambda claim: len(claim.contradicts) > 1, _uncontested),
    "two, no one alone": Rule(lambda claim: len(claim.contradicts) > 1, _whichever_goes),
}
"""By what it takes to refute a claim, and what the guard asks for besides."""


class PlayedQuestion:
    """A question with its documents; what is told of a claim is kept.

    Attributes:
        asked: The question.
        first: The first answer.
        documents: The question's, numbered.
    """

    def __init__(self, asked: LabelledQuestion, prompts: PromptSet) -> None:
        self.asked, self.first, self._prompts = asked, first_answer(asked), prompts
        self._known = [*asked.right, *asked.wrong]
        self.documents = [
            Document.model_validate({"number": number, **document})
            for number, document in enumerate(asked.question.documents, start=1)
        ]
        self._shown: dict[tuple[object, ...], str] = {}

    def is_right(self, text: str) -> bool:
        """Whether an answer gives all that is right, and nothing that is wrong."""
        return exact_match(text, self.asked.right, self.asked.wrong).exact

    def claims(self, text: str, spoiler: Spoiler) -> list[ClaimEvidence]:
        """The claims of an answer with their spoiled labels."""

        def labelled(claim: str, number: int) -> Iterator[EvidenceLabel]:
            for document in self.documents:
                truth = self.asked.label(claim, str(document.metadata.get("gives") or ""))
                label = spoiler.spoil(truth, claim, document.text)
                yield EvidenceLabel(claim=number, document=document.number, label=label)

        return [
            ClaimEvidence(claim=Claim(number=n, text=told), labels=tuple(labelled(told, n)))
            for n, told in enumerate(sentences(text, self._known), start=1)
        ]

    def shown(self, claim: ClaimEvidence) -> str:
        """Both sides as a revision is shown them."""
        key = (claim.claim.text, claim.supports, claim.contradicts)
        if key not in self._shown:
            self._shown[key] = sourced_details(claim, self.documents, self._prompts)
        return self._shown[key]

    def last(self, rule: Rule, before: Claims, spoiler: Spoiler) -> str:
        """The answer that a rule leaves."""
        order = disputed_claims(before, ("conflict", "refuted", "contradicted"))
        doubted = [before[number - 1] for number in order]
        doubted = [claim for claim in doubted if claim.conflicting or rule.refuted(claim)]
        told = [(claim.claim.text, self.shown(claim)) for claim in doubted]
        after = settled(self.first, told, self.asked, hedge=True)
        if after in (self.first, NOTHING):
            return self.first
        return after if rule.stands(before, self.claims(after, spoiler)) else self.first


def played(labelled: Sequence[LabelledQuestion], spoiler: Spoiler) -> dict[str, tuple[int, int]]:
    """What each rule corrects and harms with one draw of spoiled labels."""
    prompts, counts = PromptSet.load(), dict.fromkeys(RULES, (0, 0))
    for one in [PlayedQuestion(asked, prompts) for asked in labelled]:
        right, before = one.is_right(one.first), one.claims(one.first, spoiler)
        for name, rule in RULES.items():
            now = one.is_right(one.last(rule, before, spoiler))
            corrected, harmed = counts[name]
            counts[name] = corrected + (now and not right), harmed + (right and not now)
    return counts


@click.command(help=__doc__)
@click.option("--data", "data", multiple=True, required=True, help="NAME=FILE, as break_even's.")
@click.option("--half", type=click.Choice(["first", "second"]), help="[default: all]")
@click.option("--denied", "unbacked", is_flag=True, help="Leave out what backs wrong answers.")
@click.option("--seed", default=1, show_default=True)
@click.option("--draws", default=6, show_default=True, help="Draws of spoiled labels.")
def main(data: tuple[str, ...], half: str | None, unbacked: bool, seed: int, draws: int) -> None:
    """See the module."""
    spoilers = [Spoiler(rate=rate / 10) for rate in range(6)]
    spoilers += [Spoiler(table=table) for table in ("nli", "choice")]
    click.echo("corrected and harmed, mean of the draws\n" + " " * 20, nl=False)
    click.echo("".join(_CELL.format(spoiler.name) for spoiler in spoilers))
    totals: dict[tuple[str, str], tuple[float, float]] = {}
    for name, _, file in (one.partition("=") for one in data):
        if name not in SETS:
            raise click.UsageError(f"--data {name}: give NAME=FILE, NAME one of {', '.join(SETS)}")
        try:
            known = SETS[name](Path(file))
        except ConflictScoreError as error:
            raise click.ClickException(str(error)) from error
        known = drawn(denied(known) if unbacked else known, len(known), seed)
        middle = len(known) // 2
        known = {"first": known[:middle], "second": known[middle:], None: known}[half]
        short = shortened(as_benchmark(name, known, (BASELINE,)), _PASSAGE_TOKENS).questions
        known = [one._replace(question=cut) for one, cut in zip(known, short, strict=True)]
        means: dict[tuple[str, str], tuple[float, float]] = {}
        for spoiler in spoilers:
            seeds = range(seed, seed + (draws if spoiler.table or spoiler.rate else 1))
            counted = [played(known, spoiler._replace(seed=one)) for one in seeds]
            for rule in RULES:
                corrected, harmed = (fmean(c[rule][side] for c in counted) for side in (0, 1))
                place = rule, spoiler.name
                means[place] = corrected, harmed
                before = totals.get(place, (0.0, 0.0))
                totals[place] = before[0] + corrected, before[1] + harmed
        _print(f"{name}: {len(known)} questions", means)
    _print("all", totals)


def _print(title: str, means: Mapping[tuple[str, str], tuple[float, float]]) -> None:
    click.echo(title)
    for rule in RULES:
        cells = (f"+{c:.1f} -{h:.1f}" for (name, _), (c, h) in means.items() if name == rule)
        click.echo(f"  {rule:<18}" + "".join(map(_CELL.format, cells)))


if __name__ == "__main__":
    main()
