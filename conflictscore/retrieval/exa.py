"""The Exa search API."""

from collections.abc import Mapping
from typing import Any, ClassVar

from conflictscore.retrieval.json_search import JsonSearchRetriever, listed, said, texts
from conflictscore.retrieval.web_search import Fault, Hit, Page

__all__ = ["ExaRetriever"]


class ExaRetriever(JsonSearchRetriever):
    """The first ``k`` results of an Exa search; see the base for the rest.

    A document holds the page's highlights: passages as they stand there, with ``[...]`` between
    them. No summary and no answer is asked for.

    Attributes:
        k: The number of results, 1 to 100; they come by one request.
        api_key: Exa's key; without it, the environment's EXA_API_KEY.
    """

    provider: ClassVar[str] = "exa"
    title: ClassVar[str] = "Exa"
    key_variables: ClassVar[tuple[str, ...]] = ("EXA_API_KEY",)
    key_source: ClassVar[str] = "dashboard.exa.ai"
    service: ClassVar[str] = "https://api.exa.ai"
    page_size: ClassVar[int] = 100

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """See the base."""
        return {
            "method": "POST",
            "url": self.address("/search"),
            "headers": {"x-api-key": self._key.get_secret_value()},
            "json": {"query": query, "numResults": size, "contents": {"highlights": True}},
        }

    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """See the base."""
        return Page(said([_hit(item) for item in listed(reply, "results")]))


def _hit(item: Mapping[str, Any]) -> Hit:
    title, url, date = texts(item, "title", "url", "publishedDate")
    found = item.get("highlights")
    passages = [one for one in found if isinstance(one, str)] if isinstance(found, list) else []
    return Hit(title, url, " [...] ".join(passages), date)
