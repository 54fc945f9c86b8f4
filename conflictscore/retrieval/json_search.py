"""A web search that is one HTTP request with a JSON reply."""

import base64
import json
import time
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Self
from urllib.parse import unquote, urlsplit
from urllib.request import getproxies

import httpx2
from pydantic import PrivateAttr, model_validator

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.web_search import (
    MOST_BYTES,
    Fault,
    Hit,
    Page,
    WebSearchRetriever,
)

__all__ = ["JsonSearchRetriever", "hits", "listed", "said", "texts"]

_REASON_KEYS = ("error", "errors", "code", "message", "detail", "status")


class JsonSearchRetriever(WebSearchRetriever):
    """A web search by HTTP, without a client library.

    Redirects are not followed, since they would take the key along.

    Attributes:
        service: The provider's own address.
        endpoint: The address asked instead, such as a proxy's, with its path, and with
            ``user:password@`` if it asks for them; it is kept without those.
    """

    service: ClassVar[str]

    endpoint: str | None = None

    _login: tuple[str, str] | None = PrivateAttr(default=None)
    """User and password of the endpoint."""

    @abstractmethod
    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """The arguments for httpx2's request: ``method``, ``url``, ``headers``; as for ``ask``."""

    @abstractmethod
    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """The results in the reply; the page's number counts from 0.

        Raises:
            LookupError, TypeError, ValueError: The reply has another form.
        """

    def given_endpoint(self) -> str | None:
        """The endpoint, as the caller or the environment gives it."""
        return self.endpoint

    def pause_header(self, headers: Mapping[str, str]) -> str | None:
        """How long the provider asks to wait, as a Retry-After header says it."""
        return headers.get("retry-after")

    def address(self, path: str) -> str:
        """The service's address with this path."""
        return f"{self.endpoint or self.service}{path}"

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """See the base."""
        try:
            client = _client(self.timeout)
        except (ValueError, ImportError, OSError) as error:
            return Fault(
                ConfigurationError(
                    "the proxy or the certificates that the environment names, as in HTTPS_PROXY "
                    f"or SSL_CERT_FILE, cannot be used: {self.shown(str(error))}"
                )
            )
        if self._login:
            client.auth = self._login
        started = time.monotonic()
        try:
            with client, client.stream(**self.request(query, number, size)) as reply:
                body = bytearray()
                for chunk in reply.iter_bytes():
                    body += chunk
                    if len(body) > MOST_BYTES:
                        return self.wrong_form(f"it is longer than {MOST_BYTES:,} bytes")
                    if time.monotonic() - started > self.timeout:
                        return self.timed_out()
        except httpx2.TimeoutException:
            return self.timed_out()
        except httpx2.DecodingError:
            return self.wrong_form("it cannot be unpacked")
        except httpx2.TransportError as error:
            return self.unreachable(error)
        if reply.status_code != httpx2.codes.OK:
            reason = _reason(_parsed(body)) or reply.reason_phrase
            return self.refused(reply.status_code, reason, self.pause_header(reply.headers))
        return self._read(reply.headers.get("content-type", ""), body, number)

    def _read(self, content_type: str, body: bytes | bytearray, number: int) -> Page | Fault:
        if "json" not in content_type.lower():
            return self.wrong_form(f"it is {self.shown(content_type) or 'of no type'}, not JSON")
        found = _parsed(body)
        if not isinstance(found, dict):
            return self.wrong_form("it is not a JSON object")
        try:
            return self.page(found, number)
        except (LookupError, TypeError, ValueError, AttributeError):
            return self.wrong_form()

    @model_validator(mode="after")
    def _split_endpoint(self) -> Self:
        given = self.given_endpoint()
        if given is None:
            return self
        url = _address(given)
        if url is None:
            raise ConfigurationError(
                f"the address for {self.title} is not a plain http or https address, such as "
                "http://localhost:8080"
            )
        if url.userinfo:
            user, _, password = url.userinfo.decode().partition(":")
            self._login = unquote(user), unquote(password)
            header = base64.b64encode(":".join(self._login).encode()).decode()
            self._secrets = (*self._secrets, self._login[1], header)
        self.endpoint = str(url.copy_with(userinfo=b"")).rstrip("/")
        return self


def listed(reply: Mapping[str, Any], key: str) -> Sequence[Mapping[str, Any]]:
    """The objects under this key; anything else in the list is left out.

    Raises:
        LookupError, TypeError: There is no list, or nothing in it is an object.
    """
    found = reply[key]
    if not isinstance(found, list):
        raise TypeError(f"{key} is not a list of objects")
    objects = [item for item in found if isinstance(item, dict)]
    if found and not objects:
        raise TypeError(f"{key} is not a list of objects")
    return objects


def texts(item: Mapping[str, Any], *keys: str) -> list[str]:
    """The texts under these keys; numbers are made text, and anything else is empty."""
    found = (item.get(key) for key in keys)
    return [
        str(value) if isinstance(value, str | int | float) and not isinstance(value, bool) else ""
        for value in found
    ]


def hits(
    items: Sequence[Mapping[str, Any]], title: str, url: str, text: str, date: str
) -> list[Hit]:
    """The results, by the names that their fields have at this provider.

    Raises:
        TypeError: There are items, and none of them says anything.
    """
    found = [Hit(*texts(item, title, url, text, date)) for item in items]
    return said(found)


def said(found: Sequence[Hit]) -> list[Hit]:
    """The results that say anything; one that is odd costs no other.

    Raises:
        TypeError: There are results, and none of them does.
    """
    kept = [hit for hit in found if hit.title or hit.url or hit.text]
    if found and not kept:
        raise TypeError("no result has a title, an address or text")
    return kept


def _address(text: str) -> httpx2.URL | None:
    """The address of a service; None if no request could be made to it."""
    try:
        url = httpx2.URL(text.strip())
        url.host.encode("idna")
    except (httpx2.InvalidURL, UnicodeError):
        return None
    plain = url.scheme in ("http", "https") and url.host and not url.query and not url.fragment
    return url if plain and (url.port is None or 0 < url.port < 65536) else None


def _client(timeout: float) -> httpx2.Client:
    """A client with the environment's proxies and certificates, which may be unusable."""
    for scheme, proxy in getproxies().items():
        if scheme != "no" and not urlsplit(f"//{proxy.rpartition('//')[2]}").hostname:
            raise ValueError("the address of a proxy names no host")
    return httpx2.Client(timeout=timeout, headers={"accept-encoding": "gzip"})


def _parsed(body: bytes | bytearray) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError):
        return None


def _reason(reply: Any, depth: int = 5) -> str:
    """Codes and messages of a JSON error, wherever they stand in it."""
    if isinstance(reply, str):
        return reply
    inner: list[Any] = []
    if isinstance(reply, list):
        inner = reply
    elif isinstance(reply, dict):
        inner = [reply.get(key) for key in _REASON_KEYS]
    return ": ".join(filter(None, (_reason(part, depth - 1) for part in inner if depth)))
