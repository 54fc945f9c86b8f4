"""Inserts the text that a page's own style sheets draw before and after elements.

A rule such as ``.closed::before { content: "Not " }`` changes what a reader sees. So do heading
numbers that come from counters. Strings, ``attr()``, ``counter()`` and ``counters()`` are read.
Decoration, such as bullets and slashes, is not inserted.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from conflictscore.retrieval.html.icons import is_icon
from conflictscore.retrieval.html.list_numbers import counted
from conflictscore.retrieval.html.style_sheets import selected, text_rules
from conflictscore.retrieval.html.styled import LIST_KINDS

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# The value of "content". A semicolon inside a string does not end the value.
_CONTENT = re.compile(
    r"(?:^|;)\s*content\s*:((?:\"(?:[^\"\\]|\\.){0,200}+\"|'(?:[^'\\]|\\.){0,200}+'|[^;\"']){1,99})",
    re.IGNORECASE | re.DOTALL,
)
# A string or a function in that value: attr(a), counter(a, style), counters(a, ".", style).
_PART = re.compile(
    r"\"((?:[^\"\\]|\\.){0,200})\"|'((?:[^'\\]|\\.){0,200})'"
    r"|(attr|counters?)\(\s*([\w-]{1,60})\s*(?:,\s*[\"']([^\"']{0,9})[\"']\s*)?"
    r"(?:,\s*([\w-]{1,30})\s*)?(?:,[^()]{0,60})?\)",
    re.IGNORECASE | re.DOTALL,
)
# An escaped character, written as its code or as itself.
_ESCAPE = re.compile(r"\\(?:([0-9a-fA-F]{1,6})\s?|(.))", re.DOTALL)
_RESET = re.compile(r"(?:^|;)\s*counter-(?:re)?set\s*:([^;]{1,200})", re.IGNORECASE)
_INCREMENT = re.compile(r"(?:^|;)\s*counter-increment\s*:([^;]{1,200})", re.IGNORECASE)
_COUNTER = re.compile(r"([A-Za-z_-][\w-]{0,60})(?:\s+(-?\d{1,6}))?")
_ANY = re.compile(r"(?:^|;)\s*(?:content\s*:|counter-)", re.IGNORECASE)
_MEANT = re.compile(r"[^\W_]|[✓✔✗✘✕✖×☑☒☐★☆≤≥±%°€$£]")
"""Matches text that has a meaning; other generated text is decoration."""
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
_PRIVATE = re.compile("[\ue000-\uf8ff]")
_LONGEST = 200  # characters inserted for a rule; a hostile page may draw any number
_DEEPEST = 50  # maximum nesting depth of counters; limits the work on a hostile page


class _Styles(NamedTuple):
    """The declarations of one element: its own, and those of the boxes before and after it."""

    own: list[str]
    before: list[str]
    after: list[str]


_NO_STYLES = _Styles([], [], [])


def put_generated_text(body: "LexborNode", sheets: str) -> None:
    """Insert the text of ``::before`` and ``::after`` rules at its place in the tree."""
    if "content" not in sheets.lower():
        return
    styles: dict[int, _Styles] = {}
    for rule in text_rules(sheets, _ANY):
        for node in selected(body, rule.selector):
            own, before, after = styles.setdefault(node.mem_id, _Styles([], [], []))
            boxes = {"": own, "before": before, "after": after}
            boxes[rule.box].append(rule.declarations)
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
        if _MEANT.search(text):
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

    def enter(self, depth: int, declarations: Sequence[str]) -> None:
        """Leave the counters of deeper elements, and apply the declarations of an element."""
        for counts in self._counts.values():
            while counts and counts[-1][0] > depth:
                counts.pop()
        self.change(depth, declarations)

    def change(self, depth: int, declarations: Sequence[str]) -> None:
        """Reset and increment counters."""
        for name, number in _changes(_RESET, declarations, 0).items():
            counts = self._counts.setdefault(name, [])
            if counts and counts[-1][0] == depth:
                counts[-1][1] = number
            elif len(counts) < _DEEPEST:
                counts.append([depth, number])
        for name, number in _changes(_INCREMENT, declarations, 1).items():
            counts = self._counts.setdefault(name, [])
            if not counts:
                counts.append([depth, 0])
            counts[-1][1] += number

    def numbers(self, name: str) -> list[int]:
        """Return the numbers of the counters with this name, from outer to inner."""
        return [number for _, number in self._counts.get(name, [])] or [0]


def _changes(
    pattern: re.Pattern[str], declarations: Sequence[str], default: int
) -> Mapping[str, int]:
    """Return the number for each counter in the last declaration that matches ``pattern``.

    A counter without a number gets ``default``.
    """
    match = next(filter(None, map(pattern.search, reversed(declarations))), None)
    pairs = _COUNTER.findall(match[1].replace("!important", "")) if match else []
    return {name: int(number or default) for name, number in pairs if name.lower() != "none"}


def _text(node: "LexborNode", declarations: list[str], counters: _Counters) -> str:
    """Return the text of a box before or after an element, according to the last ``content``."""
    content = next(filter(None, map(_CONTENT.search, reversed(declarations))), None)
    if content is None:
        return ""
    parts = (_part_text(part, node, counters) for part in _PART.finditer(content[1]))
    text = "".join(parts)[:_LONGEST]
    fonts = " ".join(declarations).lower()
    for font, signs in _ICON_FONTS:
        if font in fonts and not is_icon(node.attributes.get("class") or ""):
            text = "".join(signs.get(character, character) for character in text)
    return _PRIVATE.sub("", text)


def _part_text(part: re.Match[str], node: "LexborNode", counters: _Counters) -> str:
    """Return the text of a string or function in the value of ``content``."""
    double, single, function, name, separator, style = part.groups()
    if function is None:
        return _ESCAPE.sub(_character, single if double is None else double)
    if function.lower() == "attr":
        return node.attributes.get(name) or ""
    numbers = counters.numbers(name)
    shown = numbers if function.lower() == "counters" else numbers[-1:]
    return (separator or ".").join(_counted(number, style) for number in shown)


def _character(escape: re.Match[str]) -> str:
    if not escape[1]:
        return "" if escape[2] == "\n" else escape[2]
    code = int(escape[1], 16)
    return chr(code) if 0 < code < 0xD800 or 0xDFFF < code < 0x110000 else ""


def _counted(number: int, style: str | None) -> str:
    """Return a number in a CSS list style; unknown styles count as decimal; bullets are empty."""
    name = (style or "").lower()
    if name == "decimal-leading-zero":
        return f"{number:02}"
    kind = LIST_KINDS.get(name, "1")
    return "" if kind == "none" else counted(number, kind)


def _insert(node: "LexborNode", text: str, *, is_before: bool) -> None:
    """Put text at the start or at the end of an element."""
    if text[-1] in _ALONE:
        text += " "  # a style sheet sets the distance with a margin
    first = node.child
    if is_before and first is not None:
        first.insert_before(text)
    else:
        node.insert_child(text)
