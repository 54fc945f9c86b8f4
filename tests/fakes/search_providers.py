"""Every web search with the fake of its provider, for tests of what they have in common."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from conflictscore.retrieval.google import GoogleRetriever
from conflictscore.retrieval.http_searches import (
    SearxngRetriever,
    SerperRetriever,
    VertexRetriever,
)
from conflictscore.retrieval.web_search import WebSearchRetriever
from tests.fakes.google_search import google, google_error
from tests.fakes.search_server import (
    ENGINE,
    Handler,
    Received,
    Reply,
    SearchServer,
    json_reply,
    searxng,
    serper,
    serper_error,
    vertex,
    vertex_error,
)

KEY = 'sk+secret/"key"&<42>'
"""A key with characters that addresses, JSON and HTML each escape differently."""


@dataclass(frozen=True)
class Case:
    """A provider: its search, and the fake that imitates it."""

    search: type[WebSearchRetriever]
    speak: Callable[..., Handler]  # from results and an api_key
    error: Callable[..., Reply]  # from a status, a message and headers
    fields: tuple[str, str, str, str]  # its names of title, address, text and date
    listed: Callable[[Any], dict[str, Any]] = lambda results: {"query": "sky", "results": results}
    options: Mapping[str, str] = field(default_factory=dict)  # besides a key and an endpoint

    @property
    def speaks_json(self) -> bool:
        """Whether the search is an HTTP request of our own with a JSON reply."""
        return self.search is not GoogleRetriever

    @property
    def requests_of_a_lost_connection(self) -> int:
        """After a lost connection, httplib2 itself asks again on a new one."""
        return 2 if self.search is GoogleRetriever else 1

    def found(self, number: int, text: str | None = None, **fields: Any) -> dict[str, Any]:
        """A result with the title "Title 1" and the address https://site1.example/page."""
        said = f"The sky, {number}." if text is None else text
        title, url, body, _ = self.fields
        found: dict[str, Any] = {
            title: f"Title {number}",
            url: f"https://site{number}.example/page",
            body: said,
        }
        if self.search is VertexRetriever:
            found[body] = [{"snippet": said, "snippet_status": "SUCCESS"}]
        return found | fields

    def dated(self, number: int, date: str) -> dict[str, Any]:
        """A result whose page was published on this date."""
        said: Any = date
        if self.fields[3] == "pagemap":
            said = {"metatags": [{"article:published_time": date}]}
        return self.found(number, **{self.fields[3]: said})

    def searching(self, server: SearchServer, **options: Any) -> WebSearchRetriever:
        """The search, with the server in its provider's place."""
        endpoint = server.endpoint
        if self.search is SearxngRetriever:
            endpoint = endpoint.replace("//", f"//user:{quote(KEY, safe='')}@")
        common = {"endpoint": endpoint, "api_key": SecretStr(KEY), "backoff": 0.001}
        return self.search(**{**common, **self.options, **options})

    @staticmethod
    def question(request: Received) -> str:
        """The question that was asked."""
        is_json = "json" in request.headers.get("content-type", "")
        sent = request.json if is_json and request.body else request.parameters
        return str(sent["q"] if "q" in sent else sent["query"])


CASES = {
    "serper": Case(
        SerperRetriever,
        serper,
        serper_error,
        ("title", "link", "snippet", "date"),
        lambda results: {"organic": results},
    ),
    "searxng": Case(
        SearxngRetriever,
        lambda results=(), api_key=None: searxng(results),
        lambda status, text, **headers: json_reply({"error": text}, status, **headers),
        ("title", "url", "content", "publishedDate"),
    ),
    "vertex": Case(
        VertexRetriever,
        vertex,
        lambda status, text, **headers: vertex_error(status, "SOME_NAME", text, **headers),
        ("title", "link", "snippets", "pagemap"),
        options={"serving_config": f"{ENGINE}/servingConfigs/default_search"},
    ),
    "google": Case(
        GoogleRetriever,
        google,
        lambda status, text, **headers: google_error(status, text, **headers),
        ("title", "link", "snippet", "pagemap"),
        lambda items: {"items": items},
        {"engine_id": "engine"},
    ),
}
