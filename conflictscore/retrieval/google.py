"""Google search through the Custom Search JSON API, which ends on 2027-01-01."""

import http.client
import os
import re
import sys
import warnings
from datetime import UTC, date, datetime
from typing import Any, ClassVar, Self

import httplib2
from googleapiclient.discovery import build
from googleapiclient.errors import HttpError
from googleapiclient.http import HttpRequest
from pydantic import PrivateAttr, model_validator

from conflictscore.errors import ConfigurationError, InputError, ProviderError
from conflictscore.retrieval.google_results import result_hits
from conflictscore.retrieval.web_search import OTHER_WAYS, Fault, Page, WebSearchRetriever

__all__ = ["GoogleRetriever"]

_KEY_VARIABLE = "GOOGLE_API_KEY"
_ENGINE_VARIABLE = "GOOGLE_CSE_ID"
_END = date(2027, 1, 1)
_SUCCESSORS = "--search serper, brave or searxng search the whole web, --search vertex your sites"

_CLOSED = re.compile(r"does not have the access to Custom Search", re.IGNORECASE)
_DAILY = re.compile(r"per\s*day|dailyLimit|quotaExceeded", re.IGNORECASE)
_INVALID_KEY = re.compile(r"api[ _]?key|keyInvalid", re.IGNORECASE)
_RATE = re.compile(r"rateLimitExceeded", re.IGNORECASE)


class GoogleRetriever(WebSearchRetriever):
    """The first ``k`` results of a Google search, through Google's own client; see the base.

    Deprecated: the service takes no new customers and ends on 2027-01-01. Redirects are not
    followed, since they would take the key along.

    Attributes:
        k: The number of results, 1 to 100; every ten cost one request of the daily quota.
        api_key: Google's API key; without it, the environment's GOOGLE_API_KEY.
        engine_id: The search engine's id; without it, the environment's GOOGLE_CSE_ID.
        endpoint: The service's address, where it is not Google's own, such as a proxy's.
    """

    provider: ClassVar[str] = "google"
    title: ClassVar[str] = "Google"
    key_variables: ClassVar[tuple[str, ...]] = (_KEY_VARIABLE,)

    engine_id: str | None = None
    endpoint: str | None = None

    _engine: str = PrivateAttr()
    _service: Any = PrivateAttr()

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

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """See the base."""
        start = number * size + 1
        try:
            asked = self._service.cse().list(q=query, cx=self._engine, num=size, start=start)
            found = result_hits(asked.execute())
            return Page(found[:size], more=len(found) >= size)
        except HttpError as error:
            body = error.content.decode("utf-8", "replace")
            return self._explained(
                error.status_code, error.reason, body, error.resp.get("retry-after")
            )
        except TimeoutError:
            return self.timed_out()
        except (OSError, http.client.HTTPException, httplib2.HttpLib2Error) as error:
            return self.unreachable(error)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return self.wrong_form()

    def _explained(self, status: int, reason: str, body: str, retry_after: str | None) -> Fault:
        """Meaning of an HTTP error; limits are named in the body, a wrong key is a 400."""
        said = f"{status}: {self.shown(reason)}"
        if status in (403, 429) and _DAILY.search(body):
            return self.used_up(said, status)
        if status == 429 or (status == 403 and _RATE.search(body)):
            error = self.failed(f"Google asks for fewer searches ({said})", status)
            return Fault(error, True, retry_after)
        if status == 400 and _INVALID_KEY.search(reason + body):
            return self.refused(401, reason)
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
        return self.refused(status, reason, retry_after)

    @model_validator(mode="after")
    def _connect(self) -> Self:
        self._engine = self._engine_id()
        if not self._engine:
            raise _missing(_ENGINE_VARIABLE)
        self._service = build(
            "customsearch",
            "v1",
            http=httplib2.Http(),  # replaced in each request; without it, credentials are sought
            requestBuilder=self._request,
            static_discovery=True,
            cache_discovery=False,
            client_options={"api_endpoint": self.endpoint},
        )
        return self

    def _request(self, _shared: Any, *args: Any, headers: dict[str, str], **kwargs: Any) -> Any:
        # A connection of its own for each request: httplib2's are not thread-safe. The key is in
        # a header, since the client library logs and quotes addresses.
        connection = httplib2.Http(timeout=self.timeout)
        connection.follow_redirects = False
        keyed = {**headers, "x-goog-api-key": self._key.get_secret_value()}
        return HttpRequest(connection, *args, headers=keyed, **kwargs)

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
