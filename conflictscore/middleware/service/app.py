"""The service as a FastAPI app: its routes, its chat page, and the outermost middleware."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from fastapi import FastAPI, Request
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException
from starlette.middleware.cors import CORSMiddleware
from starlette.requests import ClientDisconnect
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conflictscore.loop.state import RunContext
from conflictscore.middleware.service.refusals import CLIENT_GONE, RefusedError, internal_error
from conflictscore.middleware.service.routes import routes
from conflictscore.middleware.service.service import Service
from conflictscore.middleware.service.service_settings import ServiceSettings
from conflictscore.middleware.service.wire import JsonResponse

# Keeps browsers from guessing the type of a reply, since an answer may contain HTML.
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")
_OWN_HEADERS = (
    "x-conflictscore-run-id",
    "x-conflictscore-status",
    "x-conflictscore-checked",
    "x-conflictscore-reason",
    "x-request-id",
    "retry-after",
)
"""Headers that pages of other origins may read."""
_PAGE = Path(__file__).with_name("page")
# A page may load only files of this service, so text from documents cannot load or send anything.
_PAGE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:;"
        " font-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none';"
        " frame-ancestors 'none'"
    ),
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "referrer-policy": "no-referrer",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
    "cache-control": "no-cache",
}


def create_app(context: RunContext, settings: ServiceSettings | None = None) -> FastAPI:
    """Create the service as an app, for your own server or to mount inside another app.

    ```python
    context = run_context("openai:gpt-4.1-mini", my_retriever)
    app = create_app(context, ServiceSettings(mode="annotate", keys=(my_key,)))
    ```

    The context's answering model is the upstream. The upstream must be an OpenAI-compatible
    endpoint or the local model.

    Raises:
        ConfigurationError: The model is not such an endpoint, or the runs file cannot be used.
    """
    service = Service(context, settings or ServiceSettings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await asyncio.to_thread(service.runs.close)

    async def refused(request: Request, refusal: RefusedError) -> JsonResponse:
        return JsonResponse(refusal.body(), refusal.status, refusal.headers())

    async def no_such_route(request: Request, error: HTTPException) -> JsonResponse:
        path = f"{request.method} {request.url.path}"
        refusal = RefusedError(error.status_code, f"{path}: {error.detail}", code="no_such_route")
        return JsonResponse(refusal.body(), refusal.status, error.headers)

    # redirects to add or remove a slash would echo the request's Host header
    app = FastAPI(lifespan=lifespan, docs_url=None, openapi_url=None, redirect_slashes=False)
    app.state.service = service
    app.add_middleware(_Metered, service=service)
    # outermost, since browsers send a preflight request without a key
    if service.settings.cors_origins:
        app.add_middleware(
            CORSMiddleware,
            allow_origins=service.settings.cors_origins,
            allow_methods=["GET", "POST"],
            allow_headers=["*"],
            expose_headers=_OWN_HEADERS,
        )
    app.exception_handler(RefusedError)(refused)
    app.exception_handler(HTTPException)(no_such_route)
    app.include_router(routes)
    app.add_api_route("/", _index, methods=["GET"])
    app.mount("/page", _PageFiles(directory=_PAGE))
    return app


def page_file(name: str) -> FileResponse:
    """Return a page, with its content security policy."""
    return FileResponse(_PAGE / name, headers=_PAGE_HEADERS)


async def _index() -> FileResponse:
    return page_file("index.html")


class _PageFiles(StaticFiles):
    """Static files of the pages, with headers that restrict what a page may load."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        response.headers.update(_PAGE_HEADERS)
        return response


class _Metered:
    """Counts and times each request, and sends an error response if the app has a bug."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the app answer; if it has a bug and no response has begun, send an error response."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        if scope["path"].endswith("\n"):  # route patterns would match despite the newline
            refusal = RefusedError(404, "there is no such path", code="no_such_route")
            return await JsonResponse(refusal.body(), refusal.status)(scope, receive, send)
        metrics, start, status = self._service.metrics, time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), _NO_SNIFFING]}
            await send(message)

        in_flight = int(scope["path"] != "/metrics")  # requests for the metrics are not counted
        metrics.in_flight.inc(in_flight)
        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            status = status or CLIENT_GONE
        except Exception as error:  # noqa: BLE001 - no other code would send a response
            metrics.failure("internal")
            refusal = internal_error(error)
            if not status:
                await JsonResponse(refusal.body(), refusal.status)(scope, receive, sending)
        finally:
            metrics.in_flight.dec(in_flight)
            route = getattr(scope.get("route"), "path", "other")
            metrics.request(route, status or CLIENT_GONE, time.perf_counter() - start)
        return None
