"""Provides the base class of web searches, which handles keys, requests, pages and errors.

Limits without a stated reason were chosen by hand.
"""

import base64
import html
import json
import logging
import math
import os
import random
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Self
from urllib.parse import unquote

import httpx2
from langchain_core.documents import Document
from pydantic import Field, PrivateAttr, SecretStr, model_validator

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
    scrubbed,
)
from conflictscore.proxies import through_proxy
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.html.signs import marked_inline

_log = logging.getLogger(__name__)

_OTHER_WAYS = (
    "other ways: --search searxng:URL (a server of your own), or --search corpus --docs PATH"
    " (your own files)"
)
_MOST_BYTES = 5_000_000
"""Maximum bytes of a provider's reply; a typical page of results has about ten thousand."""
# Words that indicate a used-up quota or credit; retrying is then useless.
_USED_UP = re.compile(r"credit|quota|billing|usage limit", re.I)
# Words that indicate a limit that resets only after a day or a month.
_FOR_LONG = re.compile(r"per\s*day|daily|month", re.I)
# Words that indicate a limit on requests per second or minute.
_MOMENTARY = re.compile(r"per\s*(?:second|minute)|rate[\s_-]?limit", re.I)
# Words in Google's replies with status 400 that indicate a wrong key or project.
_SET_UP_WRONGLY = re.compile(r"api[ _]?key|FAILED_PRECONDITION", re.I)
_LONGEST_WAIT = 60.0
"""Longest pause, in seconds, that a provider may request. After a request for a longer one, the
provider is not asked again."""
# Fields of a reply that may contain the reason for a failure, in the order in which they are tried.
_REASON_KEYS = ("error", "errors", "code", "message", "detail", "reason", "status")
# A number of seconds, as in the header ``Retry-After``.
_SECONDS = re.compile(r"\d{1,9}(?:\.\d{1,9})?")
# Only gzip is accepted, so that replies do not depend on which other decompressors are installed.
_GZIP = {"accept-encoding": "gzip"}
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
# Tags that end a line or block, so that the words on both sides stay apart.
_BLOCK_TAG = re.compile(r"</?(?:br|p|div|li|tr|td|th|h[1-6])\b[^<>]*>", re.I)


@dataclass(frozen=True, slots=True)
class Hit:
    """One result as the provider returns it; missing values are empty strings.

    ``title`` and ``text`` (the snippet or a longer part of the page) may contain tags and entities.
    """

    title: str
    url: str
    text: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """The results of one request, best first; ``more`` says whether there may be a next page."""

    hits: Sequence[Hit]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """A request that failed.

    A fault is returned, not raised, since an error raised inside an ``except`` block would carry
    the library's exception, which may contain the key. ``retry`` says whether the same request may
    succeed later. ``retry_after`` is the provider's Retry-After header. If the header is not a
    number of seconds, the default pause is used.
    """

    error: ConflictScoreError
    retry: bool = False
    retry_after: str | None = None


class WebSearchRetriever(TopKRetriever):
    """Returns the first ``k`` results of a web search, with their snippets as plain text.

    A document's metadata contains ``title``, ``source`` (the address), ``rank`` (from 1),
    ``provider`` and, if the provider gives one, ``date``. Each address appears once. Redirects are
    not followed, since the key would be sent to their targets. Safe to use from many threads at
    once.

    A subclass sets the names of its provider, and defines either ``ask``, or both ``request`` and
    ``page``.

    Attributes:
        provider: The provider's short name, as in ``--search`` and in a document's metadata.
        title: The provider's name as written in sentences.
        service: The address of the provider's service.
        key_variables: The environment variables for its key, the usual one first; empty if the
            provider needs no key.
        key_source: Where to get a key; completes the sentence "a key comes from …".
        hints: Advice on fixing the setup, by HTTP status.
        page_size: Maximum number of results per request.
        api_key: The key. By default it is read from the environment.
        endpoint: The address to use instead of ``service``, such as that of a proxy. The address
            includes the path and, if needed, ``user:password@``, which is not stored.
        timeout: Seconds to wait for the provider, above 0.
        retries: Number of retries after a rate limit, a server error or a lost connection.
        backoff: Seconds before the first retry. The pause doubles for each further retry, and is
            varied randomly by up to half. A Retry-After header of up to 60 s takes precedence.

    Raises:
        ConfigurationError: The key is missing, or the provider refuses it.
        InputError: ``k`` is out of range, the question is empty, or the provider rejects the
            question.
        QuotaError: The provider's quota or credit is used up.
        ProviderError: The provider failed or did not answer.
    """

    provider: ClassVar[str]
    title: ClassVar[str]
    service: ClassVar[str] = ""
    key_variables: ClassVar[tuple[str, ...]] = ()
    key_source: ClassVar[str] = ""
    hints: ClassVar[Mapping[int, str]] = {}
    page_size: ClassVar[int] = 10

    k_limit: ClassVar[int | None] = 100  # chosen by hand; every document costs calls to the judge
    api_key: SecretStr | None = None
    endpoint: str | None = None
    timeout: Annotated[float, Field(gt=0)] = 10.0
    retries: Annotated[int, Field(ge=0)] = 2
    backoff: Annotated[float, Field(ge=0)] = 1.0

    _key: SecretStr = PrivateAttr(default=SecretStr(""))
    _login: tuple[str, str] | None = PrivateAttr(default=None)
    _secrets: tuple[str, ...] = PrivateAttr(default=())
    """Secrets that must not appear in any message."""

    def request(self, query: str, number: int, size: int) -> dict[str, Any]:
        """Return the arguments of the httpx2 request: ``method``, ``url``, ``headers`` and so on.

        See ``ask``.
        """
        raise NotImplementedError

    def page(self, reply: Mapping[str, Any], number: int) -> Page | Fault:
        """Return the results in a JSON reply; page numbers start at 0.

        Raises:
            LookupError, TypeError, ValueError: The reply does not have the expected form.
        """
        raise NotImplementedError

    def address(self, path: str) -> str:
        """Return the service's address followed by this path."""
        return f"{self.endpoint or self.service}{path}"

    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """Fetch one page of results with one request; pages are numbered from 0. Thread-safe.

        Expected failures are returned as faults, and their messages are cleaned by ``shown``.
        """
        started, body = time.monotonic(), bytearray()
        try:
            with (
                httpx2.Client(timeout=self.timeout, auth=self._login, headers=_GZIP) as client,
                client.stream(**self.request(query, number, size)) as reply,
            ):
                for chunk in reply.iter_bytes():
                    body += chunk
                    if len(body) > _MOST_BYTES:
                        return self.wrong_form(f"it is longer than {_MOST_BYTES:,} bytes")
                    # the client's own timeout applies to each read, not to the whole reply
                    if time.monotonic() - started > self.timeout:
                        return self.timed_out()
        except httpx2.TimeoutException:
            return self.timed_out()
        except (httpx2.TransportError, httpx2.DecodingError) as error:
            return self.unreachable(error)
        # a bad address, a proxy whose protocol needs another package, or a missing file
        except (ValueError, ImportError, OSError) as error:
            names = "HTTPS_PROXY, SSL_CERT_FILE or a similar variable"
            message = f"the proxy or certificates set by {names} cannot be used"
            return Fault(ConfigurationError(f"{message}: {self.shown(str(error))}"))
        if reply.status_code != httpx2.codes.OK:
            reason = reason_of(body) or reply.reason_phrase
            return self.refused(reply.status_code, reason, reply.headers.get("retry-after"))
        try:
            return self.page(json.loads(body), number)
        except (LookupError, TypeError, ValueError, AttributeError, RecursionError):
            return self.wrong_form()

    def search(self, query: str, k: int) -> list[Document]:
        """Fetch pages of results until there are ``k`` documents or no further results."""
        query = clean_text(query)  # JSON can contain lone surrogates, but addresses cannot
        size = min(self.page_size, k)
        hits: dict[str, Hit] = {}
        # too few results do not cause a further request, which may cost a credit
        for number in range(math.ceil(k / size)):
            page = self._page(query, number, size)
            count_before = len(hits)
            for hit in page.hits:
                hits.setdefault(hit.url or hit.text, hit)
            if len(hits) >= k or len(hits) == count_before or not page.more:
                break
        best = list(hits.values())[:k]
        return [self._document(hit, rank) for rank, hit in enumerate(best, 1)]

    def shown(self, text: str) -> str:
        """Clean a message from a server or library: shorten it to one line and remove the key."""
        return scrubbed(text, *self._secrets)

    def failed(self, message: str, status: int | None = None) -> ProviderError:
        """Create an error that names this provider."""
        return ProviderError(message, provider=self.provider, status=status)

    def timed_out(self) -> Fault:
        """Return the fault for a provider that did not answer in time.

        The request is not retried, since a retry could take as long again.
        """
        message = f"{self.title} did not answer within {self.timeout:g} s"
        return Fault(self.failed(message + through_proxy(self.address(""))))

    def unreachable(self, error: Exception) -> Fault:
        """Return the fault for a connection that failed or was lost."""
        cause = self.shown(str(error)) or type(error).__name__
        message = f"{self.title} cannot be reached: {cause}{through_proxy(self.address(''))}"
        return Fault(self.failed(message), retry=True)

    def wrong_form(self, detail: str = "") -> Fault:
        """Return the fault for a reply without a list of results; ``detail`` says what is wrong."""
        message = f"{self.title}'s reply does not look like search results"
        return Fault(self.failed(": ".join(filter(None, [message, detail]))))

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """Return the fault for an HTTP status of 300 or more.

        ``reason`` is the provider's raw text.
        """
        cause = f"{status}: {self.shown(reason)}" if reason.strip() else f"HTTP {status}"
        momentary = _MOMENTARY.search(reason)
        lasting = _FOR_LONG.search(reason) or (_USED_UP.search(reason) and not momentary)
        if status == 402 or (status in (400, 403, 429) and lasting):
            message = f"the quota or credit of {self.title} is used up ({cause}); {_OTHER_WAYS}"
            return Fault(QuotaError(message, provider=self.provider, status=status))
        if status == 429 or (status == 403 and momentary):
            error = self.failed(f"{self.title} is rate-limiting searches ({cause})", status)
            return Fault(error, True, retry_after)
        if status in (400, 422) and not _SET_UP_WRONGLY.search(reason):
            message = f"{self.title} rejected the request ({cause}): check the question's length"
            return Fault(InputError(message))
        # a status below 400 is a redirect, so the address is wrong
        if status < 400 or status in (400, 401, 403, 404, 422):
            return self._set_up_wrongly(status, cause)
        error = self.failed(f"{self.title} search failed ({cause})", status)
        return Fault(error, status >= 500, retry_after)

    def _set_up_wrongly(self, status: int, cause: str) -> Fault:
        """Return the fault for an unusable key or address, with the setting to check."""
        # redirects and 404 are about the address, whatever the key
        about_key = self.key_variables and status >= 400 and status != 404
        settings = " or ".join(self.key_variables) if about_key else "the address"
        hint = self.hints.get(status, f"check {settings}")
        return Fault(ConfigurationError(f"{self.title} refuses the request ({cause}): {hint}"))

    @model_validator(mode="after")
    def _take_key(self) -> Self:
        if not self.key_variables:
            return self
        own_key = self.api_key.get_secret_value() if self.api_key else ""
        keys = (own_key, *(os.environ.get(variable, "") for variable in self.key_variables))
        key = next((text.strip() for text in keys if text.strip()), "")
        names = " or ".join(self.key_variables)
        if not key:
            raise ConfigurationError(
                f"{self.title} search needs {names}; a key comes from {self.key_source};"
                f" {_OTHER_WAYS}"
            )
        # a header cannot contain such characters, and httpx's error would reveal the key
        if not re.fullmatch("[!-~]+", key):
            raise ConfigurationError(f"{names}: the key contains a space or a special character")
        self._key, self._secrets = SecretStr(key), (key,)
        return self

    @model_validator(mode="after")
    def _split_endpoint(self) -> Self:
        if self.endpoint is None:
            return self
        try:
            url = httpx2.URL(self.endpoint.strip())
            url.host.encode("idna")  # fails for a host that could not be looked up
            plain = url.scheme in ("http", "https") and not (url.query or url.fragment)
            has_host = bool(url.host) and (url.port is None or 0 < url.port < 65536)
        except (httpx2.InvalidURL, UnicodeError):
            plain = has_host = False
        if not (plain and has_host):
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

    def _page(self, query: str, number: int, size: int) -> Page:
        attempt = 0
        while isinstance(outcome := self.ask(query, number, size), Fault):
            pause = self.backoff * 2.0**attempt * random.uniform(0.5, 1.5)  # noqa: S311 - a pause
            if _SECONDS.fullmatch(asked := outcome.retry_after or ""):
                pause = float(asked)
            if not outcome.retry or pause > _LONGEST_WAIT or attempt == self.retries:
                raise outcome.error
            _log.info("%s; asking again in %.1f s", outcome.error, pause)
            time.sleep(pause)
            attempt += 1
        return outcome

    def _document(self, hit: Hit, rank: int) -> Document:
        about = {"title": _plain(hit.title), "source": hit.url}
        dated = {"date": date} if (date := hit.date.strip()) else {}
        metadata = {**about, "rank": rank, "provider": self.provider, **dated}
        return Document(page_content=_plain(hit.text), metadata=metadata)


def hits(found: Any, title: str, url: str, text: str, date: str) -> list[Hit]:
    """Return the results in a reply's list, reading the given fields and skipping malformed items.

    Raises:
        TypeError: ``found`` is not a list, or no item has any content.
    """
    fields = (title, url, text, date)
    made = [Hit(*(_text(item.get(key)) for key in fields)) for item in objects(found)]
    kept = [hit for hit in made if hit.title or hit.url or hit.text]
    if found and not kept:
        raise TypeError("no result has a title, an address or text")
    return kept


def objects(found: Any) -> list[dict[str, Any]]:
    """Return the objects in a reply's list; other items are skipped.

    Raises:
        TypeError: ``found`` is not a list, or contains no object.
    """
    kept = [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []
    if not kept and found != []:
        raise TypeError("there is no list of results")
    return kept


def _text(value: object) -> str:
    readable = isinstance(value, str | int | float) and not isinstance(value, bool)
    return str(value) if readable else ""


def reason_of(body: bytes | bytearray) -> str:
    """Return the codes and messages found anywhere in a JSON error; empty if there are none."""
    try:
        return ": ".join(_texts(json.loads(body)))
    except (ValueError, RecursionError):
        return ""


def _texts(reply: Any) -> Iterator[str]:
    if isinstance(reply, str):
        yield reply
    inner = map(reply.get, _REASON_KEYS) if isinstance(reply, dict) else reply
    for part in inner if isinstance(reply, dict | list) else ():
        yield from _texts(part)


def _plain(text: str) -> str:
    """Return a snippet of HTML as plain text on one line."""
    parted = _BLOCK_TAG.sub(" ", marked_inline(text))
    return " ".join(html.unescape(_TAG.sub("", parted)).split())
