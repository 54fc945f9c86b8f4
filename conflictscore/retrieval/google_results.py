"""A page of results as Google writes it, in Custom Search and in Vertex AI Search."""

from collections.abc import Iterator, Mapping
from typing import Any

from conflictscore.retrieval.json_search import hits, listed
from conflictscore.retrieval.web_search import Hit

__all__ = ["result_hits"]

_DATE_KEYS = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "date",
)


def result_hits(reply: Mapping[str, Any]) -> list[Hit]:
    """The results in a reply of Custom Search, which has no ``items`` where nothing was found.

    Raises:
        LookupError, TypeError, ValueError: The reply has another form.
    """
    dated = (
        {**item, "date": next(_dates(item), "")} for item in listed({"items": [], **reply}, "items")
    )
    return hits(list(dated), "title", "link", "snippet", "date")


def _dates(item: Mapping[str, Any]) -> Iterator[str]:
    """When the page says it was published: first by its meta tags, then by its other data."""
    pagemap = item.get("pagemap")
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
