"""What every web search has in common: the key, the pages of results, and the further tries."""

import math
import os
import re
from abc import abstractmethod
from typing import Annotated, ClassVar, Self

from langchain_core.documents import Document
from pydantic import Field, PrivateAttr, SecretStr, model_validator

from conflictscore.errors import ConfigurationError, InputError, ProviderError, QuotaError
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.documents import clean_text
from conflictscore.retrieval.faults import Fault, insistently, retry_after_seconds, scrubbed
from conflictscore.retrieval.results import Hit, Page, hit_document

__all__ = ["OTHER_WAYS", "WebSearchRetriever"]

OTHER_WAYS = (
    "other ways: --search searxng:URL (a server of your own), --search ddgs (no key), or "
    "--search corpus --docs PATH (your own files)"
)

_QUOTA = re.compile(r"credit|quota|billing|payment|per\s*day|daily|month|usage limit", re.I)
_MOMENTARY = re.compile(r"per\s*(second|minute)|rate[\s_-]?limit", re.I)


class WebSearchRetriever(TopKRetriever):
    """The first ``k`` results of a web search, with their snippets as plain text.

    A document's metadata holds ``title``, ``source`` (the address), ``rank`` from 1, ``provider``
    and, where the provider gives one, ``date``. An address comes once. Safe to use from many
    threads at once.

    A provider gives its names, and one request in ``ask``.

    Attributes:
        provider: The provider's short name, as in ``--search`` and in a document's metadata.
        title: Its name in sentences.
        key_variables: The environment's names for its key, the usual one first; empty where it
            takes no key.
        key_source: Where a key comes from, to go on with "a key comes from".
        page_size: The most results that one request gets.
        api_key: The key; without it, the environment's.
        timeout: Seconds to wait for the provider, above 0.
        retries: Further tries of a request after a rate limit, a server error or a lost
            connection.
        backoff: Seconds before the first further try, doubled for each next one and varied by
            half; a Retry-After up to 60 s comes before it.

    Raises:
        ConfigurationError: No key, or the provider refuses it.
        InputError: ``k`` is out of range, the question is empty or the provider cannot use it.
        QuotaError: The provider's quota or credit is used up.
        ProviderError: The provider failed or did not answer.
    """

    provider: ClassVar[str]
    title: ClassVar[str]
    key_variables: ClassVar[tuple[str, ...]] = ()
    key_source: ClassVar[str] = ""
    page_size: ClassVar[int] = 10

    k_limit: ClassVar[int | None] = 100

    api_key: SecretStr | None = None
    timeout: Annotated[float, Field(gt=0)] = 10.0
    retries: Annotated[int, Field(ge=0)] = 2
    backoff: Annotated[float, Field(ge=0)] = 1.0

    _key: SecretStr = PrivateAttr(default=SecretStr(""))

    @abstractmethod
    def ask(self, query: str, number: int, size: int) -> Page | Fault:
        """One page of results, by one request; thread-safe.

        Every failure that is to be expected is returned, with texts that went through ``shown``.

        Args:
            query: The question, not empty.
            number: The page's number, from 0.
            size: The results of a page, from 1 to ``page_size``; the same for all of a search.
        """

    def search(self, query: str, k: int) -> list[Document]:
        """See the class."""
        query = clean_text(query)  # no address can hold a lone surrogate, which JSON can
        if not query:
            raise InputError("the question to search for is empty")
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
        return [hit_document(hit, rank, self.provider) for rank, hit in enumerate(best, 1)]

    def shown(self, text: str) -> str:
        """What a server or library said, fit to be shown: one line, cut, and without the key."""
        return scrubbed(text, self._key.get_secret_value())

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
        """The fault of a provider whose quota or credit is used up; ``said`` is its own word."""
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
        """The fault of a reply that holds no list of results; ``detail`` says what is wrong."""
        detail = detail and f": {detail}"
        message = f"{self.title}'s reply does not have the form of search results{detail}"
        return Fault(self.failed(message))

    def refused(self, status: int, reason: str, retry_after: str | None = None) -> Fault:
        """What an HTTP status from 300 means for the user.

        Args:
            status: The HTTP status.
            reason: What the provider gives as the cause, as it came.
            retry_after: The reply's Retry-After header.
        """
        said = f"{status}: {self.shown(reason)}" if reason.strip() else f"HTTP {status}"
        momentary = _MOMENTARY.search(reason) or not _QUOTA.search(reason)
        if status == 402 or (status == 429 and not momentary):
            return self.used_up(said, status)
        if status == 429:
            error = self.failed(f"{self.title} asks for fewer searches ({said})", status)
            return Fault(error, True, retry_after_seconds(retry_after))
        if status >= 500:
            error = self.failed(f"{self.title} search failed ({said})", status)
            return Fault(error, True, retry_after_seconds(retry_after))
        if status in (401, 403):
            names = " or ".join(self.key_variables)
            message = f"{self.title} does not accept the key ({said}): check {names}; {OTHER_WAYS}"
            return Fault(ConfigurationError(message))
        if status in (400, 422):
            message = f"{self.title} cannot use the request ({said}): check the question's length"
            return Fault(InputError(message))
        if status == 404:
            message = f"there is no {self.title} search at the address asked ({said})"
            return Fault(ConfigurationError(message))
        return Fault(self.failed(f"{self.title} search failed ({said})", status))

    @model_validator(mode="after")
    def _take_key(self) -> Self:
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
        self._key = SecretStr(key)
        return self

    def _page(self, query: str, number: int, size: int) -> Page:
        return insistently(
            lambda: self.ask(query, number, size), retries=self.retries, backoff=self.backoff
        )
