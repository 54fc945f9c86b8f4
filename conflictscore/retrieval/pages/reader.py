"""Replaces the snippets of search results with the text of their pages.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import logging
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from importlib.util import find_spec
from typing import Annotated, Any, Self

from anyio.from_thread import start_blocking_portal
from langchain_core.documents import Document
from pydantic import Field, model_validator

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.retrieval.base import WrappingRetriever
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.documents import URL_KEYS
from conflictscore.retrieval.pages.page import FetchSettings, PageText, UnreadableError
from conflictscore.retrieval.search_notes import note
from conflictscore.scripts import terms_in
from conflictscore.threads import in_thread

_log = logging.getLogger(__name__)

_LIBRARIES = ("trafilatura", "lxml_html_clean", "htmldate")
"""Packages that are required for reading pages. The pip that comes with Python 3.11 does not
install the second package."""
_AT_ONCE = 8
"""Maximum number of pages that are fetched and kept in memory at the same time.

By default, each has at most 2 MB. One search has ten results, so keeping more than ten pages gains
little.
"""

_HELD, _STRANGE = 0.75, 0.4
"""Limits on the share of a snippet's informative words that occur on its page.

Below the first limit, the snippet is kept in addition to the page. Below the second limit, a short
page is assumed to be about something else.

Many sites send a notice about cookies, robots or subscriptions instead of the page. We compared
such notices with ten snippets: the notices contained at most a third of a snippet's words, in any
language.
"""
_SHORT_PAGE = 3_000
"""Maximum number of characters in a page that may be such a notice."""
_LEAST_LETTERS = 4  # shorter words are mostly function words
_CUT_WORD = re.compile(r"(?:(?<!\w)\w++)?(?:\.\.\.|…)\w*")
"""Matches the partial words at the places where the search engine cut a snippet."""
_SNIPPET_DATE = re.compile(r"^\W*\w{3,9}\.? \d{1,2}, \d{4}\W+|^\d{1,3} \w+ ago\W+")
"""Matches a date that the search engine puts before a snippet."""

_Outcome = PageText | UnreadableError


class PageReadingRetriever(WrappingRetriever):
    """Replaces the snippets in another retriever's results with the text of their pages.

    The snippet is kept if its page cannot be read, says less than the snippet or is about something
    else, such as cookies. A note states how many pages were not used, by reason. If some words or
    numbers of the snippet are missing from the page, the snippet is put before the page's text.
    Documents without a web address are passed on unchanged.

    The other documents keep their metadata and gain ``snippet`` (the original text), ``text_from``
    (``page`` or ``snippet``) and ``fetched_at`` (UTC, ISO 8601). ``page_error`` is added if the
    page was not used, and ``page_truncated`` if its text was cut. A missing ``title`` or ``date``
    is taken from the page. ``date_from`` is then ``page``, and such a date is not used to compare
    documents.

    Safe to use from many threads and event loops at once.

    Attributes:
        settings: The limits of a fetch, and the addresses that it may reach.
        deadline: Maximum time in seconds for all pages of a question; above 0. The default was
            chosen by hand. Documents whose page has not been read when the time is up keep their
            snippets.
    """

    settings: FetchSettings = FetchSettings()
    deadline: Annotated[float, Field(gt=0)] = 60.0

    @model_validator(mode="after")
    def _has_its_libraries(self) -> Self:
        missing = ", ".join(name for name in _LIBRARIES if not find_spec(name))
        if missing:
            hint = install_hint("fetch")
            raise ConfigurationError(f"reading pages needs the extra [fetch] ({missing}): {hint}")
        return self

    def change(self, query: str, found: list[Document]) -> list[Document]:
        """Replace snippets with the text of their pages, and block until all pages are read."""
        # Uses a new event loop in a temporary thread, since this thread may already be running a
        # loop.
        with start_blocking_portal() as portal:
            return portal.call(self.achange, query, found)

    async def achange(self, query: str, found: list[Document]) -> list[Document]:
        """Replace snippets with the text of their pages."""
        urls = [_url(document.metadata) for document in found]
        outcomes = await self._outcomes(list(dict.fromkeys(filter(None, urls))))
        read = [
            _with_page(document, outcomes[url]) if url else document
            for document, url in zip(found, urls, strict=True)
        ]
        _note_failures([document.metadata for document, url in zip(read, urls, strict=True) if url])
        return read

    async def _outcomes(self, urls: Sequence[str]) -> dict[str, _Outcome]:
        """Read the pages; return, in order, the text of each or the reason why it was not read."""
        if not urls:
            return {}
        from conflictscore.retrieval.pages.fetch import PageFetcher
        from conflictscore.retrieval.reading.box import shared_box

        extractor = shared_box()
        outcomes: dict[str, _Outcome] = {}
        at_once = asyncio.Semaphore(_AT_ONCE)

        async def read(url: str) -> None:
            async with at_once:
                try:
                    outcomes[url] = await extractor.extract(await fetcher.fetch(url))
                except UnreadableError as error:
                    outcomes[url] = error
                except Exception as error:  # noqa: BLE001 - no page may end the search
                    _log.info("a page could not be read", exc_info=error)
                    outcomes[url] = UnreadableError(f"fails with {type(error).__name__}")

        try:
            async with (
                asyncio.timeout(self.deadline),
                await in_thread(partial(PageFetcher, self.settings)) as fetcher,
                asyncio.TaskGroup() as tasks,
            ):
                for url in urls:
                    tasks.create_task(read(url))
        except TimeoutError:
            late = UnreadableError(
                f"was not reached within the {self.deadline:g} s allowed for all pages"
            )
            return dict.fromkeys(urls, late) | outcomes
        return outcomes


def _url(metadata: Mapping[str, Any]) -> str | None:
    """Return the document's web address.

    The result is None if the document has no web address, or if its page was already read when a
    recording was made.
    """
    if "text_from" in metadata:
        return None
    for key in URL_KEYS:
        value = metadata.get(key)
        if isinstance(value, str) and value.strip().lower().startswith(("http:", "https:")):
            return value.strip()
    return None


def _with_page(document: Document, outcome: _Outcome) -> Document:
    """Return the document with its page's text, or with its snippet if the page is unusable."""
    snippet = document.page_content
    keeps_snippet = False
    if isinstance(outcome, PageText):
        outcome, keeps_snippet = _fitting(outcome, clean_text(snippet))
    metadata = document.metadata | {
        "snippet": snippet,
        "fetched_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    if isinstance(outcome, UnreadableError):
        metadata |= {"text_from": "snippet", "page_error": str(outcome)}
        return document.model_copy(update={"metadata": metadata})
    metadata["text_from"] = "page"
    if outcome.cut:
        metadata["page_truncated"] = True
    if outcome.title and not metadata.get("title"):
        metadata["title"] = outcome.title
    if outcome.date and not metadata.get("date"):
        metadata |= {"date": outcome.date, "date_from": "page"}
    text = f"{snippet.strip()}\n\n{outcome.text}" if keeps_snippet else outcome.text
    return document.model_copy(update={"page_content": text, "metadata": metadata})


def _fitting(page: PageText, snippet: str) -> tuple[_Outcome, bool]:
    """Return the page if it can replace the snippet, and whether the snippet must be kept as well.

    The snippet is kept if many of its informative words, or any of its numbers, are missing from
    the page. The snippet's fact may be behind a paywall, or the page may have changed since it was
    indexed.
    """
    words = _telling_words(snippet)
    if not words:
        return page, False
    page_words = set(terms_in(page.text))
    held = len(words & page_words) / len(words)
    lacks_number = any(word.isdecimal() for word in words - page_words)
    if len(page.text) < len(snippet) and held < 1:
        return UnreadableError("says less than its snippet"), False
    if held < _STRANGE and len(page.text) < _SHORT_PAGE:
        return UnreadableError("is about something other than its snippet"), False
    return page, held < _HELD or lacks_number


def _telling_words(snippet: str) -> set[str]:
    """Return the snippet's informative words: numbers, and words of four letters or more.

    Informative words should occur on the snippet's page. In scripts without spaces, each pair of
    characters counts as a word.
    """
    whole = _CUT_WORD.sub(" ", _SNIPPET_DATE.sub("", snippet))
    return {
        word
        for word in terms_in(whole)
        if word.isdecimal() or len(word) >= _LEAST_LETTERS or not word.isascii()
    }


def _note_failures(read: Sequence[Mapping[str, Any]]) -> None:
    """Add a note that counts the unused pages by reason."""
    reasons = Counter(
        metadata["page_error"] for metadata in read if metadata["text_from"] == "snippet"
    )
    if reasons:
        counted = "; ".join(f"{count}: {reason}" for reason, count in reasons.most_common())
        note(
            f"{reasons.total()} of {len(read)} pages could not be read,"
            f" so their snippets were used ({counted})"
        )
