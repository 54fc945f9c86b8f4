"""Public search pages, read by the library ddgs: no key, no guarantee."""

from typing import ClassVar

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.json_search import hits
from conflictscore.retrieval.web_search import Fault, Page, WebSearchRetriever

__all__ = ["DdgsRetriever"]

_PAGES = "brave,duckduckgo,mojeek,startpage,wikipedia,yahoo"
"""Search engines that are read: all text engines of the library except Grokipedia, whose
articles a model writes."""

_NOTHING = "No results found."
"""Message of the library if no page had a result, whatever the reason."""


class DdgsRetriever(WebSearchRetriever):
    """The first ``k`` results of public search pages; see the base for the rest.

    The library ddgs asks the search pages of Brave, DuckDuckGo, Mojeek, Startpage, Wikipedia and
    Yahoo as a browser would, some of them in turn, and reads their HTML. Nobody promises that this
    works: a page may change, refuse or slow down whoever asks often. Each has its terms of use,
    and whether they allow it is for the user to check. For more than a try, take a search with a
    key or a SearXNG server.

    A search that finds nothing is a ``ProviderError``: the library does not tell it from one that
    all pages refused.

    Attributes:
        k: The number of results, 1 to 50; a page holds some ten, so that the more may not be had.
        timeout: Seconds to wait for each page, above 0.
    """

    provider: ClassVar[str] = "ddgs"
    title: ClassVar[str] = "ddgs"
    package: ClassVar[str] = "ddgs"
    page_size: ClassVar[int] = 50
    k_limit: ClassVar[int | None] = 50

    @property
    def notes(self) -> tuple[str, ...]:
        """Note for the user on the service that this search relies on."""
        return (
            "ddgs reads public search pages, with no guarantee of service: check their terms "
            "of use, and use another search for more than a try",
        )

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """See the base."""
        from ddgs import DDGS
        from ddgs.exceptions import DDGSException, RatelimitException, TimeoutException
        from primp import PrimpError

        try:
            library = DDGS(timeout=self.timeout)  # type: ignore[arg-type]  # parts of a second too
            found = library.text(query, max_results=size, backend=_PAGES)
        except TimeoutException:
            return self.timed_out()
        except RatelimitException as error:
            message = f"the search pages ask for fewer searches: {self.shown(str(error))}"
            return Fault(self.failed(message), retry=True)
        except DDGSException as error:
            return self._unanswered(str(error))
        except PrimpError as error:
            return Fault(ConfigurationError(f"ddgs cannot be set up: {self.shown(str(error))}"))
        return Page(hits(found, "title", "href", "body", "date"))

    def _unanswered(self, said: str) -> Fault:
        if said == _NOTHING:
            message = (
                "ddgs found nothing: either nothing matches the question, or the search pages "
                "refuse to answer a program; it does not say which"
            )
            return Fault(self.failed(message))
        return Fault(self.failed(f"no search page answered ddgs: {self.shown(said)}"), retry=True)
