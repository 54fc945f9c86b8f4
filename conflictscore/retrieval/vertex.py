"""Vertex AI Search over the websites listed in your own search engine, with an API key."""

import os
import re
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self

from pydantic import PrivateAttr, model_validator

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.google_results import result_hits
from conflictscore.retrieval.json_search import JsonSearchRetriever, listed
from conflictscore.retrieval.web_search import OTHER_WAYS, Fault, Hit, Page

__all__ = ["VertexRetriever"]

_CONFIG_VARIABLE = "VERTEX_SERVING_CONFIG"

_LIMITS = "it searches the public websites listed in one engine, about 50 domains, and not the web"
_FORM = (
    "PROJECT/ENGINE or projects/PROJECT/locations/LOCATION/collections/COLLECTION/engines/ENGINE/"
    "servingConfigs/CONFIG"
)
_SHORT = re.compile(r"([^/\s]+)/([^/\s]+)")
_FULL = re.compile(
    r"projects/[^/\s]+/locations/[a-z0-9-]+/collections/[^/\s]+"
    r"/(?:engines|dataStores)/[^/\s]+/servingConfigs/[^/\s]+"
)
_INVALID_KEY = re.compile(r"api[ _]key", re.IGNORECASE)


class VertexRetriever(JsonSearchRetriever):
    """The first ``k`` results of a Vertex AI search; see the base for the rest.

    Searched are the websites listed in one engine, about 50 domains at most, and not the web.
    With an API key, Google allows that only for an engine of public websites.

    Attributes:
        k: The number of results, 1 to 100; every 25 cost one request.
        api_key: Google's API key; without it, the environment's VERTEX_API_KEY or GOOGLE_API_KEY.
        serving_config: The engine's serving config, by its full resource name or as
            ``PROJECT/ENGINE``; without it, the environment's VERTEX_SERVING_CONFIG.
    """

    provider: ClassVar[str] = "vertex"
    title: ClassVar[str] = "Vertex AI"
    key_variables: ClassVar[tuple[str, ...]] = ("VERTEX_API_KEY", "GOOGLE_API_KEY")
    page_size: ClassVar[int] = 25
    service: ClassVar[str] = "https://discoveryengine.googleapis.com"

    serving_config: str | None = None

    _config: str = PrivateAttr()

    def no_key(self) -> ConfigurationError:
        """See the base."""
        return _missing(" or ".join(self.key_variables))

    def address(self, path: str) -> str:
        """See the base; outside of ``global`` the service has an address for each location."""
        location = self._config.split("/")[3]
        regional = self.service.replace("//", f"//{location}-" if location != "global" else "//")
        return f"{self.endpoint or regional}{path}"

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """See the base."""
        return {
            "method": "POST",
            "url": self.address(f"/v1/{self._config}:searchLite"),
            "headers": {"x-goog-api-key": self._key.get_secret_value()},
            "json": {
                "query": query,
                "pageSize": size,
                "offset": number * size,
                "contentSearchSpec": {"snippetSpec": {"returnSnippet": True}},
            },
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page:
        """See the base."""
        return Page(_hits(reply), more=bool(reply.get("nextPageToken")))

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; a wrong key is a 400 here, and so is an engine that cannot be used."""
        said = f"{status}: {self.shown(reason)}"
        if "FAILED_PRECONDITION" in reason:
            message = (
                f"with an API key, Vertex AI searches only an engine of public websites ({said}): "
                f"check {_CONFIG_VARIABLE}; {_LIMITS}; {OTHER_WAYS}"
            )
            return Fault(ConfigurationError(message))
        if status == 400 and _INVALID_KEY.search(reason):
            return super().refused(401, reason)
        if status == 404:
            message = f"Vertex AI has no such engine ({said}): check {_CONFIG_VARIABLE}"
            return Fault(ConfigurationError(message))
        if status == 400:
            what = f"check {_CONFIG_VARIABLE} and the length of the question"
            return Fault(InputError(f"Vertex AI cannot use the request ({said}): {what}"))
        return super().refused(status, reason, retry_after)

    @model_validator(mode="after")
    def _connect(self) -> Self:
        given = (self.serving_config or os.environ.get(_CONFIG_VARIABLE, "")).strip()
        if not given:
            raise _missing(_CONFIG_VARIABLE)
        if short := _SHORT.fullmatch(given):
            project, engine = short.groups()
            given = (
                f"projects/{project}/locations/global/collections/default_collection"
                f"/engines/{engine}/servingConfigs/default_search"
            )
        if not _FULL.fullmatch(given):
            raise ConfigurationError(
                f"{_CONFIG_VARIABLE} is not a serving config: give it as {_FORM}"
            )
        self._config = given
        return self


def _missing(variable: str) -> ConfigurationError:
    return ConfigurationError(
        f"Vertex AI search needs an API key and {_CONFIG_VARIABLE}; not set: {variable}; both come "
        "from console.cloud.google.com (Credentials, AI Applications), give the second as "
        f"{_FORM}; {_LIMITS}; {OTHER_WAYS}"
    )


def _hits(reply: Mapping[str, Any]) -> Sequence[Hit]:
    """The results in a reply, which has no ``results`` where nothing was found."""
    found = listed({"results": [], **reply}, "results")
    pages = [page for result in found if (page := _page(result))]
    if found and not pages:
        raise TypeError("no result has a page")
    # What is known of a page has the form of a Custom Search result, but for the snippets.
    return result_hits({"items": [{**page, "snippet": _snippet(page)} for page in pages]})


def _page(result: Mapping[str, Any]) -> Mapping[str, Any]:
    document = result.get("document")
    page = document.get("derivedStructData") if isinstance(document, dict) else None
    return page if isinstance(page, dict) else {}


def _snippet(page: Mapping[str, Any]) -> str:
    parts = page.get("snippets")
    return " [...] ".join(
        part["snippet"]
        for part in (parts if isinstance(parts, list) else ())
        if isinstance(part, dict) and isinstance(part.get("snippet"), str)
        # Google then writes a sentence of its own, which does not stand in the page.
        if part.get("snippet_status") != "NO_SNIPPET_AVAILABLE"
    )
