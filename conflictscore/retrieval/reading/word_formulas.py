"""Writes Word formulas (OMML) on one line, with the brackets that their layout implies."""

from collections.abc import Callable
from xml.etree.ElementTree import Element

from conflictscore.retrieval.reading.ooxml import FALSE, child, children, is_on, name_of, value_of
from conflictscore.retrieval.shaping.formulas import beside, grouped

# Combining accents and their names in TeX.
_ACCENTS = {
    "\u0300": "grave", "\u0301": "acute", "\u0302": "hat", "\u0303": "tilde", "\u0304": "bar",
    "\u0305": "bar", "\u0306": "breve", "\u0307": "dot", "\u0308": "ddot", "\u030c": "check",
    "\u20d6": "overleftarrow", "\u20d7": "vec", "\u20db": "dddot",
}  # fmt: skip


def formula(element: Element) -> str:
    """Return a formula on one line: x^2, a/b, √(x), ∑_(i=1)^n x, (n over k), [a, b; c, d]."""
    name = name_of(element)
    if name == "t":
        return element.text or ""
    # properties have no text, and "del" and "moveFrom" hold text that a tracked change removed
    if name.endswith("Pr") or name in ("del", "moveFrom"):
        return ""
    draw = _DRAWN.get(name)
    return draw(element) if draw else beside((formula(e), name_of(e) == "f") for e in element)


def _part(element: Element, name: str) -> str:
    """Return a part of a formula, such as its numerator; empty if the part is missing."""
    part = child(element, name)
    return formula(part) if part is not None else ""


def _raised_and_lowered(element: Element) -> str:
    base = grouped(_part(element, "e"))
    lower, upper = grouped(_part(element, "sub")), grouped(_part(element, "sup"))
    return base + (f"_{lower}" if lower else "") + (f"^{upper}" if upper else "")


def _before(element: Element) -> str:
    lower, upper = grouped(_part(element, "sub")), grouped(_part(element, "sup"))
    marks = (f"_{lower}" if lower else "") + (f"^{upper}" if upper else "")
    return marks + _part(element, "e")


def _fraction(element: Element) -> str:
    numerator, denominator = _part(element, "num"), _part(element, "den")
    if value_of(element, "fPr", "type") == "noBar":
        return f"({numerator} over {denominator})"
    return f"{grouped(numerator)}/{grouped(denominator)}"


def _root(element: Element) -> str:
    degree = _part(element, "deg").strip()
    hidden = is_on(child(element, "radPr"), "degHide")
    return f"√{f'[{degree}]' if degree and not hidden else ''}({_part(element, 'e')})"


def _brackets(element: Element) -> str:
    opening = value_of(element, "dPr", "begChr")
    closing = value_of(element, "dPr", "endChr")
    separator = value_of(element, "dPr", "sepChr")
    # a missing setting stands for Word's default, and an empty one for no bracket
    parts = [formula(part) for part in children(element) if name_of(part) == "e"]
    inner = ("|" if separator is None else separator).join(parts)
    return f"{'(' if opening is None else opening}{inner}{')' if closing is None else closing}"


def _sum(element: Element) -> str:
    """Write a sum, integral or product with its limits; the default is an integral."""
    sign = value_of(element, "naryPr", "chr")
    lower, upper = grouped(_part(element, "sub")), grouped(_part(element, "sup"))
    limits = (f"_{lower}" if lower else "") + (f"^{upper}" if upper else "")
    return f"{'∫' if sign is None else sign}{limits} {_part(element, 'e')}"


def _function(element: Element) -> str:
    return f"{_part(element, 'fName')} {grouped(_part(element, 'e'))}".strip()


def _limit(mark: str) -> Callable[[Element], str]:
    return lambda element: f"{_part(element, 'e')}{mark}{grouped(_part(element, 'lim'))}"


def _accent(element: Element) -> str:
    sign = value_of(element, "accPr", "chr")
    sign = "\u0302" if sign is None else sign  # Word's default is the circumflex
    inner = _part(element, "e")
    return f"{_ACCENTS[sign]}({inner})" if sign in _ACCENTS else f"{grouped(inner)}{sign}"


def _bar(element: Element) -> str:
    return f"bar({_part(element, 'e')})"


def _matrix(element: Element) -> str:
    rows = (
        ", ".join(formula(cell) for cell in children(row) if name_of(cell) == "e")
        for row in children(element)
        if name_of(row) == "mr"
    )
    return f"[{'; '.join(rows)}]"


def _lines(element: Element) -> str:
    return "; ".join(formula(line) for line in children(element) if name_of(line) == "e")


def _invisible(element: Element) -> str:
    """Write the content of a phantom, unless the phantom only reserves space."""
    return "" if value_of(element, "phantPr", "show") in FALSE else _part(element, "e")


_DRAWN: dict[str, Callable[[Element], str]] = {
    "sSup": _raised_and_lowered,
    "sSub": _raised_and_lowered,
    "sSubSup": _raised_and_lowered,
    "sPre": _before,
    "f": _fraction,
    "rad": _root,
    "d": _brackets,
    "nary": _sum,
    "func": _function,
    "limLow": _limit("_"),
    "limUpp": _limit("^"),
    "acc": _accent,
    "bar": _bar,
    "m": _matrix,
    "eqArr": _lines,
    "phant": _invisible,
}
"""Functions that write structures such as fractions, sums and matrices, by element name."""
