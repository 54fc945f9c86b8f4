"""Vertex AI Search over HTTP, for ``SearchServer``."""

from collections.abc import Mapping, Sequence
from typing import Any

from tests.fakes.search_server import Handler, Received, Reply, html_reply, json_reply

Found = Sequence[Mapping[str, Any]]

ENGINE = "projects/p1/locations/global/collections/default_collection/engines/e1"
"""The engine that ``vertex`` has."""


def vertex(pages: Found = (), *, api_key: str | None = None) -> Handler:
    """Speaks as ``searchLite`` of discoveryengine.googleapis.com, of ``derivedStructData``."""

    def handle(request: Received) -> Reply:
        config, _, method = request.path.removeprefix("/v1/").rpartition(":")
        if (request.method, method) != ("POST", "searchLite"):
            return html_reply("<p>The requested URL was not found on this server.</p>", 404)
        if api_key is not None and request.headers.get("x-goog-api-key") != api_key:
            return vertex_error(400, "INVALID_ARGUMENT", "API key not valid.")
        if config.rpartition("/servingConfigs/")[0] != ENGINE:
            return vertex_error(404, "NOT_FOUND", f"Engine {config} does not exist.")
        asked = request.json
        first, size = asked.get("offset", 0), min(asked.get("pageSize", 10), 25)
        reply: dict[str, Any] = {
            "totalSize": len(pages),
            "attributionToken": "t1",
            "summary": {},
        }
        if found := pages[first : first + size]:  # left out where there is nothing to list
            reply["results"] = [
                {"id": str(n), "document": {"id": str(n), "derivedStructData": dict(page)}}
                for n, page in enumerate(found, first)
            ]
        if len(pages) > first + size:
            reply["nextPageToken"] = "n1"
        return json_reply(reply)

    return handle


def vertex_error(status: int, name: str, message: str, **headers: str) -> Reply:
    return json_reply(
        {"error": {"code": status, "message": message, "status": name}}, status, **headers
    )
