"""What every request passes through: it is counted and timed, and no fault leaves it unanswered."""

import time

from starlette.requests import ClientDisconnect
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from conflictscore.middleware.service.faults import told
from conflictscore.middleware.service.service import Service
from conflictscore.middleware.service.wire import JsonResponse

__all__ = ["CLIENT_GONE", "Front"]

CLIENT_GONE = 499
"""The status under which a request is counted whose client went away."""
_NO_SNIFFING = (b"x-content-type-options", b"nosniff")


class Front:
    """The outermost layer of the app, but for FastAPI's own."""

    def __init__(self, app: ASGIApp, service: Service) -> None:
        self._app, self._service = app, service

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one request."""
        if scope["type"] != "http":
            return await self._app(scope, receive, send)
        metrics, started, status = self._service.metrics, time.perf_counter(), 0

        async def sending(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message = {**message, "headers": [*message.get("headers", ()), _NO_SNIFFING]}
            await send(message)

        metrics.in_flight.inc()
        try:
            await self._app(scope, receive, sending)
        except ClientDisconnect:
            status = status or CLIENT_GONE
        except Exception as error:  # noqa: BLE001 - the last one who can answer
            metrics.failure("internal")
            refusal = told(error)
            if not status:
                await JsonResponse(refusal.body(), refusal.status)(scope, receive, sending)
        finally:
            metrics.in_flight.dec()
            route = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - started
            metrics.request(route, status or CLIENT_GONE, self._service.settings.mode, seconds)
        return None
