"""What all requests to one service share, and the record of each."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import uuid4

from conflictscore.errors import ConfigurationError
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.middleware.messages import documents_from_messages
from conflictscore.middleware.service.access import Access
from conflictscore.middleware.service.background import Background
from conflictscore.middleware.service.evidence import Status
from conflictscore.middleware.service.faults import RefusedError
from conflictscore.middleware.service.limits import Slots
from conflictscore.middleware.service.metrics import Metrics
from conflictscore.middleware.service.pace import paced
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.runs import Runs
from conflictscore.middleware.service.settings import Mode, ServiceSettings
from conflictscore.middleware.service.upstream import Upstream
from conflictscore.nodes.state import RagInput, RunContext

__all__ = ["Service", "Ticket"]

_log = logging.getLogger(__name__)

_OBSERVED_AT_ONCE = 8
_OBSERVED_GAP_S = 0.01
"""At most 100 labels a second of what was observed, in all."""


@dataclass(frozen=True)
class Ticket:
    """One request that a run belongs to.

    Attributes:
        owner: Whose key it came with; never the key itself.
        deadline: When its time is up, on the clock of ``time.monotonic``.
    """

    run_id: str
    owner: str
    mode: Mode
    model: str
    deadline: float
    created: int = field(default_factory=lambda: int(time.time()))
    started: float = field(default_factory=time.perf_counter)

    def headers(self, status: str) -> dict[str, str]:
        """What tells a client of the run."""
        return {
            "x-conflictscore-run-id": self.run_id,
            "x-conflictscore-status": status,
            "x-request-id": self.run_id,
        }

    def facts(self, status: Status) -> dict[str, Any]:
        """What only the service knows of a run."""
        return {
            "run_id": self.run_id,
            "object": "conflictscore.run",
            "created": self.created,
            "seconds": round(time.perf_counter() - self.started, 3),
            "mode": self.mode,
            "model": self.model,
            "status": status,
        }


class Service:
    """The loop, the upstream, the runs and the counters of one deployment.

    Raises:
        ConfigurationError: The model is no OpenAI-compatible endpoint, or the file of runs cannot
            be used.
    """

    def __init__(self, context: RunContext, settings: ServiceSettings) -> None:
        self.settings = settings
        self.access = Access(settings)
        self.slots = Slots(settings.max_concurrent)
        self.context = context
        self.scoring = replace(context, max_rounds=0, regeneration="paper")
        self.observing = replace(self.scoring, labeler=paced(context.labeler, _OBSERVED_GAP_S))
        self.graph = build_self_correction_graph(context)
        self.upstream = Upstream(context.generator, timeout=settings.timeout)
        self.metrics = Metrics()
        self.runs = Runs(
            most=settings.runs_kept, most_bytes=settings.runs_bytes, path=settings.runs_file
        )
        self.background = Background(
            at_once=_OBSERVED_AT_ONCE,
            waiting=settings.observed_waiting,
            ends=settings.max_concurrent,
            told=self.metrics.observed_waiting.set,
        )

    async def close(self) -> None:
        """Let what goes on in the background come to its end, and close the file of runs."""
        await self.background.close(self.settings.grace)
        self.runs.close()

    def begin(self, owner: str, model: str, deadline: float, mode: Mode | None = None) -> Ticket:
        """Open the record of a run."""
        ticket = Ticket(uuid4().hex, owner, mode or self.settings.mode, model, deadline)
        self.runs.begin(ticket.run_id, owner)
        return ticket

    def finish(self, ticket: Ticket, run: Mapping[str, Any]) -> None:
        """Close it; a file of runs that fails costs nobody an answer."""
        self.metrics.run(run)
        try:
            self.runs.finish(ticket.run_id, run)
        except ConfigurationError:
            self.failed("runs_file", ticket)

    def failed(self, kind: str, ticket: Ticket, error: BaseException | None = None) -> None:
        """Count and log a failure; its message stays in the run, since it may quote a caller."""
        self.metrics.failure(kind)
        cause = f" ({type(error).__name__})" if error else ""
        _log.warning("run %s: failed: %s%s", ticket.run_id, kind, cause)

    def check_model(self, name: str) -> None:
        """Make sure that a model is one of this service's.

        Raises:
            RefusedError: It is not (404).
        """
        if name not in self.upstream.names:
            raise RefusedError(
                404,
                f"the model {name!r:.100} does not exist here; there are"
                f" {', '.join(self.upstream.names)}",
                code="model_not_found",
                param="model",
            )

    def start(self, request: ChatRequest, draft: str | None = None) -> RagInput:
        """What the loop starts from for a chat request.

        Args:
            request: The request.
            draft: The first answer, where there is one already.
        """
        start: RagInput = {
            "question": request.asked.question,
            "history": request.asked.history,
            "documents": [
                document.to_json() for document in documents_from_messages(request.asked.since)
            ],
        }
        return start if draft is None else {**start, "draft_answer": draft}

    def nothing_to_check_with(self, start: RagInput) -> str | None:
        """Why a run cannot have documents; None where it can."""
        if start["documents"] or self.context.retriever is not None:
            return None
        return "no tool has brought documents since the question, and there is no search"
