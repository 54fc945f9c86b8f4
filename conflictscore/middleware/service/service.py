"""What all requests to one service share, and the record of each."""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any
from uuid import uuid4

from conflictscore.errors import ConfigurationError
from conflictscore.graph.self_correction import build_self_correction_graph
from conflictscore.middleware.messages import ChatQuestion
from conflictscore.middleware.service.admission import Access, Slots, Uploads
from conflictscore.middleware.service.audit import AuditLog
from conflictscore.middleware.service.background import Background, paced
from conflictscore.middleware.service.budgets import Account, Budgets
from conflictscore.middleware.service.kept_runs import KeptRuns, run_record
from conflictscore.middleware.service.keys import Allowance
from conflictscore.middleware.service.policy import Mode, ServiceSettings
from conflictscore.middleware.service.readiness import Readiness
from conflictscore.middleware.service.refusals import RefusedError, plain_reason
from conflictscore.middleware.service.telemetry import Metrics
from conflictscore.middleware.service.upstream import Upstream
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.prices import Price, PriceTable
from conflictscore.nodes.state import RunContext
from conflictscore.records import Run, RunStatus
from conflictscore.storage.postgres import shared_tables

__all__ = ["STOPPED", "Line", "Service", "Ticket"]

_log = logging.getLogger(__name__)

STOPPED = "it was stopped: the caller went away, or the service was told to stop"
"""The note of an unfinished run."""

_BODIES = 64
"""So many of the largest bodies may be on their way in at once, in bytes."""
_UNCHECKED = {RunStatus.PASSED_THROUGH, RunStatus.FAILED, RunStatus.DROPPED}
_MAY_DO_BETTER = frozenset({429, 502, 504})
_REST_S = 30.0
_OBSERVED_AT_ONCE = 8
_OBSERVED_GAP_S = 0.01
"""At most 100 labels a second of what was observed, in all."""


@dataclass
class Ticket:
    """One request that a run belongs to.

    Attributes:
        deadline: When its time is up, on the clock of ``time.monotonic``.
        caller: The name of the key that it came with.
        account: What its calls cost, as they are answered.
        context: What it is answered with; a fallback's, once that takes over.
    """

    run_id: str
    mode: Mode
    model: str
    deadline: float
    caller: str
    account: Account
    context: RunContext | None = None
    created: int = field(default_factory=lambda: int(time.time()))
    started: float = field(default_factory=time.perf_counter)

    @property
    def seconds_left(self) -> float:
        """Seconds until its time is up; negative after that."""
        return self.deadline - time.monotonic()

    def headers(self, status: str, checked: str | None = None) -> dict[str, str]:
        """The headers that tell a client of the run.

        Args:
            status: The run's.
            checked: Whether its answer was checked; None where that is not known yet.
        """
        return {
            "x-conflictscore-run-id": self.run_id,
            "x-conflictscore-status": status,
            "x-conflictscore-checked": checked or "pending",
            "x-request-id": self.run_id,
        }

    def ended(self, run: Run, status: RunStatus, *notes: str) -> Run:
        """The run of this request, with its status, and these notes unless it has them already."""
        new = tuple(note for note in notes if note not in run.notes)
        update = {"run_id": self.run_id, "status": status, "notes": (*run.notes, *new)}
        if run.checked is None and status in _UNCHECKED:
            update["checked"] = "no"
        return run.model_copy(update=update)


class Line:
    """An upstream, with the models and the search that check what it says.

    Raises:
        ConfigurationError: The model is not an OpenAI-compatible endpoint.
    """

    def __init__(self, context: RunContext, settings: ServiceSettings) -> None:
        scoring = replace(context, max_rounds=0, regeneration="paper")
        self.context = context if settings.mode == "correct" else scoring
        self.observing = replace(scoring, labeler=paced(context.labeler, _OBSERVED_GAP_S))
        self.upstream = Upstream(context.generator, timeout=settings.timeout)
        self.rests_until = 0.0

    def failed(self, refusal: RefusedError) -> bool:
        """Whether another upstream may do better; then this one is left alone for a while."""
        if refusal.status not in _MAY_DO_BETTER:
            return False
        self.rests_until = time.monotonic() + _REST_S
        return True


class Service:
    """The loop, the upstreams, the runs and the counters of one deployment.

    Raises:
        ConfigurationError: A model is not an OpenAI-compatible endpoint, or a file cannot be used.
    """

    def __init__(
        self,
        context: RunContext,
        settings: ServiceSettings,
        fallbacks: Sequence[RunContext] = (),
    ) -> None:
        self.settings, self.context = settings, context
        self._lines = [Line(one, settings) for one in (context, *fallbacks)]
        self.ready = Readiness([(one.generator, one.decomposer) for one in (context, *fallbacks)])
        self.access = Access(settings)
        self.slots = Slots(settings.max_concurrent)
        self.uploads = Uploads(_BODIES * settings.max_body)
        self._shares: dict[str, Slots] = {}
        self.graph = build_self_correction_graph(context)
        self.metrics = Metrics()
        self.store = None if settings.store is None else shared_tables(settings.store)
        self.runs = KeptRuns(
            most=settings.runs_kept,
            most_bytes=settings.runs_bytes,
            path=settings.runs_file,
            store=self.store,
            lasts=settings.timeout + settings.grace,
        )
        daily = (settings.requests_per_day, settings.tokens_per_day, settings.usd_per_day)
        models = [m for one in (context, *fallbacks) for m in (one.generator, one.decomposer)]
        prices = _prices(models, settings.prices)
        self.budgets = Budgets(Allowance(*daily), prices, settings.spent_file, self.store)
        if settings.usd_per_day is not None and None in prices:
            raise ConfigurationError(
                "a budget in US dollars needs the price of every model, and one is not known; name"
                " it in a price file (--prices), or set a budget of tokens"
            )
        self.audit = (
            AuditLog(settings.audit_log, content=settings.audit_content)
            if settings.audit_log
            else None
        )
        self.background = Background(
            at_once=_OBSERVED_AT_ONCE,
            waiting=settings.observed_waiting,
            ends=settings.max_concurrent,
            on_waiting=self.metrics.observed_waiting.set,
        )

    @property
    def names(self) -> tuple[str, ...]:
        """The models that a request may name; whatever it names, the fallbacks stand in."""
        return self._lines[0].upstream.names

    def lines(self) -> list[Line]:
        """The upstreams in the order to ask them: those that failed a moment ago come last."""
        now = time.monotonic()
        return sorted(self._lines, key=lambda line: line.rests_until > now)

    def share(self, owner: str) -> Slots:
        """What one caller may have of the slots."""
        most = self.settings.max_concurrent
        each = self.settings.max_concurrent_per_key
        if each is None:
            each = most if len(self.access.holders) < 2 else (most + 1) // 2
        return self._shares.setdefault(owner, Slots(min(each, most)))

    async def close(self) -> None:
        """Let the work in the background finish, and close the file of runs."""
        await self.background.close(self.settings.grace)
        self.runs.close()
        self.budgets.close()

    def begin(self, owner: str, model: str, deadline: float) -> Ticket:
        """Open the record of a run.

        Args:
            owner: Whose key the request came with; never the key itself.
            model: The model that it names.
            deadline: When its time is up, on the clock of ``time.monotonic``.
        """
        account = Account(self.budgets, owner)
        ticket = Ticket(uuid4().hex, self.settings.mode, model, deadline, owner, account)
        ticket.context = self.lines()[0].context
        self.runs.begin(ticket.run_id, owner)
        return ticket

    def finish(self, ticket: Ticket, run: Run) -> dict[str, Any]:
        """Close the record, and give it; a file of runs that fails costs nobody an answer.

        Args:
            ticket: The request.
            run: What :meth:`Ticket.ended` gave.
        """
        record = run_record(
            run,
            created=ticket.created,
            started=ticket.started,
            mode=ticket.mode,
            context=ticket.context or self.context,
            asked_for=ticket.model,
        )
        self.metrics.run(run)
        if self.audit is not None:
            about = {name: record[name] for name in ("mode", "model", "seconds")}
            self.audit.add(ticket.caller, run, ticket.account, **about)
            if self.audit.failing:
                self.metrics.failure("audit_log")
        self.runs.finish(ticket.run_id, record, partial(self.failed, "runs_file", ticket))
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
        if name not in self.names:
            raise RefusedError(
                404,
                f"there is no model {name!r:.100} here; there are {', '.join(self.names)}",
                code="model_not_found",
                param="model",
            )

    def nothing_to_check_with(self, asked: ChatQuestion) -> str | None:
        """Why a run cannot have documents; None where it can."""
        if asked.documents or self._lines[0].context.retriever is not None:
            return None
        return "no tool has returned documents since the question, and there is no search"


def _prices(models: Iterable[LanguageModel], path: Path | None) -> list[Price | None]:
    """What the models cost; None for what is not known."""
    try:
        table = PriceTable.load(path)
    except ConfigurationError:  # the extra [bench] is not there
        if path is not None:
            raise
        return [None]
    return [table.price(model.name, model.endpoint) for model in models]
