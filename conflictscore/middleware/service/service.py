"""What all requests to one service share, and the record of each."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from conflictscore.errors import ConfigurationError
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.middleware.messages import ChatQuestion
from conflictscore.middleware.service.admission import Access, Slots
from conflictscore.middleware.service.background import Background, paced
from conflictscore.middleware.service.kept_runs import KeptRuns
from conflictscore.middleware.service.refusals import RefusedError, plain_reason
from conflictscore.middleware.service.settings import Mode, ServiceSettings
from conflictscore.middleware.service.telemetry import Metrics
from conflictscore.middleware.service.upstream import Upstream
from conflictscore.nodes.state import RunContext
from conflictscore.records import RUN_DETAILS, Run, RunStatus

__all__ = ["STOPPED", "Service", "Ticket"]

_log = logging.getLogger(__name__)

STOPPED = "it was stopped: the caller went away, or the service was told to stop"
"""The note of an unfinished run."""

_OBSERVED_AT_ONCE = 8
_OBSERVED_GAP_S = 0.01
"""At most 100 labels a second of what was observed, in all."""


@dataclass(frozen=True)
class Ticket:
    """One request that a run belongs to.

    Attributes:
        deadline: When its time is up, on the clock of ``time.monotonic``.
    """

    run_id: str
    mode: Mode
    model: str
    deadline: float
    created: int = field(default_factory=lambda: int(time.time()))
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds_left(self) -> float:
        """Seconds until its time is up; negative after that."""
        return self.deadline - time.monotonic()

    def headers(self, status: str) -> dict[str, str]:
        """The headers that tell a client of the run."""
        return {
            "x-conflictscore-run-id": self.run_id,
            "x-conflictscore-status": status,
            "x-request-id": self.run_id,
        }

    def ended(self, run: Run, status: RunStatus, *notes: str) -> Run:
        """The run of this request, with its status, and these notes unless it has them already."""
        new = tuple(note for note in notes if note not in run.notes)
        return run.model_copy(
            update={"run_id": self.run_id, "status": status, "notes": (*run.notes, *new)}
        )


class Service:
    """The loop, the upstream, the runs and the counters of one deployment.

    Raises:
        ConfigurationError: The model is not an OpenAI-compatible endpoint, or the file of runs
            cannot be used.
    """

    def __init__(self, context: RunContext, settings: ServiceSettings) -> None:
        self.settings = settings
        self.access = Access(settings)
        self.slots = Slots(settings.max_concurrent)
        scoring = replace(context, max_rounds=0, regeneration="paper")
        self.context = context if settings.mode == "correct" else scoring
        self.observing = replace(scoring, labeler=paced(context.labeler, _OBSERVED_GAP_S))
        self.graph = build_self_correction_graph(context)
        self.upstream = Upstream(context.generator, timeout=settings.timeout)
        self.metrics = Metrics()
        self.runs = KeptRuns(
            most=settings.runs_kept, most_bytes=settings.runs_bytes, path=settings.runs_file
        )
        self.background = Background(
            at_once=_OBSERVED_AT_ONCE,
            waiting=settings.observed_waiting,
            ends=settings.max_concurrent,
            on_waiting=self.metrics.observed_waiting.set,
        )

    async def close(self) -> None:
        """Let the work in the background finish, and close the file of runs."""
        await self.background.close(self.settings.grace)
        self.runs.close()

    def begin(self, owner: str, model: str, deadline: float) -> Ticket:
        """Open the record of a run.

        Args:
            owner: Whose key the request came with; never the key itself.
            model: The model that it names.
            deadline: When its time is up, on the clock of ``time.monotonic``.
        """
        ticket = Ticket(uuid4().hex, self.settings.mode, model, deadline)
        self.runs.begin(ticket.run_id, owner)
        return ticket

    def finish(self, ticket: Ticket, run: Run) -> dict[str, Any]:
        """Close the record, and give it; a file of runs that fails costs nobody an answer.

        Args:
            ticket: The request.
            run: What :meth:`Ticket.ended` gave.
        """
        record = {
            "run_id": ticket.run_id,
            "object": "conflictscore.run",
            "created": ticket.created,
            "seconds": round(time.perf_counter() - ticket.started, 3),
            "mode": ticket.mode,
            "model": ticket.model,
            "status": run.status.value,
            **run.summary(*RUN_DETAILS),
        }
        self.metrics.run(run)
        try:
            self.runs.finish(ticket.run_id, record)
        except ConfigurationError:
            self.failed("runs_file", ticket)
        return record

    @contextmanager
    def finishing(self, ticket: Ticket, known: Callable[[], Run]) -> Iterator[None]:
        """Close the record where the work on a run fails, or stops because the caller leaves.

        Args:
            ticket: The request.
            known: Gives what is known of the run.
        """
        try:
            yield
        except Exception as error:
            self.finish(ticket, ticket.ended(known(), RunStatus.FAILED, plain_reason(error)))
            raise
        except asyncio.CancelledError:
            self.metrics.failure("client_gone")
            self.finish(ticket, ticket.ended(known(), RunStatus.UNFINISHED, STOPPED))
            raise

    def failed(self, kind: str, ticket: Ticket, error: BaseException | None = None) -> None:
        """Count and log a failure; its message stays in the run, since it may quote a caller."""
        self.metrics.failure(kind)
        cause = f" ({type(error).__name__})" if error else ""
        _log.warning("run %s: failed: %s%s", ticket.run_id, kind, cause)

    def check_model(self, name: str) -> None:
        """Make sure that this service has a model.

        Raises:
            RefusedError: It does not (404).
        """
        if name not in self.upstream.names:
            raise RefusedError(
                404,
                f"there is no model {name!r:.100} here; there are {', '.join(self.upstream.names)}",
                code="model_not_found",
                param="model",
            )

    def nothing_to_check_with(self, asked: ChatQuestion) -> str | None:
        """Why a run cannot have documents; None where it can."""
        if asked.documents or self.context.retriever is not None:
            return None
        return "no tool has returned documents since the question, and there is no search"
