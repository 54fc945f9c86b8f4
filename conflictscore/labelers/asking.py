"""Having a labeler judge pairs: one label for each, whatever fails."""

import asyncio
from collections.abc import Callable, Coroutine, Iterable, Sequence
from functools import partial
from typing import Any

from conflictscore.errors import (
    BudgetError,
    ConflictScoreError,
    ContextWindowError,
    ProviderError,
)
from conflictscore.labelers.protocol import Labeler, Pair, TableLabeler
from conflictscore.models.usage import UsageMeter
from conflictscore.records import EvidenceLabel, Label

__all__ = ["judge_pairs", "together", "unlabelled"]

_NOT_TOLD = "the labeler gave no label"


async def judge_pairs(
    labeler: Labeler,
    pairs: Sequence[Pair],
    meter: UsageMeter,
    tell: Callable[[EvidenceLabel], None],
) -> None:
    """Judge pairs, all at once where the labeler can do that.

    Args:
        labeler: The judge.
        pairs: What to judge, each with a claim and document number of its own.
        meter: Counts the calls.
        tell: Called once for each pair as soon as its label is there; a pair that could not be
            judged is UNLABELLED, with the reason.

    Raises:
        ConfigurationError: A setting is wrong, so that no pair can be judged.
        BudgetError: The budget is used up; what was in flight then has been told.
    """

    async def judge_one(pair: Pair) -> None:
        try:
            verdict = await labeler.label(*pair, meter)
        except (ProviderError, ContextWindowError) as error:
            verdict = unlabelled(pair, str(error))
        tell(verdict)

    if pairs and isinstance(labeler, TableLabeler):
        await _judge_at_once(labeler, pairs, meter, tell)
    else:
        await together(partial(judge_one, pair) for pair in pairs)


def unlabelled(pair: Pair, reason: str) -> EvidenceLabel:
    """What stands for a pair that has no verdict."""
    claim, document = pair
    return EvidenceLabel(
        claim=claim.number, document=document.number, label=Label.UNLABELLED, error=reason
    )


async def _judge_at_once(
    labeler: TableLabeler,
    pairs: Sequence[Pair],
    meter: UsageMeter,
    tell: Callable[[EvidenceLabel], None],
) -> None:
    missing = {(claim.number, document.number): (claim, document) for claim, document in pairs}

    def told(verdict: EvidenceLabel) -> None:
        del missing[verdict.claim, verdict.document]
        tell(verdict)

    reason = _NOT_TOLD
    try:
        await labeler.label_all(pairs, meter, told)
    except (ProviderError, ContextWindowError) as error:
        reason = str(error)
    for pair in missing.values():
        tell(unlabelled(pair, reason))


async def together(works: Iterable[Callable[[], Coroutine[Any, Any, None]]]) -> None:
    """Do all of this at once; where one stops with an error of ours, all stop with the first.

    A used up budget stops nobody else: what is in flight has been paid for, and every other call
    comes to the same end by itself. It is raised once all have ended.
    """
    stops: list[BudgetError] = []

    async def ended(work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        try:
            await work()
        except BudgetError as stop:
            stops.append(stop)

    try:
        async with asyncio.TaskGroup() as tasks:
            for work in works:
                tasks.create_task(ended(work))
    except* ConflictScoreError as errors:  # what no single one can help, such as a setting
        raise errors.exceptions[0] from None
    if stops:
        raise stops[0]
