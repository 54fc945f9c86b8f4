"""Time budget of a run: the seconds left, and those that a correction is likely to take."""

from collections.abc import Sized

from conflictscore.loop.rounds import may_look_again
from conflictscore.loop.state import (
    RagState,
    RunContext,
)

_CALLS_IN_PLACE = 7
"""Measured with a scripted endpoint (``measurements.effort_costs``), one claim disputed."""


def spare_time(state: RagState, context: RunContext, attempts: Sized) -> float | None:
    """Seconds left, less the likely time of a correction; None where there is no budget."""
    seconds_left = time_left(state, context)
    if seconds_left is None or not may_look_again(attempts, context):
        return seconds_left
    return max(0.0, seconds_left - correction_time(state, context))


def correction_time(state: RagState, context: RunContext) -> float:
    """Seconds that a correction is likely to take, by what the steps of this run took.

    In place, seven calls follow one another, from asking the documents to the new labels. A whole
    new answer is written, taken apart and labelled.
    """
    timings = state.get("timings", {})
    call = timings.get("decompose", 0.0)
    if context.settings.regeneration == "revise" and not state.get("options"):
        return _CALLS_IN_PLACE * call
    return max(timings.get("generate", 0.0), call) + 2 * call


def time_left(state: RagState, context: RunContext) -> float | None:
    """Seconds left of the run's time budget, at least 0; None where it has none."""
    if context.settings.budget_seconds is None:
        return None
    return max(0.0, context.settings.budget_seconds - sum(state.get("timings", {}).values()))


def timed(state: RagState, node: str, seconds: float) -> dict[str, float]:
    """The run's timings plus this node's, for the state update."""
    timings = state.get("timings", {})
    return {**timings, node: timings.get(node, 0.0) + seconds}
