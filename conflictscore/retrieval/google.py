"""Searches Google through the Custom Search JSON API, which ends on 2027-01-01."""

import http.client
import os
from collections.abc import Mapping
from typing import Any, ClassVar, Self

import httplib2
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from googleapiclient.http import HttpRequest
from pydantic import PrivateAttr, model_validator

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.http_searches import published
from conflictscore.retrieval.web_search import (
    Fault,
    Page,
    WebSearchRetriever,
    hits,
    objects,
    reason_of,
)

_ENGINE_VARIABLE = "GOOGLE_CSE_ID"
_END = (
    "Google's Custom Search API takes no new customers and ends on 2027-01-01: use --search serper"
    " or searxng for the whole web, or --search vertex for your own sites"
)


class GoogleRetriever(WebSearchRetriever):
    """Returns the first ``k`` results of a Google search through Google's own client library.

    See the base class for the other options.

    Deprecated: the service takes no new customers and ends on 2027-01-01. The key is ``api_key`` or
    the environment variable GOOGLE_API_KEY. The search engine's id is ``engine_id`` or the
    environment variable GOOGLE_CSE_ID. ``k`` ranges from 1 to 100, and every ten results use one
    request from the daily quota.
    """

    provider: ClassVar[str] = "google"
    title: ClassVar[str] = "Google"
    service: ClassVar[str] = "https://customsearch.googleapis.com"
    key_variables: ClassVar[tuple[str, ...]] = ("GOOGLE_API_KEY",)
    key_source: ClassVar[str] = "console.cloud.google.com (Custom Search API, Credentials)"
    hints: ClassVar[Mapping[int, str]] = {
        403: f"check that GOOGLE_API_KEY belongs to a project with access to the API; {_END}"
    }

    engine_id: str | None = None

    _engine: str = PrivateAttr()
    _service: Any = PrivateAttr()

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a note that tells the user when the service ends."""
        return (_END,)

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """Fetch one page of results with one request; pages are numbered from 0."""
        start = number * size + 1
        try:
            asked = self._service.cse().list(q=query, cx=self._engine, num=size, start=start)
            # if nothing was found, the reply has no items
            items = objects(asked.execute().get("items", []))
            dated = [{**item, "date": published(item)} for item in items]
            found = hits(dated, "title", "link", "snippet", "date")
            return Page(found[:size], more=len(found) >= size)
        except HttpError as error:
            reason = reason_of(error.content) or error.reason
            return self.refused(error.status_code, reason, error.resp.get("retry-after"))
        except TimeoutError:
            return self.timed_out()
        except (OSError, http.client.HTTPException, httplib2.HttpLib2Error) as error:
            return self.unreachable(error)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return self.wrong_form()

    @model_validator(mode="after")
    def _connect(self) -> Self:
        self._engine = (self.engine_id or os.environ.get(_ENGINE_VARIABLE, "")).strip()
        if not self._engine:
            raise ConfigurationError(
                f"Google search needs {_ENGINE_VARIABLE}; get an id at"
                f" programmablesearchengine.google.com; {_END}"
            )
        self._service = build(
            "customsearch",
            "v1",
            # a placeholder, replaced in each request; without it, the client looks for credentials
            http=httplib2.Http(),
            requestBuilder=self._request,
            # the client library contains the API's description, so it is neither fetched nor cached
            static_discovery=True,
            cache_discovery=False,
            client_options={"api_endpoint": self.endpoint},
        )
        return self

    def _request(self, _shared: Any, *args: Any, headers: dict[str, str], **kwargs: Any) -> Any:
        # Each request has its own connection, since httplib2 connections are not thread-safe. The
        # key is sent in a header and not in the address, since the client library logs addresses
        # and quotes them in errors.
        connection = httplib2.Http(timeout=self.timeout)
        connection.follow_redirects = False  # the key must not be sent to another host
        keyed = {**headers, "x-goog-api-key": self._key.get_secret_value()}
        return HttpRequest(connection, *args, headers=keyed, **kwargs)
