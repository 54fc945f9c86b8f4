"""Replaces a page's icons with characters, chosen by each icon's name, class or drawing."""

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

LONGEST_NAME = 300
"""Maximum number of characters of a picture's name that are read. Chosen by hand; alternative texts
of pictures are a sentence or two."""
_LETTER = re.compile(r"[^\W_]")
_ICONS = (
    (
        "✓",
        re.compile(
            r"\b(?:check(?! (?:box|in|out)\b)(?:ed|mark|circle)?\d{0,2}|tick(?:ed|mark)?|yes|true"
            r"|success(?:ful)?|done|ok|accept(?:ed)?)\b",
            re.IGNORECASE,
        ),
    ),
    (
        "✗",
        re.compile(
            r"\b(?:times|cross|close|xmark|false|remove|cancel|fail(?:ed|ure)?|no(?! \w)"
            r"|x(?! ray\b))\b",
            re.IGNORECASE,
        ),
    ),
    ("➕", re.compile(r"\bplus\b", re.IGNORECASE)),
    (
        "★",
        re.compile(
            r"(?<!far ; fa )(?<!bi )\bstar\b(?! (?:o|empty|half|outline|line|border)\b)"
            r"|\bbi star fill\b",
            re.IGNORECASE,
        ),
    ),
)
"""Characters for the classes of icon fonts, such as ``fa-check`` and ``bi-x``.

The words of a class are separated by spaces, and classes by semicolons. Whole words are compared:
``fa-ticket``, ``no-print`` and ``fa-x-ray`` mean neither yes nor no, and ``fa-star-o``, ``bi-star``
and ``far fa-star`` are outlined stars.
"""
# Font Awesome's classes for company logos, and companies whose logos look like other icons.
_BRAND = re.compile(r"\b(?:fab|brands|twitter|google)\b", re.IGNORECASE)
_SAYS_YES_OR_NO = re.compile(
    r"\b(?:check(?!box)|tick|yes|true|success|done|ok|accept"
    r"|(?:times|cross|close|xmark|not?|false|remove|cancel|fail|plus|star)\b)",
    re.IGNORECASE,
)
"""Matches an icon's name that may mean yes or no, such as "Not included"."""
# The place between the words of a name such as "CheckCircle".
_CAMEL = re.compile(r"(?<=[a-z])(?=[A-Z])")
# Classes of icon fonts, such as Font Awesome ("fa"), Bootstrap ("bi") and Material Design.
_ICON_CLASS = re.compile(
    r"(?:^|\s)(?:fa|fas|far|fal|bi|mdi|icon|glyphicon|ti|ri|la|oi|material-icons)"
    r"(?:[-\s]|$)[\w\s-]*",
    re.IGNORECASE,
)
LIGATURES = {
    "check": "✓",
    "done": "✓",
    "check_circle": "✓",
    "close": "✗",
    "cancel": "✗",
    "clear": "✗",
    "check_box": "☑",
    "check_box_outline_blank": "☐",
    "star": "★",
}
"""Maps words that an icon font draws as icons (ligatures) to characters."""
_BEFORE_WORDS = ("li", "dd", "dt", "td", "th", "p")
"""Elements in which an icon in front of the words may mean yes or no."""


def put_drawing(node: "LexborNode") -> None:
    """Replace a drawing with its words, its name, or the character for its icon."""
    attributes = node.attributes
    title = node.css_first("title,desc")
    name = attributes.get("aria-label") or (title.text() if title else "")
    words = " ".join(text.text() for text in node.css("text"))
    use = node.css_first("use")
    reference = (
        (use.attributes.get("href") or use.attributes.get("xlink:href") or "") if use else ""
    )
    sign = _icon_sign(f"{attributes.get('class') or ''} {reference.replace('#', ' ')}", alone=True)
    if words.strip():
        node.replace_with(f" {words} ")
    elif name.strip() and _says_all(node, name):
        node.replace_with(f" {_shortened(name)} ")
    else:
        node.replace_with(f" {sign} " if sign else " ")


def put_icon(node: "LexborNode") -> None:
    """Put a name or character into an empty element that an icon font or a style sheet fills."""
    attributes = node.attributes
    is_picture = attributes.get("role") == "img"
    name = attributes.get("aria-label") or (
        attributes.get("title") if is_picture or node.tag in ("i", "span") else ""
    )
    classes = attributes.get("class") or ""
    if ligature := LIGATURES.get(node.text().strip()):
        if "material" in classes:
            node.replace_with(ligature)
    elif attributes.get("role") in ("checkbox", "switch", "menuitemcheckbox"):
        node.insert_child("☑ " if attributes.get("aria-checked") == "true" else "☐ ")
    elif name and (is_picture or _says_all(node, name)):
        node.insert_child(_shortened(name))
    else:
        _put_sign(node, _icon_sign(classes, alone=False))


def _put_sign(node: "LexborNode", sign: str) -> None:
    """Put an icon's character into its element, if an icon at this place may mean yes or no."""
    if sign and _may_say_yes_or_no(node):
        node.insert_child(f"{sign} ")
    elif sign in ("✓", "✗") and _ends_an_item(node):
        node.insert_child(f" {sign}")


def _shortened(name: str) -> str:
    return " ".join(name.split())[:LONGEST_NAME]


def _says_all(node: "LexborNode", name: str) -> bool:
    """Return whether an icon's name should be read.

    The icon must be the only content of its parent, or it must mean yes or no and stand before
    other words.
    """
    return bool(_SAYS_YES_OR_NO.search(name) and _stands_before_words(node)) or (
        _is_alone_in_parent(node)
    )


def _may_say_yes_or_no(node: "LexborNode") -> bool:
    return _stands_before_words(node) or _is_alone_in_parent(node)


def _stands_before_words(node: "LexborNode") -> bool:
    parent, before = node.parent, node.prev
    if before is not None and before.is_text_node and not (before.text() or "").strip():
        before = before.prev
    return before is None and parent is not None and parent.tag in _BEFORE_WORDS


def _ends_an_item(node: "LexborNode") -> bool:
    """Return whether an icon comes after the words of a list item or cell, as in "Parking ✓"."""
    parent, after = node.parent, node.next
    if after is not None and after.is_text_node and not (after.text() or "").strip():
        after = after.next
    return after is None and parent is not None and parent.tag in ("li", "dd", "td", "th")


def _is_alone_in_parent(node: "LexborNode") -> bool:
    return node.parent is not None and is_alone(node, node.parent)


def is_icon(classes: str) -> bool:
    """Return whether an element's classes are those of an icon font."""
    return bool(_ICON_CLASS.search(classes))


def _icon_sign(classes: str, *, alone: bool) -> str:
    """Return the character for an icon font's classes; empty if there is none.

    If ``alone`` is true, the classes need not name an icon font, since the element is a drawing.
    """
    if not alone and not is_icon(classes):
        return ""
    words = re.sub(r"[-_]", " ", _CAMEL.sub("-", " ; ".join(classes.split())))
    if _BRAND.search(words):
        return ""
    return next((sign for sign, pattern in _ICONS if pattern.search(words)), "")


def is_alone(node: "LexborNode", parent: "LexborNode") -> bool:
    """Return whether an element contains no words except the icon's own."""
    return not _LETTER.search(parent.text().replace(node.text(), "", 1))
