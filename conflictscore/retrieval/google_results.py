"""What stands in a reply of the Custom Search JSON API."""

from collections.abc import Iterator, Mapping
from typing import Any

from conflictscore.retrieval.results import Hit

__all__ = ["result_hits"]

_DATE_KEYS = (
    "article:published_time",
    "og:published_time",
    "og:article:published_time",
    "datepublished",
    "date",
)


def result_hits(reply: object) -> list[Hit]:
    """The results in a reply, which has no ``items`` where nothing was found.

    Raises:
        TypeError: The reply has another form.
    """
    items = reply.get("items", []) if isinstance(reply, dict) else None
    if not isinstance(items, list) or not all(map(_is_result, items)):
        raise TypeError("no list of results")
    return [
        Hit(
            title=item.get("title", ""),
            url=item.get("link", ""),
            text=item.get("snippet", ""),
            date=next(_dates(item), ""),
        )
        for item in items
    ]


def _is_result(item: object) -> bool:
    return isinstance(item, dict) and all(
        isinstance(item.get(key, ""), str) for key in ("title", "link", "snippet")
    )


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
