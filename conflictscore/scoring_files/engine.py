"""Scores one answer by calling the nodes of the scoring graph one after another.

LangGraph is left out, since its overhead would exceed the work itself.
"""

import time
from typing import Any, cast

from conflictscore.errors import BudgetError, ConfigurationError, ConflictScoreError
from conflictscore.loop.state import RagState, RunContext, RunRuntime, StateOfRecords
from conflictscore.loop.time_budget import timed
from conflictscore.nodes.decompose import decompose
from conflictscore.nodes.label import label
from conflictscore.nodes.receive import receive
from conflictscore.nodes.record import record
from conflictscore.nodes.score import score
from conflictscore.records import ConflictReport


def default_concurrency(context: RunContext) -> int:
    """Return the default number of concurrent answers: 1 with a local model, otherwise 16.

    A local model makes one call at a time. At an endpoint, at most 16 calls are in flight, so 16
    answers keep it busy. While some answers are split into claims, a labeler in this process can
    label others.
    """
    return 1 if context.decomposer.is_local else 16


async def score_answer(context: RunContext, state: RagState) -> RagState | str:
    """Score an answer with its documents (``ScorerInput``).

    Returns:
        The scoring graph's final state, or the reason why the answer has no scores.

    Raises:
        ConfigurationError: A setting is invalid, so nothing can be scored.
        BudgetError: The budget is used up.
    """
    runtime = RunRuntime(context)
    # records stay objects between nodes; LangGraph would need them as JSON
    run_state: Any = StateOfRecords(state, as_json=False)  # mypy: a dictionary is no TypedDict
    try:
        for node in (receive, decompose, label, score, record):
            start = time.perf_counter()
            run_state.update(await node(run_state, runtime))
            run_state["timings"] = timed(run_state, node.__name__, time.perf_counter() - start)
    except (ConfigurationError, BudgetError):
        raise
    except Exception as failure:  # noqa: BLE001 - a caller's own component may raise anything
        text = " ".join(str(failure).split())
        kind = "" if isinstance(failure, ConflictScoreError) else f"{type(failure).__name__}: "
        return kind + text
    return cast("RagState", run_state)


def unscored_reason(report: ConflictReport) -> str | None:
    """Return why a finished run gave the answer no scores, or None if the answer has scores.

    An answer that states nothing has neither scores nor a reason.
    """
    if report.error is None and report.coverage == 0:
        pair = report.claims[0].labels[0]  # no pair has a label, so any pair has an error
        return f"no pair of claim and document could be labelled: {pair.error}"
    return report.error
