"""Every web search beside the fake that plays its provider, for what all of them have in common.

```python
case = CASES["serper"]
with SearchServer(case.speak([case.found(1)])) as server:
    case.searching(server).invoke("sky")
```
"""

import html
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote

from pydantic import SecretStr

from conflictscore.retrieval.ddgs import DdgsRetriever
from conflictscore.retrieval.google import GoogleRetriever
from conflictscore.retrieval.http_searches import (
    BraveRetriever,
    SearxngRetriever,
    SerperRetriever,
    TavilyRetriever,
)
from conflictscore.retrieval.json_search import JsonSearchRetriever
from conflictscore.retrieval.vertex import VertexRetriever
from conflictscore.retrieval.web_search import WebSearchRetriever
from tests.fakes.google_search import google, google_error
from tests.fakes.search_server import (
    Handler,
    Received,
    Reply,
    SearchServer,
    brave,
    brave_error,
    html_reply,
    json_reply,
    searxng,
    serper,
    serper_error,
)
from tests.fakes.search_services import (
    ENGINE,
    tavily,
    tavily_error,
    vertex,
    vertex_error,
)

KEY = 'sk+secret/"key"&<42>'
"""With characters that addresses, JSON and HTML each write in their own way."""


@dataclass(frozen=True)
class Case:
    """One provider: its search, and the fake that speaks as it does."""

    search: type[WebSearchRetriever]
    speak: Callable[..., Handler]  # from results and an api_key
    error: Callable[..., Reply]  # from a status, a message and headers
    fields: tuple[str, str, str, str]  # its names of title, address, text and date
    listed: Callable[[Any], dict[str, Any]] = lambda results: {"query": "sky", "results": results}
    options: Mapping[str, str] = field(default_factory=dict)  # beside a key and an endpoint

    @property
    def speaks_json(self) -> bool:
        """Whether the search is an HTTP request of our own with a JSON reply."""
        return issubclass(self.search, JsonSearchRetriever)

    @property
    def has_statuses(self) -> bool:
        """Whether the search learns of HTTP statuses; the library ddgs keeps them to itself."""
        return self.search is not DdgsRetriever

    @property
    def requests_of_a_lost_connection(self) -> int:
        """httplib2 by itself asks once more on a new connection where one was lost."""
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
        if self.search is DdgsRetriever:
            from ddgs.engines.mojeek import Mojeek

            Mojeek.search_url = f"{server.endpoint}/mojeek"
            return DdgsRetriever(**{"backoff": 0.001, **options})
        endpoint = server.endpoint
        if self.search is SearxngRetriever:
            endpoint = endpoint.replace("//", f"//user:{quote(KEY, safe='')}@")
        common = {"endpoint": endpoint, "api_key": SecretStr(KEY), "backoff": 0.001}
        return self.search(**{**common, **self.options, **options})

    @staticmethod
    def question(request: Received) -> str:
        """What was asked."""
        is_json = "json" in request.headers.get("content-type", "")
        sent = request.json if is_json and request.body else request.parameters
        return str(sent["q"] if "q" in sent else sent["query"])


def mojeek_page(results: Sequence[Mapping[str, str]]) -> Reply:
    """A page of results as Mojeek writes it."""
    items = "".join(
        f'<li><h2><a href="{html.escape(r["url"])}">{r["title"]}</a></h2>'
        f'<p class="s">{r["text"]}</p></li>'
        for r in results
    )
    return html_reply(f'<html><body><ul class="results-standard">{items}</ul></body></html>')


CASES = {
    "serper": Case(
        SerperRetriever,
        serper,
        serper_error,
        ("title", "link", "snippet", "date"),
        lambda results: {"organic": results},
    ),
    "brave": Case(
        BraveRetriever,
        brave,
        lambda status, text, **headers: brave_error(status, "SOME_CODE", text, **headers),
        ("title", "url", "description", "page_age"),
        lambda results: {"type": "search", "query": {}, "web": {"results": results}},
    ),
    "tavily": Case(
        TavilyRetriever, tavily, tavily_error, ("title", "url", "content", "published_date")
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
    "ddgs": Case(
        DdgsRetriever,
        lambda results=(), api_key=None: lambda request: mojeek_page(results),
        lambda status, text, **headers: html_reply(text, status),
        ("title", "url", "text", ""),
    ),
}
