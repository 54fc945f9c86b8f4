"""Numbers of a claim in whose place a document has others, which a small judge overlooks.

Years, days and numbers of things are found by form, in all languages that write words apart; units
and round numbers by words of seven languages (``numbers.toml``).
"""

import re
import tomllib
from functools import lru_cache
from importlib import resources
from typing import NamedTuple

from conflictscore.scripts import fold

_STEM, _SHORTEST = 4, 3
"""Letters."""

_NUMBER = r"\d+(?:[.,'\u00a0\u202f ]\d{3}(?!\d))*(?:[.,]\d+)?"
_WORD = re.compile(rf"{_NUMBER}|[^\W\d_]+")
_SEPARATOR = re.compile(r"[.,'\u00a0\u202f ](?=\d{3}(?!\d))")
_QUANTITY = re.compile(
    r"(?P<before>[€$£¥])\s?\d"
    r"|\d(?:[ \u00a0\u202f-]?(?P<unit>[^\W\d_]{1,14}[²³]?|[%‰€$£¥]|°[CF]?))"
)
_RATIO = re.compile(r"\d (?:in|of|out of|von|sur|de|su|van de) (?:\w+ )?\d")
_INEXACT = re.compile(
    r"\d\s?(?:[-–—~]|\.\.\.?|…)\s?\d|\d0(?:er|s|ies|['’]s)\b|[~≈±<>≤≥]\s?\d|\d(?:th|st|nd|rd)? cent"
)
_YEAR = re.compile(r"1\d{3}|20\d\d")
_MONTH = re.compile(
    "jan|feb|fev|ene|gen|mar[scz]?$|maar|mrt|apr|abr|avr|may|mai|mei|mag|jun|jui|giu|jul|lug|aug|aou"
    "|ago|sep|set|oct|okt|ott|outu|nov|dec|dez|dic"
)
_IN_WORDS = 20
"""Numbers up to this are often written as words."""


_FUNCTION_WORDS = frozenset(
    """the and was has had for are were its been being from with that this than then their there
    der die das den dem des ein eine einen einer und von vom war ist hat sind wurde les des une est
    dans par pour sur aux los las una uno del con por para fue era che non gli nel della dello stato
    uma dos das com foi het een van werd zijn""".split()  # noqa: SIM905
)


# Read with the module: the first reading to need them may be on an event loop.
_TABLE: dict[str, dict[str, list[str]]] = {
    kind: {key: [" ".join(one.split()) for one in row.split(",")] for key, row in rows.items()}
    for kind, rows in tomllib.loads(
        (resources.files(__package__) / "numbers.toml").read_text("utf-8")
    ).items()
}
_LOOSE = tuple(f" {cue} " for cues in _TABLE["loose"].values() for cue in cues)
_UNITS = {unit: kind for kind, listed in _TABLE["units"].items() for unit in listed}


class _Text(NamedTuple):
    """A text as it is compared."""

    stems: tuple[str, ...]
    """Words without function words, folded and cut, and numbers, in order."""
    numbers: frozenset[str]
    """Without separators of thousands."""


@lru_cache(maxsize=512)
def _read(text: str) -> _Text:
    stems, numbers = list[str](), list[str]()
    for word in _WORD.findall(text):
        if word[0].isdigit():
            numbers.append(_SEPARATOR.sub("", word))
            stems.append(numbers[-1])
        elif len(word) >= _SHORTEST and (folded := fold(word)) not in _FUNCTION_WORDS:
            stems.append(folded[:_STEM])
    return _Text(tuple(stems), frozenset(numbers))


def number_replaced(claim: str, document: str) -> str | None:
    """A number of a claim in whose place a document has another; None where there is none.

    That is a year where the document has only other years, a day of a month where it has only other
    days, or a number of things of which it has only other numbers. Round numbers, ranges and other
    units are passed over: they may well come to the same.
    """
    said, read = _read(claim), _read(document)
    ours, theirs = _counted(said), _counted(read)
    if not ours or _is_inexact(claim) or _has_other_unit(claim, document):
        return None
    missing = (
        number
        for what, numbers in ours.items()
        if what in theirs
        for number in sorted(numbers - read.numbers)
    )
    return next(missing, None)


def _is_inexact(text: str) -> bool:
    spoken = f" {' '.join(_WORD.findall(text)).casefold()} "
    return bool(_INEXACT.search(text)) or any(cue in spoken for cue in _LOOSE)


def _has_other_unit(claim: str, document: str) -> bool:
    """Whether a quantity of the claim stands in the document in another unit of its kind."""
    ours, theirs = _quantities(claim), _quantities(document)
    kinds = {kind for kind, _ in ours} & {kind for kind, _ in theirs}
    return any(
        {unit for of, unit in ours if of == kind}.isdisjoint(u for of, u in theirs if of == kind)
        for kind in kinds
    ) or any(kind == "scale" for kind, _ in ours ^ theirs)


def _quantities(text: str) -> frozenset[tuple[str, str]]:
    """Kind and name of each unit."""
    found = set()
    for match in _QUANTITY.finditer(text):
        unit = (match["before"] or match["unit"]).casefold()
        known = next((u for u in (unit, unit.removesuffix("s")) if u in _UNITS), None)
        if known is not None:
            found.add((_UNITS[known], known))
    if _RATIO.search(text):
        found.add(("share", "ratio"))
    return frozenset(found)


def _counted(text: _Text) -> dict[str, set[str]]:
    """Numbers by what they count: years, days, or the word after (or, without one, before) them."""
    found: dict[str, set[str]] = {}
    words = ["", *text.stems, ""]
    for before, number, after in zip(words, words[1:], words[2:], strict=False):
        if not number[:1].isdigit():
            continue
        if _YEAR.fullmatch(number):
            what = "year"
        elif _MONTH.match(after) or _MONTH.match(before):
            what = "day"
        elif number.isdecimal() and int(number) <= _IN_WORDS:
            continue
        else:
            what = after if after and not after[0].isdigit() else before
        if what:
            found.setdefault(what, set()).add(number)
    return found
