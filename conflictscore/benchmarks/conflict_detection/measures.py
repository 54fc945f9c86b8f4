"""Checks claims against their documents with any labeler, and computes figures from the verdicts.

The order of the verdicts does not affect the figures. If a figure cannot be computed, it is None,
never 0. A group is a claim with its documents. F1 and label accuracy have
intervals computed by resampling groups, since the pairs within a group are not independent.

Limits without a stated reason were chosen by hand.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Annotated, NamedTuple

from pydantic import Field

from conflictscore.answering.answer_replies import read_text
from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.conflict_detection.reliability import Reliability, reliability
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.group_bootstrap import Numbers, group_interval, ratio
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.benchmarks.judging import Judge
from conflictscore.errors import ContextWindowError, ProviderError
from conflictscore.labelers.protocol import Labeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import material
from conflictscore.records import Claim, EvidenceLabel, Label, Record, Usage
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import at_once, each

_Count = Annotated[int, Field(ge=0)]


class Detection(Record):
    """How well the verdicts "conflict" and "no conflict" agree with annotators (paper, Table 2)."""

    precision: Proportion
    recall: Proportion
    """The recall, which equals the accuracy on groups with a conflict, as the paper notes."""
    f1: Interval
    """The F1 score, 2 TP / (2 TP + FP + FN)."""
    accuracy: Proportion
    accuracy_no_conflict: Proportion
    """The accuracy on groups without a conflict."""


class SetFigures(Record):
    """All figures for one set, or for all sets together."""

    name: str
    groups: _Count
    """The number of groups that the labeler judged."""
    conflicts: _Count
    """The number of judged groups that have a conflict according to annotators."""
    undecidable: _Count
    """The number of groups in which unlabelled pairs could turn "no conflict" into "conflict".

    Such groups are left out of all detection figures. A group in which a conflict was detected is
    included even if some of its pairs are unlabelled. So if many groups are undecidable, the recall
    is only an upper bound.
    """
    detection: Detection
    constants: dict[str, Detection]
    """The figures of three constant strategies on the same groups, by name.

    The strategy ``always`` answers "conflict" for every claim, ``two documents`` for every claim
    with at least two documents, and ``never`` for no claim.
    """
    pairs: _Count
    """The number of pairs, each of a claim and a document."""
    unlabelled: _Count
    """The number of pairs on which the labeler failed."""
    label_accuracy: Interval
    """The share of pairs to which the labeler gave the annotators' label.

    Only pairs with a label from both the annotators and the labeler are included.
    """

    @property
    def beaten_by(self) -> tuple[str, ...]:
        """The names of the constant strategies that have a higher F1 than the labeler."""
        own = self.detection.f1.value or 0.0
        return tuple(
            name for name, detection in self.constants.items() if (detection.f1.value or 0.0) > own
        )


class DetectionFigures(Record):
    """All figures for a run."""

    labeler: str
    sets: tuple[SetFigures, ...]
    """The figures for each set, sorted by the name of the set."""
    overall: SetFigures
    """The figures for all sets together."""
    reliability: Reliability | None = None
    """The reliability of the labeler's probabilities; None if it gives no probabilities."""
    usage: Usage
    """The labeler's usage in this run, with cached verdicts counted separately."""
    seconds: float
    """The duration of this run, in seconds."""


class Judged(NamedTuple):
    """A group, and the labeler's label for each document of the group."""

    group: ClaimGroup
    labels: tuple[EvidenceLabel, ...]
    """The label for each document, in order; it is UNLABELLED if the labeler failed."""


def verdict_of(labels: Iterable[Label]) -> bool | None:
    """Return whether the labels show a conflict, or None if unlabelled pairs could decide it.

    An unlabelled pair can supply one missing side, so ``missing`` such pairs could make a conflict.
    """
    counts = Counter(labels)
    missing = sum(not counts[side] for side in (Label.SUPPORTS, Label.CONTRADICTS))
    if not missing:
        return True
    return None if counts[Label.UNLABELLED] >= missing else False


def detection_figures(
    labeler: str, judged_groups: Sequence[Judged], usage: Usage, seconds: float
) -> DetectionFigures:
    """Compute all figures for the judged groups; ``labeler`` is the name shown with the figures."""
    # sort the groups, since sums of floats and bootstrap samples depend on their order
    in_order = sorted(
        judged_groups, key=lambda judged_group: (judged_group.group.set, judged_group.group.id)
    )
    names = sorted({judged_group.group.set for judged_group in in_order})
    return DetectionFigures(
        labeler=labeler,
        sets=tuple(
            _figures(
                name, [judged_group for judged_group in in_order if judged_group.group.set == name]
            )
            for name in names
        ),
        overall=_figures("overall", in_order),
        reliability=reliability(in_order),
        usage=usage,
        seconds=round(seconds, 3),
    )


def _figures(name: str, judged_groups: Sequence[Judged]) -> SetFigures:
    """Compute all figures for one set, or for all sets together.

    Undecidable claims are left out of the detection figures. The label accuracy covers only
    documents that both the annotators and the labeler labelled.
    """
    answers = [
        (judged_group.group, verdict_of(label.label for label in judged_group.labels))
        for judged_group in judged_groups
    ]
    decisions = [(group, answer) for group, answer in answers if answer is not None]
    truth = [group.has_conflict for group, _ in decisions]
    labels = [label.label for judged_group in judged_groups for label in judged_group.labels]
    return SetFigures(
        name=name,
        groups=len(judged_groups),
        conflicts=sum(judged_group.group.has_conflict for judged_group in judged_groups),
        undecidable=len(answers) - len(decisions),
        detection=_detection(truth, [answer for _, answer in decisions]),
        constants={
            "always": _detection(truth, [True] * len(truth)),
            "two documents": _detection(
                truth, [len(group.documents) > 1 for group, _ in decisions]
            ),
            "never": _detection(truth, [False] * len(truth)),
        },
        pairs=len(labels),
        unlabelled=labels.count(Label.UNLABELLED),
        label_accuracy=_label_accuracy(judged_groups),
    )


def _label_accuracy(judged_groups: Sequence[Judged]) -> Interval:
    """Compute the share of human labels that the labeler also gave.

    The interval is computed by resampling groups.
    """
    cells: list[tuple[int, int]] = []
    for judged_group in judged_groups:
        agreements = [
            gold is label.label
            for gold, label in zip(judged_group.group.labels, judged_group.labels, strict=True)
            if gold and label.label is not Label.UNLABELLED
        ]
        cells.append((sum(agreements), len(agreements)))
    return group_interval(cells, lambda tables: ratio(*tables.T))


def _detection(truth: Sequence[bool], answers: Sequence[bool]) -> Detection:
    # in this order: true positive, false negative, false positive, true negative
    kinds = ((True, True), (True, False), (False, True), (False, False))
    cells = [[pair == kind for kind in kinds] for pair in zip(truth, answers, strict=True)]
    tp, fn, fp, tn = (sum(column) for column in zip(*cells, strict=True)) if cells else (0,) * 4
    return Detection(
        precision=proportion(tp, tp + fp),
        recall=proportion(tp, tp + fn),
        f1=group_interval(cells, _f1),
        accuracy=proportion(tp + tn, len(truth)),
        accuracy_no_conflict=proportion(tn, tn + fp),
    )


def _f1(cells: Numbers) -> Numbers:
    tp, fn, fp, _ = cells.T
    return ratio(2 * tp, 2 * tp + fn + fp)


_CLAIM_TOKENS = 200
"""The maximum number of tokens in a claim that a model writes.

A claim is one sentence of some 30 tokens. The limit only stops a model that goes on writing.
"""


async def detect(
    labeler: Labeler,
    groups: Sequence[ClaimGroup],
    *,
    meter: UsageMeter,
    cache: ContentCache | None = None,
    concurrency: int = 1,
    on_pair: Callable[[EvidenceLabel], None] = lambda label: None,
) -> list[Judged]:
    """Label every pair of a claim and a document; the claims are neither split nor reworded.

    Each verdict is cached as soon as it arrives, so if a run is stopped, only the calls in flight
    are lost. ``concurrency`` is the number of claims that are processed at the same time.
    """
    judged_by_id: dict[tuple[str, str], Judged] = {}

    async def judge(group: ClaimGroup) -> None:
        claim = Claim(number=1, text=group.claim)
        [row] = await label_table(
            labeler, [claim], group.shown, meter=meter, cache=cache, on_label=on_pair
        )
        judged_by_id[group.set, group.id] = Judged(group, row.labels)

    await each(groups, judge, concurrency)
    return [judged_by_id[group.set, group.id] for group in groups]


async def written_claims(
    groups: Sequence[ClaimGroup], judge: Judge, on_claim: Callable[[], object]
) -> list[ClaimGroup]:
    """Have a model write each claim from its question and answer, as GPT-4 does in the paper.

    If a group has no question, it keeps its claim. If the model's replies are cached, a second run
    costs nothing.

    Raises:
        ProviderError: A claim could not be written; the other claims are cached.
        ContextWindowError: A question and its answer are longer than the model's context window.
    """
    failures: list[ProviderError | ContextWindowError] = []

    async def worded(group: ClaimGroup) -> ClaimGroup:
        if not group.question:
            return group
        fields = {"question": material(group.question), "answer": material(group.answer)}
        prompt = judge.prompts.render("write_claim", **fields)
        try:
            reply = await judge.ask(prompt, read_text, _CLAIM_TOKENS)
        except (ProviderError, ContextWindowError) as error:
            # the other claims are still written and cached; the error is raised at the end
            failures.append(error)
            return group
        on_claim()
        return group.model_copy(update={"claim": " ".join(clean_text(reply).split())})

    new_groups = await at_once([partial(worded, group) for group in groups])
    if failures:
        raise failures[0]
    return list(new_groups)
