"""Text of a web page as its reader sees it: hidden and struck text gone, raised digits marked.

Extractors of main text drop some elements (``time``, ``output``, text directly in a ``div``) and
join what stands apart ("10" and a raised "6"). So the tree is first put into a form in which they
lose nothing; :func:`whole_text` reads all of it without an extractor. Pages are read in the process
of :mod:`~conflictscore.retrieval.reading.box`.
"""

import re
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from conflictscore.retrieval.pages.page import FetchedPage, PageText, UnreadableError
from conflictscore.retrieval.reading.decoding import decode

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

_BLANKS = re.compile(r"\s+")
_SPACES = re.compile(r"[^\S\n]++")
_LINE_END = re.compile(r" ?\n\s*+")
_UNSEEN = (
    "noscript,template,datalist,dialog:not([open]),annotation,annotation-xml,del,s,strike,[hidden],"
    ".sr-only,.visually-hidden,.screen-reader-text"
)
_UNSEEN_STYLE = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)|opacity\s*:\s*0*\.?0*\s*(?:;|!|$)"
    r"|font-size\s*:\s*0*\.?0*(?:px|pt|em|rem|%)?\s*(?:;|!|$)|text-indent\s*:\s*-\d{3,}"
    r"|(?:left|top)\s*:\s*-\d{3,}|text-decoration(?:-line)?\s*:[^;]{0,40}line-through)",
    re.IGNORECASE,
)
_NO_TEXT = ["script", "style", "nav", "svg"]
_BLOCKS = (
    "address,article,aside,blockquote,body,center,dd,details,dialog,div,dl,dt,fieldset,figcaption,"
    "figure,footer,form,h1,h2,h3,h4,h5,h6,header,hgroup,hr,li,main,nav,ol,option,p,pre,section,"
    "summary,table,tbody,tfoot,thead,tr,ul"
)
_NOT_INLINE = frozenset((*_BLOCKS.split(","), "td", "th"))
_CONTAINERS = (
    "article,aside,blockquote,body,center,dd,details,div,figure,footer,header,main,section"
)
_INLINE = ["bdi", "bdo", "center", "data", "dfn", "font", "label", "meter", "output", "tt", "wbr"]
"""Elements that extractors drop although their text is part of the sentence around them."""
_ORDINAL = re.compile(r"(?:st|nd|rd|th|e|er|re|ère|ème|o|a|os|as|TM|SM|®)$")
_NOTE = re.compile(r"\[?[\d*†‡§,\s]{1,20}\]?|\[?[a-z]{1,3}\]|[*†‡§]+")
_RAISED_TAG = re.compile(r"<(sup|sub)\b[^<>]{0,200}>([^<>]{0,40})</\1>", re.IGNORECASE)
_ATTRIBUTE = (
    r"[^\s/>][^\s/>=]*+"
    r"(?:\s*+=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s>\"'][^\s>]*+)?+)?+"
)
_TAG = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)((?:[\s/]*+{_ATTRIBUTE})*+)")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_MOST_ATTRIBUTES, _MOST_OPEN, _MOST_OPTIONS = 2_000, 1_000, 10_000
"""Of a tag; elements open at once; of a page. The parser's time grows with the square of each."""
_SELF_CLOSING = frozenset(
    (
        *("a", "area", "base", "br", "caption", "col", "colgroup", "dd", "dt", "embed", "hr"),
        *("img", "input", "li", "link", "meta", "optgroup", "option", "p", "param", "rb", "rp"),
        *("rt", "rtc", "source", "tbody", "td", "tfoot", "th", "thead", "tr", "track", "wbr"),
    )
)
"""Elements without content, or which the next one of their kind closes."""
_LONGEST_TEXT = 200_000
"""Characters, more than any passage of a prompt is cut from."""
_MOST_TAGS = 50_000
"""Tags of a page whose main text is looked for; an article of a megabyte has half as many."""
_STRUCK_TAG = re.compile(r"<(del|s|strike)\b[^<>]{0,200}>[^<>]{0,400}</\1>", re.IGNORECASE)


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


def shown_page(html: str) -> "LexborHTMLParser":
    """The page's tree without what its reader does not see, and with what an extractor would lose.

    ``10<sup>6</sup>`` becomes ``10^6``, a note's number ``[2]``; text directly in a ``div`` becomes
    a paragraph; a table's cells hold plain text. The head is left as it is.

    Raises:
        UnreadableError: A tag has more attributes, or more elements are open at once, than any
            real page has.
    """
    from selectolax.lexbor import LexborHTMLParser

    _check_size(html)
    page = LexborHTMLParser(html)
    body = page.body
    if body is None:
        return page
    _leave_out_unseen(body)
    _mark_formulas(body)
    for node in body.css("time"):
        node.insert_after(node.text())  # it stays, empty: its attribute may be the page's date
        while node.child:
            node.child.decompose()
    page.unwrap_tags(_INLINE)
    for node in body.css("*"):
        if node.tag and "-" in node.tag and node.is_element_node:
            node.unwrap()
    for node in body.css("figcaption"):
        _wrap(page, list(node.iter(include_text=True)))
        node.unwrap()
    for node in body.css("figure:has(> p)"):
        node.unwrap()
    for node in body.css("summary"):
        _wrap(page, list(node.iter(include_text=True)))
    for node in body.css("td,th"):
        _flatten(node)
    body.merge_text_nodes()
    for node in [body, *body.css(_CONTAINERS)]:
        for run in list(_runs(node)):
            _wrap(page, run)
    return page


def whole_text(html: str) -> tuple[str, str]:
    """The page's title and all of its text, a line a block or row; empty if there is none.

    Raises:
        UnreadableError: As :func:`shown_page`.
    """
    # Line ends of the source mean nothing in a web page; those put around blocks are the text's.
    page = shown_page(_BLANKS.sub(" ", html))
    title = page.css_first("head > title")
    heading = title.text().strip() if title else ""
    page.strip_tags(_NO_TEXT)
    for node in page.css("td + td,td + th,th + td,th + th"):
        node.insert_before(" | ")
    for block in page.css(f"{_BLOCKS},br"):
        block.insert_before("\n")
        block.insert_after("\n")
    body = page.body.text() if page.body else ""
    return heading, _LINE_END.sub("\n", _SPACES.sub(" ", body)).strip()


def marked_inline(text: str) -> str:
    """A snippet of HTML with its raised and lowered text marked and its struck text left out."""
    return _RAISED_TAG.sub(lambda m: _mark(m[1].lower(), m[2].strip()), _STRUCK_TAG.sub("", text))


def _check_size(html: str) -> None:
    open_now, total, options = Counter[str](), 0, 0
    for tag in _TAG.finditer(html):
        closing, name, attributes = tag.groups()
        long = len(attributes) > _MOST_ATTRIBUTES
        if long and len(_ATTRIBUTES.findall(attributes)) > _MOST_ATTRIBUTES:
            raise UnreadableError(f"has a tag with more than {_MOST_ATTRIBUTES:,} attributes")
        kind = name.lower()
        options += kind == "option"
        if options > 2 * _MOST_OPTIONS:  # opened and closed
            raise UnreadableError(f"has more than {_MOST_OPTIONS:,} options to select")
        if kind in _SELF_CLOSING:
            continue
        if not closing:
            open_now[kind] += 1
            total += 1
        elif open_now[kind]:
            open_now[kind] -= 1
            total -= 1
        if total > _MOST_OPEN:
            raise UnreadableError(f"has more than {_MOST_OPEN:,} elements nested in each other")


def _leave_out_unseen(body: "LexborNode") -> None:
    for node in body.css(_UNSEEN):
        node.decompose()
    for node in body.css("[style]"):
        if _UNSEEN_STYLE.search(node.attributes.get("style") or ""):
            node.decompose()


def _mark_formulas(body: "LexborNode") -> None:
    for node in body.css("msup,msub,mfrac"):
        parts = list(node.iter())
        if len(parts) > 1:
            parts[1].insert_before({"msup": "^", "msub": "_"}.get(node.tag or "", "/"))
    for node in body.css("math"):
        node.replace_with(" ".join(node.text().split()))
    for node in body.css("sup,sub"):
        node.replace_with(_raised(node))


def _raised(node: "LexborNode") -> str:
    text = " ".join(node.text().split())
    if node.css_first("a[href]") or "reference" in (node.attributes.get("class") or ""):
        return f"[{text.strip('[]')}]" if text else ""
    return _mark(node.tag or "", text)


def _mark(tag: str, text: str) -> str:
    if not text or _ORDINAL.match(text):
        return text
    if tag == "sup" and not text.isdecimal() and _NOTE.fullmatch(text):
        return f"[{text.strip('[]')}]"
    return f"{'^' if tag == 'sup' else '_'}{text}"


def _flatten(cell: "LexborNode") -> None:
    """Make a cell's blocks and lines one line of text; a cell that holds a table is layout."""
    if cell.css_first("table") or not cell.css_first("p,div,br,ul,ol,dl"):
        return
    for node in cell.css("p,div,br,dd,dt"):
        node.insert_before(" ")
        node.insert_after(" ")
    for node in cell.css("li + li"):
        node.insert_before("; ")
    cell_text = " ".join(cell.text().split())
    while cell.child:
        cell.child.decompose()
    cell.insert_child(cell_text)


def _runs(container: "LexborNode") -> Iterator[list["LexborNode"]]:
    """The stretches of text and inline elements that stand directly in a container."""
    run: list[LexborNode] = []
    for node in [*container.iter(include_text=True), None]:
        if node is not None and (node.is_text_node or node.tag not in _NOT_INLINE):
            run.append(node)
            continue
        if any(part.is_text_node and any(map(str.isalnum, part.text())) for part in run):
            yield run
        run = []


def _wrap(page: "LexborHTMLParser", nodes: list["LexborNode"]) -> None:
    """Put nodes that stand side by side into a paragraph of their own."""
    if not nodes:
        return
    paragraph = page.create_node("p")
    nodes[0].insert_before(paragraph)
    first = nodes[0].prev
    if first is None:
        return
    for node in nodes:
        first.insert_child(node, move=True)
    linked = sum(len(link.text()) for link in first.css("a"))
    if 2 * linked < len(first.text()):  # an extractor takes many links for a menu
        first.unwrap_tags(["a"])
