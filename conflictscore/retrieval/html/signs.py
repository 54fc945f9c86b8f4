"""Replaces what a page shows other than text (icons, check boxes, emoji, formulas) with text.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from conflictscore.retrieval.html.icons import (
    LIGATURES,
    LONGEST_NAME,
    put_drawing,
    put_icon,
)
from conflictscore.retrieval.html.list_numbers import number_lists
from conflictscore.retrieval.html.mathml import linear

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# A letter or digit. A picture's name without any is a sign, such as an emoji.
_LETTER = re.compile(r"[^\W_]")
# Classes of pictures that stand for emoji.
_EMOJI_CLASS = re.compile(r"(?i:emoji|smil|emoticon)|(?<![A-Za-z])[Ii]con|(?<=[a-z])Icon")
# Classes of pictures of formulas, whose alternative text is TeX.
_TEX_CLASS = re.compile(r"\b(?:tex|latex|math|mwe-math)", re.IGNORECASE)
# The size command that Wikipedia puts around the TeX source of a formula.
_TEX_STYLE = re.compile(r"^\{\\(?:display|text|script)style\s(.*)\}$", re.DOTALL)
# Types of inputs that show their value as text. Inputs for files and passwords, hidden inputs and
# sliders do not.
_SHOWN_VALUE = (
    "submit", "button", "reset", "text", "number", "date", "time", "datetime-local", "month",
    "week", "email", "tel", "url", "search",
)  # fmt: skip
_DRAWN_OTHERWISE = {
    "video": "video",
    "audio": "sound",
    "canvas": "drawing",
    "iframe": "embedded page",
    "object": "embedded object",
    "embed": "embedded object",
}
# Endings of ordinal numbers in several languages, and trademark signs.
_ORDINAL = re.compile(r"(?:st|nd|rd|th|er|re|ère|ème|os|as|TM|SM|®)$")
# Texts after which a raised "e", "o" or "a" ends an ordinal number (1a, XIXe, no). After any other
# text, the letter is a note or an exponent.
_BEFORE_ENDING = {
    "e": re.compile(r"(?:(?<![\d.,])\d{1,4}|\b[IVXLCDM]{1,12})$"),
    "o": re.compile(r"(?:(?<![\d.,])\d{1,4}\.?|\b(?:[IVX]{1,12}|[Nn]))$"),
    "a": re.compile(r"(?:(?<![\d.,])\d{1,4}\.?|\b[IVX]{1,12})$"),
}
# Footnote marks, such as "3, 4", "[a]" and "†". A bare number may be an exponent instead.
_NOTE = re.compile(r"\[?[\d*†‡§,\s]{1,20}\]?|\[?[a-z]{1,3}\]|[*†‡§]+")
# A raised text, perhaps with other elements in it. The quantifiers are possessive, so that hostile
# text takes linear time.
_RAISED_TAG = re.compile(
    r"<(sup|sub)\b[^<>]{0,200}>"
    r"([^<>]{0,40}+(?:<(?!/?su[bp]\b)[^<>]{0,200}>[^<>]{0,40}+){0,4}+)</\1>",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]{0,200}>")
_LINK = re.compile(r"<a\b[^<>]{0,190}\bhref\b", re.IGNORECASE)
# A link to a note, at the end of a text: <a href="#fn1">.
_NOTE_LINK = re.compile(r"<a\b[^<>]{0,190}\bhref=[^<>\s]{0,190}#[^<>]{0,190}>$", re.IGNORECASE)
_FIGURE_DEPTH = 3
"""Maximum number of elements between a picture and its figure."""
_UNREAD_TAG = re.compile(r"<(del|s|strike|rt|rp)\b[^<>]{0,200}>[^<>]{0,400}</\1>", re.IGNORECASE)
_CURRENCY = "$€£¥₹₽₩₺₴₫฿"
# An amount after its currency, at the end of a text. The amount may lack its cents.
_PRICE = re.compile(
    rf"(?:[{_CURRENCY}]|\b(?:USD|EUR|GBP|CHF|Fr|Rs|R)\.?)\s?"
    r"\d{1,3}(?:[.,' ]?\d{3}){0,4}[.,]?$"
)
# A currency after an amount.
_PRICE_AFTER = re.compile(rf"\s?(?:[{_CURRENCY}]|EUR\b|USD\b|CHF\b|Euro\b|zł\b|Kč\b|kr\b)")
# A number at the end of a text, perhaps with thousands separators.
_AMOUNT = re.compile(r"(?<!\d)\d{1,3}(?:[.,' ]?\d{3}){0,4}[.,]?$")
# The cents of a price, perhaps with their separator: ".99", "99*".
_CENTS = re.compile(r"[.,]?(\d\d)[*]?")
# A 10 and a raised number after it, which may be a power of ten: 10<sup>12</sup> USD.
_TEN, _EXPONENT = re.compile(r"(?<![\d.,'])10$"), re.compile(r"1\d")
# Classes of elements that contain the cents of a price.
_CENTS_CLASS = re.compile(r"cent|decimal|fraction|penny|pence", re.IGNORECASE)
_NEARBY = 24  # In characters on each side of an element; a price is shorter.
# At most this many elements of each kind are compared with the text around them, since each
# comparison takes longer on a longer page. Further icons are not read; only a hostile page has as
# many.
_MOST_ELEMENTS = 5_000


def put_formulas_into_words(body: "LexborNode") -> None:
    """Replace each formula with one line of text.

    KaTeX and Wikipedia include each formula both as MathML and as a drawing; the MathML is used. If
    there is only a picture, the TeX in its alternative text is used.
    """
    for node in body.css(".mwe-math-element,.katex,mjx-container,.MathJax"):
        math = node.css_first("math")
        picture = node.css_first("img[alt]")
        if math is not None:
            node.replace_with(linear(math))
        elif picture is not None:
            node.replace_with(_tex(picture.attributes.get("alt") or ""))
    for node in body.css("math"):
        node.replace_with(linear(node))
    for node in body.css("script[type^='math/tex']"):
        _put_tex(node)
    for node in body.css("img[alt]"):
        if _TEX_CLASS.search(node.attributes.get("class") or ""):
            node.replace_with(_tex(node.attributes.get("alt") or ""))


def _put_tex(script: "LexborNode") -> None:
    """Replace the drawing before a script of MathJax 2 with the script's TeX source."""
    drawing = script.prev
    if drawing is not None and "MathJax" in (drawing.attributes.get("class") or ""):
        drawing.replace_with(_tex(script.text()))
    else:  # a page whose formulas only a script draws
        script.insert_before(_tex(script.text()))


def _tex(source: str) -> str:
    """Return TeX source on one line, without its size command."""
    inner = _TEX_STYLE.match(source.strip())
    return " ".join((inner[1] if inner else source).split())


def put_signs_into_words(body: "LexborNode") -> int:
    """Replace icons, controls and emoji with text, and pictures with ``[image: …]`` placeholders.

    Returns the number of placeholders.
    """
    for node in body.css("input,select,progress,meter"):
        _put_control(node)
    # groups come before their icons: the name of five stars may be "4 of 5"
    for node in body.css("[role=img][aria-label]:not(img,svg)")[:_MOST_ELEMENTS]:
        _name_group(node)
    for node in body.css("svg")[:_MOST_ELEMENTS]:
        put_drawing(node)
    # these elements are frequent, and few of them are icons, so more are examined
    for node in body.css("i,span,em,b,a,div,td")[: 10 * _MOST_ELEMENTS]:
        if _may_be_icon(node):
            put_icon(node)
    _quote(body)
    # after the icons, some of which are read only at the beginning of a list item
    number_lists(body)
    # an embedded object may contain a picture that a browser shows only in its place
    pictures = _mark_embedded(body) + _put_pictures(body)
    # ``styled.py`` has marked the elements that only a style raises or lowers
    for node in body.css("sup,sub,[data-shifted]"):
        node.replace_with(_raised(node))
    for node in body.css("span[class]"):
        if _CENTS_CLASS.search(node.attributes.get("class") or "") and (cents := _cents(node)):
            node.replace_with(cents)
    return pictures


def _may_be_icon(node: "LexborNode") -> bool:
    """Return whether an element is empty or contains only a word that an icon font draws."""
    only = node.child
    if only is None:
        return True
    # the text of inner elements is not read, since deep nesting makes that slow
    return only.is_text_node and only.next is None and (only.text() or "").strip() in LIGATURES


def _name_group(node: "LexborNode") -> None:
    """Replace a group of icons, such as five stars, with the group's name."""
    # pictures and the words of drawings are read on their own
    seen = node.css_first("img,canvas,video,object,svg text")
    name = " ".join((node.attributes.get("aria-label") or "").split())[:LONGEST_NAME]
    if node.child is None or seen is not None or not name:
        return
    # the text in a drawing without words is its title
    titles = "".join(drawing.text() for drawing in node.css("svg:not(svg svg)"))
    if "".join(node.text().split()) == "".join(titles.split()):
        node.insert_before(f" {name} ")
        node.decompose()


def marked_inline(text: str) -> str:
    """Mark superscripts (^) and subscripts (_) in HTML; drop struck-out text and pronunciations."""
    return _RAISED_TAG.sub(_marked, _UNREAD_TAG.sub("", text))


def _marked(raised: re.Match[str]) -> str:
    """Return a superscript or subscript in HTML as a note number, or after "^" or "_"."""
    text = " ".join(_TAG.sub("", raised[2]).split())
    before = raised.string[max(0, raised.start() - 10 * _NEARBY) : raised.start()]
    is_linked = _NOTE_LINK.search(before) and raised.string.startswith("</a>", raised.end())
    if is_linked or _LINK.search(raised[2]):
        return _note(text)
    return _shifted(raised[1].lower(), text, _TAG.sub("", before))


def _quote(body: "LexborNode") -> None:
    """Insert the quotation marks that a browser draws around ``q`` elements."""
    for node in body.css("q"):
        node.insert_child("”")
        first = node.child
        if first is not None:
            first.insert_before("“")


def _mark_embedded(body: "LexborNode") -> int:
    """Replace videos, audio and drawings with placeholders, and return their number."""
    count = 0
    # a browser shows the inner of two such elements only if it cannot show the outer one
    for node in body.css(",".join(f"{a} {b}" for a in _DRAWN_OTHERWISE for b in _DRAWN_OTHERWISE)):
        node.attrs["data-inside"] = ""
    for tag, name in _DRAWN_OTHERWISE.items():
        for node in body.css(f"{tag}:not([data-inside])"):
            title = node.attributes.get("title") or node.attributes.get("aria-label") or ""
            node.replace_with(_mark(name, title))
            count += 1
    return count


def _put_control(node: "LexborNode") -> None:
    """Replace a form control with what it shows, such as a box's state or the chosen options."""
    attributes = node.attributes
    if node.tag == "select":
        options = node.css("option")
        own_choice = [option for option in options if "selected" in option.attributes]
        names = (" ".join(option.text().split()) for option in own_choice or options[:1])
        node.replace_with(f" {', '.join(names)} ")
    elif node.tag in ("progress", "meter"):
        if not node.text().strip() and (reading := attributes.get("value")):
            most = attributes.get("max") or "1"
            node.replace_with(f"{reading} of {most}")
    elif node.tag == "input" and (words := _words_of_input(attributes)):
        node.replace_with(words)


def _words_of_input(attributes: Mapping[str, str | None]) -> str:
    """Return the state or the visible text of an input; empty if it shows neither."""
    kind = (attributes.get("type") or "text").lower()
    is_on = "checked" in attributes
    if kind == "checkbox":
        return "☑ " if is_on else "☐ "
    if kind == "radio":
        return "◉ " if is_on else "○ "
    text = (attributes.get("value") or "").strip()
    return f" {text[:LONGEST_NAME]} " if kind in _SHOWN_VALUE and text else ""


def _put_pictures(body: "LexborNode") -> int:
    """Replace pictures with text or placeholders, and return the number of placeholders."""
    # all cells are examined before the first picture in them is replaced with words
    cells = body.css("td:has(> img),th:has(> img)")[:_MOST_ELEMENTS]
    only_pictures = {cell.mem_id for cell in cells if not _LETTER.search(cell.text())}
    return sum(
        _put_picture(node, is_value=cell is not None and cell.mem_id in only_pictures)
        for node, cell in ((node, node.parent) for node in body.css("img"))
    )


def _put_picture(node: "LexborNode", *, is_value: bool) -> int:
    """Replace a picture with its alternative text, if it stands for text, or with a placeholder.

    Returns the number of placeholders.

    A picture stands for text if it is an icon or an emoji, or is the value of a table's cell
    (``is_value``). The placeholder contains the alternative text. A picture whose alternative text
    is empty is decorative and is removed, unless it has a caption.
    """
    attributes = node.attributes
    alternative = attributes.get("alt")
    words = " ".join((alternative or "").split())
    classes = attributes.get("class") or ""
    if words and not _LETTER.search(words):
        node.replace_with(words)
        return 0
    if words and (is_value or _EMOJI_CLASS.search(classes)):
        node.replace_with(f" {words} ")
        return 0
    if not words and _is_decorative(node):
        node.decompose()
        return 0
    node.replace_with(_mark("image", words))
    return 1


def _is_decorative(node: "LexborNode") -> bool:
    """Whether a picture without words is very small, or is declared to have none."""
    attributes = node.attributes
    if _is_small(attributes.get("width")) or _is_small(attributes.get("height")):
        return True
    # the parser returns None for an ``alt`` without a value, which means the same as an empty one
    return "alt" in attributes and not attributes["alt"] and not _has_caption(node)


def _has_caption(node: "LexborNode") -> bool:
    """Whether a picture stands in a figure with a caption, possibly inside a link or the like."""
    around = node.parent
    for _ in range(_FIGURE_DEPTH):
        if around is None:
            return False
        if around.tag == "figure":
            return around.css_first("figcaption") is not None
        around = around.parent
    return False


def _is_small(length: str | None) -> bool:
    # pictures of up to three pixels are spacers or visit counters
    return bool(length) and (length or "").strip().removesuffix("px") in ("0", "1", "2", "3")


def _mark(kind: str, words: str) -> str:
    words = " ".join(words.split())[:LONGEST_NAME]
    return f" [{kind}: {words}] " if words else f" [{kind}] "


def _raised(node: "LexborNode") -> str:
    """Return a raised or lowered element as cents, as a note number, or after "^" or "_"."""
    text = " ".join(node.text().split())
    tag = node.attributes.get("data-shifted") or node.tag or ""
    if _is_note(node):  # before cents: a link to a note may follow a price
        return _note(text)
    if tag == "sup" and (cents := _cents(node)):
        return cents
    if node.css_first("a[href]"):
        return _note(text)
    before = _text_beside(node, forward=False) if text in _BEFORE_ENDING else ""
    return _shifted(tag, text, before)


def _is_note(node: "LexborNode") -> bool:
    """Return whether a raised element contains a link to a note, or is all that a link contains."""
    if "reference" in (node.attributes.get("class") or "") or node.css_first("a[href*='#']"):
        return True
    link = node.parent if node.prev is None and node.next is None else None
    return link is not None and link.tag == "a" and "#" in (link.attributes.get("href") or "")


def _note(text: str) -> str:
    return f"[{text.strip('[]')}]" if text else ""


def _shifted(tag: str, text: str, before: str) -> str:
    """Write a superscript or subscript with "^" or "_" before it.

    Raised endings such as "th" are written without "^", and note numbers are put in brackets.
    ``before`` is the text before the element.
    """
    # a lowered "e" or "o" is an index, as in m_e, not the ending of an ordinal number
    if not text or (tag == "sup" and _is_ending(text, before)) or text[0] in _CURRENCY:
        return text
    if tag == "sup" and not text.isdecimal() and _NOTE.fullmatch(text):
        return _note(text)
    return f"{'^' if tag == 'sup' else '_'}{text}"


def _is_ending(text: str, before: str) -> bool:
    """Return whether a raised text ends an ordinal number or is a trademark sign."""
    if text in _BEFORE_ENDING:
        return bool(_BEFORE_ENDING[text].search(before))
    return bool(_ORDINAL.match(text))


def _cents(node: "LexborNode") -> str:
    """Return a decimal point and the cents of a price; empty if the element contains no cents."""
    cents = _CENTS.fullmatch(node.text().strip())
    if not cents:
        return ""
    before = _text_beside(node, forward=False)
    is_power = _TEN.search(before) and _EXPONENT.fullmatch(cents[0])
    if is_power and not _CENTS_CLASS.search(node.attributes.get("class") or ""):
        return ""
    after = _text_beside(node, forward=True)
    is_price = _PRICE.search(before) or (_AMOUNT.search(before) and _PRICE_AFTER.match(after))
    point = "" if before.endswith((".", ",")) else "."
    return f"{point}{cents[1]}" if is_price else ""


def _text_beside(node: "LexborNode", *, forward: bool) -> str:
    """Return a few characters before or after an element, within its paragraph."""
    text = ""
    around: LexborNode | None = node
    for _ in range(3):  # a price is seldom divided over more than three nested elements
        if around is None:
            break
        beside = around.next if forward else around.prev
        while beside is not None and len(text) < _NEARBY:
            piece = "" if beside.is_comment_node else (beside.text() or "")
            text = text + piece if forward else piece + text
            beside = beside.next if forward else beside.prev
        # the text outside such a block is on a different line
        if text.strip() or around.parent is None or around.parent.tag in ("p", "td", "div", "li"):
            break
        around = around.parent
    return text[:_NEARBY] if forward else text[-_NEARBY:]
