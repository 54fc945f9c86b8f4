"""Writes formulas of web pages (MathML) on one line, with the brackets that the layout implies."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from conflictscore.retrieval.shaping.formulas import beside, grouped

if TYPE_CHECKING:
    from selectolax.lexbor import LexborNode

_INVISIBLE = str.maketrans("", "", "\u2061\u2062\u2063\u2064")
"""Invisible operators, such as function application, which are removed."""
# Elements that show nothing.
_UNSEEN = ("annotation", "annotation-xml", "mphantom", "mspace", "none", "mprescripts")
_TOO_DEEP = "[formula]"
"""Stands for a formula that is nested beyond Python's recursion limit; no real formula is. The bare
text of a formula could mean something else, such as "106" for 10^6.
"""


def linear(formula: "LexborNode") -> str:
    """Return a formula on one line: x^2, a/b, √(x), ∑_(i=1)^n x."""
    try:
        return _linear(formula)
    except RecursionError:
        return _TOO_DEEP


def _linear(node: "LexborNode") -> str:
    if node.is_text_node:
        return " ".join((node.text() or "").translate(_INVISIBLE).split())
    name = (node.tag or "").lower()
    if name in _UNSEEN:
        return ""
    drawn = _DRAWN.get(name)
    return drawn(node) if drawn else _joined(node)


def _joined(node: "LexborNode") -> str:
    parts = node.iter(include_text=True)
    return beside((_linear(part), not part.is_text_node and part.tag == "mfrac") for part in parts)


def _parts(node: "LexborNode", count: int) -> list[str]:
    parts = [_linear(part) for part in node.iter()]
    return (parts + [""] * count)[:count]


def _marked(*marks: str) -> Callable[["LexborNode"], str]:
    """Return a function that writes a base, then each part above or below it after its mark."""

    def drawn(node: "LexborNode") -> str:
        base, *more = _parts(node, len(marks) + 1)
        tails = (f"{mark}{grouped(part)}" for mark, part in zip(marks, more, strict=True) if part)
        return grouped(base) + "".join(tails)

    return drawn


def _scripts(node: "LexborNode") -> str:
    """Write a base with the subscripts and superscripts after it and before it, as in ^14C."""
    base, *parts = node.iter()
    tags = [part.tag for part in parts]
    first = tags.index("mprescripts") if "mprescripts" in tags else len(parts)
    # on each side a subscript and a superscript in turn, an empty element where one is missing
    behind, before = (
        "".join(
            f"{'^' if place % 2 else '_'}{grouped(text)}"
            for place, text in enumerate(map(_linear, scripts))
            if text
        )
        for scripts in (parts[:first], parts[first + 1 :])
    )
    return f"{before}{grouped(_linear(base))}{behind}"


def _fraction(node: "LexborNode") -> str:
    numerator, denominator = _parts(node, 2)
    # without a line, as in a binomial coefficient; the number may have a unit such as "pt"
    if (node.attributes.get("linethickness") or "").strip("pxemt ") == "0":
        return f"({numerator} over {denominator})"
    return f"{grouped(numerator)}/{grouped(denominator)}"


def _root(node: "LexborNode") -> str:
    base, degree = _parts(node, 2)
    return f"√[{degree}]({base})"


def _fenced(node: "LexborNode") -> str:
    attributes = node.attributes
    opening, closing = (attributes.get(side) for side in ("open", "close"))
    separator = attributes.get("separators")
    inner = (", " if separator is None else separator[:1]).join(map(_linear, node.iter()))
    return f"{'(' if opening is None else opening}{inner}{')' if closing is None else closing}"


def _matrix(node: "LexborNode") -> str:
    rows = (
        ", ".join(map(_linear, row.iter()))
        for row in node.iter()
        if row.tag in ("mtr", "mlabeledtr")
    )
    return f"[{'; '.join(rows)}]"


def _first(node: "LexborNode") -> str:
    # the other parts repeat the first one in another form, or replace it after a click
    return next((_linear(part) for part in node.iter()), "")


_DRAWN: dict[str, Callable[["LexborNode"], str]] = {
    "msup": _marked("^"),
    "msub": _marked("_"),
    "msubsup": _marked("_", "^"),
    "munder": _marked("_"),
    "mover": _marked("^"),
    "munderover": _marked("_", "^"),
    "mmultiscripts": lambda node: _scripts(node) if node.child else "",
    "mfrac": _fraction,
    "msqrt": lambda node: f"√({_joined(node)})",
    "mroot": _root,
    "mfenced": _fenced,
    "mtable": _matrix,
    "semantics": _first,
    "maction": _first,
}
