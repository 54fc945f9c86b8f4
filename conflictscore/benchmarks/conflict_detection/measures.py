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

from conflictscore.benchmarks.conflict_detection.detect import Judged, PairRow, content_of
from conflictscore.benchmarks.harness.figures import Interval, Proportion
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.records import Label, Record, Usage

_LABELS = (Label.SUPPORTS, Label.CONTRADICTS, Label.IRRELEVANT)
_GROUP_CELLS = ((True, True), (True, False), (False, True), (False, False))
"""(people's answer, the answer given): true positive, false negative, false positive, true
negative."""
_PAIR_CELLS = tuple((gold, given) for gold in _LABELS for given in _LABELS)
"""(people's label, the label given), of which pairs without a label are none."""

_RESAMPLES = 2_000
_AT_ONCE = 100
"""Keeps the resamples of thousands of groups within a few megabytes."""

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
    confusion: dict[Label, dict[Label, int]]
    """How often each label was given, by the label that people gave; UNLABELLED counts too."""
    accuracy: Interval
    """Its bounds, and those of macro-F1, resample groups: the pairs of a claim hang together."""
    macro_f1: Interval
    """Mean F1 over the labels that people gave."""


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
    usage: Usage
    seconds: float
    """Time spent on all groups; with several at a time, more than what passed."""

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
    labeler: str, judged: Sequence[Judged], rows: Iterable[PairRow]
) -> DetectionFigures:
    """All figures of the groups that were judged.

    Args:
        labeler: The labeler's name.
        judged: The groups with their verdicts.
        rows: All rows that were written for them, for what was spent; those of other groups, or
            of other documents of theirs, are left aside.
    """
    # Sums of floats and resamples depend on the order, so there is one.
    ordered = sorted(judged, key=lambda one: (one.group.set, one.group.id))
    kept = list(rows)
    names = sorted({one.group.set for one in ordered})
    sets = [
        _figures(
            name,
            [one for one in ordered if one.group.set == name],
            [row for row in kept if row.set == name],
        )
        for name in names
    ]
    overall = _figures("overall", ordered, kept)
    return DetectionFigures(labeler=labeler, sets=tuple(sets), overall=overall)


def _figures(name: str, judged: Sequence[Judged], rows: Sequence[PairRow]) -> SetFigures:
    said = [(one, verdict_of(label.label for label in one.labels)) for one in judged]
    decided = [(one, answer) for one, answer in said if answer is not None]
    truth = [one.group.has_conflict for one, _ in decided]
    of_judged = {
        (one.group.set, one.group.id, content_of(one.group, number))
        for one in judged
        for number in range(1, len(one.group.documents) + 1)
    }
    spent = [row for row in rows if (row.set, row.group, row.content) in of_judged]
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
        usage=sum((row.usage for row in spent), Usage()),
        seconds=round(sum(sorted(row.seconds for row in spent)), 3),
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
    by_group: list[Counter[tuple[Label, Label]]] = []
    without_gold = unlabelled = 0
    for one in judged:
        counts: Counter[tuple[Label, Label]] = Counter()
        for gold, given in zip(one.group.labels, one.labels, strict=True):
            without_gold += gold is None
            unlabelled += given.label is Label.UNLABELLED
            if gold is not None:
                counts[gold, given.label] += 1
        by_group.append(counts)
    total = sum(by_group, Counter[tuple[Label, Label]]())
    confusion: dict[Label, dict[Label, int]] = {}
    for people, labeler in sorted(total):
        confusion.setdefault(people, {})[labeler] = total[people, labeler]
    cells = [[counts[cell] for cell in _PAIR_CELLS] for counts in by_group]
    return LabelFigures(
        pairs=sum(len(one.labels) for one in judged),
        without_gold=without_gold,
        unlabelled=unlabelled,
        confusion=confusion,
        accuracy=_interval(cells, _accuracy),
        macro_f1=_interval(cells, _macro_f1),
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
    rng = np.random.default_rng(0)
    drawn = np.concatenate(
        [
            figure(rng.multinomial(n, counts / n, size=_AT_ONCE) @ kinds)
            for _ in range(_RESAMPLES // _AT_ONCE)
        ]
    )
    low, high = map(float, np.nanpercentile(drawn, [2.5, 97.5]))
    if low == high:  # equal resamples tell nothing of how far off the figure is
        return Interval(value=value, n=n)
    return Interval(value=value, low=low, high=high, n=n)


def _f1(cells: _Numbers) -> _Numbers:
    tp, fn, fp, _ = cells.T
    return _ratio(2 * tp, 2 * tp + fn + fp)


def _accuracy(cells: _Numbers) -> _Numbers:
    right = cells.reshape(-1, 3, 3).trace(axis1=1, axis2=2)
    return _ratio(right, cells.sum(axis=1))


def _macro_f1(cells: _Numbers) -> _Numbers:
    """The mean F1 over the labels that people gave."""
    tables = cells.reshape(-1, 3, 3)
    right = tables.diagonal(axis1=1, axis2=2)
    gold, given = tables.sum(axis=2), tables.sum(axis=1)
    f1 = _ratio(2 * right, gold + given)
    occurs = gold > 0
    return _ratio(np.where(occurs, f1, 0.0).sum(axis=1), occurs.sum(axis=1))


def _ratio(part: _Numbers, whole: _Numbers) -> _Numbers:
    """The quotient, and NaN where there is nothing to divide by."""
    quotient: _Numbers = np.full(whole.shape, np.nan)
    np.divide(part, whole, out=quotient, where=whole > 0)
    return quotient
