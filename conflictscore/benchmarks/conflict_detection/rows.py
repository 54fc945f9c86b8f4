"""The verdicts of a run as JSON lines: one a pair, read back after any death."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.resumable_rows import ResumableRows
from conflictscore.labelers.protocol import Labeler
from conflictscore.records import EvidenceLabel, Record, Usage

__all__ = ["PairRow", "VerdictFile", "content_of"]

_FORMAT = 1
"""Goes up when rows of an earlier format can no longer be read."""


class PairRow(Record):
    """One verdict, and what was spent on its group since the group's verdict before it."""

    set: str
    group: str
    content: str
    """Hash of the claim and the document that were judged."""
    label: EvidenceLabel
    usage: Usage = Usage()
    seconds: float = 0.0


class VerdictFile:
    """The verdicts of one labeler, added to by one command at a time.

    Attributes:
        labeler: The labeler's name.
        notes: What the user should know about how the file was found.
    """

    def __init__(self, labeler: str, rows: ResumableRows[PairRow], notes: tuple[str, ...]) -> None:
        self.labeler, self.notes = labeler, notes
        self._rows = rows
        self._labels = {_place(row): row.label for row in rows.rows}

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, labeler: Labeler) -> "Iterator[VerdictFile]":
        """Begin a file, or go on with one of the same labeler; half a line at its end is cut off.

        Raises:
            InputError: The file cannot be written, is used by another command, is damaged, or holds
                the verdicts of another labeler, model or prompt.
        """
        file = Path(path)
        setup = {
            "conflict_detection": _FORMAT,
            "labeler": labeler.name,
            "identity": _identity(labeler),
        }
        with ResumableRows.open(file, PairRow, setup) as rows:
            cut = f"{file}: half a line at the end, as a kill leaves it, was cut off"
            yield cls(labeler.name, rows, (cut,) if rows.cut else ())

    @property
    def rows(self) -> tuple[PairRow, ...]:
        """All rows in order, with those that a later one replaces: they were paid for too."""
        return tuple(self._rows.rows)

    def labels(self, group: ClaimGroup) -> dict[int, EvidenceLabel]:
        """The last verdict on each document of a group, by the document's number.

        A verdict on a text that is no longer that of the claim or the document is none.
        """
        found = {
            number: self._labels.get((group.set, group.id, content_of(group, number), number))
            for number in range(1, len(group.documents) + 1)
        }
        return {number: label for number, label in found.items() if label is not None}

    def append(self, row: PairRow) -> None:
        """Add a row; once this returns, the death of the process cannot take it back.

        Raises:
            ConfigurationError: It cannot be written, as on a full disk; the file stays sound.
        """
        self._rows.append(row)
        self._labels[_place(row)] = row.label


def content_of(group: ClaimGroup, number: int) -> str:
    """Hash of the claim and the document of this number, as the labeler is shown them."""
    document = group.documents[number - 1]
    shown = "\0".join((group.claim, document.title, document.text))
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _place(row: PairRow) -> tuple[str, str, str, int]:
    return row.set, row.group, row.content, row.label.document


def _identity(labeler: Labeler) -> str:
    """Hash of what a verdict of the labeler depends on; empty where that is not known."""
    if labeler.identity is None:
        return ""
    text = json.dumps(dict(labeler.identity), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()
