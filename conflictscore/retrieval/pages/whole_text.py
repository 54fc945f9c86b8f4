"""The whole text of a web page, menus and all, with the blocks on lines of their own."""

import re

__all__ = ["whole_text"]

_BLANKS = re.compile(r"\s+")
_SPACES = re.compile(r"[^\S\n]+")
_LINE_END = re.compile(r" ?\n\s*")
_HIDDEN = ("script", "style", "nav", "noscript", "template", "svg")
_BLOCKS = (
    "address,article,aside,blockquote,br,dd,div,dl,dt,figcaption,figure,footer,form,h1,h2,h3,h4,"
    "h5,h6,header,hr,li,main,ol,option,p,pre,section,summary,table,td,th,tr,ul"
)


def whole_text(html: str) -> tuple[str, str]:
    """The page's title and text; each is empty where there is none."""
    from selectolax.lexbor import LexborHTMLParser

    # Line ends of the source mean nothing in a web page; those put around blocks are the text's.
    page = LexborHTMLParser(_BLANKS.sub(" ", html))
    title = page.css_first("head > title")
    heading = title.text().strip() if title else ""
    page.strip_tags(list(_HIDDEN))
    for block in page.css(_BLOCKS):
        block.insert_before("\n")
        block.insert_after("\n")
    body = page.body.text() if page.body else ""
    return heading, _LINE_END.sub("\n", _SPACES.sub(" ", body)).strip()
