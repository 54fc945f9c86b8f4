"""From a reply of the Custom Search JSON API to LangChain documents."""

import html
import re
from collections.abc import Iterator
from typing import Any

from langchain_core.documents import Document

__all__ = ["is_result", "result_document"]

_TAG = re.compile(r"</?[a-zA-Z][^<>]*>")
_DATE_KEYS = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "date",
)


def is_result(item: object) -> bool:
    """Whether this has the form of an entry of the reply's ``items``."""
    return isinstance(item, dict) and all(
        isinstance(item.get(key, ""), str) for key in ("title", "link", "snippet")
    )


def result_document(item: dict[str, Any], rank: int) -> Document:
    """One result: the snippet as its text, and where it came from.

    Args:
        item: An entry of the reply's ``items``, for which ``is_result`` holds.
        rank: Its place in Google's order, from 1.
    """
    metadata = {
        "title": _plain(item.get("title", "")),
        "source": item.get("link", ""),
        "rank": rank,
        "provider": "google",
    }
    if date := next(_dates(item.get("pagemap")), None):
        metadata["date"] = date
    return Document(page_content=_plain(item.get("snippet", "")), metadata=metadata)


def _plain(text: str) -> str:
    """The text without tags and entities, on one line."""
    return " ".join(html.unescape(_TAG.sub("", text)).split())


def _dates(pagemap: object) -> Iterator[str]:
    """When the page says it was published: first by its meta tags, then by its other data."""
    if not isinstance(pagemap, dict):
        return
    blocks = [pagemap.get("metatags"), *(pagemap[key] for key in pagemap if key != "metatags")]
    for block in blocks:
        for entry in block if isinstance(block, list) else ():
            fields = entry.items() if isinstance(entry, dict) else ()
            given = {str(key).lower(): value for key, value in fields}
            for key in _DATE_KEYS:
                value = given.get(key)
                if isinstance(value, str) and value.strip():
                    yield value.strip()
