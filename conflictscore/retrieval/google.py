"""Google search through the Custom Search JSON API, which ends on 2027-01-01."""

import http.client
import os
from typing import Any, ClassVar, Self
from urllib.parse import quote_plus

import httplib2
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from googleapiclient.http import HttpRequest
from pydantic import PrivateAttr, SecretStr, model_validator

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.retrieval import google_faults
from conflictscore.retrieval.faults import Fault
from conflictscore.retrieval.google_faults import ENGINE_VARIABLE, KEY_VARIABLE
from conflictscore.retrieval.google_results import result_hits
from conflictscore.retrieval.results import Page
from conflictscore.retrieval.web_search import WebSearchRetriever

__all__ = ["GoogleRetriever"]


class _KeyedHttp(httplib2.Http):  # type: ignore[misc]  # httplib2 is not typed
    """Adds the key as the request leaves: the client library can neither log nor quote it."""

    def __init__(self, key: SecretStr, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self.follow_redirects = False  # they would take the key along
        self._key = key

    def request(self, uri: str, *args: Any, **kwargs: Any) -> Any:
        key = quote_plus(self._key.get_secret_value())
        return super().request(f"{uri}{'&' if '?' in uri else '?'}key={key}", *args, **kwargs)


class GoogleRetriever(WebSearchRetriever):
    """The first ``k`` results of a Google search; see the base for the rest.

    Deprecated: the service takes no new customers and ends on 2027-01-01.

    Attributes:
        k: The number of results, 1 to 100; every ten cost one request of the daily quota.
        api_key: Google's API key; without it, the environment's GOOGLE_API_KEY.
        engine_id: The search engine's id; without it, the environment's GOOGLE_CSE_ID.
        endpoint: The service's address, where it is not Google's own, such as a proxy's.
    """

    provider: ClassVar[str] = "google"
    title: ClassVar[str] = "Google"
    key_variables: ClassVar[tuple[str, ...]] = (KEY_VARIABLE,)

    engine_id: str | None = None
    endpoint: str | None = None

    _engine: str = PrivateAttr()
    _service: Any = PrivateAttr()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        google_faults.warn_of_the_end()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know: how long the service still works."""
        return (google_faults.end_note(),)

    @model_validator(mode="after")
    def _connect(self) -> Self:
        self._engine = self._engine_id()
        if not self._engine:
            raise google_faults.missing(ENGINE_VARIABLE)
        self._service = build(
            "customsearch",
            "v1",
            http=httplib2.Http(),  # replaced in each request; without it, certificates are sought
            requestBuilder=self._request,
            static_discovery=True,
            cache_discovery=False,
            client_options={"api_endpoint": self.endpoint} if self.endpoint else None,
        )
        return self

    def no_key(self) -> ConfigurationError:
        """See the base."""
        return google_faults.missing(
            KEY_VARIABLE, *([] if self._engine_id() else [ENGINE_VARIABLE])
        )

    def failed(self, message: str, status: int | None = None) -> ProviderError:
        """See the base; after its end, that is the likely cause of any failure."""
        end = f"; {google_faults.end_note()}" if google_faults.ended() else ""
        return super().failed(f"{message}{end}", status)

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """See the base."""
        start = number * size + 1
        request = self._service.cse().list(q=query, cx=self._engine, num=size, start=start)
        try:
            found = result_hits(request.execute())
        except HttpError as error:
            body = error.content.decode("utf-8", "replace")
            retry_after = error.resp.get("retry-after")
            return google_faults.explain(self, error.status_code, error.reason, body, retry_after)
        except TimeoutError:
            return self.timed_out()
        except (OSError, http.client.HTTPException, httplib2.HttpLib2Error) as error:
            return self.unreachable(error)
        except (ValueError, TypeError, RecursionError):
            return self.wrong_form()
        return Page(found[:size], more=len(found) >= size)

    def _engine_id(self) -> str:
        return (self.engine_id or os.environ.get(ENGINE_VARIABLE, "")).strip()

    def _request(self, _shared: Any, *args: Any, **kwargs: Any) -> Any:
        # A connection of its own for each request: httplib2's are not thread-safe.
        return HttpRequest(_KeyedHttp(self._key, self.timeout), *args, **kwargs)
