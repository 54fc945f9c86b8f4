"""The chat page: static files of this package, if it has any."""

from pathlib import Path

from fastapi import FastAPI
from fastapi.responses import FileResponse, Response
from starlette.exceptions import HTTPException
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

__all__ = ["serve_page"]

_FOLDER = Path(__file__).with_name("page")
_SUFFIXES = frozenset({".css", ".html", ".ico", ".js", ".json", ".png", ".svg", ".woff2"})
_HEADERS = {
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


class _Files(StaticFiles):
    async def get_response(self, path: str, scope: Scope) -> Response:
        if Path(path).suffix not in _SUFFIXES:
            raise HTTPException(404)
        response = await super().get_response(path, scope)
        response.headers.update(_HEADERS)
        return response


def serve_page(app: FastAPI, folder: Path = _FOLDER) -> None:
    """Serve ``index.html`` at ``/`` and the files beside it under ``/page/``; no key is needed.

    Args:
        app: The service.
        folder: Where the files are; without an ``index.html`` there is no page.
    """
    index = folder / "index.html"
    if not index.is_file():
        return

    async def page() -> FileResponse:
        return FileResponse(index, headers=_HEADERS)

    app.add_api_route("/", page, methods=["GET"])
    app.mount("/page", _Files(directory=folder))
