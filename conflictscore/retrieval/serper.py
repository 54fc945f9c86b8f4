"""Google's results, as serper.dev sells them."""

from collections.abc import Mapping
from typing import Any, ClassVar

from conflictscore.retrieval.json_search import JsonSearchRetriever, hits, listed
from conflictscore.retrieval.web_search import Fault, Page

__all__ = ["SerperRetriever"]


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
