"""Two labelers in a row: the first judges every pair, and the second those that need it."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any, Self

from conflictscore.errors import ConfigurationError
from conflictscore.labelers.protocol import Labeler, Pair
from conflictscore.labelers.verdicts import judging
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import together

__all__ = ["Place", "TwoStages", "decided_by"]

Place = tuple[int, int]
"""Numbers of a claim and a document."""


class TwoStages(ABC):
    """A cheap labeler judges all pairs; a judge those it leaves open, and those that decide.

    So a verdict may change with the documents beside it, and is found anew each time. What can be
    kept are the verdicts of the two, each as their own. Every verdict names the stage that decided.

    A pair that the judge could not label is unlabelled, whatever the cheap labeler said of it.
    """

    def __init__(
        self, called: str, cheap: Labeler, judge: Labeler | None, settings: Mapping[str, Any]
    ) -> None:
        """Put the two in a row.

        Args:
            called: How records call the row.
            cheap: The first.
            judge: The second; None leaves that to the run it is given to.
            settings: What its verdicts depend on beside the two, as plain JSON.
        """
        self._cheap, self._set_judge = cheap, judge
        self.name = f"{called}({cheap.name}, {judge.name if judge else 'the judge of the run'})"
        self.identity: dict[str, Any] | None = None
        if judge is not None and cheap.identity is not None and judge.identity is not None:
            both = {"cheap": dict(cheap.identity), "judge": dict(judge.identity)}
            self.identity = {"labeler": called, **both, **settings}

    @property
    def _judge(self) -> Labeler:
        if self._set_judge is None:
            raise ConfigurationError(f"{self.name} has no judge: give it one, or give it to a run")
        return self._set_judge

    @abstractmethod
    def with_each(self, change: Callable[[Labeler], Labeler]) -> Self:
        """The same with each of its labelers changed."""

    @abstractmethod
    def _settled(self, pair: Pair, verdict: EvidenceLabel) -> EvidenceLabel | None:
        """What the cheap labeler said, with the stage by which it stands; None where it may not."""

    @abstractmethod
    def _deciding(
        self, cheap: Collection[EvidenceLabel], judged: Sequence[EvidenceLabel]
    ) -> list[Place]:
        """Which verdicts of the cheap labeler the judge is to give anew.

        Args:
            cheap: The sides that the cheap labeler took, on pairs the judge was not asked about.
            judged: What the judge said so far.
        """

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        verdict = await self._cheap.label(claim, document, meter)
        if (settled := self._settled((claim, document), verdict)) is not None:
            return settled
        return decided_by(self._judge, await self._judge.label(claim, document, meter))

    async def label_all(
        self, pairs: Sequence[Pair], meter: UsageMeter, on_label: Callable[[EvidenceLabel], None]
    ) -> None:
        """Judge many; see :class:`~conflictscore.labelers.protocol.TableLabeler`."""
        await self.label_in_stages(pairs, meter, on_label)

    async def label_in_stages(
        self,
        pairs: Sequence[Pair],
        meter: UsageMeter,
        on_label: Callable[[EvidenceLabel], None],
        cache: ContentCache | None = None,
    ) -> None:
        """Judge many; see :class:`~conflictscore.labelers.protocol.StagedLabeler`."""
        judge = self._judge
        at = {(claim.number, document.number): (claim, document) for claim, document in pairs}
        hard, sides = dict(at), dict[Place, EvidenceLabel]()

        def weigh(verdict: EvidenceLabel) -> None:
            place = (verdict.claim, verdict.document)
            if (settled := self._settled(at[place], verdict)) is None:
                return
            del hard[place]
            if settled.label is Label.IRRELEVANT:  # no conflict can rest on it
                on_label(settled)
            else:
                sides[place] = settled

        judged: list[EvidenceLabel] = []

        def hear(verdict: EvidenceLabel) -> None:
            judged.append(verdict)
            on_label(decided_by(judge, verdict))

        if self._worthwhile(pairs):
            await _ask(self._cheap, pairs, weigh, meter, cache)
        try:
            while True:
                for place in self._deciding(sides.values(), judged):
                    del sides[place]
                    hard[place] = at[place]
                if not hard:
                    break
                awaited = {claim for claim, _ in hard}
                for place in [place for place in sides if place[0] not in awaited]:
                    on_label(sides.pop(place))
                await _ask(judge, [*hard.values()], hear, meter, cache)
                hard.clear()
        finally:  # they stand, even where the budget or the time ends with the judge
            for verdict in sides.values():
                on_label(verdict)

    def _worthwhile(self, pairs: Sequence[Pair]) -> bool:
        """Whether the cheap labeler is to be asked at all."""
        return True


async def _ask(
    labeler: Labeler,
    pairs: Sequence[Pair],
    tell: Callable[[EvidenceLabel], None],
    meter: UsageMeter,
    cache: ContentCache | None,
) -> None:
    async with together() as start:
        for work in judging(labeler, pairs, tell, meter=meter, cache=cache):
            start(work)


def decided_by(labeler: Labeler, verdict: EvidenceLabel) -> EvidenceLabel:
    """The verdict with its stage: the labeler, or the one within it that decided."""
    return verdict.model_copy(update={"stage": verdict.stage or labeler.name})
