"""A web search through its provider's own client library."""

import io
import time
from abc import abstractmethod
from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any, ClassVar, Self

from pydantic import model_validator

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.faults import Fault
from conflictscore.retrieval.results import Hit, Page
from conflictscore.retrieval.web_search import WebSearchRetriever

__all__ = ["LibrarySearchRetriever", "RequestsSearchRetriever"]

_MOST_BYTES = 5_000_000
"""Of a reply; a page of results has some ten thousand."""
_CHUNK_BYTES = 64
"""Few, since a read waits until it has that many, however slowly they come."""


class LibrarySearchRetriever(WebSearchRetriever):
    """A web search that needs an optional package; the extra has the provider's name.

    Attributes:
        package: The package, as it is imported.

    Raises:
        ConfigurationError: The package is not installed.
    """

    package: ClassVar[str]

    @model_validator(mode="after")
    def _has_its_library(self) -> Self:
        if find_spec(self.package) is None:
            raise ConfigurationError(
                f"{self.title} search needs the extra [{self.provider}]: "
                f"pip install 'conflictscore[{self.provider}]'"
            )
        return self


class RequestsSearchRetriever(LibrarySearchRetriever):
    """A web search whose client library sends with requests.

    Redirects are not followed, since they would take the key along.

    Attributes:
        service: The provider's own address.
        endpoint: The address asked instead, such as a proxy's.
    """

    service: ClassVar[str]

    endpoint: str | None = None

    @property
    def address(self) -> str:
        """Where the client sends its requests."""
        return (self.endpoint or self.service).rstrip("/")

    @abstractmethod
    def find(self, session: Any, query: str, size: int) -> Sequence[Hit]:
        """The results, by a client that sends through this ``requests.Session``.

        Raises:
            TimeoutError: The provider did not answer in time.
            LookupError, TypeError, ValueError, AttributeError: The reply has another form.
        """

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """See the base."""
        import requests
        from requests.exceptions import (
            ContentDecodingError,
            InvalidSchema,
            InvalidURL,
            MissingSchema,
        )

        with requests.Session() as session:
            session.hooks["response"].append(self._read)
            # A .netrc would take the place of the key; who has an auth of his own is spared it.
            session.auth = lambda request: request
            try:
                return Page(self.find(session, query, size))
            except _RefusedError as refusal:
                return self.refused(refusal.status, refusal.reason, refusal.retry_after)
            except _TooLongError:
                return self.wrong_form(f"it is longer than {_MOST_BYTES:,} bytes")
            except (requests.Timeout, TimeoutError):
                return self.timed_out()
            except requests.JSONDecodeError:
                return self.wrong_form("it is not JSON")
            except ContentDecodingError:
                return self.wrong_form("it cannot be unpacked")
            except (InvalidURL, InvalidSchema, MissingSchema) as error:
                where = f"the address for {self.title}, or a proxy's, as in HTTPS_PROXY"
                message = f"{where}, cannot be used: {self.shown(str(error))}"
                return Fault(ConfigurationError(message))
            except requests.RequestException as error:
                return self.unreachable(error)
            except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
                return self.wrong_form()

    def _read(self, reply: Any, **_options: Any) -> Any:
        """The reply, read within the limits, where it is a success; runs before the client.

        The clients' own errors leave out the status or the pause that the provider asks for.
        """
        import requests

        sent = time.monotonic() - reply.elapsed.total_seconds()
        body = bytearray()
        for chunk in reply.iter_content(_CHUNK_BYTES):
            body += chunk
            if len(body) > _MOST_BYTES:
                raise _TooLongError
            if time.monotonic() - sent > self.timeout:
                raise TimeoutError
        whole = requests.Response()
        whole.status_code, whole.reason, whole.headers = 200, reply.reason, reply.headers
        whole.raw = io.BytesIO(body)
        if reply.status_code != 200:
            pause = reply.headers.get("retry-after")
            raise _RefusedError(reply.status_code, _reason(whole), pause)
        return whole


class _TooLongError(Exception):
    """A reply that does not come to an end."""


class _RefusedError(Exception):
    """A reply that is no success."""

    def __init__(self, status: int, reason: str, retry_after: str | None) -> None:
        super().__init__(status)
        self.status, self.reason, self.retry_after = status, reason, retry_after


def _reason(reply: Any) -> str:
    """What the provider gives as the cause: a text under ``detail``, ``error``, or one in both."""
    try:
        said = reply.json()
    except (ValueError, RecursionError):
        said = None
    for key in ("detail", "error"):
        said = said.get(key, said) if isinstance(said, dict) else said
    return said if isinstance(said, str) else reply.reason
