"""Removes the invisible parts of a page, except hidden words that explain an icon."""

import re
from typing import TYPE_CHECKING

from conflictscore.retrieval.html.style_sheets import (
    Sheets,
    hidden_by_style,
    is_for_screens,
    white_on_white,
)

if TYPE_CHECKING:
    from selectolax.lexbor import LexborHTMLParser, LexborNode

# Elements that a browser does not show, struck-out text, pronunciations above words (rt), and the
# drawings of formulas whose MathML is read.
_UNSEEN = (
    "noscript,template,datalist,dialog:not([open]),annotation,annotation-xml,del,s,strike,[hidden],"
    "[popover],"
    "rt,rp,rtc,input[type=hidden],.katex-html,.MathJax_Preview"
)
_FOR_SCREEN_READERS = (
    ".sr-only,.visually-hidden,.visuallyhidden,.screen-reader-text,.screen-reader-only,"
    ".a-offscreen,.u-hiddenVisually,.usa-sr-only,.vh,.hidden-accessible,.element-invisible,"
    ".assistive-text,.show-for-sr"
)
"""Classes whose text a browser does not draw; screen readers read it aloud in place of an icon."""
# If these elements have "aria-hidden", they are usually dialogs and menus. Other elements with
# this attribute hold ordinary words and symbols.
_HIDDEN_BLOCK = "div,section,aside,nav,dialog,form,ul,ol,table,article,header,footer,menu"
# Elements that may be icons.
_SIGNS_FOR_EYES = "svg,img,i,[class*=icon],[role=img]"
# Classes that several style libraries use to hide an element. The style sheets of these libraries
# are not loaded.
_HIDDEN_BY_CLASS = ".hidden,.d-none,.is-hidden,.display-none,.uk-hidden"
_SHOWN_SOMEWHERE = re.compile(
    r"\bd-\w{2,3}-\w|js-|-toggle"
    r"|(?<!\bprint)(?<!\bdark):!?(?:inline(?:-(?:block|flex|grid|table))?|block|flex|grid|contents"
    r"|flow-root|list-item|table(?:-(?!auto|fixed)[a-z-]{1,20})?)(?![\w-])"
)
"""Matches classes of Bootstrap and Tailwind that show an element again, for example on wide
screens, and classes set by scripts. Other variants of Tailwind, such as ``dark:bg-gray-700``, leave
the element hidden."""
_LETTER = re.compile(r"[^\W_]")
# A text longer than this many characters is not just the label of an icon. Chosen by hand.
_SHORT_NAME = 60


def leave_out_unseen(page: "LexborHTMLParser", body: "LexborNode") -> Sheets:
    """Remove text that is hidden, struck through or not meant for a browser.

    Returns the page's style sheets.

    Formulas that are hidden behind a picture must have been replaced with text beforehand. Words
    meant for screen readers are kept if they explain an icon. Blocks with ``aria-hidden`` are
    removed, since they are closed dialogs and menus. Single words and symbols with ``aria-hidden``
    are kept, since they are visible.
    """
    sheets = Sheets(_style_rules(page), len(body.css("*")))
    for node in body.css("style"):
        node.decompose()
    for node in body.css(_UNSEEN):
        node.decompose()
    for node in body.css("[aria-hidden=true]"):
        # a block with words for screen readers may be an icon and its explanation (see below)
        if node.tag in _HIDDEN_BLOCK.split(",") and not node.css_first(_FOR_SCREEN_READERS):
            node.decompose()
        else:
            del node.attrs["aria-hidden"]  # extractors drop elements with this attribute
    for node in body.css(_FOR_SCREEN_READERS):
        if _stands_for_a_sign(node):
            _show(node)
        else:
            node.decompose()
    head = page.head
    for node in list(hidden_by_style(body, sheets)):
        node.decompose()
    for node in list(white_on_white(body, (head.html or "") if head else "", sheets)):
        node.decompose()
    # without an external sheet, the page's own rules say what these classes hide
    if page.css_first("link[rel~=stylesheet]") is not None:
        _leave_out_by_class(body)
    return sheets


def _style_rules(page: "LexborHTMLParser") -> str:
    """Return the rules of a page's own style sheets for screens."""
    styles = page.css("style")
    return "\n".join(s.text() for s in styles if is_for_screens(s.attributes.get("media") or ""))


def _leave_out_by_class(body: "LexborNode") -> None:
    """Remove elements that well-known style sheets hide on every screen size.

    The elements are recognised by their classes; the style sheets are not fetched.
    """
    for node in body.css(_HIDDEN_BY_CLASS):
        names = node.attributes.get("class") or ""
        if not _SHOWN_SOMEWHERE.search(names):
            node.decompose()


def _show(node: "LexborNode") -> None:
    """Remove the class and style that hide an element."""
    for name in ("class", "style"):
        if name in node.attributes:
            del node.attrs[name]


def _stands_for_a_sign(node: "LexborNode") -> bool:
    """Return whether words for screen readers are next to an icon that nothing else explains."""
    parent = node.parent
    if parent is None or len(node.text()) > _SHORT_NAME:
        return False
    signs = [sign for sign in parent.css(_SIGNS_FOR_EYES) if not _LETTER.search(sign.text())]
    if not signs:
        return False
    others = parent.text().replace(node.text(), "", 1)
    return not _LETTER.search(others)
