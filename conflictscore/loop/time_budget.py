"""The time budget of a run: the seconds left, and the likely duration of a correction."""

from collections.abc import Sized

from conflictscore.loop.rounds import may_look_again
from conflictscore.loop.state import (
    RagState,
    RunContext,
)

_CALLS_IN_PLACE = 7
"""Number of successive calls in a correction in place, measured with a scripted endpoint and one
disputed claim (``measurements.effort_costs``)."""


def spare_time(state: RagState, context: RunContext, attempts: Sized) -> float | None:
    """Return the seconds left after a correction, at least 0; None if there is no budget."""
    seconds_left = time_left(state, context)
    if seconds_left is None or not may_look_again(attempts, context):
        return seconds_left
    return max(0.0, seconds_left - correction_time(state, context))


def correction_time(state: RagState, context: RunContext) -> float:
    """Return the likely seconds that a correction takes, estimated from earlier steps of the run.

    A correction in place takes seven successive calls, each about as long as the decomposition. The
    first asks the documents for their answers, and the last labels the new claims. A completely new
    answer must be written, decomposed and labelled.
    """
    timings = state.get("timings", {})
    # Splitting the answer is the one model call that every run has made and timed by now. Its time
    # is the sum over all rounds, so later estimates tend to be too high.
    call = timings.get("decompose", 0.0)
    if context.settings.regeneration == "revise" and not state.get("options"):
        return _CALLS_IN_PLACE * call
    # The new answer takes about as long as the first one. But if the first one came from a cache or
    # from the caller, it took almost no time, so the time of a call is the minimum.
    # the other two calls decompose the answer and label its claims
    return max(timings.get("generate", 0.0), call) + 2 * call


def time_left(state: RagState, context: RunContext) -> float | None:
    """Seconds left of the run's time budget, at least 0; None if there is no budget."""
    if context.settings.budget_seconds is None:
        return None
    return max(0.0, context.settings.budget_seconds - sum(state.get("timings", {}).values()))


def timed(state: RagState, node: str, seconds: float) -> dict[str, float]:
    """Return the run's timings plus this node's, for the state update."""
    timings = state.get("timings", {})
    return {**timings, node: timings.get(node, 0.0) + seconds}
