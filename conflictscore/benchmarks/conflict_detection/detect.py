"""Every claim held against its documents, by any labeler, resumably."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import ClaimGroup, in_tables
from conflictscore.benchmarks.conflict_detection.rows import PairRow, VerdictFile, content_of
from conflictscore.labelers.protocol import Labeler, StagedLabeler
from conflictscore.labelers.table import label_table
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Claim, Document, EvidenceLabel, Label, Usage
from conflictscore.storage.cache import ContentCache
from conflictscore.threads import together

__all__ = ["Judged", "detect", "judged_groups"]


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
    claims: int = 1,
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
        concurrency: Tables of claims at a time, at least 1.
        claims: The most claims of a table, at least 1: those of a set that have the same documents
            are judged together, as the claims of an answer are.
        retry_failed: Whether a pair whose judge failed in an earlier run is judged again.
        on_pair: Called after each new verdict.

    Raises:
        ConfigurationError: A setting is wrong, so that no pair can be judged, or the file cannot be
            written.
        BudgetError: A budget of the models is used up.
    """
    waiting = iter(in_tables(groups, claims))

    async def work() -> None:
        for table in waiting:
            await _judge(labeler, table, verdicts, cache, retry_failed, on_pair)

    async with together() as start:
        for _ in range(concurrency):
            start(work)


def judged_groups(groups: Sequence[ClaimGroup], verdicts: VerdictFile) -> Iterator[Judged]:
    """The groups with a verdict on every document, in order."""
    for group in groups:
        labels = verdicts.labels(group)
        if len(labels) == len(group.documents):
            yield Judged(group, tuple(labels[number] for number in sorted(labels)))


async def _judge(
    labeler: Labeler,
    table: Sequence[ClaimGroup],
    verdicts: VerdictFile,
    cache: ContentCache | None,
    retry_failed: bool,
    on_pair: Callable[[EvidenceLabel], None],
) -> None:
    documents = [
        Document(number=number, text=document.text, title=document.title)
        for number, document in enumerate(table[0].documents, start=1)
    ]
    done = {
        (claim, number)
        for claim, group in enumerate(table, start=1)
        for number, label in verdicts.labels(group).items()
        if not (retry_failed and label.label is Label.UNLABELLED)
    }

    def open_pairs(claim: int) -> list[int]:
        return [one.number for one in documents if (claim, one.number) not in done]

    claims = [
        Claim(number=number, text=group.claim)
        for number, group in enumerate(table, start=1)
        if open_pairs(number)
    ]
    if not claims:
        return
    wanted = {number for claim in claims for number in open_pairs(claim.number)}
    meter, counted, since = UsageMeter(), Usage(), time.perf_counter()

    def keep(label: EvidenceLabel) -> None:
        nonlocal counted, since
        if (label.claim, label.document) in done:
            return
        usage, now = meter.usage, time.perf_counter()
        group, own = table[label.claim - 1], label.model_copy(update={"claim": 1})
        verdicts.append(
            PairRow(
                set=group.set,
                group=group.id,
                content=content_of(group, label.document),
                label=own,
                usage=_difference(usage, counted),
                seconds=round(now - since, 6),
            )
        )
        counted, since = usage, now
        on_pair(own)

    # A verdict of a staged labeler may need those on the other documents.
    todo = [d for d in documents if d.number in wanted or isinstance(labeler, StagedLabeler)]
    await label_table(labeler, claims, todo, meter=meter, cache=cache, on_label=keep)


def _difference(after: Usage, before: Usage) -> Usage:
    return Usage(
        **{name: getattr(after, name) - getattr(before, name) for name in Usage.model_fields}
    )
