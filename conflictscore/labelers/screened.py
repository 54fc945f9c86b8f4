"""Screen, then verify: one call judges many pairs, and what decides is judged again on its own."""

from collections.abc import Callable, Collection, Sequence

from conflictscore.labelers.batch_judge import BatchJudge
from conflictscore.labelers.json_judge import JsonJudge
from conflictscore.labelers.protocol import Labeler, Pair
from conflictscore.labelers.stages import Place, TwoStages, decided_by
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from conflictscore.records import Claim, Document, EvidenceLabel, Label

__all__ = ["Screened", "open_screened"]

_MOST_VERIFIED = 2
"""With 4, up to 31 % of the tokens of ``json`` in ``python -m measurements.screening``; with 2, at
most a quarter, and as many claims are disputed in the same way."""
_WORTH_SCREENING = 3


class Screened(TwoStages):
    """A screen of all pairs in few calls, and a judge for the verdicts that decide.

    The judge gets, of every claim, a support that is its only one, and the contradictions, until
    one is confirmed: without them the claim is not disputed. Of a claim that is, it gets the other
    verdicts that take a side too, up to a bound, and last what the screen left without a verdict.

    What the screen finds irrelevant is not looked at again, so a contradiction that it overlooks is
    lost where the claim has no other.
    """

    def __init__(self, screen: Labeler, judge: Labeler, most: int = _MOST_VERIFIED) -> None:
        """Make the labeler.

        Args:
            screen: Judges all pairs, such as ``BatchJudge``.
            judge: Judges single pairs, such as ``JsonJudge``.
            most: How many pairs of a disputed claim are judged again, at least 0; one on which
                depends whether it is disputed always is.
        """
        super().__init__("screened", screen, judge, {"most_verified": most})
        self._most = most

    def with_each(self, change: Callable[[Labeler], Labeler]) -> "Screened":
        """The same with each of its labelers changed."""
        return Screened(change(self._cheap), change(self._judge), self._most)

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Have the judge alone label a pair; there is nothing to screen."""
        return decided_by(self._judge, await self._judge.label(claim, document, meter))

    def _worthwhile(self, pairs: Sequence[Pair]) -> bool:
        return len(pairs) >= _WORTH_SCREENING

    def _settled(self, pair: Pair, verdict: EvidenceLabel) -> EvidenceLabel | None:
        unlabelled = verdict.label is Label.UNLABELLED
        return None if unlabelled else decided_by(self._cheap, verdict)

    def _deciding(
        self, cheap: Collection[EvidenceLabel], judged: Sequence[EvidenceLabel]
    ) -> list[Place]:
        chosen: list[EvidenceLabel] = []
        for claim in dict.fromkeys(verdict.claim for verdict in cheap):
            open_ones = [verdict for verdict in cheap if verdict.claim == claim]
            against = [verdict for verdict in open_ones if verdict.label is Label.CONTRADICTS]
            supports = [verdict for verdict in open_ones if verdict.label is Label.SUPPORTS]
            known = [verdict.label for verdict in judged if verdict.claim == claim]
            if len(supports) == 1 and Label.SUPPORTS not in known:
                chosen += supports
                supports = []
            if Label.CONTRADICTS in known:
                chosen += [*against, *supports][: max(0, self._most - len(known))]
            else:
                chosen += against[: max(1, self._most)]
        return [(verdict.claim, verdict.document) for verdict in chosen]


def open_screened(model: LanguageModel, prompts: PromptSet) -> Screened:
    """A screen and a judge of single pairs that ask the same model.

    Args:
        model: The model that judges.
        prompts: The templates.
    """
    return Screened(BatchJudge(model, prompts, "screen"), JsonJudge(model, prompts))
