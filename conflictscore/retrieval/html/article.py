"""Finds the main text of a page, without its menus and notices.

The library trafilatura extracts it. But it drops boxes, footers of articles and blocks with certain
class names, and corrections are often among them. So lines of the page between the extracted lines
are put back, unless they are links, comments or promotion.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from conflictscore.retrieval.html.dates import days_of_events, published, without_other_dates
from conflictscore.retrieval.html.tree import shown_page
from conflictscore.retrieval.html.whole import text_of, whole_text
from conflictscore.retrieval.pages.page import FetchedPage, PageText, UnreadableError
from conflictscore.retrieval.shaping.decoding import decode

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_LONGEST_TEXT = 200_000
"""Maximum characters of a page's text, which is more than any passage of a prompt is cut from."""
_MOST_TAGS = 50_000
"""Maximum tags of a page whose main text is searched; an article of a megabyte has half as many."""
_ASIDE_FROM_TEXT = (
    "nav,form,script,style,[role=navigation],[role=banner],[role=search],[class*=promo],"
    "[class*=newsletter],[class*=subscribe],[class*=share],[class*=social],[class*=related],"
    "[class*=advert],[class*=cookie],[class*=consent],[class*=banner],[class*=breadcrumb],"
    "[id*=comment],[class*=comment],[class*=recommend],[class*=popular],[class*=sponsor],"
    "[class*=teaser],[class*=paywall],[class*=signup],[class*=sidebar],[class*=widget],"
    "[class*=toolbar],[class*=byline],[class*=author-bio],[class*=pagination]"
)
"""Blocks whose lines are not put back."""
_ANSWERS = re.compile(r"QAPage|FAQPage|DiscussionForumPosting|acceptedAnswer|suggestedAnswer")
_QUESTION_MARKS = "?？؟;"
_LINKED = 0.5
_SHORTEST_LINE = 12
_NOT_A_LETTER = re.compile(r"[\W_]+")
_MOST_PUT_BACK = 3
"""Maximum characters to put back, as a multiple of the extracted text.

If there are more, the extractor took the wrong part of the page.
"""
_CORRECTION = re.compile(r"correct|update|errat|note|clarif|editor", re.IGNORECASE)


class MainText(NamedTuple):
    """Title, text and date of a page's main part; the text is empty if no part stands out."""

    title: str
    text: str
    date: str | None


def extract(page: FetchedPage) -> PageText:
    """The page's main text without menus and notices; all of its text if no part stands out.

    Raises:
        UnreadableError: The page is not text, or contains none.
    """
    is_html = page.content_type != "text/plain"
    content = decode(page.body, page.charset, html=is_html).text
    main = _main_text(content, page.final_url) if is_html else MainText("", content, None)
    title, text, date = main
    if not text.strip():
        whole = whole_text(content)
        title, text = whole.title, whole.text
    if not text.strip():
        raise UnreadableError("has no text")
    return PageText(
        text=text[:_LONGEST_TEXT],
        title=title[:300],
        date=date,
        cut=page.truncated or len(text) > _LONGEST_TEXT,
    )


def _main_text(html: str, url: str) -> MainText:
    """The main text; empty if the page has none, or is too large to search."""
    if html.count("<") > _MOST_TAGS:
        return MainText("", "", None)
    import trafilatura

    shown = shown_page(html).tree
    is_question = _asks(shown, html)
    _keep_boxes(shown)
    main: Any = trafilatura.bare_extraction(
        shown.html,
        url=url,
        with_metadata=True,
        include_comments=is_question,
        # A year in the text is not a publication date.
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    if not main:
        return MainText("", "", None)
    text = main.text or ""
    if is_question and main.comments:
        text += f"\n{main.comments}"
    return MainText(main.title or "", _with_lines_between(shown, text), _date(html, url, main.date))


def _asks(page: "LexborHTMLParser", html: str) -> bool:
    """Whether a page asks a question, which makes its comments answers."""
    if _ANSWERS.search(html):
        return True
    heading = page.css_first("h1") or page.css_first("title")
    return heading is not None and heading.text().strip().endswith(tuple(_QUESTION_MARKS))


def _keep_boxes(page: "LexborHTMLParser") -> None:
    """Make boxes and footers within an article parts of it, if they hold more text than links."""
    for node in page.css("article aside,article footer,main aside,article [class],article [id]"):
        described = f"{node.attributes.get('class') or ''} {node.attributes.get('id') or ''}"
        if node.tag not in ("aside", "footer") and not _CORRECTION.search(described):
            continue
        if node.css_matches(_ASIDE_FROM_TEXT) or _link_share(node) > _LINKED:
            continue
        for name in ("class", "id", "role"):
            if name in node.attributes:
                del node.attrs[name]
        if node.tag in ("aside", "footer"):
            node.unwrap()


def _link_share(node: Any) -> float:
    linked = sum(len(link.text()) for link in node.css("a"))
    return linked / max(1, len(node.text().strip()))


def _with_lines_between(page: "LexborHTMLParser", text: str) -> str:
    """A main text with the lines of the page that belong between its own lines.

    If the lines of page and text do not match, the text is returned unchanged.
    """
    lines = text.split("\n")
    places = {_letters(line): number for number, line in enumerate(lines) if _letters(line)}
    page_lines = _lines_of_article(page)
    in_both = [number for number, line in enumerate(page_lines) if _letters(line) in places]
    if not in_both:
        return text
    after: dict[int, list[str]] = {}
    text_letters = "\0".join(places)
    at = places[_letters(page_lines[in_both[0]])]
    put_back = 0
    for line in page_lines[in_both[0] : in_both[-1] + 1]:
        letters = _letters(line)
        if letters in places:
            at = max(at, places[letters])
        elif len(line) >= _SHORTEST_LINE and letters and letters not in text_letters:
            after.setdefault(at, []).append(line)
            put_back += len(line)
    if put_back > _MOST_PUT_BACK * len(text):
        return text
    return "\n".join(_woven(lines, after))


def _lines_of_article(page: "LexborHTMLParser") -> list[str]:
    """A page's lines without blocks beside its article and without lists of links."""
    for node in page.css(_ASIDE_FROM_TEXT):
        if node.tag not in ("body", "html", "main", "article"):
            node.decompose()
    for node in page.css("ul,ol,p,div,h2,h3,h4"):
        if node.css_first("a") is not None and _link_share(node) > _LINKED:
            node.decompose()
    body = page.body
    return [line for line in (text_of(body) if body else "").split("\n") if line.strip()]


def _woven(lines: Sequence[str], after: dict[int, list[str]]) -> list[str]:
    woven: list[str] = []
    for number, line in enumerate(lines):
        woven += [line, *after.get(number, ())]
    return woven


def _letters(line: str) -> str:
    """The letters and digits of a line, for comparing the page's lines with the extractor's."""
    return _NOT_A_LETTER.sub("", line).casefold()


def _date(html: str, url: str, found: str | None) -> str | None:
    """When the page was published, by its own data or else by the library's search of the rest."""
    from selectolax.lexbor import LexborHTMLParser

    page = LexborHTMLParser(html)
    if day := published(page):
        return day
    if found is None:
        return None
    import htmldate

    events = days_of_events(page)
    without_other_dates(page)
    for script in page.css("script"):
        script.decompose()
    day = htmldate.find_date(page.html, original_date=True, extensive_search=False, url=url)
    return str(day) if day and day not in events else None
