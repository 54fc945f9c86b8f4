"""Finds a page's publication date in the page's own metadata."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from itertools import chain
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

# Types of JSON-LD objects that describe a page. "Review" must be the end of the type, since a
# "ReviewAction" is not an article.
_ARTICLE = re.compile(
    r"article|posting|report|webpage|creativework|book|recipe|review$|video|dataset|question", re.I
)
# Types of objects within a page. The dates of such objects are not the date of the page.
_NO_ARTICLE = re.compile(r"comment|event|offer|product|answer|person|organization|profile", re.I)
_PUBLISHED = (
    "article:published_time", "og:published_time", "og:article:published_time", "datepublished",
    "date", "dc.date", "dc.date.issued", "dcterms.date", "dcterms.created", "dcterms.issued",
    "citation_publication_date", "citation_date", "citation_online_date", "parsely-pub-date",
    "sailthru.date", "publishdate", "publish-date", "publication_date", "pubdate", "date.issued",
    "article.published", "published-date", "created", "originalpublicationdate",
)  # fmt: skip
"""Names of meta tags for the publication date, in the order in which they are tried."""
_DAY = re.compile(r"(\d{4})[-/.]?(\d{1,2})[-/.]?(\d{1,2})(?!\d)")
# Quantifiers are bounded, so that matching a hostile text takes linear time.
_EVENT_DAY = re.compile(r'"(?:startDate|endDate|doorTime)"\s{0,9}:\s{0,9}"([\d-]{8,10})')
_DEEPEST, _MOST_OBJECTS = 6, 2_000  # limits on untrusted metadata; real pages stay far below both
_INNER = ("@graph", "mainEntity", "mainEntityOfPage", "hasPart")
"""Fields of a JSON-LD object that may contain the article, in the order in which they are tried."""
_OLDEST = date(1990, 1, 1)
"""Earliest possible publication date; there were no web pages before it."""
_NOT_OF_THE_ARTICLE = (
    "[class*=comment],[id*=comment],[class*=related],[class*=recent],[class*=sidebar],[class*=event],"
    "[itemtype*=Event],[itemtype*=Comment],[class*=weather],[class*=clock],[class*=today],"
    "[id*=today],[class*=current-date],[class*=currentdate],body > header,body > footer,aside,nav"
)
"""Parts of a page that may contain other dates, such as the dates of comments, events and other
pages, or today's date."""


def published(page: "LexborHTMLParser") -> str | None:
    """Return the publication date in the page's metadata (``YYYY-MM-DD``), or None."""
    texts = chain(_dates_of_scripts(page), _dates_of_metas(page), _dates_of_elements(page))
    return next(filter(None, map(_day, texts)), None)


def _dates_of_scripts(page: "LexborHTMLParser") -> Iterator[str]:
    for script in page.css("script[type='application/ld+json']"):
        try:
            tree = json.loads(script.text())
        except (ValueError, RecursionError):  # a damaged script; others may have the date
            continue
        yield from _dates_in(tree)


def _dates_of_metas(page: "LexborHTMLParser") -> Iterator[str]:
    """Yield the content of one date meta tag for each name in ``_PUBLISHED``, in that order."""
    metas = {
        (meta.attributes.get("property") or meta.attributes.get("name") or "").lower(): (
            meta.attributes.get("content") or ""
        )
        # in reversed order, the first of several tags with the same name is used
        for meta in reversed(page.css("meta[content]"))
    }
    yield from (metas.get(name, "") for name in _PUBLISHED)


def _dates_of_elements(page: "LexborHTMLParser") -> Iterator[str]:
    for node in page.css("[itemprop~=datePublished],time[pubdate],time.published,time.entry-date"):
        if not _is_of_something_else(node):
            yield node.attributes.get("content") or node.attributes.get("datetime") or ""


def days_of_events(page: "LexborHTMLParser") -> set[str]:
    """Return the days on which events begin or end, according to the page's metadata."""
    data = " ".join(script.text() for script in page.css("script[type='application/ld+json']"))
    return {day for match in _EVENT_DAY.finditer(data) if (day := _day(match[1]))}


def without_other_dates(page: "LexborHTMLParser") -> None:
    """Remove the parts of a page that may contain dates other than its publication date."""
    for node in page.css(_NOT_OF_THE_ARTICLE):
        # a class such as "event" on one of these elements describes the whole page
        if node.tag not in ("body", "main", "article", "html"):
            node.decompose()


def _is_of_something_else(node: Any) -> bool:
    around = node.parent
    while around is not None and around.is_element_node:
        attributes = around.attributes
        described = f"{attributes.get('class')} {attributes.get('id')} {attributes.get('itemtype')}"
        if re.search(r"comment|event|related|sidebar", described, re.IGNORECASE):
            return True
        around = around.parent
    return False


def _dates_in(tree: Any) -> Iterator[str]:
    """Yield dates of publication in the JSON-LD of a page or article, but not those of comments."""
    # a stack, not recursion, so that one counter limits all objects of the page
    stack = [(tree, 0)]
    count = 0
    while stack and count < _MOST_OBJECTS:
        node, depth = stack.pop()
        count += 1
        inner: Iterable[Any] = ()
        if isinstance(node, list):
            inner = reversed(node)
        elif isinstance(node, dict) and not _NO_ARTICLE.search(kind := _kind_of(node)):
            day = node.get("datePublished") or node.get("dateCreated")
            if isinstance(day, str) and (_ARTICLE.search(kind) or not kind):
                yield day
            inner = (
                each for key in reversed(_INNER) if isinstance(each := node.get(key), list | dict)
            )
        if depth < _DEEPEST:
            stack.extend((each, depth + 1) for each in inner)


def _kind_of(node: Mapping[str, Any]) -> str:
    """Return the types of a JSON-LD object as one string."""
    kinds = node.get("@type") or ""
    return " ".join(map(str, kinds)) if isinstance(kinds, list) else str(kinds)


def _day(text: str) -> str | None:
    match = _DAY.match(text.strip())
    if not match:
        return None
    try:
        day = date(*map(int, match.groups()))
    except ValueError:  # a day that does not exist, such as 31 February
        return None
    # one day more, since some time zones are ahead
    tomorrow = datetime.now(UTC).date() + timedelta(days=1)
    return day.isoformat() if _OLDEST <= day <= tomorrow else None
