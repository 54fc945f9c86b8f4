"""State shared by all requests to a service, and the record of each request."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any
from uuid import uuid4

from conflictscore.loop.state import RunContext
from conflictscore.middleware.messages import ChatQuestion
from conflictscore.middleware.service.admission import Access, AdmissionGate, Uploads
from conflictscore.middleware.service.kept_runs import KeptRuns, run_record
from conflictscore.middleware.service.refusals import RefusedError, plain_reason
from conflictscore.middleware.service.requests import ChatRequest
from conflictscore.middleware.service.runs_in_progress import RunInProgress
from conflictscore.middleware.service.service_settings import Mode, ServiceSettings
from conflictscore.middleware.service.telemetry import Metrics
from conflictscore.middleware.service.upstream import OWN_NAME, Readiness, Upstream
from conflictscore.records import Run, RunStatus
from conflictscore.retrieval.discreet import discreet
from conflictscore.storage.postgres import shared_tables

_log = logging.getLogger(__name__)

STOPPED = "the client disconnected, or the service was stopped"
"""The note on an unfinished run."""
_DIED = "the service ended before the run did"
"""The note on a run whose process was killed."""

_STORING_S = 1.0
"""Seconds that a reply waits for its run to be stored; chosen by hand. A run that takes longer is
stored after the reply."""

_GRACE_S = 30.0
"""Seconds after a request's time limit before other processes consider its run abandoned; chosen by
hand. A request that has timed out still has to clean up and store its run."""
_BODIES = 64
"""The number of bodies of maximum size that may be received at once, which bounds the memory.
Chosen by hand."""
_UNCHECKED = {RunStatus.PASSED_THROUGH, RunStatus.FAILED}
"""Statuses of runs that count as unchecked if the loop has not said how far they were checked."""


@dataclass
class RequestRecord:
    """One request and its run.

    Attributes:
        deadline: The time by which the request must be answered, on the clock of
            ``time.monotonic``.
        storing: Whether the run was stored, once the record is closed.
    """

    run_id: str
    mode: Mode
    model: str
    deadline: float
    storing: Future[bool] | None = None
    created: int = field(default_factory=lambda: int(time.time()))
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds_left(self) -> float:
        """Seconds until the deadline; negative after it."""
        return self.deadline - time.monotonic()

    def headers(
        self, status: str, checked: str | None = None, kind: str | None = None
    ) -> dict[str, str]:
        """Return the response headers that name the run.

        Args:
            status: The status of the run.
            checked: How far the answer was checked; None if that is not known yet.
            kind: Why the answer was not fully checked, as a value of :class:`GapKind`.
        """
        return {
            "x-conflictscore-run-id": self.run_id,
            "x-conflictscore-status": status,
            "x-conflictscore-checked": checked or "pending",
            **({"x-conflictscore-reason": kind} if kind else {}),
            "x-request-id": self.run_id,
        }

    def ended(self, run: Run, status: RunStatus, *notes: str) -> Run:
        """Give a run this request's id, a status, and any notes that it lacks."""
        new = tuple(note for note in notes if note not in run.notes)
        update = {"run_id": self.run_id, "status": status, "notes": (*run.notes, *new)}
        if run.checked is None and status in _UNCHECKED:
            update["checked"] = "no"
        return run.model_copy(update=update)


class Service:
    """The loop, the upstream, the stored runs and the metrics of one deployment.

    Raises:
        ConfigurationError: The model is not an OpenAI-compatible endpoint, or a file cannot be
            used.
    """

    def __init__(self, context: RunContext, settings: ServiceSettings) -> None:
        """Open the stored runs; callers do not see a search's notes for its operator."""
        # the paper's loop does not locate claims in the answer, which only corrections need
        without_revision = context.settings.replace(max_rounds=0, regeneration="paper")
        self.settings = settings
        self.context = replace(
            context,
            settings=context.settings if settings.mode == "correct" else without_revision,
            max_pairs=settings.max_pairs,
            retriever=discreet(context.retriever),
        )
        self.upstream = Upstream(context.generator, timeout=settings.timeout)
        self.readiness = Readiness(context.generator, context.decomposer)
        self.access = Access(settings)
        self.gate = AdmissionGate(settings.max_concurrent)
        self.uploads = Uploads(_BODIES * settings.max_body)
        self._gates: dict[str, AdmissionGate] = {}
        self.metrics = Metrics()
        self.store = None if settings.store is None else shared_tables(settings.store)
        self.runs = KeptRuns(
            most=settings.runs_kept,
            most_bytes=settings.runs_bytes,
            path=settings.runs_file,
            store=self.store,
            lasts=settings.timeout + _GRACE_S,
            unfinished=self._unfinished,
        )

    def gate_of(self, caller: str) -> AdmissionGate:
        """Return the gate that limits the requests of one caller.

        If there are several keys, one caller gets at most half of the slots.
        """
        most = self.settings.max_concurrent
        each = most if len(self.access.holders) < 2 else (most + 1) // 2
        return self._gates.setdefault(caller, AdmissionGate(each))

    def begin(self, caller: str, model: str, deadline: float) -> RequestRecord:
        """Open the record of a request; ``caller`` is the name of the caller's key, not the key."""
        record = RequestRecord(uuid4().hex, self.settings.mode, model, deadline)
        self.runs.begin(record.run_id, caller)
        return record

    def finish(
        self, record: RequestRecord, run: Run, sent_text: str | None = None
    ) -> dict[str, Any]:
        """Close the record and return it; :meth:`is_stored` says whether it could be stored.

        Args:
            record: The record of the request.
            run: The finished run.
            sent_text: The text that the caller gets, which is stored as ``sent`` if it is not the
                run's answer; None if no text is sent.
        """
        stored_run = run_record(
            run,
            created=record.created,
            start=record.started,
            mode=record.mode,
            context=self.context,
            asked_for=record.model,
        )
        if sent_text is not None and sent_text != run.answer:
            stored_run["sent"] = sent_text
        self.metrics.run(run)
        lost = partial(self.failed, "runs_file", record)
        record.storing = self.runs.finish(record.run_id, stored_run, lost)
        return stored_run

    async def is_stored(self, record: RequestRecord) -> bool:
        """Wait briefly for the store, and return whether it has stored the record's run.

        An answer whose run cannot be stored is still sent, with a note that says so.
        """
        if record.storing is None:
            return False
        storing = asyncio.wrap_future(record.storing)
        done, _ = await asyncio.wait({storing}, timeout=_STORING_S)
        return bool(done) and storing.result()

    def _unfinished(self, run: RunInProgress) -> dict[str, Any]:
        """Return the record of a run whose process was killed; only its id and owner are known."""
        record = RequestRecord(run.run_id, self.settings.mode, OWN_NAME, 0.0, created=run.began)
        ended = record.ended(Run(question="", asked=""), RunStatus.UNFINISHED, _DIED)
        return run_record(
            ended.model_copy(update={"checked": "no"}),
            created=record.created,
            start=record.started,
            mode=record.mode,
            context=self.context,
        )

    @contextmanager
    def finishing(self, record: RequestRecord, run_so_far: Callable[[], Run]) -> Iterator[None]:
        """If the work fails or is cancelled, close the record with the run so far."""
        try:
            yield
        except Exception as error:
            self.finish(record, record.ended(run_so_far(), RunStatus.FAILED, plain_reason(error)))
            raise
        except asyncio.CancelledError:
            self.metrics.failure("client_gone")
            self.finish(record, record.ended(run_so_far(), RunStatus.UNFINISHED, STOPPED))
            raise

    def failed(self, kind: str, record: RequestRecord, error: BaseException | None = None) -> None:
        """Count and log a failure without its message, which may quote a caller."""
        self.metrics.failure(kind)
        cause = f" ({type(error).__name__})" if error else ""
        _log.warning("run %s: failed: %s%s", record.run_id, kind, cause)

    def check(self, request: ChatRequest) -> None:
        """Refuse unknown models (404), and uncheckable requests if checking is required (400)."""
        self.check_model(request.model)
        policy = self.settings
        if request.unchecked and policy.require and not policy.refusal:
            reason = f"{request.unchecked}; this deployment only returns answers that it can check"
            raise RefusedError(400, reason, code="not_checkable")

    def check_model(self, name: str) -> None:
        """Refuse a model that this service does not have (404), unless it accepts any name."""
        if self.settings.any_model:
            return
        if name not in self.upstream.names:
            raise RefusedError(
                404,
                f"there is no model {name!r:.100} here; use one of "
                f"{', '.join(self.upstream.names)}",
                code="model_not_found",
                param="model",
            )

    def nothing_to_check_with(self, question: ChatQuestion) -> str | None:
        """Return why there are no documents to check an answer against; None if there are any."""
        if question.documents or self.context.retriever is not None:
            return None
        return "no tool has returned documents since the question, and there is no search"
