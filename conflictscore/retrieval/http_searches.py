"""Web searches by one HTTP request a page: Serper, Brave, Tavily and SearXNG."""

import os
import re
from collections.abc import Mapping
from typing import Any, ClassVar

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.json_search import JsonSearchRetriever, hits, listed, said, texts
from conflictscore.retrieval.search_notes import note
from conflictscore.retrieval.web_search import Fault, Hit, Page

__all__ = ["BraveRetriever", "SearxngRetriever", "SerperRetriever", "TavilyRetriever"]

_NOT_IN_PLAN = re.compile("SUBSCRIPTION_NOT_FOUND|OPTION_NOT_IN_PLAN")
_SEARXNG_VARIABLE = "SEARXNG_URL"


class SerperRetriever(JsonSearchRetriever):
    """The first ``k`` results of a Google search by serper.dev, 1 to 100; every ten cost a credit.

    The key is ``api_key``, or the environment's SERPER_API_KEY.
    """

    provider: ClassVar[str] = "serper"
    title: ClassVar[str] = "Serper"
    key_variables: ClassVar[tuple[str, ...]] = ("SERPER_API_KEY",)
    key_source: ClassVar[str] = "serper.dev"
    service: ClassVar[str] = "https://google.serper.dev"

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """See the base."""
        return {
            "method": "POST",
            "url": self.address("/search"),
            "headers": {"X-API-KEY": self._key.get_secret_value()},
            "json": {"q": query, "num": size, "page": number + 1},
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """See the base."""
        found = listed(reply, "organic")
        # A page often holds fewer than asked for, and is not the last one for that.
        return Page(hits(found, "title", "link", "snippet", "date"), more=True)

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; out of credit is a 400 here."""
        if status == 400 and "credit" in reason.lower():
            return self.used_up(f"{status}: {self.shown(reason)}", status)
        return super().refused(status, reason, retry_after)


class BraveRetriever(JsonSearchRetriever):
    """The first ``k`` results of a Brave search, 1 to 100; every twenty cost one request.

    The key is ``api_key``, or the environment's BRAVE_API_KEY or BRAVE_SEARCH_API_KEY.
    """

    provider: ClassVar[str] = "brave"
    title: ClassVar[str] = "Brave"
    key_variables: ClassVar[tuple[str, ...]] = ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY")
    key_source: ClassVar[str] = "api-dashboard.search.brave.com"
    page_size: ClassVar[int] = 20
    service: ClassVar[str] = "https://api.search.brave.com"

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """See the base."""
        asked = {"q": query, "count": size, "offset": number}
        return {
            "method": "GET",
            "url": self.address("/res/v1/web/search"),
            # Without decorations there is no need to tell the engine's tags from the page's text.
            "params": {**asked, "result_filter": "web", "text_decorations": "false"},
            "headers": {
                "accept": "application/json",
                "X-Subscription-Token": self._key.get_secret_value(),
            },
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """See the base."""
        if reply["type"] != "search":
            raise ValueError("this is another kind of reply")
        if reply.get("web") is None:  # left out if nothing was found
            return Page([])
        found = said([_brave_hit(item) for item in listed(reply["web"], "results")])
        return Page(found, more=reply["query"].get("more_results_available") is True)

    def pause_header(self, headers: Mapping[str, str]) -> str | None:
        """See the base; Brave lists the seconds to the end of each limit, the shortest first."""
        reset = headers.get("x-ratelimit-reset", "").partition(",")[0]
        return super().pause_header(headers) or reset or None

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; a wrong key is a 422 here, and so is a question that is too long."""
        if "SUBSCRIPTION_TOKEN_INVALID" in reason:
            return super().refused(401, reason, retry_after)
        why = f"{status}: {self.shown(reason)}"
        if _NOT_IN_PLAN.search(reason):
            message = f"the plan of this Brave key does not include web search ({why})"
            return Fault(ConfigurationError(message))
        if status == 422:
            limit = "a question has at most 400 characters and 50 words"
            return Fault(InputError(f"Brave cannot use the request ({why}): {limit}"))
        return super().refused(status, reason, retry_after)


def _brave_hit(item: Mapping[str, Any]) -> Hit:
    title, url, text, published, age = texts(item, "title", "url", "description", "page_age", "age")
    more = item.get("extra_snippets")
    snippets = [one for one in more if isinstance(one, str)] if isinstance(more, list) else []
    return Hit(title, url, "\n".join([text, *snippets]), published or age)


class TavilyRetriever(JsonSearchRetriever):
    """The first ``k`` results of a Tavily search, 1 to 20, by one request.

    A document holds up to three passages of the page, verbatim, with ``[...]`` between them. That
    takes an advanced search, which costs two credits; a basic one would paraphrase. No answer is
    asked for. The key is ``api_key``, or the environment's TAVILY_API_KEY.
    """

    provider: ClassVar[str] = "tavily"
    title: ClassVar[str] = "Tavily"
    key_variables: ClassVar[tuple[str, ...]] = ("TAVILY_API_KEY",)
    key_source: ClassVar[str] = "app.tavily.com"
    service: ClassVar[str] = "https://api.tavily.com"
    page_size: ClassVar[int] = 20
    k_limit: ClassVar[int | None] = 20

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """See the base."""
        return {
            "method": "POST",
            "url": self.address("/search"),
            "headers": {"authorization": f"Bearer {self._key.get_secret_value()}"},
            "json": {"query": query, "search_depth": "advanced", "max_results": size},
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """See the base."""
        if "query" not in reply:
            raise ValueError("this is another kind of reply")
        return Page(hits(listed(reply, "results"), "title", "url", "content", "published_date"))

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; a plan that is used up is a 432 here, a spending limit a 433."""
        if status in (432, 433):
            return self.used_up(f"{status}: {self.shown(reason)}", status)
        return super().refused(status, reason, retry_after)


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
        given = self.endpoint or os.environ.get(_SEARXNG_VARIABLE, "")
        if not given.strip():
            raise ConfigurationError(
                "SearXNG search needs the address of a server: --search searxng:URL, or the "
                f"variable {_SEARXNG_VARIABLE}"
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
