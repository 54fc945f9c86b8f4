"""Calls of a judge made at the same time, with what came of each."""

from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from conflictscore.labelers.asking import together
from conflictscore.models.usage import UsageMeter
from conflictscore.records import Usage

__all__ = ["at_once", "judge_all"]

_R = TypeVar("_R")
_V = TypeVar("_V")


async def at_once(works: Sequence[Callable[[], Coroutine[Any, Any, _V]]]) -> tuple[_V, ...]:
    """Do all of this at once; the model bounds how many calls are in flight.

    Returns:
        What came of each, in order.

    Raises:
        ConfigurationError: A setting is wrong, so that all stop.
        BudgetError: The budget of a model is used up; what was in flight has ended first.
    """
    made: dict[int, _V] = {}

    async def kept(number: int, work: Callable[[], Coroutine[Any, Any, _V]]) -> None:
        made[number] = await work()

    await together([partial(kept, number, work) for number, work in enumerate(works)])
    return tuple(made[number] for number in range(len(works)))


async def judge_all(
    rows: Sequence[_R],
    judge: Callable[[_R, UsageMeter], Coroutine[Any, Any, _V]],
    on_judgement: Callable[[_R, _V, Usage], None],
) -> tuple[_V, ...]:
    """Judge answers at the same time.

    Args:
        rows: The answers.
        judge: Judges one, and counts its calls.
        on_judgement: Called with each judgement, and what it cost, as soon as it is there.

    Returns:
        A judgement an answer, in order.

    Raises:
        ConfigurationError: A setting is wrong, so that nothing can be judged.
        BudgetError: The budget of the model is used up.
    """

    async def judged(row: _R) -> _V:
        meter = UsageMeter()
        said = await judge(row, meter)
        on_judgement(row, said, meter.usage)
        return said

    return await at_once([partial(judged, row) for row in rows])
