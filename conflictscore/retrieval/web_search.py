"""A web search: its key, its pages of results, and what its failures mean for the user."""

import base64
import email.utils
import html
import json
import logging
import math
import os
import random
import re
import time
from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.util import find_spec
from typing import Annotated, ClassVar, Self
from urllib.parse import quote, quote_plus

from langchain_core.documents import Document
from pydantic import Field, PrivateAttr, SecretStr, model_validator

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
    install_hint,
)
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.pages.shown import marked_inline

__all__ = ["MOST_BYTES", "OTHER_WAYS", "Fault", "Hit", "Page", "WebSearchRetriever", "scrubbed"]

_log = logging.getLogger(__name__)

OTHER_WAYS = (
    "other ways: --search searxng:URL (a server of your own), --search ddgs (no key), or "
    "--search corpus --docs PATH (your own files)"
)

MOST_BYTES = 5_000_000
"""Of a provider's reply; a page of results has some ten thousand."""
_QUOTA = re.compile(r"credit|quota|billing|payment|per\s*day|daily|month|usage limit", re.I)
_MOMENTARY = re.compile(r"per\s*(second|minute)|rate[\s_-]?limit", re.I)
_LONGEST_WAIT = 60.0
"""Seconds; a provider that asks for a longer pause gets no further request."""
_LONGEST_REASON = 300
"""Characters of what a provider says that an error repeats."""
_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@dataclass(frozen=True, slots=True)
class Hit:
    """One result, as the provider gives it; tags and entities may stand in ``title`` and ``text``.

    Attributes:
        title: The page's title; empty if it has none.
        url: The page's address.
        text: The snippet, or more of the page if the provider gives more.
        date: When the page was published, as the provider says it; empty if it does not.
    """

    title: str
    url: str
    text: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """Results of one request, best first.

    Attributes:
        hits: The results; may be empty.
        more: Whether a next page may hold further ones.
    """

    hits: Sequence[Hit]
    more: bool = False


@dataclass(frozen=True, slots=True)
class Fault:
    """One request that failed.

    It is returned and not raised: an error raised inside an ``except`` block would carry what a
    library raised, which may hold the key.

    Attributes:
        error: What is raised unless the request is made again.
        retry: Whether the same request may succeed in a moment.
        retry_after: The provider's Retry-After header; None if it sent none.
    """

    error: ConflictScoreError
    retry: bool = False
    retry_after: str | None = None


class WebSearchRetriever(TopKRetriever):
    """The first ``k`` results of a web search, with their snippets as plain text.

    A document's metadata holds ``title``, ``source`` (the address), ``rank`` from 1, ``provider``
    and, if the provider gives one, ``date``. Each address appears once. Safe to use from many
    threads at once.

    A provider sets its names, and makes one request in ``ask``.

    Attributes:
        provider: The provider's short name, as in ``--search`` and in a document's metadata.
        title: Its name in sentences.
        key_variables: The environment variables for its key, the usual one first; empty if it
            takes no key.
        key_source: Where to get a key, to complete "a key comes from".
        package: The optional package that it needs, as it is imported, in the extra with the
            provider's name; empty if it needs none.
        page_size: The most results that one request gets.
        api_key: The key; without it, the environment's.
        timeout: Seconds to wait for the provider, above 0.
        retries: Further tries of a request after a rate limit, a server error or a lost
            connection.
        backoff: Seconds before the first further try, doubled for each next one and varied by
            half; a Retry-After of up to 60 s takes precedence.

    Raises:
        ConfigurationError: No key, or the provider refuses it; or the package is not installed.
        InputError: ``k`` is out of range, the question is empty or the provider cannot use it.
        QuotaError: The provider's quota or credit is used up.
        ProviderError: The provider failed or did not answer.
    """

    provider: ClassVar[str]
    title: ClassVar[str]
    key_variables: ClassVar[tuple[str, ...]] = ()
    key_source: ClassVar[str] = ""
    package: ClassVar[str] = ""
    page_size: ClassVar[int] = 10

    k_limit: ClassVar[int | None] = 100

    api_key: SecretStr | None = None
    timeout: Annotated[float, Field(gt=0)] = 10.0
    retries: Annotated[int, Field(ge=0)] = 2
    backoff: Annotated[float, Field(ge=0)] = 1.0

    _key: SecretStr = PrivateAttr(default=SecretStr(""))
    _secrets: tuple[str, ...] = PrivateAttr(default=())
    """Texts that no message may show."""

    @abstractmethod
    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """One page of results, numbered from 0, by one request; thread-safe.

        Every failure that is to be expected is returned, with texts that went through ``shown``.
        """

    def search(self, query: str, k: int) -> list[Document]:
        """See the class."""
        query = clean_text(query)  # no address can hold a lone surrogate, which JSON can
        size = min(self.page_size, k)
        hits: dict[str, Hit] = {}
        for number in range(math.ceil(k / size)):
            page = self._page(query, number, size)
            known = len(hits)
            for hit in page.hits:
                hits.setdefault(hit.url or hit.text, hit)
            if len(hits) >= k or len(hits) == known or not page.more:
                break
        best = list(hits.values())[:k]
        return [self._document(hit, rank) for rank, hit in enumerate(best, 1)]

    def shown(self, text: str) -> str:
        """Message of a server or library, fit to be shown: one line, cut, without the key."""
        return scrubbed(text, *self._secrets)

    def no_key(self) -> ConfigurationError:
        """The error for a search without a key."""
        names = " or ".join(self.key_variables)
        return ConfigurationError(
            f"{self.title} search needs {names}; a key comes from {self.key_source}; {OTHER_WAYS}"
        )

    def failed(self, message: str, status: int | None = None) -> ProviderError:
        """An error of this provider."""
        return ProviderError(message, provider=self.provider, status=status)

    def used_up(self, said: str, status: int | None = None) -> Fault:
        """The fault of a provider without quota or credit; ``said`` is in its own words."""
        message = f"the quota or credit of {self.title} is used up ({said}); {OTHER_WAYS}"
        return Fault(QuotaError(message, provider=self.provider, status=status))

    def timed_out(self) -> Fault:
        """The fault of a provider that did not answer in time: it is not asked again."""
        return Fault(self.failed(f"{self.title} did not answer within {self.timeout:g} s"))

    def unreachable(self, error: Exception) -> Fault:
        """The fault of a connection that could not be made or was lost."""
        cause = self.shown(str(error)) or type(error).__name__
        return Fault(self.failed(f"{self.title} cannot be reached: {cause}"), retry=True)

    def wrong_form(self, detail: str = "") -> Fault:
        """The fault of a reply without a list of results; ``detail`` says what is wrong."""
        detail = detail and f": {detail}"
        message = f"{self.title}'s reply does not have the form of search results{detail}"
        return Fault(self.failed(message))

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """The fault behind an HTTP status from 300; ``reason`` is the provider's raw text."""
        said = f"{status}: {self.shown(reason)}" if reason.strip() else f"HTTP {status}"
        momentary = _MOMENTARY.search(reason) or not _QUOTA.search(reason)
        if status == 402 or (status == 429 and not momentary):
            return self.used_up(said, status)
        if status == 429:
            error = self.failed(f"{self.title} asks for fewer searches ({said})", status)
            return Fault(error, True, retry_after)
        if status in (401, 403):
            names = " or ".join(self.key_variables)
            message = f"{self.title} does not accept the key ({said}): check {names}; {OTHER_WAYS}"
            return Fault(ConfigurationError(message))
        if status in (400, 422):
            message = f"{self.title} cannot use the request ({said}): check the question's length"
            return Fault(InputError(message))
        if status == 404:
            message = f"there is no {self.title} search at the address given ({said})"
            return Fault(ConfigurationError(message))
        error = self.failed(f"{self.title} search failed ({said})", status)
        return Fault(error, status >= 500, retry_after)

    @model_validator(mode="after")
    def _has_its_package_and_key(self) -> Self:
        if self.package and find_spec(self.package) is None:
            raise ConfigurationError(
                f"{self.title} search needs the extra [{self.provider}]: "
                f"{install_hint(self.provider)}"
            )
        if not self.key_variables:
            return self
        given = self.api_key.get_secret_value() if self.api_key else ""
        found = (given, *(os.environ.get(variable, "") for variable in self.key_variables))
        key = next((value.strip() for value in found if value.strip()), "")
        if not key:
            raise self.no_key()
        names = " or ".join(self.key_variables)
        if not re.fullmatch("[!-~]+", key):  # a header cannot hold it, and its error would show it
            raise ConfigurationError(f"{names}: the key holds a space or a special character")
        self._key, self._secrets = SecretStr(key), (key, *self._secrets)
        return self

    def _page(self, query: str, number: int, size: int) -> Page:
        """One page, asked for again while that may help; raises the last fault's error."""
        attempt = 0
        while isinstance(outcome := self.ask(query, number, size), Fault):
            pause = _pause(outcome, self.backoff * 2.0**attempt)
            if pause is None or attempt == self.retries:
                raise outcome.error
            _log.info("%s; asking again in %.1f s", outcome.error, pause)
            time.sleep(pause)
            attempt += 1
        return outcome

    def _document(self, hit: Hit, rank: int) -> Document:
        metadata = {
            "title": _plain(hit.title),
            "source": hit.url,
            "rank": rank,
            "provider": self.provider,
        }
        if date := hit.date.strip():
            metadata["date"] = date
        return Document(page_content=_plain(hit.text), metadata=metadata)


def _pause(fault: Fault, backoff: float) -> float | None:
    """Seconds before the request is made again; None if it is not."""
    if not fault.retry:
        return None
    asked_for = _seconds(fault.retry_after)
    if asked_for is not None:
        return asked_for if asked_for <= _LONGEST_WAIT else None
    return backoff * random.uniform(0.5, 1.5)  # noqa: S311 - a pause


def _seconds(retry_after: str | None) -> float | None:
    """Seconds from now, from 0, if a Retry-After header holds a number of them or a date."""
    if retry_after is None:
        return None
    if re.fullmatch(r"\s*\d{1,9}(\.\d{1,9})?\s*", retry_after):
        return float(retry_after)
    try:
        when = email.utils.parsedate_to_datetime(retry_after)
    except ValueError:
        return None
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    return max(0.0, (when - datetime.now(UTC)).total_seconds())


def _plain(text: str) -> str:
    """The text without tags and entities, on one line."""
    return " ".join(html.unescape(_TAG.sub("", marked_inline(text))).split())


def scrubbed(text: str, *secrets: str) -> str:
    """Message of a server or library, fit to be shown: one line, cut, without the secrets."""
    forms = {form for secret in secrets if secret for form in _forms(secret)}
    if forms:
        longest_first = sorted(forms, key=len, reverse=True)
        text = re.sub("|".join(map(re.escape, longest_first)), "***", text, flags=re.IGNORECASE)
    return " ".join(text.split())[:_LONGEST_REASON]


def _forms(secret: str) -> Iterator[str]:
    """How an address, a header, a JSON or HTML text or Python would write it."""
    yield from (secret, quote(secret), quote(secret, safe=""), quote_plus(secret))
    yield from (json.dumps(secret)[1:-1], repr(secret)[1:-1], html.escape(secret))
    encoded = base64.b64encode(secret.encode()).decode()
    yield from (encoded, encoded.rstrip("="))
