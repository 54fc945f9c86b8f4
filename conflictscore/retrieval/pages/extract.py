"""From a fetched page to its main text; :mod:`~conflictscore.retrieval.reading.box` runs it."""

from typing import Any

from conflictscore.retrieval.pages.page import FetchedPage, PageText, UnreadableError
from conflictscore.retrieval.pages.shown import shown_page, whole_text
from conflictscore.retrieval.reading.decoding import decode

_LONGEST_TEXT = 200_000
"""Characters, more than any passage of a prompt is cut from."""
_MOST_TAGS = 50_000
"""Tags of a page whose main text is looked for; an article of a megabyte has half as many."""


def extract(page: FetchedPage) -> PageText:
    """The page's main text, without its menus and notices; all of its text if none stands out.

    Raises:
        UnreadableError: It is not text, or there is none in it.
    """
    html = page.content_type != "text/plain"
    content = decode(page.body, page.charset, html=html).text
    title, text, date = _main_text(content, page.final_url) if html else ("", content, None)
    if not text.strip():
        title, text = whole_text(content)
    if not text.strip():
        raise UnreadableError("has no text")
    return PageText(
        text=text[:_LONGEST_TEXT],
        title=title[:300],
        date=date,
        cut=page.truncated or len(text) > _LONGEST_TEXT,
    )


def _main_text(html: str, url: str) -> tuple[str, str, str | None]:
    """Title, text and date; an empty text where there is none, or too much of it to look for."""
    found: Any = None
    if html.count("<") <= _MOST_TAGS:
        import trafilatura

        found = trafilatura.bare_extraction(
            shown_page(html).html,
            url=url,
            with_metadata=True,
            include_comments=False,
            # A year that merely stands in the text is not when the page was published.
            date_extraction_params={"original_date": True, "extensive_search": False},
        )
    return (found.title or "", found.text or "", found.date) if found else ("", "", None)
