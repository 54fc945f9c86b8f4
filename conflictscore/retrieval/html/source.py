"""Checks a page's source before parsing, and inserts the parts that parsers ignore.

Limits without a stated reason were chosen by hand.
"""

import re
from collections import Counter

from conflictscore.retrieval.pages.page import UnreadableError

_ATTRIBUTE = (
    r"[^\s/>][^\s/>=]*+"
    r"(?:\s*+=\s*+(?:\"[^\"]*+(?:\"|\Z)|'[^']*+(?:'|\Z)|[^\s>\"'][^\s>]*+)?+)?+"
)
# A tag with its attributes. Possessive quantifiers keep the time linear.
_TAG = re.compile(rf"<(/?)([a-zA-Z][^\s/>]*+)((?:[\s/]*+{_ATTRIBUTE})*+)")
_ATTRIBUTES = re.compile(_ATTRIBUTE)
_MOST_ATTRIBUTES, _MOST_OPEN, _MOST_OPTIONS = 2_000, 1_000, 10_000
"""Maximum numbers of attributes in a tag, of nested elements, and of options on a page.

Parsing time is quadratic in the number of each.
"""
_SELF_CLOSING = frozenset(
    (
        "a",
        "area",
        "base",
        "br",
        "caption",
        "col",
        "colgroup",
        "dd",
        "dt",
        "embed",
        "hr",
        "img",
        "input",
        "li",
        "link",
        "meta",
        "optgroup",
        "option",
        "p",
        "param",
        "rb",
        "rp",
        "rt",
        "rtc",
        "source",
        "tbody",
        "td",
        "tfoot",
        "th",
        "thead",
        "tr",
        "track",
        "wbr",
    )
)
"""Elements without content, and elements that are closed by the next element of the same kind."""
_SCRIPT = re.compile(r"(?<=<script)(?:[^<]|<(?!/script))*+", re.IGNORECASE)
"""Matches the attributes and the content of a script."""
# The start or end of a template; browsers show a template only as a shadow tree.
_TEMPLATE = re.compile(r"<(/?)template\b([^<>]{0,1000})>", re.IGNORECASE)
SHADOW_ROOT = "data-shadow-root"
"""Marks the element that replaces the template of a shadow tree."""
_SHADOW = re.compile(r"shadowroot", re.IGNORECASE)


def parsable(html: str) -> str:
    """Return the page's source if parsing it takes seconds; reject a page that would take minutes.

    A script may contain thousands of comparisons and tags that are not elements of the page. If a
    page is too large because of such scripts, every "<" in its scripts is removed. The parser then
    finds only the tags counted here, even if a comment contains the script.

    Raises:
        UnreadableError: The page has far more attributes in one tag, levels of nesting or options
            than any real page.
    """
    try:
        _check_size(html)
    except UnreadableError:
        html = _SCRIPT.sub(lambda script: script[0].replace("<", " "), html)
        _check_size(html)
    return html


def _check_size(html: str) -> None:
    """Reject a page that would keep the parser busy for minutes.

    Raises:
        UnreadableError: The page has far more attributes in one tag, levels of nesting or options
            than any real page.
    """
    open_now, total, options = Counter[str](), 0, 0
    for tag in _TAG.finditer(html):
        closing, name, attributes = tag.groups()
        long = len(attributes) > _MOST_ATTRIBUTES
        if long and len(_ATTRIBUTES.findall(attributes)) > _MOST_ATTRIBUTES:
            raise UnreadableError(f"has a tag with more than {_MOST_ATTRIBUTES:,} attributes")
        kind = name.lower()
        options += kind == "option"
        if options > 2 * _MOST_OPTIONS:  # the count includes the closing tags, which are optional
            raise UnreadableError(f"has more than {_MOST_OPTIONS:,} options in its selection lists")
        if kind in _SELF_CLOSING:
            continue
        if not closing:
            open_now[kind] += 1
            total += 1
        elif open_now[kind]:
            open_now[kind] -= 1
            total -= 1
        if total > _MOST_OPEN:
            raise UnreadableError(f"has elements nested more than {_MOST_OPEN:,} deep")


def with_shadow_trees(html: str) -> str:
    """Replace the templates of declarative shadow trees with their content, as browsers do."""
    if not _SHADOW.search(html):
        return html
    open_templates: list[bool] = []

    def drawn(tag: re.Match[str]) -> str:
        if not tag[1]:
            open_templates.append(bool(_SHADOW.search(tag[2])))
            return f"<div {SHADOW_ROOT}>" if open_templates[-1] else tag[0]
        is_shadow = open_templates.pop() if open_templates else False
        return "</div>" if is_shadow else tag[0]

    return _TEMPLATE.sub(drawn, html)
