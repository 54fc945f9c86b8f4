"""What the searches through Google's own API client have in common, and how both write a page."""

import http.client
from abc import abstractmethod
from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

import httplib2
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from googleapiclient.http import HttpRequest
from pydantic import PrivateAttr

from conflictscore.retrieval.json_search import hits, listed
from conflictscore.retrieval.web_search import Fault, Hit, Page, WebSearchRetriever

__all__ = ["GoogleApiRetriever", "result_hits"]

_DATE_KEYS = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "date",
)


class GoogleApiRetriever(WebSearchRetriever):
    """A web search through google-api-python-client, with an API key and without a login.

    Redirects are not followed, since they would take the key along.

    Attributes:
        api: The API's name and version, as the client library knows it.
        endpoint: The service's address, where it is not Google's own, such as a proxy's.
    """

    api: ClassVar[tuple[str, str]]

    endpoint: str | None = None

    _service: Any = PrivateAttr()
    """The client's resource that searches."""

    @abstractmethod
    def request(self, query: str, number: int, size: int) -> HttpRequest:
        """The client's request, as for ``ask``."""

    @abstractmethod
    def page(self, reply: Mapping[str, Any], size: int) -> Page:
        """The results in a reply.

        Raises:
            LookupError, TypeError, ValueError, AttributeError: The reply has another form.
        """

    @abstractmethod
    def explained(self, status: int, reason: str, body: str, retry_after: str | None) -> Fault:
        """What an HTTP error of this API means.

        Args:
            status: The HTTP status, from 300.
            reason: What the server gives as the cause, as it came.
            body: The reply's body, read for the names of errors only.
            retry_after: The reply's Retry-After header.
        """

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """See the base."""
        try:
            return self.page(self.request(query, number, size).execute(), size)
        except HttpError as error:
            body = error.content.decode("utf-8", "replace")
            retry_after = error.resp.get("retry-after")
            return self.explained(error.status_code, error.reason, body, retry_after)
        except TimeoutError:
            return self.timed_out()
        except (OSError, http.client.HTTPException, httplib2.HttpLib2Error) as error:
            return self.unreachable(error)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return self.wrong_form()

    def opened(self, endpoint: str | None) -> Any:
        """The client for this API; at Google's own address where ``endpoint`` is None."""
        return build(
            *self.api,
            http=httplib2.Http(),  # replaced in each request; without it, credentials are sought
            requestBuilder=self._request,
            static_discovery=True,
            cache_discovery=False,
            client_options={"api_endpoint": endpoint},
        )

    def _request(self, _shared: Any, *args: Any, headers: dict[str, str], **kwargs: Any) -> Any:
        # A connection of its own for each request: httplib2's are not thread-safe. The key is in
        # a header, since the client library logs and quotes addresses.
        connection = httplib2.Http(timeout=self.timeout)
        connection.follow_redirects = False
        keyed = {**headers, "x-goog-api-key": self._key.get_secret_value()}
        return HttpRequest(connection, *args, headers=keyed, **kwargs)


def result_hits(reply: Mapping[str, Any]) -> list[Hit]:
    """The results in a reply of Custom Search, which has no ``items`` where nothing was found.

    Raises:
        LookupError, TypeError, ValueError: The reply has another form.
    """
    dated = (
        {**item, "date": next(_dates(item), "")} for item in listed({"items": [], **reply}, "items")
    )
    return hits(list(dated), "title", "link", "snippet", "date")


def _dates(item: Mapping[str, Any]) -> Iterator[str]:
    """When the page says it was published: first by its meta tags, then by its other data."""
    pagemap = item.get("pagemap")
    if not isinstance(pagemap, dict):
        return
    blocks = [pagemap.get("metatags"), *(pagemap[key] for key in pagemap if key != "metatags")]
    for block in blocks:
        for entry in block if isinstance(block, list) else ():
            fields = entry.items() if isinstance(entry, dict) else ()
            given = {str(key).lower(): value for key, value in fields}
            for key in _DATE_KEYS:
                value = given.get(key)
                if isinstance(value, str) and value.strip():
                    yield value.strip()
