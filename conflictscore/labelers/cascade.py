"""The cascade: a cheap labeler decides the easy pairs, and the judge sees only the hard pairs."""

from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from conflictscore.errors import ConfigurationError
from conflictscore.labelers.nli.pitfalls import number_replaced
from conflictscore.labelers.protocol import Labeler, Pair, reads_dates, supports_script
from conflictscore.labelers.verdicts import judge_all
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache

_Place = tuple[int, int]
"""The numbers of a claim and a document."""
Deciding = Literal["none", "sole", "sides"]
"""Which cheap verdicts the judge must confirm.

``none``: no verdict. ``sole``: for a claim with evidence on both sides, any verdict that is the
only one on its side. ``sides``: for a claim that is contradicted, every verdict that takes a side.
"""


class Thresholds(NamedTuple):
    """The minimum score (0 to 1) at which a cheap verdict counts, for each label.

    At or above the default thresholds, three in four of the bundled NLI model's SUPPORTS and
    CONTRADICTS verdicts are correct, and 87 in 100 of its IRRELEVANT verdicts. IRRELEVANT verdicts
    must be more reliable, since an error would hide a conflict.
    """

    supports: float = 0.6
    contradicts: float = 0.6
    irrelevant: float = 0.75

    @classmethod
    def of(cls, nli_model: str | Path | None) -> "Thresholds":
        """Return the thresholds for an NLI model (a name or folder); ``nli-mpnet`` has its own."""
        # imported only where it is used, since many cascades have no NLI model
        from conflictscore.labelers.nli.adapted import NLI_MPNET

        # with these thresholds, its verdicts are correct as often as the bundled model's
        return cls(0.6, 0.75, 0.85) if nli_model == NLI_MPNET.name else cls()

    @classmethod
    def from_score(cls, score: float) -> "Thresholds":
        """Return thresholds that are the same for each label."""
        return cls(score, score, score)

    def allows(self, verdict: EvidenceLabel) -> bool:
        """Return whether a verdict's score is high enough."""
        least = self._asdict().get(verdict.label.lower())
        return least is not None and (verdict.score or 0.0) >= least


class Cascade:
    """A labeler with two stages, a cheap labeler and a judge; each label names its stage.

    The cheap labeler decides a pair if its score is high enough. The judge decides all other pairs.
    The judge also checks the cheap verdicts on which a conflict depends. By default, the judge
    checks each verdict that is the only one on its side, if there is evidence on the other side.

    So the label of a pair may depend on other documents, and is computed again in each run. Only
    the verdicts of the two stages are cached, each under its own labeler's identity. A pair that
    the judge could not label is UNLABELLED, even if it has a cheap verdict. If the judge says
    SUPPORTS although the document replaces the claim's number with a different one, the cheap
    verdict stands.
    """

    def __init__(
        self,
        cheap: Labeler,
        judge: Labeler | None = None,
        thresholds: Thresholds | None = None,
        *,
        deciding: Deciding | None = None,
    ) -> None:
        """Make the cascade.

        Args:
            cheap: A labeler with calibrated scores, such as ``NliLabeler``.
            judge: A labeler that decides the hard pairs, such as ``JsonJudge`` or ``BatchJudge``.
                With None, the cascade uses the judge that the run would use without a cascade.
            thresholds: The minimum scores at which cheap verdicts count; by default, those of
                :class:`Thresholds`.
            deciding: Additional cheap verdicts that the judge must confirm. The default is
                ``sole``, or ``none`` if every cheap verdict counts.
        """
        self._cheap, self._set_judge = cheap, judge
        self._thresholds = Thresholds() if thresholds is None else thresholds
        self._asked = deciding
        self._deciding: Deciding = deciding or ("sole" if any(self._thresholds) else "none")
        self.name = f"cascade({cheap.name}, {judge.name if judge else 'the judge of the run'})"
        self.embedded = bool(getattr(cheap, "embedded", False))
        self.reads_dates = reads_dates(cheap)
        self.identity: dict[str, Any] | None = None
        if judge is not None and cheap.identity is not None and judge.identity is not None:
            self.identity = {
                "labeler": "cascade",
                "cheap": dict(cheap.identity),
                "judge": dict(judge.identity),
                "certain": self._thresholds._asdict(),
                # left out by default, as in versions without this choice
                **({"deciding": deciding} if deciding else {}),
            }

    @property
    def complete(self) -> bool:
        """Whether the cascade has a judge."""
        return self._set_judge is not None

    @property
    def _judge(self) -> Labeler:
        if self._set_judge is None:
            raise ConfigurationError(
                f"{self.name} has no judge; pass one, or use the labeler in a run"
            )
        return self._set_judge

    @property
    def voter(self) -> Labeler:
        """The labeler to use for competing statements: the cheap one if the judge is embedded.

        The embedded judge needs a call for each pair, and is less accurate than ``nli-mpnet``.
        Moreover, probabilities of different models cannot be compared.
        """
        return self._cheap if getattr(self._judge, "embedded", False) else self

    def with_judge(self, judge: Labeler) -> "Cascade":
        """Return a copy of this cascade with a different judge."""
        return Cascade(self._cheap, judge, self._thresholds, deciding=self._asked)

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        cheap = await self._cheap.label(claim, document, meter)
        if self._settles(claim, cheap):
            return _decided_by(self._cheap, cheap)
        judge_verdict = await self._judge.label(claim, document, meter)
        return self._believed((claim, document), cheap, judge_verdict)

    async def label_in_stages(
        self,
        pairs: Sequence[Pair],
        meter: UsageMeter,
        on_label: Callable[[EvidenceLabel], None],
        cache: ContentCache | None = None,
    ) -> None:
        """Judge many pairs; see :class:`~conflictscore.labelers.protocol.StagedLabeler`."""
        judge = self._judge
        at = {(claim.number, document.number): (claim, document) for claim, document in pairs}
        hard, sides = dict(at), dict[_Place, EvidenceLabel]()
        cheap: dict[_Place, EvidenceLabel] = {}

        def take_cheap(verdict: EvidenceLabel) -> None:
            place = (verdict.claim, verdict.document)
            cheap[place] = verdict
            if not self._settles(at[place][0], verdict):
                return
            del hard[place]
            final_verdict = _decided_by(self._cheap, verdict)
            if final_verdict.label is Label.IRRELEVANT:  # no conflict depends on this verdict
                on_label(final_verdict)
            else:
                sides[place] = final_verdict

        judge_verdicts: list[EvidenceLabel] = []

        def take_judged(verdict: EvidenceLabel) -> None:
            place = (verdict.claim, verdict.document)
            judge_verdicts.append(self._believed(at[place], cheap[place], verdict))
            on_label(judge_verdicts[-1])

        await judge_all(self._cheap, pairs, take_cheap, meter, cache)
        try:
            # a verdict of the judge may leave another cheap verdict as the only one on its side
            while True:
                for place in _deciding(sides.values(), judge_verdicts, self._deciding):
                    del sides[place]
                    hard[place] = at[place]
                if not hard:
                    break
                # the other claims are settled, so their cheap verdicts are reported at once
                claims_with_judge = {claim for claim, _ in hard}
                for place in [place for place in sides if place[0] not in claims_with_judge]:
                    on_label(sides.pop(place))
                await judge_all(judge, [*hard.values()], take_judged, meter, cache)
                hard.clear()
        finally:  # report these verdicts even if the budget or the time runs out
            for verdict in sides.values():
                on_label(verdict)

    def _settles(self, claim: Claim, cheap: EvidenceLabel) -> bool:
        return self._thresholds.allows(cheap) and supports_script(self._cheap, claim)

    def _believed(
        self, pair: Pair, cheap: EvidenceLabel, judge_verdict: EvidenceLabel
    ) -> EvidenceLabel:
        """Return the judge's verdict, or the cheap one if the judge missed that a number differs.

        A small judge gives the label SUPPORTS to most documents on the topic, whatever year they
        state.
        """
        claim, document = pair
        if (
            judge_verdict.label is Label.SUPPORTS
            and cheap.label is not Label.UNLABELLED
            and number_replaced(claim.text, f"{document.title} {document.text}")
        ):
            return _decided_by(self._cheap, cheap)
        return _decided_by(self._judge, judge_verdict)


def _deciding(
    cheap: Collection[EvidenceLabel], judge_verdicts: Sequence[EvidenceLabel], which: Deciding
) -> list[_Place]:
    """Return the positions of cheap verdicts that the judge must confirm; see :data:`Deciding`.

    The judge's own verdicts count as evidence for a side, but need no confirmation.
    """
    if which == "none":
        return []
    sides_of_claims = _sides_of_claims(cheap, judge_verdicts).values()
    if which == "sides":
        return [
            place
            for sides in sides_of_claims
            if Label.CONTRADICTS in sides
            for side in sides.values()
            for place in side
            if place is not None
        ]
    sole_places = (
        side[0]
        for sides in sides_of_claims
        if len(sides) == 2
        for side in sides.values()
        if len(side) == 1
    )
    return [place for place in sole_places if place is not None]


def _sides_of_claims(
    cheap: Collection[EvidenceLabel], judge_verdicts: Sequence[EvidenceLabel]
) -> dict[int, dict[Label, list[_Place | None]]]:
    """Return the positions of cheap verdicts by claim and side; None for a judge's verdict."""
    sides: dict[int, dict[Label, list[_Place | None]]] = {}
    for verdict in judge_verdicts:
        if verdict.label in (Label.SUPPORTS, Label.CONTRADICTS):
            sides.setdefault(verdict.claim, {}).setdefault(verdict.label, []).append(None)
    for verdict in cheap:
        place = (verdict.claim, verdict.document)
        sides.setdefault(verdict.claim, {}).setdefault(verdict.label, []).append(place)
    return sides


def _decided_by(labeler: Labeler, verdict: EvidenceLabel) -> EvidenceLabel:
    """Return a verdict with a stage; if it has none, the stage is the labeler's name."""
    return verdict.model_copy(update={"stage": verdict.stage or labeler.name})


def open_cascade(model: str | Path | None = None, certain: float | None = None) -> Cascade:
    """Open a cascade of an NLI model and the judge of the run."""
    from conflictscore.labelers.nli.labeler import NliLabeler

    scores = Thresholds.of(model) if certain is None else Thresholds.from_score(certain)
    return Cascade(NliLabeler.open(model), thresholds=scores)
