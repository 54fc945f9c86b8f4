"""The Tavily search API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from conflictscore.retrieval.json_search import JsonSearchRetriever, hits, listed
from conflictscore.retrieval.web_search import Fault, Page

__all__ = ["TavilyRetriever"]


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
