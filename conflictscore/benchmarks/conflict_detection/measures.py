"""The figures of conflict detection, as records, and how they come of verdicts.

Figures depend on the verdicts alone, not on their order. What cannot be had is None, never 0.
Intervals resample groups, since the pairs of a group hang together: a bootstrap resample is how
often each group is drawn. Where a figure depends on counts of a few kinds of groups, how often each
kind is drawn is enough, which is a multinomial draw.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from pydantic import Field

from conflictscore.benchmarks.conflict_detection.detect import Judged
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.records import Label, Record, Usage

_GROUP_CELLS = ((True, True), (True, False), (False, True), (False, False))
"""(people's answer, the answer given): true positive, false negative, false positive, true
negative."""
_RESAMPLES = 2_000

_Numbers = NDArray[Any]
_SIDES = (Label.SUPPORTS, Label.CONTRADICTS)
_Count = Annotated[int, Field(ge=0)]


class Detection(Record):
    """How the answers "conflict" and "no conflict" agree with people's (paper, Table 2)."""

    true_positives: _Count
    false_positives: _Count
    false_negatives: _Count
    true_negatives: _Count
    precision: Proportion
    recall: Proportion
    """Also the accuracy on the groups with conflict, as the paper notes."""
    f1: Interval
    """2 TP / (2 TP + FP + FN); its bounds resample groups."""
    accuracy: Proportion
    accuracy_no_conflict: Proportion
    """Accuracy on the groups without conflict."""


class LabelFigures(Record):
    """Single verdicts beside people's, over the documents that have both."""

    pairs: _Count
    """Pairs of claim and document."""
    without_gold: _Count
    """Of these, pairs that people gave none of the three labels."""
    unlabelled: _Count
    """Of these, pairs that the labeler failed on; in no mean."""
    accuracy: Interval
    """Its bounds resample groups: the pairs of a claim hang together."""


class SetFigures(Record):
    """All figures of one set, or of all sets together."""

    name: str
    groups: _Count
    """Groups that were judged."""
    conflicts: _Count
    """Of these, groups with conflict by people's answer."""
    undecidable: _Count
    """Groups in which pairs without a label could turn "no conflict" into "conflict"; in no
    figure of detection. Conflicts that were found in spite of such pairs do count, so the more of
    these groups there are, the more recall is an upper bound."""
    detection: Detection
    always: Detection
    """The figures of always saying "conflict", on the same groups."""
    never: Detection
    """The figures of never saying so."""
    two_documents: Detection
    """The figures of saying so of every claim with two documents or more, which is hard to beat."""
    labels: LabelFigures

    @property
    def constants(self) -> dict[str, Detection]:
        """The figures of answers that need no judge, by name."""
        named = {"always": self.always, "two documents": self.two_documents}
        return named | {"never": self.never}

    @property
    def beaten_by(self) -> tuple[str, ...]:
        """Constant answers with a higher F1."""
        own = self.detection.f1.value or 0.0
        return tuple(name for name, one in self.constants.items() if (one.f1.value or 0.0) > own)


class DetectionFigures(Record):
    """All figures of a run."""

    labeler: str
    sets: tuple[SetFigures, ...]
    """By name."""
    overall: SetFigures
    """All groups as one set."""
    usage: Usage
    """Of this run; verdicts of the cache are counted as such."""
    seconds: float
    """What this run took."""


def verdict_of(labels: Iterable[Label]) -> bool | None:
    """Whether labels make a conflict; None where pairs without a label could still make one.

    A conflict that was found stays one. Otherwise each missing side could be among the pairs
    without a label, which takes as many of them as sides are missing.
    """
    counts = Counter(labels)
    missing = sum(not counts[side] for side in _SIDES)
    if not missing:
        return True
    return None if counts[Label.UNLABELLED] >= missing else False


def detection_figures(
    labeler: str, judged: Sequence[Judged], usage: Usage, seconds: float
) -> DetectionFigures:
    """All figures of the groups that were judged, by a labeler of this name."""
    # Sums of floats and resamples depend on the order, so there is one.
    ordered = sorted(judged, key=lambda one: (one.group.set, one.group.id))
    names = sorted({one.group.set for one in ordered})
    return DetectionFigures(
        labeler=labeler,
        sets=tuple(
            _figures(name, [one for one in ordered if one.group.set == name]) for name in names
        ),
        overall=_figures("overall", ordered),
        usage=usage,
        seconds=round(seconds, 3),
    )


def _figures(name: str, judged: Sequence[Judged]) -> SetFigures:
    said = [(one, verdict_of(label.label for label in one.labels)) for one in judged]
    decided = [(one, answer) for one, answer in said if answer is not None]
    truth = [one.group.has_conflict for one, _ in decided]
    return SetFigures(
        name=name,
        groups=len(judged),
        conflicts=sum(one.group.has_conflict for one in judged),
        undecidable=len(said) - len(decided),
        detection=_detection(truth, [answer for _, answer in decided]),
        always=_detection(truth, [True] * len(truth)),
        never=_detection(truth, [False] * len(truth)),
        two_documents=_detection(truth, [len(one.group.documents) > 1 for one, _ in decided]),
        labels=_labels(judged),
    )


def _detection(truth: Sequence[bool], answers: Sequence[bool]) -> Detection:
    cells = [[pair == cell for cell in _GROUP_CELLS] for pair in zip(truth, answers, strict=True)]
    tp, fn, fp, tn = (sum(column) for column in zip(*cells, strict=True)) if cells else (0,) * 4
    return Detection(
        true_positives=tp,
        false_positives=fp,
        false_negatives=fn,
        true_negatives=tn,
        precision=proportion(tp, tp + fp),
        recall=proportion(tp, tp + fn),
        f1=_interval(cells, _f1),
        accuracy=proportion(tp + tn, len(truth)),
        accuracy_no_conflict=proportion(tn, tn + fp),
    )


def _labels(judged: Sequence[Judged]) -> LabelFigures:
    cells: list[tuple[int, int]] = []
    without_gold = unlabelled = 0
    for one in judged:
        pairs = list(zip(one.group.labels, (given.label for given in one.labels), strict=True))
        without_gold += sum(gold is None for gold, _ in pairs)
        unlabelled += sum(given is Label.UNLABELLED for _, given in pairs)
        both = [gold is given for gold, given in pairs if gold and given is not Label.UNLABELLED]
        cells.append((sum(both), len(both) - sum(both)))
    return LabelFigures(
        pairs=sum(len(one.labels) for one in judged),
        without_gold=without_gold,
        unlabelled=unlabelled,
        accuracy=_interval(cells, lambda counts: _ratio(counts[:, 0], counts.sum(axis=1))),
    )


def _interval(groups: Sequence[Sequence[int]], figure: Callable[[_Numbers], _Numbers]) -> Interval:
    """A figure of cells with its 95 % percentile bootstrap interval by group.

    Args:
        groups: Each group's count in every cell; groups that are in none do not count.
        figure: From tables of cells, a row each, to the figure of each.
    """
    filled = [cells for cells in groups if any(cells)]
    if not filled:
        return Interval(value=None, n=0)
    kinds, counts = np.unique(np.array(filled), axis=0, return_counts=True)
    n, value = len(filled), float(figure((counts @ kinds)[None, :])[0])
    if np.isnan(value):
        return Interval(value=None, n=n)
    drawn = figure(np.random.default_rng(0).multinomial(n, counts / n, size=_RESAMPLES) @ kinds)
    low, high = map(float, np.nanpercentile(drawn, [2.5, 97.5]))
    if low == high:  # equal resamples tell nothing of how far off the figure is
        return Interval(value=value, n=n)
    return Interval(value=value, low=low, high=high, n=n)


def _f1(cells: _Numbers) -> _Numbers:
    tp, fn, fp, _ = cells.T
    return _ratio(2 * tp, 2 * tp + fn + fp)


def _ratio(part: _Numbers, whole: _Numbers) -> _Numbers:
    """The quotient, and NaN where there is nothing to divide by."""
    quotient: _Numbers = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient
