"""The routes of the API."""

import asyncio
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from fastapi.responses import Response

from conflictscore.middleware.service.answering import Answering, Reply
from conflictscore.middleware.service.completions import Chunks
from conflictscore.middleware.service.events import Stepwise
from conflictscore.middleware.service.faults import RefusedError
from conflictscore.middleware.service.limits import read_body
from conflictscore.middleware.service.metrics import CONTENT_TYPE
from conflictscore.middleware.service.relay import Relay
from conflictscore.middleware.service.requests import ChatRequest, read_chat, read_json, read_run
from conflictscore.middleware.service.service import Service, Ticket
from conflictscore.middleware.service.streams import EventStream, chat_frames
from conflictscore.middleware.service.upstream import OWN_NAME
from conflictscore.middleware.service.waiting import stop, while_there
from conflictscore.middleware.service.wire import JsonResponse

__all__ = ["routes"]

routes = APIRouter()


async def service_of(request: Request) -> Service:
    """The service that the app is of."""
    service: Service = request.app.state.service
    return service


Shared = Annotated[Service, Depends(service_of)]


async def owner_of(request: Request, service: Shared) -> str:
    """Who asks.

    Raises:
        RefusedError: Somebody who is not let in.
    """
    return service.access.owner(request)


Owner = Annotated[str, Depends(owner_of)]


@dataclass(frozen=True)
class Place:
    """Room to work in, up to the end of the response."""

    deadline: float
    body: Mapping[str, Any]
    held: AsyncExitStack
    """What is to be given back after the response."""


async def place_for(request: Request, service: Shared, owner: Owner) -> AsyncIterator[Place]:
    """Wait for room, and read the body.

    Raises:
        RefusedError: There is no room, or the body cannot be used.
    """
    deadline = time.monotonic() + service.settings.timeout
    async with service.slots.one(deadline), AsyncExitStack() as held:
        body = read_json(await read_body(request, service.settings.max_body))
        yield Place(deadline, body, held)


Room = Annotated[Place, Depends(place_for)]


@routes.post("/v1/chat/completions")
async def chat(request: Request, service: Shared, owner: Owner, room: Room) -> Response:
    """A chat completion, streamed or not."""
    asked = read_chat(room.body)
    service.check_model(asked.model)
    ticket = service.begin(owner, asked.model, room.deadline)
    try:
        return await _answered(request, service, asked, ticket, room.held)
    except RefusedError as refusal:
        refusal.run = ticket.headers("failed")
        raise


async def _answered(
    request: Request, service: Service, asked: ChatRequest, ticket: Ticket, held: AsyncExitStack
) -> Response:
    if ticket.mode == "observe" or asked.unchecked:
        return await while_there(request, Relay(service, asked, ticket, held).response())
    standing: asyncio.Future[Reply] = asyncio.get_running_loop().create_future()
    early = asked.stream or (service.settings.answer_early and service.background.has_room)
    answering = Answering(service, asked, ticket, standing.set_result if early else None)
    work = asyncio.create_task(answering.reply())
    if asked.stream:
        held.push_async_callback(stop, work)
        chunks = Chunks(ticket, include_usage=asked.include_usage)
        frames = chat_frames(work, standing, chunks, heartbeat=service.settings.heartbeat)
        return EventStream(frames, ticket.headers("pending"))
    reply = await while_there(request, _whole(service, work, standing))
    return JsonResponse(reply.completion, headers=ticket.headers(reply.status))


async def _whole(
    service: Service, work: "asyncio.Task[Reply]", standing: "asyncio.Future[Reply]"
) -> Reply:
    """The reply in one piece: at the end of the work, or once it is told to stand."""
    try:
        await asyncio.wait({work, standing}, return_when=asyncio.FIRST_COMPLETED)
    except asyncio.CancelledError:
        await stop(work)
        raise
    if work.done():
        return work.result()
    service.background.keep(work)
    return standing.result()


@routes.post("/v1/runs")
async def run(request: Request, service: Shared, owner: Owner, room: Room) -> Response:
    """One run of the loop, as a stream of its steps."""
    asked = read_run(room.body)
    ticket = service.begin(owner, OWN_NAME, room.deadline)
    stepwise = Stepwise(service, asked, ticket)
    work = asyncio.create_task(stepwise.go())
    room.held.push_async_callback(stop, work)
    frames = stepwise.frames(work, service.settings.heartbeat)
    return EventStream(frames, ticket.headers("pending"))


@routes.get("/v1/runs/{run_id}")
async def finished_run(run_id: str, service: Shared, owner: Owner) -> Response:
    """The whole evidence of a run; 202 while it is worked on."""
    found = service.runs.get(run_id, owner)
    if found is not None:
        return JsonResponse(found)
    if service.runs.at_work(run_id, owner):
        known = {"run_id": run_id, "object": "conflictscore.run", "status": "running"}
        return JsonResponse(known, 202, {"retry-after": "1"})
    raise RefusedError(404, "there is no such run, or it is no longer kept", code="run_not_found")


@routes.get("/v1/models")
async def models(service: Shared, owner: Owner) -> dict[str, Any]:
    """The models that a request may name."""
    return {"object": "list", "data": [_model(name) for name in service.upstream.names]}


@routes.get("/v1/models/{name:path}")
async def model(name: str, service: Shared, owner: Owner) -> dict[str, Any]:
    """One of them."""
    service.check_model(name)
    return _model(name)


@routes.get("/metrics")
async def metrics(service: Shared, owner: Owner) -> Response:
    """What the service counts, for Prometheus."""
    return Response(service.metrics.exposition(), headers={"content-type": CONTENT_TYPE})


@routes.get("/healthz")
async def health() -> dict[str, str]:
    """Whether the service is up; nothing behind it is asked, and no key is needed."""
    return {"status": "ok"}


def _model(name: str) -> dict[str, Any]:
    return {"id": name, "object": "model", "created": 0, "owned_by": OWN_NAME}
