"""Writes parts of formulas on one line."""

import re
from collections.abc import Iterable

# Signs of an exponent.
_RAISED_NUMBER = re.compile(r"[\d+\u2212-]")
# A word, a number, or an expression in brackets, which needs no further brackets.
_WHOLE = re.compile(r"[^\W\d_]+|\d+(?:[.,]\d+)*|[({\[|].*[)}\]|]", re.DOTALL)


def raised(text: str, mark: str) -> str:
    """Put "^" or "_" before a superscript or subscript (10^6, H_2O) if it starts like a number.

    Raised letters are usually the ending of an ordinal number ("1st") or a sign such as "TM".
    """
    return f"{mark}{text}" if mark and _RAISED_NUMBER.match(text) else text


def grouped(text: str) -> str:
    """Put a part of a formula in brackets, unless it is a single word, number or bracket."""
    text = text.strip()
    return text if not text or _is_one_whole(text) else f"({text})"


def _is_one_whole(text: str) -> bool:
    if len(text) == 1 or not _WHOLE.fullmatch(text):
        return len(text) == 1
    if text[0] not in "({[|":
        return True
    depth = 0
    for place, character in enumerate(text):
        depth += (character in "({[") - (character in ")}]")
        if not depth and place < len(text) - 1:
            return False
    return True


def beside(parts: Iterable[tuple[str, bool]]) -> str:
    """Write parts of a formula one after another; each part's flag says whether it is a fraction.

    A fraction that touches a letter or digit is set apart, since 2¾ is not 23/4, and ½m not 1/2m.
    """
    pieces = [(text, is_fraction) for text, is_fraction in parts if text]
    written: list[str] = []
    for place, (text, is_fraction) in enumerate(pieces):
        before = written[-1][-1:] if written else ""
        after = pieces[place + 1][0][0] if place + 1 < len(pieces) else ""
        if is_fraction and not text.startswith("(") and before.isdecimal() and text[0].isdecimal():
            written.append(f" {text}")
        elif is_fraction and (_touches(before, ")]}") or _touches(after, "([{√")):
            written.append(f"({text})")
        else:
            written.append(text)
    return "".join(written)


def _touches(neighbour: str, brackets: str) -> bool:
    return bool(neighbour) and (neighbour.isalnum() or neighbour in brackets)
