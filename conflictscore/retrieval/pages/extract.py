"""From a fetched page to what it says. It trusts nothing, and may take for ever: see `worker`."""

from typing import Any

from conflictscore.retrieval.pages.decode import decode
from conflictscore.retrieval.pages.page import FetchedPage, PageError, PageText
from conflictscore.retrieval.pages.whole_text import whole_text

__all__ = ["extract"]

_LONGEST_TEXT = 200_000
"""Characters, more than any passage of a prompt is cut from."""
_LONGEST_TITLE = 300
_MOST_TAGS = 50_000
"""Tags of a page whose main text is looked for; an article of a megabyte has half as many."""
_UNSEEN = ("//noscript", "//*[@hidden]")
"""What a reader of the page does not see."""


def extract(page: FetchedPage) -> PageText:
    """The page's main text, without its menus and notices; all of its text where none stands out.

    Raises:
        PageError: It is not text, or there is none in it.
    """
    html = page.content_type != "text/plain"
    content = decode(page.body, page.charset, html=html)
    title, text, date = _main_text(content, page.final_url) if html else ("", content, None)
    if not text.strip():
        title, text = whole_text(content)
    if not text.strip():
        raise PageError("has no text")
    return PageText(
        text=text[:_LONGEST_TEXT],
        title=title[:_LONGEST_TITLE],
        date=date,
        cut=page.truncated or len(text) > _LONGEST_TEXT,
    )


def _main_text(html: str, url: str) -> tuple[str, str, str | None]:
    """Title, text and date; an empty text where there is none, or too much of it to look for."""
    if html.count("<") > _MOST_TAGS:
        return "", "", None
    import trafilatura

    found: Any = trafilatura.bare_extraction(
        f"<html>{html}",  # else a page that leaves the tag out would be read up to its first block
        url=url,
        with_metadata=True,
        include_comments=False,
        prune_xpath=list(_UNSEEN),
        # A year that merely stands in the text is not when the page was published.
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    if found is None:
        return "", "", None
    return found.title or "", found.text or "", found.date
