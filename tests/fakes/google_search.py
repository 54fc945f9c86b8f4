"""A loopback server that speaks Google's Custom Search JSON API, with results set by a test."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from tests.fakes.search_server import Handler, Received, Reply, SearchServer, html_reply, json_reply

Result = Mapping[str, Any]
Found = Sequence[Result] | Callable[[str], Sequence[Result]]
"""All results, or a function from a question to the results."""


def google_error(
    status: int, message: str = "{quoted}", reason: str = "backendError", **headers: str
) -> Reply:
    """Google's error object; ``reason`` is its name for the cause."""
    cause = {"message": message, "domain": "global", "reason": reason}
    error = {"code": status, "message": message, "errors": [cause]}
    return json_reply({"error": error}, status, **headers)


INVALID_KEY = google_error(400, "API key not valid. Pass a valid API key. {quoted}", "badRequest")
ACCESS_DENIED = google_error(
    403, "This project does not have the access to Custom Search JSON API. {quoted}", "forbidden"
)
DAILY_QUOTA = google_error(
    429,
    "Quota exceeded for metric 'Queries' and limit 'Queries per day'. {quoted}",
    "rateLimitExceeded",
)


def result(link: str, title: str, snippet: str, **fields: Any) -> dict[str, Any]:
    """One entry of ``items`` with the fields that Google always sends."""
    site = urlsplit(link).hostname or ""
    common = {"kind": "customsearch#result", "displayLink": site, "htmlTitle": title}
    return {**common, "title": title, "link": link, "snippet": snippet, **fields}


def google(results: Found = (), *, api_key: str | None = None) -> Handler:
    """Speaks as ``/customsearch/v1``."""

    def handle(request: Received) -> Reply:
        if request.path != "/customsearch/v1":
            return html_reply("no such page", 404)
        asked = request.parameters
        if api_key is not None and request.headers.get("x-goog-api-key") != api_key:
            return INVALID_KEY
        num, start = int(asked.get("num", "10")), int(asked.get("start", "1"))
        if not 1 <= num <= 10 or start + num > 101 or start < 1:
            return google_error(400, "Request contains an invalid argument.", "badRequest")
        found = results(asked["q"]) if callable(results) else results
        reply: dict[str, Any] = {
            "kind": "customsearch#search",
            "searchInformation": {"totalResults": str(len(found))},
        }
        if items := [dict(item) for item in found[start - 1 : start - 1 + num]]:
            reply["items"] = items  # Google leaves the key out if the list is empty
        return json_reply(reply)

    return handle


class GoogleSearchServer(SearchServer):
    """Serves ``google`` on a free loopback port."""

    def __init__(self, results: Found = (), *, api_key: str | None = None, **faults: Any) -> None:
        super().__init__(google(results, api_key=api_key), **faults)
