"""Searches the web through Serper, SearXNG and Vertex AI Search, one HTTP request per page."""

import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import Field, PrivateAttr, model_validator

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.search_notes import note
from conflictscore.retrieval.web_search import Fault, Page, WebSearchRetriever, hits, objects

_SEARXNG_VARIABLE, _CONFIG_VARIABLE = "SEARXNG_URL", "VERTEX_SERVING_CONFIG"
# Names under which pages state their date of publication.
_DATES = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "date",
)


class SerperRetriever(WebSearchRetriever):
    """Returns the first ``k`` results (1 to 100) of a Google search through serper.dev.

    Every ten results cost one credit. The key is ``api_key`` or the environment variable
    SERPER_API_KEY.
    """

    provider: ClassVar[str] = "serper"
    title: ClassVar[str] = "Serper"
    key_variables: ClassVar[tuple[str, ...]] = ("SERPER_API_KEY",)
    key_source: ClassVar[str] = "serper.dev"
    service: ClassVar[str] = "https://google.serper.dev"

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """Return the arguments of a request for one page of results."""
        return {
            "method": "POST",
            "url": self.address("/search"),
            "headers": {"X-API-KEY": self._key.get_secret_value()},
            "json": {"q": query, "num": size, "page": number + 1},
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page:
        """Read the results in a reply."""
        # If Google finds nothing, the reply has no "organic" field, but still "searchParameters".
        # A reply with neither is not from Serper, and the LookupError says so.
        results = reply["organic"] if "searchParameters" not in reply else reply.get("organic", [])
        # A page may have fewer results than requested without being the last page.
        return Page(hits(results, "title", "link", "snippet", "date"), more=True)


class SearxngRetriever(WebSearchRetriever):
    """Returns the first ``k`` results (1 to 100) from a SearXNG server.

    The server's settings must list ``json`` under ``search.formats``. The server decides how many
    results a page has. The server's address is ``endpoint`` or the environment variable
    SEARXNG_URL.
    """

    provider: ClassVar[str] = "searxng"
    title: ClassVar[str] = "SearXNG"
    hints: ClassVar[Mapping[int, str]] = {
        401: "give the user name and password in the address, as http://USER:PASSWORD@...",
        403: "list json under search.formats in its settings.yml",
    }

    endpoint: str | None = Field(
        default_factory=lambda: os.environ.get(_SEARXNG_VARIABLE, "").strip() or None
    )

    @model_validator(mode="after")
    def _has_endpoint(self) -> Self:
        if self.endpoint is None:
            raise ConfigurationError(
                "SearXNG search needs the address of a server: --search searxng:URL, or the "
                f"variable {_SEARXNG_VARIABLE}"
            )
        return self

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """Return the arguments of a request for one page of results."""
        asked = {"q": query, "format": "json", "pageno": number + 1}
        return {"method": "GET", "url": self.address("/search"), "params": asked}

    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """Read the results in a reply.

        An empty reply counts as a failure if some engines did not answer.
        """
        found = hits(reply["results"], "title", "url", "content", "publishedDate")
        engines = [f"{name}: {reason}" for name, reason in reply.get("unresponsive_engines") or []]
        if not engines:
            return Page(found, more=True)
        silent = f"did not answer: {self.shown('; '.join(engines))}"
        if not found and number == 0:
            return Fault(self.failed(f"the search engines behind SearXNG {silent}"))
        note(f"searxng: some search engines behind it {silent}")
        return Page(found, more=True)


class VertexRetriever(WebSearchRetriever):
    """Returns the first ``k`` results (1 to 100) of a Vertex AI search, at most 25 per request.

    The service does not search the whole web, but only the websites listed in one engine (about 50
    domains at most). With an API key, Google allows only engines for public websites. The key is
    ``api_key`` or the environment variable VERTEX_API_KEY or GOOGLE_API_KEY. The engine is
    ``serving_config`` or the environment variable VERTEX_SERVING_CONFIG. Give its full resource
    name or ``PROJECT/ENGINE``.
    """

    provider: ClassVar[str] = "vertex"
    title: ClassVar[str] = "Vertex AI"
    key_variables: ClassVar[tuple[str, ...]] = ("VERTEX_API_KEY", "GOOGLE_API_KEY")
    key_source: ClassVar[str] = "console.cloud.google.com"
    hints: ClassVar[Mapping[int, str]] = dict.fromkeys(
        (400, 404),
        f"check the key and {_CONFIG_VARIABLE}, which must be an engine for public websites",
    )
    page_size: ClassVar[int] = 25
    service: ClassVar[str] = "https://discoveryengine.googleapis.com"

    serving_config: str | None = None

    _config: str = PrivateAttr()

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """Return the arguments of a request for one page of results.

        Each location other than ``global`` has its own address.
        """
        # the configuration is "projects/PROJECT/locations/LOCATION/…"
        location = self._config.split("/")[3]
        url = self.address(f"/v1/{self._config}:searchLite")
        if location != "global" and not self.endpoint:
            url = url.replace("//", f"//{location}-", 1)
        return {
            "method": "POST",
            "url": url,
            "headers": {"x-goog-api-key": self._key.get_secret_value()},
            "json": {
                "query": query,
                "pageSize": size,
                "offset": number * size,
                "contentSearchSpec": {"snippetSpec": {"returnSnippet": True}},
            },
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page:
        """Read the results in a reply.

        The reply has no ``results`` if nothing was found.
        """
        results = objects(reply.get("results", []))
        documents = [result.get("document") or {} for result in results]
        pages = [document.get("derivedStructData") or {} for document in documents]
        found = [{**page, "snippet": _snippet(page), "date": published(page)} for page in pages]
        more = bool(reply.get("nextPageToken"))
        return Page(hits(found, "title", "link", "snippet", "date"), more)

    @model_validator(mode="after")
    def _find_config(self) -> Self:
        given = (self.serving_config or os.environ.get(_CONFIG_VARIABLE, "")).strip()
        if re.fullmatch(r"[^/\s]+/[^/\s]+", given):
            project, _, engine = given.partition("/")
            given = (
                f"projects/{project}/locations/global/collections/default_collection"
                f"/engines/{engine}/servingConfigs/default_search"
            )
        form = r"projects/[^/\s]+/locations/[a-z0-9-]+/collections/[^/\s]+/(?:engines|dataStores)"
        if not re.fullmatch(rf"{form}/[^/\s]+/servingConfigs/[^/\s]+", given):
            raise ConfigurationError(
                f"Vertex AI search needs {_CONFIG_VARIABLE} as PROJECT/ENGINE or projects/PROJECT/"
                "locations/LOCATION/collections/COLLECTION/engines/ENGINE/servingConfigs/CONFIG;"
                f" {'it has a different form' if given else 'it is not set'}"
            )
        self._config = given
        return self


def _snippet(page: Mapping[str, Any]) -> str:
    parts = page.get("snippets")
    return " [...] ".join(
        part["snippet"]
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and isinstance(part.get("snippet"), str)
        # With this status, the snippet is a sentence by Google that is not on the page.
        if part.get("snippet_status") != "NO_SNIPPET_AVAILABLE"
    )


def published(item: Mapping[str, Any]) -> str:
    """Return the publication date in a result's meta tags, for Google and Vertex AI.

    The date is empty if the tags have none.
    """
    pages = item.get("pagemap")
    blocks = pages.get("metatags") if isinstance(pages, dict) else ()
    tags = [tag for tag in (blocks if isinstance(blocks, list) else ()) if isinstance(tag, dict)]
    dates = (tag.get(key) for tag in tags for key in _DATES)
    return next((date for date in dates if isinstance(date, str) and date.strip()), "")
