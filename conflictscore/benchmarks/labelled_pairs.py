"""Claim–document pairs that people labelled: read, sampled in balance, and scored."""

import random
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import document_of
from conflictscore.benchmarks.json_lines import documents_of, read_json_lines, text_of
from conflictscore.errors import InputError
from conflictscore.records import Label


class LabelledPair(NamedTuple):
    """One claim, one document, and the label that people gave."""

    id: str
    claim: str
    document: str
    label: Label
    title: str = ""
    """Of the document; empty where it has none."""


def read_pairs(path: str | Path, *, split: str | None = None) -> list[LabelledPair]:
    """Read pairs, in file order.

    Args:
        path: JSON lines. A line is a group (``id``, ``claim``, ``docs`` with ``text``, ``label``
            and where known ``title``) or a pair (``claim``, ``document``, ``label``); PARTIAL
            counts as SUPPORTS, MIXED and UNLABELLED are left out.
        split: Only the lines whose ``split`` is this.
    """
    file = Path(path)
    pairs: list[LabelledPair] = []
    first: dict[str, str] = {}
    for row, (where, record) in enumerate(read_json_lines(file), start=1):
        if not isinstance(record, dict):
            raise InputError(f"{where}: no object with a claim and documents")
        named = str(record.get("id", where))
        if (earlier := first.setdefault(named, where)) != where:
            raise InputError(f"{where}, field id: {named!r} is also the id of {earlier}")
        if split is None or record.get("split") == split:
            pairs.extend(_pairs_of(record, f"{file.stem}:{row}", where))
    return pairs


def _pairs_of(record: dict[str, Any], name: str, where: str) -> Iterator[LabelledPair]:
    claim = text_of(record, "claim", where)
    if record.get("docs") is None:
        text = text_of(record, "document", where)
        found: list[tuple[str, Any]] = [(where, {"text": text, "label": record.get("label")})]
    else:
        found = documents_of(record, "docs", where)
    for index, (here, one) in enumerate(found):
        document = document_of(one, here)
        if one.get("label") is None:
            raise InputError(f"{here}, field label: it is needed here")
        if document.label is not None:
            yield LabelledPair(
                f"{name}:{index}", claim, document.text, document.label, document.title
            )


def balanced_sample(pairs: list[LabelledPair], size: int, seed: int) -> list[LabelledPair]:
    """Draw the same number of pairs of every label that occurs, at random by seed.

    Returns:
        At most ``size`` pairs, in random order; fewer where a label has too few.
    """
    rng = random.Random(seed)  # noqa: S311 - a sample, not a secret
    by_label: dict[Label, list[LabelledPair]] = {}
    for pair in pairs:
        by_label.setdefault(pair.label, []).append(pair)
    share = size // len(by_label) if by_label else 0
    drawn = [
        pair
        for label in sorted(by_label)
        for pair in rng.sample(by_label[label], min(share, len(by_label[label])))
    ]
    rng.shuffle(drawn)
    return drawn


class LabelerScores(NamedTuple):
    """Agreement of a labeler with people over pairs; unlabelled pairs count as wrong."""

    confusion: dict[Label, Counter[Label]]
    """How often each label was given, by the label that people gave."""
    accuracy: float
    macro_f1: float
    """Mean F1 over the labels that people gave."""


def scores(verdicts: Iterable[tuple[Label, Label]]) -> LabelerScores:
    """Compare (people's label, labeler's label) pairs."""
    confusion: dict[Label, Counter[Label]] = {}
    for gold, given in verdicts:
        confusion.setdefault(gold, Counter())[given] += 1
    total = sum(row.total() for row in confusion.values())
    if not total:
        raise ValueError("no verdicts to score")
    f1 = []
    for label, row in confusion.items():
        times_given = sum(other[label] for other in confusion.values())
        f1.append(2 * row[label] / (times_given + row.total()))
    right = sum(row[label] for label, row in confusion.items())
    return LabelerScores(confusion, right / total, sum(f1) / len(f1))
