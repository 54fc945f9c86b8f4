"""A SearXNG server, such as your own: many search engines behind one address, without a key."""

import os
from collections.abc import Mapping
from typing import Any, ClassVar

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.json_search import JsonSearchRetriever, hits, listed
from conflictscore.retrieval.search_notes import note
from conflictscore.retrieval.web_search import Fault, Page

__all__ = ["SearxngRetriever"]

_VARIABLE = "SEARXNG_URL"


class SearxngRetriever(JsonSearchRetriever):
    """The first ``k`` results of a SearXNG server, 1 to 100.

    The server's settings must list ``json`` under ``search.formats``. It decides how many results a
    page holds. Its address is ``endpoint``, or the environment's SEARXNG_URL.
    """

    provider: ClassVar[str] = "searxng"
    title: ClassVar[str] = "SearXNG"
    service: ClassVar[str] = ""  # there is none for all

    def given_endpoint(self) -> str:
        """See the base."""
        given = self.endpoint or os.environ.get(_VARIABLE, "")
        if not given.strip():
            raise ConfigurationError(
                "SearXNG search needs the address of a server: --search searxng:URL, or the "
                f"variable {_VARIABLE}"
            )
        return given

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """See the base."""
        return {
            "method": "GET",
            "url": self.address("/search"),
            "params": {"q": query, "format": "json", "pageno": number + 1},
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """See the base; nothing found by engines that did not answer is a failure."""
        found = hits(listed(reply, "results"), "title", "url", "content", "publishedDate")
        engines = [f"{name}: {reason}" for name, reason in reply.get("unresponsive_engines") or []]
        silent = self.shown("; ".join(engines))
        if silent and not found and number == 0:
            message = f"the search engines behind SearXNG did not answer: {silent}"
            return Fault(self.failed(message))
        if silent:
            note(f"searxng: some search engines behind it did not answer: {silent}")
        return Page(found, more=True)

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; most of what is refused is a matter of the server's settings."""
        cause = {
            401: "asks for a user and password: give them in the address, http://USER:PASSWORD@...",
            403: "refuses JSON: list json under search.formats in its settings.yml",
            404: "has no /search there: check the address and its path",
        }.get(status)
        if 300 <= status < 400:
            cause = "points to another address: check http or https, and the path"
        if cause is None:
            return super().refused(status, reason, retry_after)
        message = f"the SearXNG server at {self.endpoint} {cause} ({status}: {self.shown(reason)})"
        return Fault(ConfigurationError(message))
