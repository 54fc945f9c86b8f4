"""Finds elements that are hidden by a page's own style sheets or by their ``style`` attribute.

External style sheets are not fetched, and scripts are not run. An element is hidden if a rule on
the page hides it and no later or more specific rule shows it again.

Limits without a stated reason were chosen by hand.
"""

import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

# An unclosed comment extends to the end. The quantifiers are possessive, so that a sheet of
# unclosed comments takes linear time.
_COMMENT = re.compile(r"/\*[^*]*+(?:\*(?!/)[^*]*+)*+(?:\*/|\Z)")
# The usual ways to hide text: with display, visibility or opacity, by moving it off the screen, or
# by clipping or scaling it. Text that is struck through counts as hidden too. Quantifiers are
# bounded, so that matching a hostile text takes linear time.
_HIDING = re.compile(
    r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*(?:hidden|collapse)"
    r"|opacity\s*:\s*0*\.?0*%?\s*(?:;|!|$)|content-visibility\s*:\s*hidden|mso-hide\s*:\s*all"
    r"|text-indent\s*:\s*-\d{3,}|(?:left|top|right|bottom|margin-left)\s*:\s*-\d{3,}"
    r"|clip\s*:\s*rect\(\s*(?:0|1px)(?:px)?[\s,]+(?:0|1px)(?:px)?[\s,]+(?:0|1px)(?:px)?[\s,]+(?:0|1px)"
    r"|clip-path\s*:\s*(?:inset\(\s*(?:50|100)%|circle\(\s*0)|transform\s*:\s*scale\(\s*0\s*\)"
    r"|filter\s*:\s*opacity\(\s*0*\.?0*%?\s*\)"
    r"|text-decoration(?:-line)?\s*:[^;]{0,40}line-through)",
    re.IGNORECASE,
)
# Font sizes below two points or pixels, which nobody can read. Layouts also use a size of 0 to
# close the gaps between boxes. The boxes then set their own size.
_NO_SIZE = re.compile(
    r"(?:^|;)\s*font-size\s*:\s*(?:0*\.?0*(?:px|pt|em|rem|%)?|(?:0?\.\d{1,9}|1(?:\.\d{1,9})?)(?:px|pt))"
    r"\s*(?:;|!|$)",
    re.IGNORECASE,
)
# Sizes that do not depend on the size around an element, so that its text is visible again.
_OWN_SIZE = re.compile(
    r"(?:^|;)\s*font(?:-size)?\s*:[^;]{0,60}(?:\d(?:px|pt|pc|rem|vw|vh|cm|mm|in)\b"
    r"|\b(?:small|medium|large)\b|\b(?:calc|clamp|var)\()",
    re.IGNORECASE,
)
# The colours of text and background in the declarations of a rule.
_COLOUR = re.compile(r"(?:^|;)\s*color\s*:\s*([^;!]{1,60})", re.IGNORECASE)
_GROUND_COLOUR = re.compile(r"(?:^|;)\s*background(?:-color)?\s*:\s*([^;!]{1,60})", re.IGNORECASE)
_COLOURS = {"white": "#ffffff", "black": "#000000"}
# Values that name no colour. "inherit" may mean one colour for the text and another for the
# background.
_NO_COLOUR = re.compile(r"inherit|initial|unset|revert|var\(", re.IGNORECASE)
# Heights and widths of at most one pixel, and text that begins beyond the box.
_COLLAPSED = re.compile(
    r"(?:^|;)\s*(?:(?:max-)?(?:height|width)\s*:\s*[01](?:px)?|text-indent\s*:\s*[1-9]\d\d%)"
    r"\s*(?:;|!|$)",
    re.IGNORECASE,
)
# Declarations that show nothing outside the element's box.
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
# Declarations of any background that is not white. White text may be visible on such a background.
_GROUND = re.compile(
    r"background(?:-color|-image)?\s*:(?!\s*(?:#fff(?:fff)?|white|none|transparent)\s*(?:[;!}\"']|$))"
    r"|bgcolor(?!\s*=\s*[\"']?(?:#fff(?:fff)?|white)\b)",
    re.IGNORECASE,
)
_NOT_STATIC = re.compile(
    r":(?!(?:not|is|where|nth-(?:last-)?(?:child|of-type))\(|(?:first|last|only)-(?:child|of-type)\b)"
    r"|^\s*$|@|&"
)
"""Matches selectors for a state such as ``:hover``, or for something other than an element."""
_COUNTED = re.compile(r":nth-|-of-type")
"""Matches selectors for an element at a certain place among its siblings."""
# A selector of a list, whose commas may be within brackets. The quantifiers are possessive, so that
# the time is linear.
_SELECTOR = re.compile(r"(?:[^,()]|\((?:[^()]|\([^()]*+\))*+\)|[()])++")
# "all", "screen", nothing, or only a condition.
_MEDIA_OF_SCREENS = re.compile(r"\b(?:all|screen)\b|^\s*$|\(", re.IGNORECASE)
# Media queries that might not apply to an ordinary screen.
_NARROW = re.compile(r"max-width|print|prefers|orientation|max-height", re.IGNORECASE)
_IMPORTANT = re.compile(r"!\s{0,9}important", re.IGNORECASE)
# The parts of a selector that give it its weight: ids, classes and attributes, elements.
_IDS, _CLASSES = re.compile(r"#[\w-]"), re.compile(r"[.\[][\w-]|:(?:nth|first|last|only)-")
_ELEMENTS = re.compile(r"(?:^|[\s>+~(])[a-zA-Z]")
# Limits on untrusted style sheets. Real pages have a few hundred rules that hide or show elements.
# If a rule beyond these limits hides text, that text cannot be told apart (``Sheets.is_cut``).
_MOST_RULES, _MOST_CHARACTERS = 5_000, 1_000_000
_MOST_STEPS = 2_000_000
"""Maximum number of times that a rule applies to an element of a page; ordinary pages stay below a
tenth. Eight comparisons without success count as one step, since they take as long, as do 64 steps
from one sibling to the next."""
_COMPARISONS, _SIBLINGS = 8, 64


class Sheets:
    """The style sheets in a page, whose rules are applied within a limit.

    Attributes:
        text: The text of the sheets.
        is_cut: Whether a limit was reached, so that rules that may hide text were not applied.
    """

    def __init__(self, text: str, elements: int) -> None:
        self.text = text
        # the patterns of declarations begin at a semicolon
        beyond = text[_MOST_CHARACTERS:].replace("{", ";")
        self.is_cut = bool(beyond) and _conceals(beyond)
        self._elements = elements
        self._steps = _MOST_STEPS
        self._pairs = -1

    def selected(self, body: "LexborNode", selector: str) -> list["LexborNode"]:
        """Return the elements that match a selector.

        There are none if the parser does not support the selector, or beyond the limit.
        """
        if _COUNTED.search(selector):
            self._steps -= self._sibling_pairs(body) // _SIBLINGS
        if self._steps < 0:
            self.is_cut = True
            return []
        try:
            nodes = list(body.css(selector))
        except Exception:  # noqa: BLE001 - the parser may raise anything
            nodes = []
        self._steps -= len(nodes) + self._elements // _COMPARISONS
        self.is_cut = self.is_cut or self._steps < 0
        return nodes

    def _sibling_pairs(self, body: "LexborNode") -> int:
        """Return how many pairs of elements have the same parent.

        To count an element's place, the parser goes through all siblings before it.
        """
        if self._pairs < 0:
            children = Counter(node.parent.mem_id for node in body.css("*") if node.parent)
            self._pairs = sum(count * count // 2 for count in children.values())
        return self._pairs


_Weight = tuple[bool, int, int, int, int]
"""Whether a declaration is marked as important; the numbers of ids, classes and element names in
its selector; and its position in the sheets. The greater weight prevails."""


class _Rule(NamedTuple):
    """A selector, its declarations, and its precedence over other rules (``weight``)."""

    weight: _Weight
    selector: str
    declarations: str


def hides(declarations: str) -> bool:
    """Return whether CSS declarations hide an element or strike through its text."""
    if _HIDING.search(declarations) or _NO_SIZE.search(declarations):
        return True
    if _COLLAPSED.search(declarations) and _CUT_OFF.search(declarations):
        return True
    colour, ground = _COLOUR.search(declarations), _GROUND_COLOUR.search(declarations)
    if not colour or not ground or _NO_COLOUR.search(colour[1]):
        return False
    return _colour(colour[1]) == _colour(ground[1])


def _conceals(declarations: str) -> bool:
    """Return whether CSS declarations hide text, or make it white, as the page usually is."""
    return hides(declarations) or bool(_WHITE.search(declarations))


def _colour(value: str) -> str:
    """Return a colour in a uniform notation, for comparison."""
    value = "".join(value.lower().split())
    # the short form "#abc" means "#aabbcc"
    if len(value) == 4 and value[0] == "#":
        value = "#" + "".join(2 * digit for digit in value[1:])
    return _COLOURS.get(value, value)


def declared(
    body: "LexborNode", sheets: Sheets, wanted: re.Pattern[str]
) -> Iterator[tuple["LexborNode", str]]:
    """Yield elements whose declarations match a pattern, in ascending order of precedence."""
    for rule in sorted(_rules(sheets, wanted), key=lambda rule: rule.weight):
        for node in sheets.selected(body, rule.selector):
            yield node, rule.declarations
    for node in body.css("[style]"):
        style = node.attributes.get("style") or ""
        if wanted.search(style):
            yield node, style


class _State(NamedTuple):
    """How the prevailing declarations treat an element."""

    node: "LexborNode"
    is_hidden: bool
    only_small: bool = False
    """Whether only the font size hides the text. Inner elements with their own font size are then
    shown."""
    is_important: bool = False


def hidden_by_style(body: "LexborNode", sheets: Sheets) -> Iterator["LexborNode"]:
    """Yield the elements and texts that style sheets or ``style`` attributes hide."""
    states = _states(body, sheets)
    small = {each for each, state in states.items() if state.is_hidden and state.only_small}
    # most pages have no such text; the sheets are then not read again
    shown = {node.mem_id for node, _ in declared(body, sheets, _OWN_SIZE)} if small else set[int]()
    for each, state in states.items():
        if each in small:
            yield from _small_texts(state.node, small | shown)
        elif state.is_hidden:
            yield state.node


def _states(body: "LexborNode", sheets: Sheets) -> dict[int, _State]:
    """Return the state of each element that a rule hides or shows, by the element's memory id."""
    states: dict[int, _State] = {}
    for rule in sorted(_rules(sheets), key=lambda rule: rule.weight):
        is_hidden, only_small = hides(rule.declarations), _only_small(rule.declarations)
        for node in sheets.selected(body, rule.selector):
            states[node.mem_id] = _State(node, is_hidden, only_small, rule.weight[0])
    for node in body.css("[style]"):
        style = node.attributes.get("style") or ""
        earlier = states.get(node.mem_id)
        if earlier and earlier.is_important and not _IMPORTANT.search(style):
            continue
        if hides(style) or _SHOWN.search(style):
            states[node.mem_id] = _State(node, hides(style), _only_small(style))
    return states


def _only_small(declarations: str) -> bool:
    """Return whether declarations hide text only by its font size."""
    return bool(_NO_SIZE.search(declarations)) and not _HIDING.search(declarations)


def _small_texts(node: "LexborNode", apart: Collection[int]) -> Iterator["LexborNode"]:
    """Yield the texts in an element, except in the elements ``apart``, which set their own size."""
    waiting = [node]
    while waiting:
        for part in waiting.pop().iter(include_text=True):
            if part.is_text_node:
                yield part
            elif part.mem_id not in apart:
                waiting.append(part)


def white_on_white(body: "LexborNode", html_head: str, sheets: Sheets) -> Iterator["LexborNode"]:
    """Yield elements with white text, unless the page sets a background colour."""
    if _GROUND.search(html_head) or _GROUND.search(sheets.text) or "stylesheet" in html_head:
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
        ground = f"bgcolor={attributes.get('bgcolor')}" if "bgcolor" in attributes else ""
        if _GROUND.search(ground) or _GROUND.search(attributes.get("style") or ""):
            return True
        around = around.parent
    return False


def _rules(sheets: Sheets, wanted: re.Pattern[str] | None = None) -> Iterator[_Rule]:
    """Yield the screen rules that hide or show elements, or that match ``wanted``.

    If there are too many rules, those beyond the limit are not yielded.
    """
    count = 0
    for selectors, block in _blocks(sheets.text):
        for is_important, declarations in _by_importance(block):
            if wanted is not None:
                if not wanted.search(declarations):
                    continue
            elif not hides(declarations) and not _SHOWN.search(declarations):
                continue
            for selector in _SELECTOR.findall(selectors):
                if _NOT_STATIC.search(selector):
                    continue
                count += 1
                if count > _MOST_RULES:
                    sheets.is_cut = sheets.is_cut or _conceals(declarations)
                    continue
                weight = _weight(selector, count, is_important=is_important)
                yield _Rule(weight, selector.strip(), declarations)


def _by_importance(block: str) -> Iterator[tuple[bool, str]]:
    """Yield a block's declarations, then its important declarations a second time.

    In this second form, they prevail over more specific rules, as ``!important`` demands.
    """
    yield False, block
    if _IMPORTANT.search(block):
        yield True, ";".join(each for each in block.split(";") if _IMPORTANT.search(each))


def _weight(selector: str, place: int, *, is_important: bool) -> _Weight:
    """Return the precedence of a rule: of equal rules, the later one prevails."""
    ids, classes = len(_IDS.findall(selector)), len(_CLASSES.findall(selector))
    return is_important, ids, classes, len(_ELEMENTS.findall(selector.strip())), place


class TextRule(NamedTuple):
    """A selector, its declarations, and the box that they apply to."""

    selector: str
    box: str
    """``before`` or ``after`` the element's content; empty for the element itself."""
    declarations: str


# The end of a selector of generated text: "p::before", "p:after".
_BOX = re.compile(r"::?(before|after)\s*$", re.IGNORECASE)


def text_rules(sheets: str, wanted: re.Pattern[str]) -> Iterator[TextRule]:
    """Yield the screen rules that match ``wanted``, in ascending order of precedence.

    The result includes the rules for the boxes before and after an element's content, except for
    rules that hide their box.
    """
    rules: list[tuple[_Weight, TextRule]] = []
    for selectors, block in _blocks(sheets):
        for is_important, declarations in _by_importance(block):
            if not wanted.search(declarations) or hides(declarations):
                continue
            for selector in _SELECTOR.findall(selectors):
                box = _BOX.search(selector)
                bare = _BOX.sub("", selector).strip() or "*"
                # the body's counters also apply to the whole page
                bare = "body" if bare.lower() in (":root", "html") and not box else bare
                if _NOT_STATIC.search(bare) or len(rules) >= _MOST_RULES:
                    continue
                weight = _weight(bare, len(rules), is_important=is_important)
                rules.append((weight, TextRule(bare, box[1].lower() if box else "", declarations)))
    return (rule for _, rule in sorted(rules))


def is_for_screens(condition: str) -> bool:
    """Return whether a media query applies to an ordinary screen."""
    return not _NARROW.search(condition) and bool(_MEDIA_OF_SCREENS.search(condition))


def _blocks(sheets: str) -> Iterator[tuple[str, str]]:
    """Yield selectors with declarations, including those in ``@media`` blocks for screens."""
    css = _COMMENT.sub("", sheets[:_MOST_CHARACTERS])
    place = 0
    skipped_depth: list[bool] = []
    while (opening := css.find("{", place)) >= 0:
        closed, bracket, head = css[place:opening].rpartition("}")
        if bracket:  # each bracket ends a block such as ``@media``
            del skipped_depth[max(0, len(skipped_depth) - closed.count("}") - 1) :]
        head = head.rpartition(";")[2].strip()  # without statements such as ``@import``
        if head.startswith("@"):
            media = head.startswith(("@media", "@supports", "@layer"))
            condition = head.partition(" ")[2]
            skipped_depth.append(not media or not is_for_screens(condition))
            place = opening + 1
            continue
        closing = css.find("}", opening)
        if closing < 0:  # browsers close the last block at the end of a sheet
            closing = len(css)
        if not any(skipped_depth):
            yield head, css[opening + 1 : closing]
        place = closing + 1
