"""Finds the main text of a page, without its menus and notices.

The text is extracted by the library trafilatura. However, trafilatura drops boxes, article footers
and blocks with certain class names, which often contain corrections. Page lines between the
extracted lines are therefore put back, unless they are links, comments or advertising.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from conflictscore.retrieval.html.dates import days_of_events, published, without_other_dates
from conflictscore.retrieval.html.source import parsable
from conflictscore.retrieval.html.tree import shown_page
from conflictscore.retrieval.html.whole import text_of, whole_text
from conflictscore.retrieval.pages.page import FetchedPage, PageText, UnreadableError
from conflictscore.retrieval.shaping.decoding import decode

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser

_LONGEST_TEXT = 200_000
"""Maximum number of characters in a page's text. Passages for prompts are never cut from a longer
text."""
_MOST_TAGS = 50_000
"""Maximum number of tags in a page whose main text is extracted. A one-megabyte article has half as
many tags. The whole text of a larger page is used."""
_ASIDE_FROM_TEXT = (
    "nav,form,script,style,[role=navigation],[role=banner],[role=search],[class*=promo],"
    "[class*=newsletter],[class*=subscribe],[class*=share],[class*=social],[class*=related],"
    "[class*=advert],[class*=cookie],[class*=consent],[class*=banner],[class*=breadcrumb],"
    "[id*=comment],[class*=comment],[class*=recommend],[class*=popular],[class*=sponsor],"
    "[class*=teaser],[class*=paywall],[class*=signup],[class*=sidebar],[class*=widget],"
    "[class*=toolbar],[class*=byline],[class*=author-bio],[class*=pagination]"
)
"""Selectors of blocks whose lines are not put back."""
# Types of structured data on pages with questions and answers.
_ANSWERS = re.compile(r"QAPage|FAQPage|DiscussionForumPosting|acceptedAnswer|suggestedAnswer")
_QUESTION_MARKS = "?？؟;"
_LINKED = 0.5  # A block with a larger share of its text in links is a menu or a list of links.
_SHORTEST_LINE = 12  # In characters; shorter lines are labels and buttons.
_NOT_A_LETTER = re.compile(r"[\W_]+")
_MOST_PUT_BACK = 3
"""Maximum number of characters to put back, as a multiple of the length of the extracted text.

If more text is missing, the extractor chose the wrong part of the page.
"""
_UNSURE = "has more style rules than can be applied, so its invisible text cannot be told apart"
# Names of elements that may contain a correction of the article.
_CORRECTION = re.compile(r"correct|update|errat|note|clarif|editor", re.IGNORECASE)


class MainText(NamedTuple):
    """The title, text and date of a page's main part; the text is empty if no part stands out."""

    title: str
    text: str
    date: str | None


def extract(page: FetchedPage) -> PageText:
    """Return the page's main text without menus and notices.

    If no part of the page stands out, all of its text is returned.

    Raises:
        UnreadableError: The page is not text, or has no visible text.
    """
    is_html = page.content_type != "text/plain"
    content = decode(page.body, page.charset, html=is_html).text
    main = _main_text(content, page.final_url) if is_html else MainText("", content, None)
    title, text, date = main
    if not text.strip():
        whole = whole_text(content)
        if whole.is_unsure:
            raise UnreadableError(_UNSURE)
        title, text = whole.title, whole.text
    if not text.strip():
        raise UnreadableError("has no text")
    return PageText(
        text=text[:_LONGEST_TEXT],
        title=title[:300],  # the title is cut, since a hostile page may have a title of any length
        date=date,
        cut=page.truncated or len(text) > _LONGEST_TEXT,
    )


def _main_text(html: str, url: str) -> MainText:
    """Return the main text; it is empty if the page has none or is too large for the extractor."""
    if html.count("<") > _MOST_TAGS:
        return MainText("", "", None)
    import trafilatura

    html = parsable(html)  # the source is also parsed for the date
    shown, _, is_unsure = shown_page(html)
    if is_unsure:
        raise UnreadableError(_UNSURE)
    is_question = _asks(shown, html)
    _keep_boxes(shown)
    main: Any = trafilatura.bare_extraction(
        shown.html,
        url=url,
        with_metadata=True,
        include_comments=is_question,
        # A year that the text mentions is not a publication date.
        date_extraction_params={"original_date": True, "extensive_search": False},
    )
    if not main:
        return MainText("", "", None)
    text = main.text or ""
    if is_question and main.comments:
        lines = {_letters(line) for line in text.split("\n")}
        answers = (line for line in main.comments.split("\n") if _letters(line) not in lines)
        text = "\n".join([text, *answers])
    return MainText(main.title or "", _with_lines_between(shown, text), _date(html, url, main.date))


def _asks(page: "LexborHTMLParser", html: str) -> bool:
    """Return whether a page asks a question, so that its comments are answers."""
    if _ANSWERS.search(html):
        return True
    heading = page.css_first("h1") or page.css_first("title")
    return heading is not None and heading.text().strip().endswith(tuple(_QUESTION_MARKS))


def _keep_boxes(page: "LexborHTMLParser") -> None:
    """Make the extractor keep an article's boxes and footers, except those full of links.

    The extractor drops elements because of their names, classes and ids, so these are removed.
    """
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
    """Return the share of an element's text that is in links."""
    linked = sum(len(link.text()) for link in node.css("a"))
    return linked / max(1, len(node.text().strip()))


def _with_lines_between(page: "LexborHTMLParser", text: str) -> str:
    """Return the main text together with the lines of the page that lie between its lines.

    If the lines of the page and of the main text do not match, the text is returned unchanged.
    """
    lines = text.split("\n")
    places = {_letters(line): number for number, line in enumerate(lines) if _letters(line)}
    page_lines = _lines_of_article(page)
    in_both = [number for number, line in enumerate(page_lines) if _letters(line) in places]
    if not in_both:
        return text
    after: dict[int, list[str]] = {}
    text_letters = "\0".join(places)  # also finds a line of the page inside a longer line of text
    at = places[_letters(page_lines[in_both[0]])]
    put_back = 0
    for line in page_lines[in_both[0] : in_both[-1] + 1]:
        letters = _letters(line)
        if letters in places:
            at = max(at, places[letters])  # a line that occurs twice must not lead back
        elif len(line) >= _SHORTEST_LINE and letters and letters not in text_letters:
            after.setdefault(at, []).append(line)
            put_back += len(line)
    if put_back > _MOST_PUT_BACK * len(text):
        return text
    return "\n".join(_woven(lines, after))


def _lines_of_article(page: "LexborHTMLParser") -> list[str]:
    """Return a page's lines, except lists of links and the blocks around the article."""
    for node in page.css(_ASIDE_FROM_TEXT):
        if node.tag not in ("body", "html", "main", "article"):
            node.decompose()
    for node in page.css("ul,ol,p,div,h2,h3,h4"):
        if node.css_first("a") is not None and _link_share(node) > _LINKED:
            node.decompose()
    body = page.body
    return [line for line in (text_of(body) if body else "").split("\n") if line.strip()]


def _woven(lines: Sequence[str], after: dict[int, list[str]]) -> list[str]:
    """Return the lines; each is followed by the lines to put back after it."""
    woven: list[str] = []
    for number, line in enumerate(lines):
        woven += [line, *after.get(number, ())]
    return woven


def _letters(line: str) -> str:
    """Return the letters and digits of a line, for comparing the page with the main text."""
    return _NOT_A_LETTER.sub("", line).casefold()


def _date(html: str, url: str, found: str | None) -> str | None:
    """Return the publication date in the page's metadata, or else the date that htmldate finds.

    ``found`` is trafilatura's date, which may be the date of an event or of a comment. So htmldate,
    which trafilatura uses too, searches the page again without the parts that have such dates.
    """
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
