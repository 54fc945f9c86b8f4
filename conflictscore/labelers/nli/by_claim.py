"""Decides from the NLI verdicts on all documents whether a claim is in conflict.

A conflict depends on two pairs, one on each side. If the label of each pair is chosen separately,
many conflicts are missed. For example, a document with probabilities of 0.45 for SUPPORTS and 0.50
for IRRELEVANT does not count as support, even if it is certain that another document contradicts
the claim. So the labels of the two documents that are most likely to disagree are decided together.
"""

import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

from conflictscore.labelers.calibration import rounded
from conflictscore.labelers.nli.adapted import NLI_MPNET
from conflictscore.labelers.nli.labeler import MOST_DOUBTED, NliLabeler, verdict_on
from conflictscore.labelers.protocol import Labeler, Pair
from conflictscore.labelers.verdicts import judge_all
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.storage.cache import ContentCache

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
PAIR = "pair"
"""The stage of a label that was decided together with the label of another document."""
LEAST_PRODUCT = 0.22
"""Minimum product of one document's P(SUPPORTS) and another's P(CONTRADICTS) if the two disagree.
The bound applies to a claim with two documents.
"""
GROWTH = 0.0
"""The bound grows as the number of documents raised to this power.

The best value was 0, so the bound does not grow. The measurement still tries other values.

This exponent and ``LEAST_PRODUCT`` were chosen for the best F1 of conflict detection on half of the
claims, with document sets of every size (``measurements.by_claim_rule``).
"""
_MOST_PRODUCT = 0.95
"""Maximum of the bound, so that two documents that clearly disagree always exceed it, however many
documents there are."""
_LEAST_PROBABILITY = 1e-4
"""Smallest probability other than 0, since probabilities are rounded to four places."""


class Pooling(NamedTuple):
    """A rule that combines several models' probabilities for a pair (logarithmic opinion pool).

    The pooled probability of a label is proportional to a product: each model's probability, raised
    to the power of the model's weight, times a factor for the label. If the models agree and their
    errors are independent, the product is closer to certainty than the mean of their probabilities
    (Genest and Zidek, Statistical Science 1986).

    Attributes:
        weights: The weight of each model, in order.
        supports: The natural logarithm of the factor for SUPPORTS.
        contradicts: The same for CONTRADICTS; the factor for IRRELEVANT is 1.
        least_product: The bound for pooled probabilities, in place of ``LEAST_PRODUCT``.
    """

    weights: tuple[float, ...]
    supports: float
    contradicts: float
    least_product: float

    def pooled(self, of_models: Sequence[Mapping[Label, float]]) -> dict[Label, float]:
        """Return the pooled probability of each label from the models' probabilities."""
        added = {Label.SUPPORTS: self.supports, Label.CONTRADICTS: self.contradicts}
        logs = {
            label: added.get(label, 0.0)
            + math.fsum(
                weight * math.log(max(probabilities[label], _LEAST_PROBABILITY))
                for weight, probabilities in zip(self.weights, of_models, strict=True)
            )
            for label in _LABELS
        }
        highest = max(logs.values())
        odds = {label: math.exp(log - highest) for label, log in logs.items()}
        total = math.fsum(odds.values())
        return {label: each / total for label, each in odds.items()}


POOLING = Pooling(weights=(0.85, 0.737), supports=0.236, contradicts=0.335, least_product=0.3)
"""The pooling of ``nli-mpnet``, which has the first weight, with the bundled model.

The weights and factors were chosen by likelihood on half of the claims. With the bound, there are
about as many false conflicts as with the mean of both models (``measurements.pooled_models``).
"""


def least_product(documents: int, of_two: float = LEAST_PRODUCT) -> float:
    """Return the bound for a claim with this many documents; see ``LEAST_PRODUCT``.

    The largest product over all pairs of documents grows with the number of documents, even if no
    two documents disagree. So the bound can be made to grow too.

    Args:
        documents: Number of documents.
        of_two: The bound for a claim with two documents.
    """
    return min(of_two * math.pow(max(documents, 2) / 2, GROWTH), _MOST_PRODUCT)


def decided_by_claim(
    verdicts: Sequence[EvidenceLabel], of_two: float = LEAST_PRODUCT
) -> list[EvidenceLabel]:
    """Decide whether the documents of one claim disagree, and label them accordingly.

    For each pair of documents i ≠ j, P(SUPPORTS) for i is multiplied by P(CONTRADICTS) for j. The
    pair with the largest product decides. If the product exceeds :func:`least_product`, i gets the
    label SUPPORTS and j the label CONTRADICTS. If the product is smaller and there are labels on
    both sides, each document on the weaker side gets its next most likely label. A changed label
    has the stage ``pair``. The label's ``score`` is the probability of the new label, which may be
    low.
    """
    probabilities = {v.document: v.probabilities for v in verdicts if v.probabilities is not None}
    labels = {v.document: v.label for v in verdicts if v.document in probabilities}
    product, supporting, contradicting = most_likely_pair(probabilities)
    if product > least_product(len(probabilities), of_two):
        labels[supporting] = Label.SUPPORTS
        labels[contradicting] = Label.CONTRADICTS
    else:
        labels |= _weaker_side(labels, probabilities)
    return [
        verdict
        if labels.get(verdict.document, verdict.label) is verdict.label
        else _relabelled(verdict, labels[verdict.document], probabilities[verdict.document])
        for verdict in verdicts
    ]


def _relabelled(
    verdict: EvidenceLabel, label: Label, probabilities: Mapping[Label, float]
) -> EvidenceLabel:
    return verdict.model_copy(update={"label": label, "score": probabilities[label], "stage": PAIR})


def _weaker_side(
    labels: Mapping[int, Label], probabilities: Mapping[int, Mapping[Label, float]]
) -> dict[int, Label]:
    """Return new labels for the documents on the weaker side; empty if either side is empty."""
    on_side = {
        side: [number for number, label in labels.items() if label is side]
        for side in (Label.SUPPORTS, Label.CONTRADICTS)
    }
    if not all(on_side.values()):
        return {}
    strength = {
        side: max(probabilities[number][side] for number in numbers)
        for side, numbers in on_side.items()
    }
    weaker = min(strength, key=strength.__getitem__)
    next_labels = [label for label in _LABELS if label is not weaker]
    return {
        number: max(next_labels, key=probabilities[number].__getitem__)
        for number in on_side[weaker]
    }


def most_likely_pair(
    probabilities: Mapping[int, Mapping[Label, float]],
) -> tuple[float, int, int]:
    """Find the largest product of P(SUPPORTS) for a document and P(CONTRADICTS) for another.

    The product is 0 if there are fewer than two documents. Only the two most probable documents on
    each side need to be compared. If the same document comes first on both sides, it is paired with
    the second document of either side. The time is linear in the number of documents.

    Args:
        probabilities: The probability of each label, by document number.

    Returns:
        The product, and the numbers of the supporting and the contradicting document.
    """
    supports, contradicts = (
        sorted(probabilities, key=lambda number: -probabilities[number][side])[:2]
        for side in (Label.SUPPORTS, Label.CONTRADICTS)
    )
    products = [
        (probabilities[i][Label.SUPPORTS] * probabilities[j][Label.CONTRADICTS], i, j)
        for i in supports
        for j in contradicts
        if i != j
    ]
    return max(products, default=(0.0, 0, 0))


class NliByClaim:
    """A labeler that judges pairs with NLI models, and decides about conflicts claim by claim.

    Verdicts are cached by model and pair. If there are several models, their probabilities for a
    pair are pooled, or averaged if there is no pooling.
    """

    embedded = reads_dates = True

    def __init__(self, *models: NliLabeler, pooling: Pooling | None = None) -> None:
        self.models, self._pooling = models, pooling
        self._of_two = LEAST_PRODUCT if pooling is None else pooling.least_product
        self.name = f"nli({'+'.join(model.name[len('nli(') : -1] for model in models)})"
        self.scripts = models[0].scripts
        identities = [model.identity for model in models]
        self.identity = {
            "labeler": "nli-by-claim",
            "nli": identities,
            "least": [self._of_two, GROWTH],
        }
        if pooling is not None:
            self.identity["pooling"] = [*pooling]

    async def label(self, claim: Claim, document: Document, meter: UsageMeter) -> EvidenceLabel:
        """Judge one pair; see :class:`~conflictscore.labelers.protocol.Labeler`."""
        verdicts = [await model.label(claim, document, meter) for model in self.models]
        return combined_verdict(verdicts, self._pooling)

    async def label_in_stages(
        self,
        pairs: Sequence[Pair],
        meter: UsageMeter,
        on_label: Callable[[EvidenceLabel], None],
        cache: ContentCache | None = None,
    ) -> None:
        """Judge many pairs; see :class:`~conflictscore.labelers.protocol.StagedLabeler`.

        A claim is decided when there is a verdict on each document, or when the time is up.
        """
        pairs_by_claim = Counter(claim.number for claim, _ in pairs)
        verdicts_by_pair: dict[tuple[int, int], dict[int, EvidenceLabel]] = {}
        waiting: dict[int, list[EvidenceLabel]] = {}

        def collect(verdict: EvidenceLabel, place: int) -> None:
            by_model = verdicts_by_pair.setdefault((verdict.claim, verdict.document), {})
            by_model[place] = verdict
            if len(by_model) < len(self.models):
                return
            of_claim = waiting.setdefault(verdict.claim, [])
            in_order = [by_model[each] for each in range(len(self.models))]
            of_claim.append(combined_verdict(in_order, self._pooling))
            if len(of_claim) == pairs_by_claim[verdict.claim]:
                tell(waiting.pop(verdict.claim))

        def tell(of_claim: list[EvidenceLabel]) -> None:
            in_order = sorted(of_claim, key=lambda verdict: verdict.document)
            for verdict in decided_by_claim(in_order, self._of_two):
                on_label(verdict)

        try:
            # the bundled model, which is last in ``models`` and the fastest, goes first: if the
            # time runs out later, every pair that the slow model has read has both verdicts
            for place in reversed(range(len(self.models))):
                on_verdict = partial(collect, place=place)
                await judge_all(self.models[place], pairs, on_verdict, meter, cache)
        finally:  # claims without all verdicts are decided too
            for of_claim in waiting.values():
                tell(of_claim)


def combined_verdict(
    verdicts: Sequence[EvidenceLabel], pooling: Pooling | None = None
) -> EvidenceLabel:
    """Return the verdict that results from the probabilities of several models.

    The probabilities are pooled; without a pooling rule, they are averaged.

    The passage of the verdict, and any doubt about the passage, come from the model that gives the
    label the highest probability. A pair is UNLABELLED if one of the models could not read it.
    """
    probabilities = [
        verdict.probabilities for verdict in verdicts if verdict.probabilities is not None
    ]
    if len(probabilities) < len(verdicts):
        return next(verdict for verdict in verdicts if verdict.probabilities is None)
    combined = _mean(probabilities) if pooling is None else pooling.pooled(probabilities)
    label = verdict_on(combined)
    surest = max(verdicts, key=lambda v: (v.label is label, (v.probabilities or combined)[label]))
    doubt = label is surest.label and surest.reasoning is not None
    return surest.model_copy(
        update={
            "label": label,
            "score": min(combined[label], MOST_DOUBTED) if doubt else combined[label],
            "probabilities": rounded(combined),
            "reasoning": surest.reasoning if doubt else None,
            "cached": all(verdict.cached for verdict in verdicts),
        }
    )


def _mean(of_models: Sequence[Mapping[Label, float]]) -> dict[Label, float]:
    return {
        label: math.fsum(probabilities[label] for probabilities in of_models) / len(of_models)
        for label in of_models[0]
    }


def open_nli_by_claim(model: str | Path | None = None) -> Labeler:
    """Open the NLI labeler of a run from the options in ``LABELERS``.

    ``nli-mpnet`` is used together with the bundled model. Conflicts are decided claim by claim only
    if the model comes from this project, since the bounds for other models are unknown.
    """
    nli = NliLabeler.open(model)
    if model == NLI_MPNET.name:
        return NliByClaim(nli, NliLabeler.open(), pooling=POOLING)
    return NliByClaim(nli) if model is None else nli
