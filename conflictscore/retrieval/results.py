"""From what a search provider found to LangChain documents."""

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass

from langchain_core.documents import Document

__all__ = ["Hit", "Page", "hit_document", "plain"]

_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")


@dataclass(frozen=True, slots=True)
class Hit:
    """One result, as the provider gives it; tags and entities may stand in ``title`` and ``text``.

    Attributes:
        title: The page's title; empty where it has none.
        url: The page's address.
        text: The snippet, or more of the page where the provider gives more.
        date: When the page was published, as the provider says it; empty where it does not.
    """

    title: str
    url: str
    text: str
    date: str = ""


@dataclass(frozen=True, slots=True)
class Page:
    """What one request found, best first.

    Attributes:
        hits: The results; may be empty.
        more: Whether a next page may hold further ones.
    """

    hits: Sequence[Hit]
    more: bool = False


def hit_document(hit: Hit, rank: int, provider: str) -> Document:
    """The snippet as plain text, and where it came from; ``rank`` counts from 1."""
    metadata = {"title": plain(hit.title), "source": hit.url, "rank": rank, "provider": provider}
    if date := hit.date.strip():
        metadata["date"] = date
    return Document(page_content=plain(hit.text), metadata=metadata)


def plain(text: str) -> str:
    """The text without tags and entities, on one line."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())
