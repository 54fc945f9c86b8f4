"""The service as a FastAPI app."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import FastAPI, Request
from starlette.exceptions import HTTPException

from conflictscore.middleware.service.faults import RefusedError
from conflictscore.middleware.service.front import Front
from conflictscore.middleware.service.page_files import serve_page
from conflictscore.middleware.service.routes import routes
from conflictscore.middleware.service.service import Service
from conflictscore.middleware.service.settings import ServiceSettings
from conflictscore.middleware.service.wire import JsonResponse
from conflictscore.nodes.state import RunContext

__all__ = ["create_app"]


def create_app(context: RunContext, settings: ServiceSettings | None = None) -> FastAPI:
    """The service as an app, for a server of one's own or inside another app (``mount``).

    ```python
    context = run_context("openai:gpt-4.1-mini", my_retriever)
    app = create_app(context, ServiceSettings(mode="annotate", keys=(my_key,)))
    ```

    Args:
        context: The models, the search and the settings of the loop. The answering model is the
            upstream, and must be an OpenAI-compatible endpoint or the local model.
        settings: Policy and limits.

    Raises:
        ConfigurationError: The model is no such endpoint, or the file of runs cannot be used.
    """
    service = Service(context, settings or ServiceSettings())

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        yield
        await service.close()

    app = FastAPI(lifespan=lifespan, docs_url=None, redoc_url=None, openapi_url=None)
    app.state.service = service
    app.add_middleware(Front, service=service)
    app.exception_handler(RefusedError)(_refused)
    app.exception_handler(HTTPException)(_no_such_route)
    app.include_router(routes)
    serve_page(app)
    return app


async def _refused(request: Request, refusal: RefusedError) -> JsonResponse:
    return JsonResponse(refusal.body(), refusal.status, refusal.headers())


async def _no_such_route(request: Request, error: HTTPException) -> JsonResponse:
    path = f"{request.method} {request.url.path}"
    refusal = RefusedError(error.status_code, f"{path}: {error.detail}", code="no_such_route")
    return JsonResponse(refusal.body(), refusal.status, error.headers)
