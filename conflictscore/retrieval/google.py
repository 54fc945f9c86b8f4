"""Google search through the Custom Search JSON API, which ends on 2027-01-01."""

import http.client
import logging
import os
import random
import re
import time
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import quote, quote_plus

import httplib2
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from googleapiclient.http import HttpRequest
from langchain_core.documents import Document
from pydantic import Field, PrivateAttr, SecretStr, model_validator

from conflictscore.errors import InputError, ProviderError
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.google_faults import (
    ENGINE_VARIABLE,
    KEY_VARIABLE,
    Fault,
    explain,
    missing,
)
from conflictscore.retrieval.google_results import is_result, result_document

__all__ = ["GoogleRetriever"]

_log = logging.getLogger(__name__)

_PAGE = 10
"""The most results that one request gets."""
_LONGEST_WAIT = 60.0
"""Seconds; a server that asks for a longer pause gets no further request."""
_LONGEST_REASON = 300
"""Characters of what the server says that an error repeats."""


class _KeyedHttp(httplib2.Http):  # type: ignore[misc]  # httplib2 is not typed
    """Adds the key as the request leaves: the client library can neither log nor quote it."""

    def __init__(self, key: SecretStr, timeout: float) -> None:
        super().__init__(timeout=timeout)
        self._key = key

    def request(self, uri: str, *args: Any, **kwargs: Any) -> Any:
        key = quote_plus(self._key.get_secret_value())
        return super().request(f"{uri}{'&' if '?' in uri else '?'}key={key}", *args, **kwargs)


class GoogleRetriever(TopKRetriever):
    """The first ``k`` results of a Google search, with their snippets as text.

    A document's metadata holds ``title``, ``source`` (the address), ``rank`` from 1, ``provider``
    and, where the page gives one, ``date``. Safe to use from many threads at once.

    Attributes:
        k: The number of results, 1 to 100; every ten cost one request of the daily quota.
        api_key: Google's API key; without it, the environment's GOOGLE_API_KEY.
        engine_id: The search engine's id; without it, the environment's GOOGLE_CSE_ID.
        endpoint: The service's address, where it is not Google's own, such as a proxy's.
        timeout: Seconds to wait for the server, above 0.
        retries: Further tries of a request after a rate limit, a server error or a lost
            connection.
        backoff: Seconds before the first further try, doubled for each next one and varied by
            half; a Retry-After up to 60 s comes before it.

    Raises:
        ConfigurationError: No key or id, or Google refuses them.
        InputError: ``k`` is out of range, the question is empty or Google cannot use it.
        ProviderError: Google failed, did not answer, or its quota is used up.
    """

    k_limit: ClassVar[int | None] = 100

    api_key: SecretStr | None = None
    engine_id: str | None = None
    endpoint: str | None = None
    timeout: Annotated[float, Field(gt=0)] = 10.0
    retries: Annotated[int, Field(ge=0)] = 2
    backoff: Annotated[float, Field(ge=0)] = 1.0

    _key: SecretStr = PrivateAttr()
    _engine: str = PrivateAttr()
    _service: Any = PrivateAttr()

    @model_validator(mode="after")
    def _connect(self) -> Self:
        given = self.api_key.get_secret_value() if self.api_key else os.environ.get(KEY_VARIABLE)
        self._key = SecretStr((given or "").strip())
        self._engine = (self.engine_id or os.environ.get(ENGINE_VARIABLE, "")).strip()
        needed = {KEY_VARIABLE: self._key, ENGINE_VARIABLE: self._engine}
        if lacking := [variable for variable, value in needed.items() if not value]:
            raise missing(*lacking)
        self._service = build(
            "customsearch",
            "v1",
            http=httplib2.Http(),  # replaced in each request; without it, credentials are sought
            requestBuilder=self._request,
            static_discovery=True,
            cache_discovery=False,
            client_options={"api_endpoint": self.endpoint} if self.endpoint else None,
        )
        return self

    def search(self, query: str, k: int) -> list[Document]:
        """See the class."""
        if not query.strip():
            raise InputError("the question to search for is empty")
        items: list[dict[str, Any]] = []
        while len(items) < k:
            wanted = min(_PAGE, k - len(items))
            page = self._page(query, start=len(items) + 1, num=wanted)
            items += page[:wanted]
            if len(page) < wanted:
                break
        return [result_document(item, rank) for rank, item in enumerate(items, 1)]

    def _request(self, _shared: Any, *args: Any, **kwargs: Any) -> Any:
        # A connection of its own for each request: httplib2's are not thread-safe.
        return HttpRequest(_KeyedHttp(self._key, self.timeout), *args, **kwargs)

    def _page(self, query: str, start: int, num: int) -> list[dict[str, Any]]:
        attempt = 0
        while True:
            outcome = self._ask(query, start, num)
            if not isinstance(outcome, Fault):
                return outcome
            pause = self._pause(outcome, attempt)
            if pause is None:
                # Outside any except block: a chained error of the library could hold the key.
                raise outcome.error
            _log.info("%s; asking again in %.1f s", outcome.error, pause)
            time.sleep(pause)
            attempt += 1

    def _pause(self, fault: Fault, attempt: int) -> float | None:
        """Seconds before the request is tried again; None where it is not."""
        if not fault.retry or attempt == self.retries:
            return None
        if fault.retry_after is not None:
            return fault.retry_after if fault.retry_after <= _LONGEST_WAIT else None
        return self.backoff * 2.0**attempt * random.uniform(0.5, 1.5)  # noqa: S311 - a pause

    def _ask(self, query: str, start: int, num: int) -> list[dict[str, Any]] | Fault:
        request = self._service.cse().list(q=query, cx=self._engine, num=num, start=start)
        try:
            return _items(request.execute())
        except HttpError as error:
            body = error.content.decode("utf-8", "replace")
            retry_after = error.resp.get("retry-after")
            return explain(error.status_code, self._scrub(error.reason), body, retry_after)
        except TimeoutError:
            return Fault(_failed(f"Google did not answer within {self.timeout:g} s"))
        except (OSError, http.client.HTTPException, httplib2.HttpLib2Error) as error:
            return Fault(_failed(f"Google cannot be reached: {self._scrub(str(error))}"), True)
        except (ValueError, TypeError):
            return Fault(_failed("Google's reply does not have the form of search results"))

    def _scrub(self, text: str) -> str:
        """What a server or library said, on one line, cut, and without the key."""
        key = self._key.get_secret_value()
        forms = "|".join(re.escape(form) for form in (key, quote(key, safe=""), quote_plus(key)))
        return " ".join(re.sub(forms, "***", text).split())[:_LONGEST_REASON]


def _items(reply: object) -> list[dict[str, Any]]:
    items = reply.get("items", []) if isinstance(reply, dict) else None
    if not isinstance(items, list) or not all(map(is_result, items)):
        raise TypeError("no list of results")
    return items


def _failed(message: str) -> ProviderError:
    return ProviderError(message, provider="google")
