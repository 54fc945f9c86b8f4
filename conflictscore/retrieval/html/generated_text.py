"""Inserts the text that a page's own style sheets draw before and after elements.

A rule such as ``.closed::before { content: "Not " }`` changes what a reader sees. Heading numbers
that come from counters also change it. Strings, ``attr()``, ``counter()`` and ``counters()`` are
read. Decoration, such as bullets and slashes, is not inserted.

Limits without a stated reason were chosen by hand.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, NamedTuple

from conflictscore.retrieval.html.icons import is_icon
from conflictscore.retrieval.html.list_numbers import counted
from conflictscore.retrieval.html.style_sheets import Sheets, text_rules
from conflictscore.retrieval.html.styled import LIST_KINDS

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# A string. The quantifiers are possessive, and each pattern around a string also steps over escaped
# characters, so that a hostile sheet of unclosed strings and brackets takes linear time.
_STRING = r"(?:\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')"
_FLAT = rf"(?:{_STRING}|\\.|[^()\"'\\])*+"
"""Matches the inside of brackets that contain no other brackets."""
_NESTED = rf"(?:{_STRING}|\\.|[^()\"'\\]|\({_FLAT}\))*+"
"""Matches the inside of brackets that may contain brackets, as in ``attr(a, attr(b))``."""
# A semicolon inside a string or brackets does not end a declaration.
_DECLARATION = re.compile(
    rf"(?:^|;)\s*([\w-]{{1,40}})\s*:((?:{_STRING}|\({_FLAT}\)|\\.|[^;\\])*+)", re.DOTALL
)
# A part of the value of "content": a string, attr(a), counter(a, style), counters(a, ".", style),
# another function, which is skipped, or the slash before the alternative text.
_PART = re.compile(
    rf"\\.|({_STRING})|(?<![\w-])(attr|counters?)\(\s*([\w-]{{1,60}})({_NESTED})\)"
    rf"|(?<![\w-])(?!var\()[\w-]{{1,30}}\({_NESTED}\)|/",
    re.IGNORECASE | re.DOTALL,
)
# Values that are valid although they have no parts. A browser ignores invalid declarations.
_NO_PARTS = re.compile(
    r"\s*(?:none|normal|initial|inherit|unset|revert(?:-layer)?|(?:no-)?(?:open|close)-quote)\b"
    r"|[^\"']*\(",
    re.IGNORECASE,
)
# The style of a counter: "counter(item, lower-roman)".
_STYLE = re.compile(r",\s*([\w-]{1,30})\s*$")
# An escaped character, written as its code or as itself.
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
# A counter's name and its step or start: "chapter 2".
_COUNTER = re.compile(r"([A-Za-z_-][\w-]{0,60})(?:\s+(-?\d{1,6}))?")
# Declarations of generated text or of counters.
_ANY = re.compile(r"(?:^|;)\s*(?:content\s*:|counter-)", re.IGNORECASE)
_MEANT = re.compile(r"[^\W_]|[✓✔✗✘✕✖×☑☒☐★☆≤≥±%°€$£]")
"""Matches text that has a meaning; other generated text is decoration.

The exceptions are signs next to a number.
"""
_SIGNS_BEFORE, _SIGN_AFTER = frozenset("−-–<>≈~"), "+"
"""Signs that change the number that they touch, as in "−5" and "500+"."""
# A number at the end of the text before a sign, or at the start of the text after it.
_NUMBER_BEFORE, _NUMBER_AFTER = re.compile(r"\d\s*$"), re.compile(r"\s*[$€£]?\s?\.?\d")
_BULLETS, _WITH_BULLETS = frozenset("-–<>~"), frozenset(("li", "dt", "dd", "a"))
"""Signs that also serve as bullets and arrows, and the elements before which they usually do so."""
_WITH_SWITCH = frozenset(("summary", "button", "h1", "h2", "h3", "h4", "h5", "h6"))
"""Elements that often have a plus or minus with which a reader opens and closes them."""
_ALONE = "✓✔✗✘✕✖×☑☒☐★☆"
"""Characters that are drawn at a distance from the words next to them."""
_NOT_FILLED = frozenset(
    ("q", "blockquote", "br", "img", "input", "html", "head", "style", "script")
)
"""Elements whose generated text is read elsewhere, is decoration, or is never drawn."""
# Published code points of icon fonts: Font Awesome, Material Icons and Glyphicons.
_ICON_FONTS = (
    ("awesome", {"\uf00c": "✓", "\uf058": "✓", "\uf00d": "✗", "\uf057": "✗"}),
    ("material", {"\ue5ca": "✓", "\ue86c": "✓", "\ue5cd": "✗", "\ue5c9": "✗"}),
    ("glyphicon", {"\ue013": "✓", "\ue084": "✓", "\ue014": "✗", "\ue083": "✗"}),
)
# Unicode's private use area, in which icon fonts draw pictures.
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_LONGEST = 200  # Maximum number of characters inserted for a rule; a hostile page may draw more.
_MOST_PARTS = 30  # Maximum number of parts in a value of "content"; a hostile page may have more.
_DEEPEST = 50  # Maximum nesting depth of counters; limits the work on a hostile page.
_MOST_COUNTERS = 100
"""Maximum number of counters on a page; further counters are ignored.

Every element may end any of them, so thousands of counters would take minutes. Real pages have a
few, for headings and figures.
"""


_Part = str | re.Match[str]
"""A part of a ``content`` value: the text of a string, or a match of another kind of part."""


class _Block(NamedTuple):
    """The generated text and the changes of counters that a rule declares."""

    parts: list[_Part] | None
    """The parts of ``content``; None if the block does not set it."""
    alternative: list[_Part]
    """The parts after the slash, which describe a picture to those who cannot see it."""
    changes: Mapping[str, Mapping[str, int]]
    """For each counter property that the block sets, the number of each counter."""
    signs: Mapping[str, str]
    """The characters that the block's icon font draws at its own code points."""


class _Styles(NamedTuple):
    """The declarations of one element, and of the boxes before and after it."""

    own: list[_Block]
    before: list[_Block]
    after: list[_Block]


_NO_STYLES = _Styles([], [], [])


def put_generated_text(body: "LexborNode", sheets: Sheets) -> None:
    """Insert the text of ``::before`` and ``::after`` rules at its place in the tree."""
    if "content" not in sheets.text.lower():
        return
    rules = list(text_rules(sheets.text, _ANY))
    # the rules for several selectors share their declarations
    blocks = {declarations: _block(declarations) for _, _, declarations in rules}
    styles: dict[int, _Styles] = {}
    for rule in rules:
        for node in sheets.selected(body, rule.selector):
            own, before, after = styles.setdefault(node.mem_id, _Styles([], [], []))
            boxes = {"": own, "before": before, "after": after}
            boxes[rule.box].append(blocks[rule.declarations])
    if not styles:
        return
    counters = _Counters()
    texts: list[tuple[LexborNode, str, bool]] = []
    for node, depth, is_start in _in_order(body):
        own, before, after = styles.get(node.mem_id, _NO_STYLES)
        if is_start:
            counters.enter(depth, own)
        box = before if is_start else after
        if box and node.tag not in _NOT_FILLED:
            # the boxes are the first and last child, so they are as deep as the children
            counters.enter(depth + 1, box)
            texts.append((node, _text(node, box, counters), is_start))
    for node, text, is_before in texts:
        if _MEANT.search(text) or _is_sign(node, text, is_before=is_before):
            _insert(node, text, is_before=is_before)


def _in_order(body: "LexborNode") -> "Iterator[tuple[LexborNode, int, bool]]":
    """Yield the start (True) and the end (False) of each element in page order, with its depth.

    A counter at the end of a list may contain the number of the list's items.
    """
    waiting = [(body, 0, True)]
    while waiting:
        node, depth, is_start = waiting.pop()
        yield node, depth, is_start
        if is_start:
            waiting.append((node, depth, False))
            waiting.extend((child, depth + 1, True) for child in reversed(list(node.iter())))


class _Counters:
    """The counters of a page.

    A counter applies to its element, to the siblings after that element, and to everything inside
    them.
    """

    def __init__(self) -> None:
        self._counts: dict[str, list[list[int]]] = {}
        """Maps each name to its counters from outer to inner, each as an element's depth and a
        number."""

    def enter(self, depth: int, blocks: Sequence[_Block]) -> None:
        """Drop the counters of deeper elements, and apply the declarations of an element."""
        for counts in self._counts.values():
            while counts and counts[-1][0] > depth:
                counts.pop()
        self.change(depth, blocks)

    def change(self, depth: int, blocks: Sequence[_Block]) -> None:
        """Reset, increment and set counters, in this order, as CSS does.

        Only a reset starts a new counter inside an outer one with the same name.
        """
        for name, number in _last("counter-reset", blocks).items():
            counts = self._named(name)
            if counts and counts[-1][0] == depth:
                counts[-1][1] = number
            elif len(counts) < _DEEPEST:
                counts.append([depth, number])
        for name, number in _last("counter-increment", blocks).items():
            self._nearest(name, depth)[1] += number
        for name, number in _last("counter-set", blocks).items():
            self._nearest(name, depth)[1] = number

    def _nearest(self, name: str, depth: int) -> list[int]:
        """Return the innermost counter with this name; an element without one starts it."""
        counts = self._named(name)
        if not counts:
            counts.append([depth, 0])
        return counts[-1]

    def _named(self, name: str) -> list[list[int]]:
        """Return the counters with this name; beyond the limit, a list that is not stored."""
        if name not in self._counts and len(self._counts) >= _MOST_COUNTERS:
            return []
        return self._counts.setdefault(name, [])

    def numbers(self, name: str) -> list[int]:
        """Return the numbers of the counters with this name, from outer to inner."""
        return [number for _, number in self._counts.get(name, [])] or [0]


def _last(name: str, blocks: Sequence[_Block]) -> Mapping[str, int]:
    """Return a property's changes to counters, according to the block that prevails."""
    return next((block.changes[name] for block in reversed(blocks) if name in block.changes), {})


def _block(declarations: str) -> _Block:
    """Read a rule's declarations; the last valid declaration of each property prevails."""
    parts: list[_Part] | None = None
    alternative: list[_Part] = []
    changes: dict[str, Mapping[str, int]] = {}
    for declaration in _DECLARATION.finditer(declarations):
        name = declaration[1].lower()
        if name.startswith("counter-"):
            changes[name] = _changes(declaration[2], 1 if name == "counter-increment" else 0)
        elif name == "content":
            matches = list(islice(_PART.finditer(declaration[2]), _MOST_PARTS))
            if matches or _NO_PARTS.match(declaration[2]):
                slash = next((n for n, part in enumerate(matches) if part[0] == "/"), len(matches))
                parts = [_part(part) for part in matches[:slash]]
                alternative = [_part(part) for part in matches[slash + 1 :]]
    written = declarations.lower()
    signs = {
        code: sign for font, drawn in _ICON_FONTS if font in written for code, sign in drawn.items()
    }
    return _Block(parts, alternative, changes, signs)


def _changes(declared: str, default: int) -> Mapping[str, int]:
    """Return the numbers by counter; a counter without a number gets ``default``."""
    pairs = _COUNTER.findall(declared[:_LONGEST].replace("!important", ""))
    return {name: int(number or default) for name, number in pairs if name.lower() != "none"}


def _part(part: re.Match[str]) -> _Part:
    return part if part[1] is None else _unquoted(part[1])


def _unquoted(string: str) -> str:
    """Return the start of a string's text: one character more than will be inserted."""
    # an escaped character has at most 8 characters
    return _ESCAPE.sub(_character, string[1:-1][: 8 * _LONGEST + 8])[: _LONGEST + 1]


def _text(node: "LexborNode", box: list[_Block], counters: _Counters) -> str:
    """Return the text of a box before or after an element, according to the last ``content``.

    The alternative text is returned only if the box draws a picture or an unknown sign of an icon
    font. A text that is too long is cut, and ends with an ellipsis.
    """
    block = next((block for block in reversed(box) if block.parts is not None), None)
    if block is None or block.parts is None:
        return ""
    drawn = _joined(block.parts, node, counters)
    # the class of an icon says more than its code point, and the icon is read by its class later
    if not is_icon(node.attributes.get("class") or ""):
        signs = {code: sign for each in box for code, sign in each.signs.items()}
        drawn = "".join(signs.get(character, character) for character in drawn)
    text = _PRIVATE.sub("", drawn)
    if not text.strip() and (text != drawn or _has_picture(block.parts)):
        text = _joined(block.alternative, node, counters)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def _has_picture(parts: Iterable[_Part]) -> bool:
    """Return whether a function that draws no text is among the parts."""
    return any(not isinstance(part, str) and not part[2] for part in parts)


def _joined(parts: Iterable[_Part], node: "LexborNode", counters: _Counters) -> str:
    return "".join(_part_text(part, node, counters) for part in parts)


def _part_text(part: _Part, node: "LexborNode", counters: _Counters) -> str:
    """Return the text of a string or function in the value of ``content``."""
    if isinstance(part, str):
        return part
    _, function, name, rest = part.groups()
    if function is None:
        return ""
    if function.lower() == "attr":
        attributes = node.attributes
        if name.lower() in attributes:
            return (attributes[name.lower()] or "")[: _LONGEST + 1]
        fallback = map(_part, _PART.finditer(rest.partition(",")[2][:_LONGEST]))
        return _joined(fallback, node, counters)
    numbers, style = counters.numbers(name), _STYLE.search(rest)
    texts = (_counted(number, style and style[1]) for number in numbers)
    if function.lower() == "counter":
        return list(texts)[-1]
    separator = next((part[1] for part in _PART.finditer(rest) if part[1]), None)
    return ("." if separator is None else _unquoted(separator)).join(texts)


def _character(escape: re.Match[str]) -> str:
    if not escape[1]:
        return "" if escape[2] == "\n" else escape[2]
    code = int(escape[1], 16)
    # Surrogates, and numbers above the last character, are not characters.
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else ""


def _counted(number: int, style: str | None) -> str:
    """Return a number in a CSS list style; unknown styles count as decimal; bullets are empty."""
    name = (style or "").lower()
    if name == "decimal-leading-zero":
        return f"{number:02}"
    kind = LIST_KINDS.get(name, "1")
    return "" if kind == "none" else counted(number, kind)


def _is_sign(node: "LexborNode", text: str, *, is_before: bool) -> bool:
    """Return whether a text is a sign that touches a number, such as a minus."""
    if node.tag in _WITH_SWITCH or (text in _BULLETS and node.tag in _WITH_BULLETS):
        return False
    if is_before:
        return text in _SIGNS_BEFORE and bool(_NUMBER_AFTER.match(_edge(node, is_start=True)))
    return text == _SIGN_AFTER and bool(_NUMBER_BEFORE.search(_edge(node, is_start=False)))


def _edge(node: "LexborNode", *, is_start: bool) -> str:
    """Return the first or last text in an element."""
    part = node.first_child if is_start else node.last_child
    while part is not None:
        if not part.is_text_node:
            part = part.first_child if is_start else part.last_child
        elif text := (part.text() or "").strip():
            return text
        else:
            part = part.next if is_start else part.prev
    return ""


def _insert(node: "LexborNode", text: str, *, is_before: bool) -> None:
    """Put text at the start or at the end of an element."""
    # a style sheet sets the distance with a margin
    if is_before and text[-1] in _ALONE:
        text += " "
    elif not is_before and text[0] in _ALONE:
        text = f" {text}"
    first = node.child
    if is_before and first is not None:
        first.insert_before(text)
    else:
        node.insert_child(text)
