"""The Tavily search API, through its official client."""

from collections.abc import Sequence
from typing import Any, ClassVar

from conflictscore.retrieval.faults import Fault
from conflictscore.retrieval.json_search import hits, listed
from conflictscore.retrieval.library_search import RequestsSearchRetriever
from conflictscore.retrieval.results import Hit

__all__ = ["TavilyRetriever"]


class TavilyRetriever(RequestsSearchRetriever):
    """The first ``k`` results of a Tavily search; see the base for the rest.

    A document holds up to three passages of the page, as they stand there, with ``[...]`` between
    them. That takes an advanced search, which costs two credits; a basic one would give a summary
    in other words. No answer is asked for.

    Attributes:
        k: The number of results, 1 to 20; they come by one request.
        api_key: Tavily's key; without it, the environment's TAVILY_API_KEY.
    """

    provider: ClassVar[str] = "tavily"
    title: ClassVar[str] = "Tavily"
    key_variables: ClassVar[tuple[str, ...]] = ("TAVILY_API_KEY",)
    key_source: ClassVar[str] = "app.tavily.com"
    package: ClassVar[str] = "tavily"
    service: ClassVar[str] = "https://api.tavily.com"
    page_size: ClassVar[int] = 20
    k_limit: ClassVar[int | None] = 20

    def find(self, session: Any, query: str, size: int) -> Sequence[Hit]:
        """See the base."""
        from tavily import TavilyClient, errors

        key = self._key.get_secret_value()
        client = TavilyClient(key, api_base_url=self.address, session=session)
        try:
            found = client.search(
                query, search_depth="advanced", max_results=size, timeout=self.timeout
            )
        except errors.TimeoutError:
            raise TimeoutError from None
        if "query" not in found:  # the client adds empty results to whatever has none
            raise TypeError("this is another kind of reply")
        return hits(listed(found, "results"), "title", "url", "content", "published_date")

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; a plan that is used up is a 432 here, a spending limit a 433."""
        if status in (432, 433):
            return self.used_up(f"{status}: {self.shown(reason)}", status)
        return super().refused(status, reason, retry_after)
