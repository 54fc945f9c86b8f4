"""Conflicts decided by the claim, from the NLI model's verdicts on all its documents.

A conflict hangs on two pairs, one on each side. Labels that are chosen pair by pair miss many: a
document with probabilities .45 and .50 for SUPPORTS and IRRELEVANT does not support, however surely
another contradicts. So the two documents that most likely disagree are judged together.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from math import fsum
from pathlib import Path

from conflictscore.labelers.calibration import rounded
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.labeler import MOST_DOUBTED, NliLabeler, verdict_on
from conflictscore.labelers.protocol import Labeler, Pair
from conflictscore.labelers.verdicts import judge_all
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache

PAIR = "pair"
"""The stage of a label that another document of the claim decided."""
LEAST_PRODUCT = 0.22
"""P(SUPPORTS) of one document times P(CONTRADICTS) of another from which they disagree.

Of .12, .17, .22, .27 and .35 the one with the highest conflict F1 on half of the claims of nine
validation sets; on the other half it raises conflict F1 from .508 to .578 (``docs/findings``).
"""


def decided_by_claim(verdicts: Sequence[EvidenceLabel]) -> list[EvidenceLabel]:
    """Decide whether the documents of one claim disagree, and label them accordingly.

    Of two different documents i and j, the pair with the largest P(SUPPORTS) of i times
    P(CONTRADICTS) of j decides. Where it exceeds ``LEAST_PRODUCT``, i supports and j contradicts.
    Below that, if both sides were labelled, each label on the weaker side becomes that document's
    next most likely one. One that changes has the stage ``pair`` and its own, maybe low, ``score``.
    """
    known = {v.document: v.probabilities for v in verdicts if v.probabilities is not None}
    labels = {v.document: v.label for v in verdicts if v.document in known}
    on_side = {
        side: [n for n, label in labels.items() if label is side]
        for side in (Label.SUPPORTS, Label.CONTRADICTS)
    }
    product, supporting, contradicting = _most_likely_pair(known)
    if product > LEAST_PRODUCT:
        labels[supporting], labels[contradicting] = Label.SUPPORTS, Label.CONTRADICTS
    elif all(on_side.values()):
        weaker = min(on_side, key=lambda side: max(known[n][side] for n in on_side[side]))
        for number in on_side[weaker]:
            others = [label for label in known[number] if label is not weaker]
            labels[number] = max(others, key=known[number].__getitem__)
    return [
        verdict
        if labels.get(verdict.document, verdict.label) is verdict.label
        else verdict.model_copy(
            update={
                "label": (label := labels[verdict.document]),
                "score": known[verdict.document][label],
                "stage": PAIR,
            }
        )
        for verdict in verdicts
    ]


def _most_likely_pair(known: dict[int, dict[Label, float]]) -> tuple[float, int, int]:
    """The largest product with its documents, in time linear in their number; 0 for fewer than two.

    Only the two highest of each side can be in it: where one document is highest on both sides, it
    is paired with the second of either.
    """
    supports = sorted(known, key=lambda n: -known[n][Label.SUPPORTS])[:2]
    contradicts = sorted(known, key=lambda n: -known[n][Label.CONTRADICTS])[:2]
    found = [
        (known[i][Label.SUPPORTS] * known[j][Label.CONTRADICTS], i, j)
        for i in supports
        for j in contradicts
        if i != j
    ]
    return max(found, default=(0.0, 0, 0))


class NliByClaim:
    """NLI models whose conflicts are decided by the claim; verdicts are cached by model and pair.

    Of several models, a pair has the mean of their probabilities.
    """

    embedded = True

    def __init__(self, *models: NliLabeler) -> None:
        self.models = models
        self.name = f"nli({'+'.join(one.name[len('nli(') : -1] for one in models)})"
        self.scripts = models[0].scripts
        identities = [one.identity for one in models]
        self.identity = {"labeler": "nli-by-claim", "nli": identities, "least": LEAST_PRODUCT}

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        return mean_verdict([await one.label(claim, document, meter) for one in self.models])

    async def label_in_stages(
        self,
        pairs: Sequence[Pair],
        meter: UsageMeter,
        on_label: Callable[[EvidenceLabel], None],
        cache: ContentCache | None = None,
    ) -> None:
        """Judge many; see :class:`~conflictscore.labelers.protocol.StagedLabeler`.

        A claim is decided once all its documents are labelled, or when the time is up.
        """
        expected = Counter(claim.number for claim, _ in pairs)
        said: dict[tuple[int, int], list[EvidenceLabel]] = {}
        waiting: dict[int, list[EvidenceLabel]] = {}

        def collect(verdict: EvidenceLabel) -> None:
            of_pair = said.setdefault((verdict.claim, verdict.document), [])
            of_pair.append(verdict)
            if len(of_pair) < len(self.models):
                return
            of_claim = waiting.setdefault(verdict.claim, [])
            of_claim.append(mean_verdict(of_pair))
            if len(of_claim) == expected[verdict.claim]:
                tell(waiting.pop(verdict.claim))

        def tell(of_claim: list[EvidenceLabel]) -> None:
            for verdict in decided_by_claim(sorted(of_claim, key=lambda one: one.document)):
                on_label(verdict)

        try:
            for model in reversed(self.models):  # the last one is the fastest
                await judge_all(model, pairs, collect, meter, cache)
        finally:  # labels of claims that were not finished stand too
            for of_claim in waiting.values():
                tell(of_claim)


def mean_verdict(verdicts: Sequence[EvidenceLabel]) -> EvidenceLabel:
    """The verdict by the mean of the models' probabilities.

    Its passage, and the doubt about it, are those of the model that is surest of the label. A pair
    that a model could not read is UNLABELLED.
    """
    known = [one.probabilities for one in verdicts if one.probabilities is not None]
    if len(known) < len(verdicts):
        return next(one for one in verdicts if one.probabilities is None)
    mean = {label: fsum(one[label] for one in known) / len(known) for label in known[0]}
    label = verdict_on(mean)
    surest = max(verdicts, key=lambda one: (one.label is label, (one.probabilities or mean)[label]))
    doubt = label is surest.label and surest.reasoning is not None
    return surest.model_copy(
        update={
            "label": label,
            "score": min(mean[label], MOST_DOUBTED) if doubt else mean[label],
            "probabilities": rounded(mean),
            "reasoning": surest.reasoning if doubt else None,
            "cached": all(one.cached for one in verdicts),
        }
    )


def open_nli_by_claim(model: str | Path | None = None) -> Labeler:
    """Open the NLI labeler of a run by the option names of ``LABELERS``.

    ``nli-mpnet`` is asked together with the bundled model. Conflicts are decided by the claim with
    our own models: of a user's nothing is known.
    """
    nli = NliLabeler.open(model)
    if model == NLI_MPNET.name:
        return NliByClaim(nli, NliLabeler.open())
    return NliByClaim(nli) if model is None else nli
