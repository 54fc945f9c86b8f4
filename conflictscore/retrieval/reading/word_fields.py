"""Finds the fields of a Word paragraph, such as cross-references, and the text that each shows."""

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import FALSE, attribute, child, name_of, number_of
from conflictscore.retrieval.shaping.formulas import grouped
from conflictscore.retrieval.shaping.symbol_fonts import signs_of

_DEEPEST = 20
"""Maximum depth of nested fields, and of nested parts of a formula; chosen by hand. Deeper fields
are not examined, since the time grows with the number of fields around an element."""
# Elements that show something.
_SHOWING = ("t", "sym", "tab", "br", "cr", "noBreakHyphen", "pic", "imagedata", "oMath")
# Quantifiers are bounded, so that matching a hostile text takes linear time. The bounds were chosen
# by hand.
_SYMBOL = re.compile(r"\s{0,99}SYMBOL\s{1,9}(0x[0-9a-f]{1,6}|\d{1,6})\b", re.IGNORECASE)
# The font of a symbol: '\\f "Wingdings"'.
_FONT = re.compile(r'\\f\s{0,9}(?:"([^"]{1,60})"|(\S{1,60}))', re.IGNORECASE)
# What precedes the text of a button: "MACROBUTTON NoMacro ".
_BUTTON = re.compile(r"\s{0,99}(?:MACRO|GOTO)BUTTON\s{1,9}\S{1,99}\s{1,9}", re.IGNORECASE)
# The field "EQ", its formatting switches ("\\* MERGEFORMAT"), and the tokens of its formula.
_EQUATION = re.compile(r"\s{0,99}EQ\s{1,9}", re.IGNORECASE)
_SWITCH = re.compile(r"\\\*\s{0,9}(?:\"[^\"]{0,60}\"|\S{1,60})")
_TOKEN = re.compile(r"\\([a-z]{1,2})\s?(-?\d{1,4}\s?)?|\\(.)|(.)", re.IGNORECASE | re.DOTALL)
_RINGS = frozenset("○◯□◇△〇")
"""Shapes that Word draws around an enclosed character."""
_LARGEST_CODE = 0x10FFFF  # of Unicode


@dataclass(slots=True)
class _Field:
    """A field that has not ended: its instruction, and the number of shown elements before it."""

    place: int
    instruction: list[str] = field(default_factory=list)
    shows: bool = False
    in_instruction: bool = True


@dataclass(slots=True)
class WordFields:
    """The fields of a paragraph.

    ``unseen`` contains the elements inside instructions, which Word does not show. ``drawn`` maps
    the end of a field without a result to the text that Word draws from the instruction.
    """

    unseen: set[Element]
    drawn: dict[Element, str]


def fields_of(paragraph: Element) -> WordFields:
    """Return the fields of a paragraph; a field that never ends there hides nothing."""
    fields = WordFields(set(), {})
    elements: list[Element] = []
    opened: list[_Field] = []
    for each in paragraph.iter():
        name = name_of(each)
        if name == "instrText" and opened:
            opened[-1].instruction.append(each.text or "")
        elif name == "fldChar":
            _mark(each, opened, elements, fields)
        elif name in _SHOWING:
            elements.append(each)
            if opened:
                opened[-1].shows = opened[-1].shows or not opened[-1].in_instruction
    return fields


def _mark(mark: Element, opened: list[_Field], elements: list[Element], fields: WordFields) -> None:
    """Record the beginning of a field, the end of its instruction, or its end."""
    kind = attribute(mark, "fldCharType")
    if kind == "begin" and len(opened) < _DEEPEST:
        opened.append(_Field(len(elements)))
    elif kind in ("separate", "end") and opened:
        if opened[-1].in_instruction:
            fields.unseen.update(elements[opened[-1].place :])
        if kind == "end":
            _end(mark, opened, elements, fields)
        else:
            opened[-1].in_instruction = False


def _end(mark: Element, opened: list[_Field], elements: list[Element], fields: WordFields) -> None:
    ended = opened.pop()
    text = "" if ended.shows else drawn_text("".join(ended.instruction))
    if text:
        fields.drawn[mark] = text
        elements.append(mark)
    # nothing in an instruction is shown, not even the result of an inner field
    if opened and not opened[-1].in_instruction:
        opened[-1].shows = opened[-1].shows or ended.shows or bool(text)


def drawn_text(instruction: str) -> str:
    """Return the text that Word draws for a field without a stored result.

    Such fields are symbols (``SYMBOL``), formulas and enclosed characters (``EQ``), and buttons.
    """
    if symbol := _SYMBOL.match(instruction):
        code = min(int(symbol[1], 16 if symbol[1][:2].lower() == "0x" else 10), _LARGEST_CODE)
        font = _FONT.search(instruction)
        return signs_of((font[1] or font[2]) if font else "", [code])
    if equation := _EQUATION.match(instruction):
        return _Equation(_SWITCH.sub("", instruction[equation.end() :])).text().strip()
    button = _BUTTON.match(instruction)
    return instruction[button.end() :].strip() if button else ""


def selected_entry(element: Element) -> str:
    """Return the chosen entry of a form's list."""
    entries = [attribute(each, "val") or "" for each in element if name_of(each) == "listEntry"]
    number = number_of(element, "result", default=number_of(element, "default", default=0))
    return entries[number] if 0 <= number < len(entries) else ""


def check_box(element: Element) -> str:
    """Return ☒ or ☐ for a form's check box, by its current or else its initial state."""
    state = child(element, "checked")
    state = child(element, "default") if state is None else state
    on = state is not None and attribute(state, "val") not in FALSE
    return "☒" if on else "☐"


class _Equation:
    r"""Writes the instruction of an ``EQ`` field on one line: ``\f(1,2)`` is 1/2."""

    def __init__(self, source: str) -> None:
        self._tokens = list(_TOKEN.finditer(source))
        self._place = 0

    def text(self) -> str:
        """Return the formula on one line."""
        return "".join(self._part("", 0))

    def _part(self, ends: str, depth: int) -> list[str]:
        """Return the pieces up to one of the characters in ``ends``, and move to that character."""
        pieces: list[str] = []
        while self._place < len(self._tokens):
            token = self._tokens[self._place]
            if token[4] and token[4] in ends:
                break
            self._place += 1
            if token[1]:
                pieces.append(self._drawing(token[1].lower(), depth))
            else:
                pieces.append(token[3] or token[4] or "")
        return pieces

    def _drawing(self, name: str, depth: int) -> str:
        r"""Return a structure such as a fraction, with its options (``\o\ac(…)``)."""
        options: list[str] = []
        while self._place < len(self._tokens) and self._tokens[self._place][1]:
            options.append(self._tokens[self._place][1].lower())
            self._place += 1
        has_parts = self._place < len(self._tokens) and self._tokens[self._place][4] == "("
        if not has_parts or depth > _DEEPEST:
            return ""
        parts: list[str] = []
        while self._place < len(self._tokens) and self._tokens[self._place][4] != ")":
            self._place += 1  # skip the bracket or the separator
            parts.append("".join(self._part(",;)", depth + 1)))
        self._place += 1
        return _DRAWN[name](parts, options) if name in _DRAWN else "".join(parts)


def _fraction(parts: list[str], _: list[str]) -> str:
    return "/".join(map(grouped, parts))


def _root(parts: list[str], _: list[str]) -> str:
    degree = f"[{parts[0]}]" if len(parts) > 1 else ""
    return f"√{degree}({parts[-1]})"


def _shifted(parts: list[str], options: list[str]) -> str:
    sign = "_" if "do" in options else "^"
    return f"{sign}{grouped(parts[0])}" if parts[0].strip() else ""


def _over(parts: list[str], _: list[str]) -> str:
    """Write parts that are drawn over one another, without rings and raised ruby text."""
    return "".join(part for part in parts if part not in _RINGS and not part.startswith("^"))


def _bracket(parts: list[str], _: list[str]) -> str:
    return f"({','.join(parts)})"


def _integral(parts: list[str], options: list[str]) -> str:
    sign = "∑" if "su" in options else "∏" if "pr" in options else "∫"
    lower, upper, body = (parts + [""] * 3)[:3]
    limits = "".join(f"{mark}{grouped(x)}" for mark, x in (("_", lower), ("^", upper)) if x)
    return f"{sign}{limits} {body}"


def _listed(parts: list[str], _: list[str]) -> str:
    return ", ".join(parts)


_DRAWN: dict[str, Callable[[list[str], list[str]], str]] = {
    "f": _fraction,
    "r": _root,
    "s": _shifted,
    "o": _over,
    "b": _bracket,
    "i": _integral,
    "l": _listed,
    "a": _listed,
}
"""Functions that write the structures of an ``EQ`` field, such as fractions, by switch."""
