"""The routes of the API."""

import asyncio
import logging
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Any, TypeVar

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from conflictscore.errors import InputError
from conflictscore.middleware.service.admission import read_body
from conflictscore.middleware.service.answer_stream import Completion
from conflictscore.middleware.service.checked_answer import CheckedAnswer
from conflictscore.middleware.service.completions import CompletionStream
from conflictscore.middleware.service.kept_runs import RUNNING
from conflictscore.middleware.service.keys import KeyHolder
from conflictscore.middleware.service.refusals import CLIENT_GONE, RefusedError
from conflictscore.middleware.service.relay import Relay
from conflictscore.middleware.service.requests import ChatRequest, read_chat, read_json, read_run
from conflictscore.middleware.service.responses import ResponseForm
from conflictscore.middleware.service.responses_request import read_responses
from conflictscore.middleware.service.service import Service, Ticket
from conflictscore.middleware.service.stepwise import Stepwise, with_markup
from conflictscore.middleware.service.telemetry import CONTENT_TYPE
from conflictscore.middleware.service.upstream import OWN_NAME
from conflictscore.middleware.service.wire import EventStream, JsonResponse
from conflictscore.retrieval.opening import described
from conflictscore.threads import in_thread

__all__ = ["Caller", "Shared", "read_kept", "routes"]

_log = logging.getLogger(__name__)

routes = APIRouter()

T = TypeVar("T")


async def service_of(request: Request) -> Service:
    """The service of this app."""
    service: Service = request.app.state.service
    return service


Shared = Annotated[Service, Depends(service_of)]


async def caller_of(request: Request, service: Shared) -> KeyHolder:
    """The caller, by their key.

    Raises:
        RefusedError: They are not let in.
    """
    return service.access.caller(request)


Caller = Annotated[KeyHolder, Depends(caller_of)]


@dataclass(frozen=True)
class Admitted:
    """A request that is being served, up to the end of its response."""

    deadline: float
    body: Mapping[str, Any]
    held: AsyncExitStack
    """What is released after the response."""


async def admitted(request: Request, service: Shared, caller: Caller) -> AsyncIterator[Admitted]:
    """Read the body, and wait for room: whoever sends it slowly keeps no one else waiting.

    Raises:
        RefusedError: There is no room, the body cannot be used, or what may be spent is used up.
    """
    deadline = time.monotonic() + service.settings.timeout
    with service.uploads.of(caller.name) as count:
        data = await read_body(request, service.settings.max_body, count)
    share = service.share(caller.name)
    async with share.one(deadline), service.slots.one(deadline), AsyncExitStack() as held:
        body = read_json(data)
        if service.budgets.remote:
            await in_thread(lambda: service.budgets.admit(caller))
        else:
            service.budgets.admit(caller)
        yield Admitted(deadline, body, held)


Admission = Annotated[Admitted, Depends(admitted)]


@routes.post("/v1/chat/completions")
async def chat(request: Request, service: Shared, caller: Caller, admission: Admission) -> Response:
    """A chat completion, streamed or not."""
    asked = read_chat(admission.body)
    service.check_model(asked.model)
    ticket = service.begin(caller.name, asked.model, admission.deadline)
    try:
        return await _answered(request, service, asked, ticket, admission.held)
    except RefusedError as refusal:
        refusal.run = ticket.headers("failed", "no")
        raise


@routes.post("/v1/responses")
async def responses(
    request: Request, service: Shared, caller: Caller, admission: Admission
) -> Response:
    """The same as a response, streamed or not."""
    wanted = read_responses(admission.body)
    asked = wanted.chat
    service.check_model(asked.model)
    ticket = service.begin(caller.name, asked.model, admission.deadline)
    form = ResponseForm(wanted, ticket)
    try:
        if service.settings.mode == "observe" or asked.unchecked:
            relay = Relay(service, asked, ticket, admission.held)
            work, headers = asyncio.create_task(relay.completion()), relay.headers
            standing: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
        else:
            work, standing = _checking(service, asked, ticket, early=form.streamed)
            headers = ticket.headers("pending")
        if form.streamed:
            admission.held.push_async_callback(_stop, work)
            stream = form.stream(service.settings.heartbeat)
            return EventStream(stream.frames(work, standing), headers)
        response = form.whole(await _while_there(request, _whole(service, work, standing)))
        if beside := response.get("conflictscore"):
            headers = ticket.headers(beside["status"], beside["checked"])
        return JsonResponse(response, headers=headers)
    except RefusedError as refusal:
        refusal.run = ticket.headers("failed", "no")
        raise


async def _answered(
    request: Request, service: Service, asked: ChatRequest, ticket: Ticket, held: AsyncExitStack
) -> Response:
    if service.settings.mode == "observe" or asked.unchecked:
        return await _while_there(request, Relay(service, asked, ticket, held).response())
    work, standing = _checking(service, asked, ticket, early=asked.stream)
    if asked.stream:
        held.push_async_callback(_stop, work)
        stream = CompletionStream(
            ticket, include_usage=asked.include_usage, heartbeat=service.settings.heartbeat
        )
        return EventStream(stream.frames(work, standing), ticket.headers("pending"))
    completion = await _while_there(request, _whole(service, work, standing))
    beside = completion["conflictscore"]
    return JsonResponse(completion, headers=ticket.headers(beside["status"], beside["checked"]))


def _checking(
    service: Service, asked: ChatRequest, ticket: Ticket, *, early: bool
) -> "tuple[asyncio.Task[Completion], asyncio.Future[Completion]]":
    """The work on a checked answer, and what has its text as soon as that is final, if wanted."""
    standing: asyncio.Future[Completion] = asyncio.get_running_loop().create_future()
    early = early or (service.settings.answer_early and service.background.has_room)
    answering = CheckedAnswer(service, asked, ticket, standing.set_result if early else None)
    return asyncio.create_task(answering.completion()), standing


async def _whole(
    service: Service, work: "asyncio.Task[Completion]", standing: "asyncio.Future[Completion]"
) -> Completion:
    """The completion in one piece: when the work is done, or once its text is final."""
    try:
        await asyncio.wait({work, standing}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await _stop(work)
        raise
    if work.done():
        return work.result()
    service.background.keep(work)
    return standing.result()


async def _while_there(request: Request, work: Coroutine[Any, Any, T]) -> T:
    """The result of work for a client whose request was read to its end; it stops if they leave.

    Raises:
        RefusedError: The client is gone; nobody will read this.
    """

    async def gone() -> None:
        while (await request.receive())["type"] != "http.disconnect":
            pass

    task, leaving = asyncio.create_task(work), asyncio.create_task(gone())
    try:
        await asyncio.wait({task, leaving}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise RefusedError(CLIENT_GONE, "the client went away")
        return task.result()
    finally:
        await _stop(leaving)
        await _stop(task)


async def read_kept(work: Callable[[], T]) -> T:
    """Read from the file or the store of runs, off the event loop.

    Raises:
        RefusedError: It cannot be read (503).
    """
    try:
        return await in_thread(work)
    except InputError as error:
        _log.error("%s", error)
        raise RefusedError(503, "no run can be read just now", code="runs_not_kept") from error


async def _stop(task: "asyncio.Task[Any]") -> None:
    """Cancel a task, and wait until it has cleaned up."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.exception()  # whoever wanted to know has asked


@routes.post("/v1/runs")
async def run(
    request: Request,
    service: Shared,
    caller: Caller,
    admission: Admission,
    markup: str = "",
) -> Response:
    """One run of the loop, as a stream of its steps."""
    start = read_run(admission.body)
    ticket = service.begin(caller.name, OWN_NAME, admission.deadline)
    stepwise = Stepwise(service, start, ticket)
    work = asyncio.create_task(stepwise.go())
    admission.held.push_async_callback(_stop, work)
    frames = stepwise.frames(work, service.settings.heartbeat, markup=markup == "true")
    return EventStream(frames, ticket.headers("pending"))


@routes.get("/v1/runs/{run_id}")
async def finished_run(run_id: str, service: Shared, caller: Caller, markup: str = "") -> Response:
    """The whole record of a run; 202 while it is still running."""
    found = await read_kept(lambda: service.runs.look_up(run_id, caller.reads))
    if found is RUNNING:
        known = {"run_id": run_id, "object": "conflictscore.run", "status": "running"}
        return JsonResponse(known, 202, {"retry-after": "1"})
    if found is not None:
        return JsonResponse(with_markup(found) if markup == "true" else found)
    raise RefusedError(404, "there is no such run, or it is no longer kept", code="run_not_found")


@routes.get("/v1/about")
async def about(request: Request, service: Shared, caller: Caller) -> dict[str, Any]:
    """What the chat page says of the service before a question is asked."""
    context = service.context
    return {
        "model": context.generator.name,
        "judge": context.decomposer.name,
        "labeler": context.labeler.name,
        "sources": described(context.retriever),
        "mode": service.settings.mode,
        "examples": list(service.settings.examples),
        "runs_page": hasattr(request.app.state, "reviews"),
    }


@routes.get("/v1/models")
async def models(service: Shared, caller: Caller) -> dict[str, Any]:
    """The models that a request may name."""
    return {"object": "list", "data": [_model(name) for name in service.names]}


@routes.get("/v1/models/{name:path}")
async def model(name: str, service: Shared, caller: Caller) -> dict[str, Any]:
    """One of them."""
    service.check_model(name)
    return _model(name)


@routes.get("/metrics")
async def metrics(service: Shared, caller: Caller) -> Response:
    """The service's counters, for Prometheus."""
    return Response(service.metrics.exposition(), headers={"content-type": CONTENT_TYPE})


@routes.get("/healthz")
async def health() -> dict[str, str]:
    """Whether the service is up; nothing behind it is called, and no key is needed."""
    return {"status": "ok"}


@routes.get("/readyz")
async def ready(service: Shared) -> Response:
    """Whether a request would be answered: the upstream and the judge are asked, without a key."""
    told = await service.ready.told()
    failing = service.audit is not None and service.audit.failing
    told = {**told, **({"audit_log": "cannot be written"} if failing else {})}
    good = not failing and told["status"] == "ready"
    return JsonResponse({**told, "status": "ready" if good else "not ready"}, 200 if good else 503)


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWN_NAME}
