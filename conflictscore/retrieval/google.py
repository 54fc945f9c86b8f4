"""Google search through the Custom Search JSON API, which ends on 2027-01-01."""

import os
import re
import sys
import warnings
from collections.abc import Mapping
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Self
from urllib.parse import urlencode

from pydantic import PrivateAttr, model_validator

from conflictscore.errors import ConfigurationError, InputError, ProviderError
from conflictscore.retrieval.google_results import result_hits
from conflictscore.retrieval.json_search import JsonSearchRetriever
from conflictscore.retrieval.web_search import OTHER_WAYS, Fault, Page

__all__ = ["GoogleRetriever"]

_KEY_VARIABLE = "GOOGLE_API_KEY"
_ENGINE_VARIABLE = "GOOGLE_CSE_ID"
_END = date(2027, 1, 1)
_SUCCESSORS = "--search serper, brave or searxng search the whole web, --search vertex your sites"

_CLOSED = re.compile(r"does not have the access to Custom Search", re.IGNORECASE)
_DAILY = re.compile(r"per\s*day|dailyLimit|quotaExceeded", re.IGNORECASE)
_INVALID_KEY = re.compile(r"api[ _]?key|keyInvalid", re.IGNORECASE)
_RATE = re.compile(r"rateLimitExceeded", re.IGNORECASE)
_LONGEST_QUERY = 2048
"""Characters of an address; servers on the way may refuse a longer one."""


class GoogleRetriever(JsonSearchRetriever):
    """The first ``k`` results of a Google search; see the base for the rest.

    Deprecated: the service takes no new customers and ends on 2027-01-01.

    Attributes:
        k: The number of results, 1 to 100; every ten cost one request of the daily quota.
        api_key: Google's API key; without it, the environment's GOOGLE_API_KEY.
        engine_id: The search engine's id; without it, the environment's GOOGLE_CSE_ID.
    """

    provider: ClassVar[str] = "google"
    title: ClassVar[str] = "Google"
    key_variables: ClassVar[tuple[str, ...]] = (_KEY_VARIABLE,)
    service: ClassVar[str] = "https://customsearch.googleapis.com"

    engine_id: str | None = None

    _engine: str = PrivateAttr()

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        _warn_of_the_end()

    @property
    def notes(self) -> tuple[str, ...]:
        """Note for the user on how long the service still works."""
        return (_end_note(),)

    def no_key(self) -> ConfigurationError:
        """See the base."""
        return _missing(_KEY_VARIABLE, *([] if self._engine_id() else [_ENGINE_VARIABLE]))

    def failed(self, message: str, status: int | None = None) -> ProviderError:
        """See the base; after its end, that is the likely cause of any failure."""
        return super().failed(f"{message}; {_end_note()}" if _ended() else message, status)

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """See the base; a question too long for an address goes in the body."""
        asked = {"q": query, "cx": self._engine, "num": size, "start": number * size + 1}
        request: dict[str, Any] = {
            "method": "GET",
            "url": self.address("/customsearch/v1"),
            # In a header, since clients log addresses.
            "headers": {"x-goog-api-key": self._key.get_secret_value()},
        }
        if len(urlencode(asked)) <= _LONGEST_QUERY:
            return request | {"params": asked}
        headers = {**request["headers"], "x-http-method-override": "GET"}
        return request | {"method": "POST", "data": asked, "headers": headers}

    def page(self, reply: Mapping[str, Any], number: int) -> Page:
        """See the base."""
        found = result_hits(reply)
        return Page(found, more=len(found) >= self.page_size)

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """See the base; a wrong key is a 400 here, and a limit may be a 403."""
        said = f"{status}: {self.shown(reason)}"
        if status in (403, 429) and _DAILY.search(reason):
            return self.used_up(said, status)
        if status == 403 and _RATE.search(reason):
            error = self.failed(f"Google asks for fewer searches ({said})", status)
            return Fault(error, True, retry_after)
        if status == 400 and _INVALID_KEY.search(reason):
            return super().refused(401, reason)
        if status == 403 and _CLOSED.search(reason):
            message = (
                "Google's Custom Search API is closed to new customers, and this project has no "
                f"access ({said}); {_SUCCESSORS}; {OTHER_WAYS}"
            )
            return Fault(ConfigurationError(message))
        if status == 403:
            message = (
                f"Google refuses this project or key ({said}): check that {_KEY_VARIABLE} belongs "
                "to a project with access to the Custom Search API, that the API is enabled there,"
                f" and that the key may be used from this machine; {OTHER_WAYS}"
            )
            return Fault(ConfigurationError(message))
        if status in (400, 404):
            what = f"check {_ENGINE_VARIABLE} and the length of the question"
            return Fault(InputError(f"Google cannot use the request ({said}): {what}"))
        return super().refused(status, reason, retry_after)

    @model_validator(mode="after")
    def _connect(self) -> Self:
        self._engine = self._engine_id()
        if not self._engine:
            raise _missing(_ENGINE_VARIABLE)
        return self

    def _engine_id(self) -> str:
        return (self.engine_id or os.environ.get(_ENGINE_VARIABLE, "")).strip()


def _missing(*variables: str) -> ConfigurationError:
    """The error for a search without its key, engine id or both."""
    return ConfigurationError(
        f"Google search needs {_KEY_VARIABLE} and {_ENGINE_VARIABLE}; not set: "
        f"{' and '.join(variables)}; the key comes from console.cloud.google.com (Custom Search "
        "API, Credentials), the id from programmablesearchengine.google.com; the API takes no new "
        f"customers and {'ended' if _ended() else 'ends'} on {_END}; {OTHER_WAYS}"
    )


def _today() -> date:
    return datetime.now(UTC).date()


def _ended() -> bool:
    return _today() >= _END


def _end_note() -> str:
    """How long the API still works, and what comes after it."""
    days = (_END - _today()).days
    left = "1 day" if days == 1 else f"{days} days"
    when = f"ended on {_END}" if _ended() else f"ends on {_END}, in {left}"
    return f"Google's Custom Search API {when}; {_SUCCESSORS}"


def _warn_of_the_end() -> None:
    """Warn at the line that uses this package, not at one inside it."""
    depth, frame = 1, sys._getframe()
    while frame.f_back and frame.f_globals.get("__name__", "").startswith("conflictscore."):
        depth, frame = depth + 1, frame.f_back
    message = (
        f"Google's Custom Search API ends on {_END}: use SerperRetriever, BraveRetriever, "
        "SearxngRetriever or VertexRetriever of conflictscore.retrieval"
    )
    warnings.warn(message, DeprecationWarning, stacklevel=depth)
