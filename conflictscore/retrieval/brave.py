"""The Brave Search API."""

import re
from collections.abc import Mapping
from typing import Any, ClassVar

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.json_search import JsonSearchRetriever, listed, said, texts
from conflictscore.retrieval.web_search import Fault, Hit, Page

__all__ = ["BraveRetriever"]

_NOT_IN_PLAN = re.compile("SUBSCRIPTION_NOT_FOUND|OPTION_NOT_IN_PLAN")


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
        found = said([_hit(item) for item in listed(reply["web"], "results")])
        return Page(found, more=reply["query"].get("more_results_available") is True)

    def pause_header(self, headers: Mapping[str, str]) -> str | None:
        """See the base; Brave lists the seconds to the end of each limit, the shortest first."""
        reset = headers.get("x-ratelimit-reset", "").partition(",")[0]
        return super().pause_header(headers) or reset or None

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; a wrong key is a 422 here, and so is a question that is too long."""
        if "SUBSCRIPTION_TOKEN_INVALID" in reason:
            return super().refused(401, reason, retry_after)
        said = f"{status}: {self.shown(reason)}"
        if _NOT_IN_PLAN.search(reason):
            return Fault(
                ConfigurationError(
                    f"the plan of this Brave key does not include web search ({said})"
                )
            )
        if status == 422:
            limit = "a question has at most 400 characters and 50 words"
            return Fault(InputError(f"Brave cannot use the request ({said}): {limit}"))
        return super().refused(status, reason, retry_after)


def _hit(item: Mapping[str, Any]) -> Hit:
    title, url, text, published, age = texts(item, "title", "url", "description", "page_age", "age")
    more = item.get("extra_snippets")
    snippets = [one for one in more if isinstance(one, str)] if isinstance(more, list) else []
    return Hit(title, url, "\n".join([text, *snippets]), published or age)
