"""The Exa search API, through its official client."""

from collections.abc import Sequence
from typing import Any, ClassVar

from conflictscore.retrieval.json_search import listed, texts
from conflictscore.retrieval.library_search import RequestsSearchRetriever
from conflictscore.retrieval.results import Hit

__all__ = ["ExaRetriever"]


class ExaRetriever(RequestsSearchRetriever):
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
    package: ClassVar[str] = "exa_py"
    service: ClassVar[str] = "https://api.exa.ai"
    page_size: ClassVar[int] = 100

    def find(self, session: Any, query: str, size: int) -> Sequence[Hit]:
        """See the base."""
        from exa_py import Exa  # brings openai's client along, which takes a second

        timeout = self.timeout

        class Client(Exa):
            # The client's own request follows redirects with the key, and tells neither the
            # status of an error nor how long to wait.
            def request(self, endpoint: str, data: Any = None, *_: Any, **__: Any) -> Any:
                url = self.base_url + endpoint
                reply = session.post(url, json=data, headers=self.headers, timeout=timeout).json()
                listed(reply, "results")
                return reply

        client = Client(self._key.get_secret_value(), base_url=self.address)
        found = client.search(query, num_results=size, contents={"highlights": True})
        return [_hit(result) for result in found.results]


def _hit(result: Any) -> Hit:
    title, url, date = texts(vars(result), "title", "url", "published_date")
    passages = result.highlights or []
    if not isinstance(passages, list):
        raise TypeError("the highlights are no list")
    return Hit(title, url, " [...] ".join(passages), date)
