"""Every claim held against its documents, by any labeler; verdicts are JSON lines, one a pair."""

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Generic, NamedTuple, TypeVar

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup
from conflictscore.benchmarks.json_lines import decoded
from conflictscore.errors import InputError
from conflictscore.labelers.protocol import Labeler, StagedLabeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, EvidenceLabel, Label, Record, Usage
from conflictscore.storage.cache import ContentCache
from conflictscore.storage.record_file import RecordFile, RecordLine, json_line
from conflictscore.threads import each

_R = TypeVar("_R", bound=Record)

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


class ResumableRows(Generic[_R]):
    """The rows of a file, added to by one command at a time.

    The first line says what all rows were made with; the others are the rows.

    Attributes:
        rows: In the order of the file.
        cut: Whether half a line, as a kill leaves it, was cut off at the end.
    """

    def __init__(self, file: RecordFile, rows: list[_R], *, cut: bool) -> None:
        self.rows, self.cut, self._file = rows, cut, file

    @classmethod
    @contextmanager
    def open(
        cls, path: Path, kind: type[_R], setup: Mapping[str, Any]
    ) -> "Iterator[ResumableRows[_R]]":
        """Begin a file, or resume one of the same setup.

        Args:
            path: The file; its folder is made where there is none.
            kind: What a row is.
            setup: What all rows are made with, as plain JSON; its first key names the format.
        """
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{path}: cannot be written ({error.strerror})") from None
        header = json_line(dict(setup))

        def is_half(line: RecordLine) -> bool:
            return line.number > 1 or header.startswith(line.text)

        with RecordFile(path, is_half=is_half) as file:
            rows: list[_R] = []
            for line in file.lines:
                if line.number == 1:
                    _check_setup(path, line.text, setup)
                else:
                    advice = "delete this row, and the same command makes it again"
                    rows.append(decoded(line.text, kind, f"{path}, row {line.number}", advice))
            cut = file.resume()
            if not file.lines.size:
                file.append(header)
            yield cls(file, rows, cut=bool(cut))

    def append(self, row: _R) -> None:
        """Add a row; once this returns, the death of the process cannot take it back."""
        self._file.append(json_line(row.to_json()))
        self.rows.append(row)


class VerdictFile:
    """The verdicts of one labeler, added to by one command at a time.

    Attributes:
        cut: Whether half a line, as a kill leaves it, was cut off at the end.
    """

    def __init__(self, rows: ResumableRows[PairRow]) -> None:
        self.cut, self._rows = rows.cut, rows
        self._labels = {_place(row): row.label for row in rows.rows}

    @classmethod
    @contextmanager
    def open(cls, path: str | Path, labeler: Labeler) -> "Iterator[VerdictFile]":
        """Begin a file, or resume one of the same labeler."""
        identity = ""  # where it is not known what a verdict depends on
        if labeler.identity is not None:
            text = json.dumps(dict(labeler.identity), sort_keys=True)
            identity = hashlib.sha256(text.encode()).hexdigest()
        setup = {"conflict_detection": _FORMAT, "labeler": labeler.name, "identity": identity}
        with ResumableRows.open(Path(path), PairRow, setup) as rows:
            yield cls(rows)

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
        """Add a row; once this returns, the death of the process cannot take it back."""
        self._rows.append(row)
        self._labels[_place(row)] = row.label


def content_of(group: ClaimGroup, number: int) -> str:
    """Hash of the claim and the document of this number, as the labeler is shown them."""
    document = group.documents[number - 1]
    shown = "\0".join((group.claim, document.title, document.text))
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def _place(row: PairRow) -> tuple[str, str, str, int]:
    return row.set, row.group, row.content, row.label.document


def _check_setup(path: Path, line: bytes, setup: Mapping[str, Any]) -> None:
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):
        found = None
    if not isinstance(found, dict) or next(iter(setup)) not in found:
        raise InputError(f"{path}, row 1: not a file of this command; give another file with --out")
    for name, value in setup.items():
        if found.get(name) != value:
            raise InputError(
                f"{path}, row 1, field {name}: its rows were made with {found.get(name)!r}, and"
                f" now it is {value!r}; give another file with --out"
            )


class Judged(NamedTuple):
    """A group with a verdict on each of its documents."""

    group: ClaimGroup
    labels: tuple[EvidenceLabel, ...]
    """One a document, in order; UNLABELLED where the labeler failed."""


async def detect(
    labeler: Labeler,
    groups: Sequence[ClaimGroup],
    verdicts: VerdictFile,
    *,
    cache: ContentCache | None = None,
    concurrency: int = 1,
    retry_failed: bool = False,
    on_pair: Callable[[EvidenceLabel], None] = lambda label: None,
) -> None:
    """Label all pairs of claim and document that are not labelled yet.

    Claims are judged as they are, without decomposition. Each verdict is in the file the moment it
    is there, so a run that is stopped in any way loses the calls in flight at most.

    Args:
        labeler: The judge.
        groups: The claims with their documents.
        verdicts: Where verdicts are, and are added.
        cache: Where verdicts are kept by content, for other runs too.
        concurrency: Claims at a time, at least 1.
        retry_failed: Whether a pair whose judge failed in an earlier run is judged again.
        on_pair: Called after each new verdict.
    """

    async def judge(group: ClaimGroup) -> None:
        await _judge(labeler, group, verdicts, cache, retry_failed, on_pair)

    await each(groups, judge, concurrency)


def judged_groups(groups: Sequence[ClaimGroup], verdicts: VerdictFile) -> Iterator[Judged]:
    """The groups with a verdict on every document, in order."""
    for group in groups:
        labels = verdicts.labels(group)
        if len(labels) == len(group.documents):
            yield Judged(group, tuple(labels[number] for number in sorted(labels)))


async def _judge(
    labeler: Labeler,
    group: ClaimGroup,
    verdicts: VerdictFile,
    cache: ContentCache | None,
    retry_failed: bool,
    on_pair: Callable[[EvidenceLabel], None],
) -> None:
    done = {
        number
        for number, label in verdicts.labels(group).items()
        if not (retry_failed and label.label is Label.UNLABELLED)
    }
    if len(done) == len(group.documents):
        return
    meter, counted, since = UsageMeter(), Usage(), time.perf_counter()

    def keep(label: EvidenceLabel) -> None:
        nonlocal counted, since
        if label.document in done:
            return
        usage, now = meter.usage, time.perf_counter()
        verdicts.append(
            PairRow(
                set=group.set,
                group=group.id,
                content=content_of(group, label.document),
                label=label,
                usage=_difference(usage, counted),
                seconds=round(now - since, 6),
            )
        )
        counted, since = usage, now
        on_pair(label)

    # A verdict of a staged labeler may need those on the other documents.
    staged = isinstance(labeler, StagedLabeler)
    documents = [d for d in group.shown if staged or d.number not in done]
    claim = Claim(number=1, text=group.claim)
    await label_table(labeler, [claim], documents, meter=meter, cache=cache, on_label=keep)


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        **{name: getattr(after, name) - getattr(before, name) for name in Usage.model_fields}
    )
