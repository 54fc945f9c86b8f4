"""Finds elements that are hidden by a page's own style sheets or by their ``style`` attribute.

External style sheets are not fetched, and scripts are not run. An element is hidden if a rule of
the page hides it and no later or more specific rule shows it again.
"""

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
# All usual ways to hide text: with display, visibility and opacity, by moving it off the screen, by
# clipping or scaling it, and by striking it through. Quantifiers are bounded, so that matching a
# hostile text takes linear time.
_HIDING = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|opacity\s*:\s*0*\.?0*%?\s*(?:;|!|$)|content-visibility\s*:\s*hidden|mso-hide\s*:\s*all"
    r"|text-indent\s*:\s*-\d{3,}|(?:left|top|right|bottom|margin-left)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*(?:0|1px)(?:px)?[\s,]+(?:0|1px)(?:px)?[\s,]+(?:0|1px)(?:px)?[\s,]+(?:0|1px)"
    r"|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)|transform\s*:\s*scale\(\s*0\s*\)"
    r"|text-decoration(?:-line)?\s*:[^;]{0,40}line-through)",
    re.IGNORECASE,
)
# Font sizes below two points or pixels, which nobody can read.
_NO_SIZE = re.compile(
    r"(?:^|;)\s*font-size\s*:\s*(?:0*\.?0*(?:px|pt|em|rem|%)?|(?:0?\.\d{1,9}|1(?:\.\d{1,9})?)(?:px|pt))"
    r"\s*(?:;|!|$)",
    re.IGNORECASE,
)
_COLOUR = re.compile(r"(?:^|;)\s*color\s*:\s*([^;!]{1,60})", re.IGNORECASE)
_GROUND_COLOUR = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;!]{1,60})", re.IGNORECASE)
_COLOURS = {"white": "#ffffff", "black": "#000000"}
# Heights and widths of at most one pixel.
_COLLAPSED = re.compile(r"(?:^|;)\s*(?:max-)?(?:height|width)\s*:\s*[01](?:px)?\s*(?:;|!|$)", re.I)
_CUT_OFF = re.compile(r"overflow\s*:\s*(?:hidden|clip)", re.I)
# Declarations that show an element that another rule hides.
_SHOWN = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*(?!none)[a-z-]+|visibility\s*:\s*visible"
    r"|opacity\s*:\s*(?:1|0?\.[1-9])|text-decoration(?:-line)?\s*:\s*none)",
    re.IGNORECASE,
)
# White or transparent text, which is invisible on a page's usual background.
_WHITE = re.compile(
    r"(?:^|;)\s*color\s*:\s*(?:#fff(?:fff)?\b|white\b|transparent\b|rgba?\(\s*255[\s,]+255[\s,]+255"
    r"|rgba\([^)]{0,40},\s*0?\.?0\s*\))",
    re.IGNORECASE,
)
# Declarations of a background, on which white text may be visible.
_GROUND = re.compile(r"background(?:-color|-image)?\s*:|bgcolor", re.IGNORECASE)
_NOT_STATIC = re.compile(r":(?!not\()|^\s*$|@|&")
"""Matches selectors for a state such as ``:hover``, or for something other than an element."""
_MEDIA_OF_SCREENS = re.compile(r"\b(?:all|screen)\b|^\s*$|\(", re.IGNORECASE)
# Media queries that need not apply to an ordinary screen.
_NARROW = re.compile(r"max-width|print|prefers|orientation|max-height", re.IGNORECASE)
_IDS, _CLASSES = re.compile(r"#[\w-]"), re.compile(r"[.\[][\w-]")
# Limits on untrusted style sheets. Each rule is compared with every element of the page.
_MOST_RULES, _MOST_CHARACTERS = 500, 300_000


_Weight = tuple[bool, int, int, int]


class _Rule(NamedTuple):
    """A selector, its declarations, and its precedence over other rules (``weight``)."""

    weight: _Weight
    selector: str
    declarations: str


def hides(declarations: str) -> bool:
    """Whether CSS declarations hide an element or strike through its text."""
    if _HIDING.search(declarations) or _NO_SIZE.search(declarations):
        return True
    if _COLLAPSED.search(declarations) and _CUT_OFF.search(declarations):
        return True
    colour, ground = _COLOUR.search(declarations), _GROUND_COLOUR.search(declarations)
    return bool(colour and ground and _colour(colour[1]) == _colour(ground[1]))


def _colour(value: str) -> str:
    """Return a colour in a uniform notation, for comparison."""
    value = "".join(value.lower().split())
    if len(value) == 4 and value[0] == "#":
        value = "#" + "".join(2 * digit for digit in value[1:])
    return _COLOURS.get(value, value)


def declared(
    body: "LexborNode", sheets: str, wanted: re.Pattern[str]
) -> Iterator[tuple["LexborNode", str]]:
    """Yield elements whose declarations match a pattern, in ascending order of precedence."""
    for rule in sorted(_rules(sheets, wanted), key=lambda rule: rule.weight):
        for node in selected(body, rule.selector):
            yield node, rule.declarations
    for node in body.css("[style]"):
        style = node.attributes.get("style") or ""
        if wanted.search(style):
            yield node, style


def selected(body: "LexborNode", selector: str) -> list["LexborNode"]:
    """Return the elements that match a selector; empty if the parser does not support it."""
    try:
        return list(body.css(selector))
    except Exception:  # noqa: BLE001 - it raises anything
        return []


def hidden_by_style(body: "LexborNode", sheets: str) -> Iterator["LexborNode"]:
    """Return the elements that are hidden by the page's style sheets or by their own ``style``."""
    state: dict[int, bool] = {}
    nodes: dict[int, LexborNode] = {}
    for rule in sorted(_rules(sheets), key=lambda rule: rule.weight):
        hiding = hides(rule.declarations)
        for node in selected(body, rule.selector):
            state[node.mem_id] = hiding
            nodes[node.mem_id] = node
    for node in body.css("[style]"):
        style = node.attributes.get("style") or ""
        if _hides_own(node, style):
            state[node.mem_id] = True
        elif _SHOWN.search(style):
            state[node.mem_id] = False
        nodes[node.mem_id] = node
    return (nodes[each] for each, hidden in state.items() if hidden)


def _hides_own(node: "LexborNode", style: str) -> bool:
    """Whether an element's own style hides it and everything in it.

    A font size of 0 does not hide children that set their own font size.
    """
    if not hides(style):
        return False
    only_small = _NO_SIZE.search(style) and not _HIDING.search(style)
    return not (only_small and node.css_first("[style*='font-size']") not in (None, node))


def white_on_white(body: "LexborNode", html_head: str, sheets: str) -> Iterator["LexborNode"]:
    """Yield elements with white text, unless something gives the page a background colour."""
    if _GROUND.search(html_head) or _GROUND.search(sheets) or "stylesheet" in html_head:
        return
    white = [node for node, _ in declared(body, sheets, _WHITE)]
    white += [
        node
        for node in body.css("font[color]")
        if _WHITE.search(f"color:{node.attributes.get('color')}")
    ]
    for node in white:
        if not _has_ground(node):
            yield node


def _has_ground(node: "LexborNode") -> bool:
    around: LexborNode | None = node
    while around is not None:
        attributes = around.attributes if around.is_element_node else {}
        if "bgcolor" in attributes or _GROUND.search(attributes.get("style") or ""):
            return True
        around = around.parent
    return False


def _rules(sheets: str, wanted: re.Pattern[str] | None = None) -> Iterator[_Rule]:
    """Yield the screen rules that hide or show elements, or that match ``wanted``."""
    count = 0
    for selectors, declarations in _blocks(_COMMENT.sub("", sheets[:_MOST_CHARACTERS])):
        if wanted is not None:
            if not wanted.search(declarations):
                continue
        elif not hides(declarations) and not _SHOWN.search(declarations):
            continue
        for place, selector in enumerate(selectors.split(",")):
            if _NOT_STATIC.search(selector):
                continue
            count += 1
            if count > _MOST_RULES:
                return
            weight = _weight(selector, declarations, count + place)
            yield _Rule(weight, selector.strip(), declarations)


def _weight(selector: str, declarations: str, place: int) -> _Weight:
    """Return the precedence of a rule: of equal rules, the later one prevails."""
    ids, classes = len(_IDS.findall(selector)), len(_CLASSES.findall(selector))
    return "!important" in declarations, ids, classes, place


class TextRule(NamedTuple):
    """A selector, its declarations, and the box that they apply to."""

    selector: str
    box: str
    """``before`` or ``after`` the element's content; empty for the element itself."""
    declarations: str


_BOX = re.compile(r"::?(before|after)\s*$", re.IGNORECASE)


def text_rules(sheets: str, wanted: re.Pattern[str]) -> Iterator[TextRule]:
    """Yield the screen rules that match ``wanted``, in ascending order of precedence.

    They include the rules for the boxes before and after an element's content, except for rules
    that hide their box.
    """
    rules: list[tuple[_Weight, TextRule]] = []
    for selectors, declarations in _blocks(_COMMENT.sub("", sheets[:_MOST_CHARACTERS])):
        if not wanted.search(declarations) or hides(declarations):
            continue
        for selector in selectors.split(","):
            box = _BOX.search(selector)
            bare = _BOX.sub("", selector).strip() or "*"
            if _NOT_STATIC.search(bare) or len(rules) >= _MOST_RULES:
                continue
            weight = _weight(bare, declarations, len(rules))
            rules.append((weight, TextRule(bare, box[1].lower() if box else "", declarations)))
    return (rule for _, rule in sorted(rules))


def _blocks(css: str) -> Iterator[tuple[str, str]]:
    """Yield selectors with declarations, including those in ``@media`` blocks for screens."""
    place = 0
    skipped_depth: list[bool] = []
    while (opening := css.find("{", place)) >= 0:
        head = css[place:opening]
        while "}" in head:
            head = head.partition("}")[2]
            if skipped_depth:
                skipped_depth.pop()
        head = head.rpartition(";")[2].strip()
        if head.startswith("@"):
            media = head.startswith(("@media", "@supports", "@layer"))
            condition = head.partition(" ")[2]
            skips = not media or bool(_NARROW.search(condition))
            skipped_depth.append(skips or not _MEDIA_OF_SCREENS.search(condition))
            place = opening + 1
            continue
        closing = css.find("}", opening)
        if closing < 0:
            return
        if not any(skipped_depth):
            yield head, css[opening + 1 : closing]
        place = closing + 1
