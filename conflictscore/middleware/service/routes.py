"""The routes of the API."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator, Mapping
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from conflictscore.cpu_turns import TURNS
from conflictscore.errors import InputError
from conflictscore.middleware.service.admission import read_body
from conflictscore.middleware.service.checked_answer import CheckedAnswer
from conflictscore.middleware.service.completions import completion_frames
from conflictscore.middleware.service.earlier_answers import earlier_answers
from conflictscore.middleware.service.kept_runs import RUNNING
from conflictscore.middleware.service.keys import KeyHolder
from conflictscore.middleware.service.loop_run import StepwiseRun, with_markup
from conflictscore.middleware.service.refusals import CLIENT_GONE, RefusedError
from conflictscore.middleware.service.requests import (
    ChatRequest,
    read_chat,
    read_correct,
    read_json,
    read_run,
)
from conflictscore.middleware.service.responses import ResponseForm, as_json
from conflictscore.middleware.service.responses_request import ResponsesRequest, read_responses
from conflictscore.middleware.service.service import RequestRecord, Service
from conflictscore.middleware.service.telemetry import CONTENT_TYPE
from conflictscore.middleware.service.upstream import OWN_NAME
from conflictscore.middleware.service.wire import EventStream, JsonResponse
from conflictscore.records import Examined
from conflictscore.retrieval.opening import described
from conflictscore.threads import LONG_CHARS, in_thread, on_own_loop, read_in_thread

_log = logging.getLogger(__name__)

routes = APIRouter()

T = TypeVar("T")


async def service_of(request: Request) -> Service:
    """Return the app's service, as a FastAPI dependency."""
    service: Service = request.app.state.service
    return service


Shared = Annotated[Service, Depends(service_of)]


async def caller_of(request: Request, service: Shared) -> KeyHolder:
    """Return the caller to whom the request's key belongs; refuse a request without a valid key."""
    return service.access.caller(request)


Caller = Annotated[KeyHolder, Depends(caller_of)]


@dataclass(frozen=True)
class Admitted:
    """A request that is being served, until the end of its response."""

    deadline: float
    data: bytes
    held: AsyncExitStack
    """Callbacks to run after the response."""

    async def read(self, reader: Callable[[Mapping[str, Any]], T]) -> T:
        """Parse the body, and read it with ``reader``."""
        return await self.compute(lambda: reader(read_json(self.data)))

    async def compute(self, work: Callable[[], T]) -> T:
        """Do some work on the body, off the event loop if the body is large."""
        size = len(self.data)
        return work() if size <= LONG_CHARS else await read_in_thread(work, size)

    async def serve(self, work: Callable[[], Coroutine[Any, Any, T]]) -> T:
        """Answer the request, off the event loop if the body is large."""
        if len(self.data) > LONG_CHARS:
            return await on_own_loop(work())
        with TURNS.short_request():
            return await work()


async def admitted(request: Request, service: Shared, caller: Caller) -> AsyncIterator[Admitted]:
    """Read the body, then wait for admission; so a slow upload does not occupy a slot."""
    deadline = time.monotonic() + service.settings.timeout
    with service.uploads.of(caller.name) as count:
        data = await read_body(request, service.settings.max_body, count)
    own = service.gate_of(caller.name)
    # the caller's own gate comes first, so that requests waiting there do not occupy a shared slot
    async with own.admit(deadline), service.gate.admit(deadline), AsyncExitStack() as callbacks:
        yield Admitted(deadline, data, callbacks)


Admission = Annotated[Admitted, Depends(admitted)]


@routes.post("/v1/chat/completions")
async def chat(request: Request, service: Shared, caller: Caller, admission: Admission) -> Response:
    """Return a chat completion, streamed or not."""
    chat_request = await admission.read(read_chat)
    service.check(chat_request)
    record = service.begin(caller.name, chat_request.model, admission.deadline)
    with _naming(record):
        answer = admission.serve(CheckedAnswer(service, chat_request, record).completion)
        if chat_request.stream:
            frames = completion_frames(
                record,
                _until_sent(admission, answer),
                include_usage=chat_request.include_usage,
                heartbeat=service.settings.heartbeat,
            )
            return EventStream(frames, _early(record, chat_request))
        completion = await _unless_gone(request, answer)
        run = completion["conflictscore"]
        return JsonResponse(completion, headers=_headers(record, run))


@routes.post("/v1/responses")
async def responses(
    request: Request, service: Shared, caller: Caller, admission: Admission
) -> Response:
    """Return a response of OpenAI's Responses API, streamed or not."""
    response_request = await _read_responses(admission, service, caller)
    chat_request = response_request.chat
    service.check(chat_request)
    record = service.begin(caller.name, chat_request.model, admission.deadline)
    form = ResponseForm(response_request, record)
    with _naming(record):
        answer = admission.serve(CheckedAnswer(service, chat_request, record).completion)
        if response_request.stream:
            frames = form.frames(_until_sent(admission, answer), service.settings.heartbeat)
            return EventStream(frames, _early(record, chat_request))
        completion = await _unless_gone(request, answer)
        run = completion["conflictscore"]
        return JsonResponse(as_json(form.whole(completion)), headers=_headers(record, run))


async def _read_responses(
    admission: Admitted, service: Service, caller: KeyHolder
) -> ResponsesRequest:
    """Read a request for a response, with the earlier answers that it refers to."""
    body = await admission.read(dict)
    try:
        earlier = await earlier_answers(body, service.runs, caller.name)
    except InputError as error:
        raise _unreadable_runs(error) from error
    return await admission.compute(lambda: read_responses(body, earlier))


def _headers(record: RequestRecord, run: Mapping[str, Any]) -> dict[str, str]:
    """Return an answer's headers; ``run`` is a stored run, or a body's field ``conflictscore``."""
    if "kind" in run:
        return record.headers(run["status"], run["checked"], run["kind"])
    ledger = Examined.model_validate(run.get("examined") or {})
    gap = ledger.main_gap
    return record.headers(run["status"], run["checked"], gap.kind.value if gap else None)


def _early(record: RequestRecord, chat_request: ChatRequest) -> dict[str, str]:
    """Return the headers of a stream, sent before there is an answer."""
    return (
        record.headers("passed-through", "no")
        if chat_request.unchecked
        else record.headers("pending")
    )


@contextmanager
def _naming(record: RequestRecord) -> Iterator[None]:
    """Name the run in the headers of a refusal."""
    try:
        yield
    except RefusedError as refusal:
        refusal.run = record.headers("failed", "no")
        raise


def _until_sent(admission: Admitted, work: Coroutine[Any, Any, T]) -> "asyncio.Task[T]":
    """Start the work; it is stopped when the response ends."""
    task = asyncio.create_task(work)
    admission.held.push_async_callback(_stop, task)
    return task


async def _unless_gone(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of the work, or stop the work as soon as the client disconnects."""

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task = asyncio.create_task(work)
    leaving = asyncio.create_task(gone())
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise RefusedError(CLIENT_GONE, "the client disconnected")
        return task.result()
    finally:
        await _stop(leaving)
        await _stop(task)


async def read_kept(work: Callable[[], T]) -> T:
    """Read stored runs in a worker thread, or refuse the request (503)."""
    try:
        return await in_thread(work)
    except InputError as error:
        raise _unreadable_runs(error) from error


def _unreadable_runs(error: InputError) -> RefusedError:
    _log.error("%s", error)
    return RefusedError(503, "stored runs cannot be read right now", code="runs_not_kept")


async def _stop(task: "asyncio.Task[Any]") -> None:
    """Cancel a task, and wait until it has ended."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # otherwise asyncio logs it as never retrieved


@routes.post("/v1/runs")
async def run(
    request: Request,
    service: Shared,
    caller: Caller,
    admission: Admission,
    markup: str = "",
) -> Response:
    """Run the loop, and stream its steps."""
    start, parameters = await admission.read(read_run)
    record = service.begin(caller.name, OWN_NAME, admission.deadline)
    stepwise = StepwiseRun(service, start, record, parameters)
    work = _until_sent(admission, admission.serve(stepwise.go))
    frames = stepwise.frames(work, service.settings.heartbeat, markup=markup == "true")
    return EventStream(frames, record.headers("pending"))


@routes.post("/v1/correct")
async def correct(
    request: Request, service: Shared, caller: Caller, admission: Admission
) -> Response:
    """Check an answer against documents, correct what they dispute, and return the run."""
    start = await admission.read(read_correct)
    record = service.begin(caller.name, OWN_NAME, admission.deadline)
    with _naming(record):
        work = admission.serve(StepwiseRun(service, start, record).go)
        run = await _unless_gone(request, work)
        return JsonResponse(run, headers=_headers(record, run))


@routes.get("/v1/runs/{run_id}")
async def finished_run(run_id: str, service: Shared, caller: Caller, markup: str = "") -> Response:
    """Return a stored run; the status is 202 while it is still running."""

    def look_up() -> Mapping[str, Any] | None:
        stored_run = service.runs.look_up(run_id, caller.reads)
        return with_markup(stored_run) if stored_run and markup == "true" else stored_run

    stored_run = await read_kept(look_up)
    if stored_run is RUNNING:
        pending = {"run_id": run_id, "object": "conflictscore.run", "status": "running"}
        return JsonResponse(pending, 202, {"retry-after": "1"})
    if stored_run is not None:
        return JsonResponse(stored_run)
    raise RefusedError(404, "there is no such run, or it is no longer stored", code="run_not_found")


@routes.get("/v1/about")
async def about(request: Request, service: Shared, caller: Caller) -> dict[str, Any]:
    """Return the service's models and sources, for the chat page."""
    context = service.context
    return {
        "model": context.generator.name,
        "judge": context.decomposer.name,
        "labeler": context.labeler.name,
        "sources": described(context.retriever),
        "mode": service.settings.mode,
        "runs_page": hasattr(request.app.state, "reviews"),
    }


@routes.get("/v1/models")
async def models(service: Shared, caller: Caller) -> dict[str, Any]:
    """Return the models that requests may name."""
    return {"object": "list", "data": [_model(name) for name in service.upstream.names]}


@routes.get("/v1/models/{name:path}")
async def model(name: str, service: Shared, caller: Caller) -> dict[str, Any]:
    """Return one model that requests may name."""
    service.check_model(name)
    return _model(name)


@routes.get("/metrics")
async def metrics(service: Shared, caller: Caller) -> Response:
    """Return the service's metrics, for Prometheus."""
    return Response(service.metrics.exposition(), headers={"content-type": CONTENT_TYPE})


@routes.get("/healthz")
async def health() -> dict[str, str]:
    """Report whether the service is up; this needs no key and calls no models."""
    return {"status": "ok"}


@routes.get("/readyz")
async def ready(service: Shared) -> Response:
    """Ask the upstream and the judge whether requests can be answered; this needs no key."""
    states = await service.readiness.states()
    good = {*states.values()} == {"ok"}
    status = "ready" if good else "not ready"
    return JsonResponse({"status": status, **states}, 200 if good else 503)


def _model(name: str) -> dict[str, Any]:
    """Return a model as OpenAI's API lists it; the time of its creation is unknown, so it is 0."""
    return {"id": name, "object": "model", "created": 0, "owned_by": OWN_NAME}
