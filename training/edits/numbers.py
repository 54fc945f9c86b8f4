"""Changing a number or a date, and saying within which bounds a number lies."""

import re
from random import Random

from training.edits.edit import MONTHS, asserts, denies

__all__ = ["break_bound", "change_date", "change_number", "keep_bound"]

_BOUNDS = (
    r"(?:more|less|fewer|greater|higher|lower|larger|smaller|older|younger|longer|shorter) than"
    r"|at (?:least|most)|up to|over|under|above|below|about|around|approximately|nearly|almost"
    r"|roughly|some|by|until|since|before|after|between|from|to|within|exceed(?:s|ed|ing)?"
    r"|circa|c\.|ca\.|only|first|another|additional|maximum of|minimum of|or|and|than|[<>=≤≥~±–-]"
)
_BOUNDED = re.compile(rf"(?:\b|(?<=\s))(?:{_BOUNDS})\s*[$€£]?\s*$", re.IGNORECASE)
_RANGE_AFTER = re.compile(
    r"\s*(?:[-–±/:]|to \d|and \d|(?:\w+ )?(?:or|and) (?:more|less|fewer|older|younger|above|over"
    r"|so)|BC|BCE|AD)"
)
_YEAR = re.compile(r"(?<![\w$€£.,/–-])(1[5-9]\d\d|20[0-2]\d)(?![\w%]|[.,/–-]\d|s\b)")
_IN_YEAR = re.compile(
    r"\b((?:born|died|founded|established|built|opened|released|published|completed|created|held"
    r"|launched|introduced|discovered|signed|elected|won|began|started|ended|formed)) in"
    r" (1[5-9]\d\d|20[0-2]\d)(?!\d|s\b|[-–/]|[ ]?(?:to|and|or|BC)\b)"
)
_ANY_MONTH = "|".join(MONTHS)
_MONTH = re.compile(
    rf"\b({_ANY_MONTH})(?= \d{{1,2}},? \d{{4}}\b| \d{{4}}\b)|(?<=\d )({_ANY_MONTH})\b"
)
_DATE_BEFORE = re.compile(
    rf"\b(?:\d{{1,2}}\s+)?(?:{_ANY_MONTH})(?: \d{{1,2}},?)?\s*$|\b\d{{1,2}}\s+$"
)
"""Part of a date before its year or its month."""
_NUMBER = re.compile(
    r"(?<![\w$€£.,/–:-])([1-9]\d{0,2}(?:,\d{3})+|[1-9]\d*|\d+\.\d+)(?![\w:/]|[.,–-]\d|(?:st|nd|rd|th)\b)"
)
_COUNTED = re.compile(r"\s*%|\s+(?:percent|per cent|million|billion|[a-z]{4,})\b")
_LABEL_BEFORE = re.compile(
    r"(?:\b(?:figure|fig|table|chapter|section|step|phase|type|grade|stage|group|day|week|no|number"
    r"|article|page|version|volume|season|episode|round|level|class|covid|route|highway|p|n|ci"
    r"|ref|cor)\.?\s*|[A-Z][\w'’]*\s+|[([=<>]\s*)$"
)
_PERCENT = re.compile(r"\s*(?:%|percent\b|per cent\b)")
_DETERMINED = re.compile(
    r"\b(?:an?|the|of|every|each|his|her|its|their|these|those|past|last|next|upper|lower|top|final"
    r"|other|same|initial|remaining|further|[a-z]+(?:er|est|al|ous|ive)) $"
)
_AT = re.compile(r"\b(?:at|after) $", re.IGNORECASE)
_TIME = re.compile(r"\s+(?:second|minute|hour|day|week|month|year)s?\b")


def change_date(sentence: str, rng: Random) -> str | None:
    """Put another year or month in the place of one; never the end of a range or of a bound."""
    if not asserts(sentence) or denies(sentence):
        return None
    years = [
        found
        for found in _YEAR.finditer(sentence)
        if _free(sentence, found)
        and not _in_bound(sentence, found)
        and sentence.count(found[0]) == 1
        and not sentence[: found.start()].endswith(("(", "[", "disease "))
    ]
    months = [
        found
        for found in _MONTH.finditer(sentence)
        if sentence.count(found[0]) == 1 and not _in_bound(sentence, found)
    ]
    if months and (not years or rng.random() < 0.3):
        month = rng.choice(months)
        others = [name for name in MONTHS if name not in sentence]
        return _replaced(sentence, month, rng.choice(others)) if others else None
    if not years:
        return None
    found = rng.choice(years)
    off = rng.choice((2, 3, 5, 8, 10, 12, 17, 20, 25, 30, 40)) * rng.choice((-1, 1))
    other = int(found[0]) + off
    if not 1400 < other < 2030 or str(other) in sentence:
        other = int(found[0]) - off
    return None if str(other) in sentence else _replaced(sentence, found, str(other))


def change_number(sentence: str, rng: Random) -> str | None:
    """Put a clearly different number in the place of one that counts or measures something.

    Not of a bound, since "more than 5" follows from "more than 9"; of a range; of a citation; of
    what is only numbered, such as a table; or of a time at which something was measured.
    """
    found = _numbers(sentence)
    if not asserts(sentence) or denies(sentence) or not found:
        return None
    number = rng.choice(found)
    other = _another(number[1], rng)
    if other is None or re.search(rf"(?<![\d.,]){re.escape(other)}(?![\d])", sentence):
        return None
    percent = _PERCENT.match(sentence[number.end() :])
    if percent and float(other.replace(",", "")) > 100:
        return None
    return _replaced(sentence, number, other)


def keep_bound(sentence: str, rng: Random) -> str | None:
    """Say a bound in the place of a number or a year, one that it keeps."""
    return _bounded(sentence, rng, kept=True)


def break_bound(sentence: str, rng: Random) -> str | None:
    """Say a bound in the place of a number or a year, one that it breaks."""
    return _bounded(sentence, rng, kept=False)


def _bounded(sentence: str, rng: Random, *, kept: bool) -> str | None:
    if not asserts(sentence) or denies(sentence):
        return None
    years = list(_IN_YEAR.finditer(sentence))
    if years:
        found = rng.choice(years)
        year, off = int(found[2]), rng.choice((2, 4, 6, 9, 15, 25))
        kinds = {
            (True, 0): f"before {year + off}",
            (True, 1): f"after {year - off}",
            (True, 2): f"in the {year // 10 * 10}s",
            (False, 0): f"before {year - off}",
            (False, 1): f"after {year + off}",
            (False, 2): f"in the {year // 10 * 10 + rng.choice((-20, -10, 10))}s",
        }
        said = f"{found[1]} {kinds[kept, rng.randrange(3)]}"
        return sentence[: found.start()] + said + sentence[found.end() :]
    numbers = [
        found
        for found in _numbers(sentence)
        if float(found[1].replace(",", "")) >= 10
        and "." not in found[1]
        and not _DETERMINED.search(sentence[: found.start()])
        and not (_PERCENT.match(sentence[found.end() :]) and float(found[1].replace(",", "")) > 50)
    ]
    if not numbers:
        return None
    found = rng.choice(numbers)
    value, more = int(found[1].replace(",", "")), rng.random() < 0.5
    factor = rng.choice((0.5, 0.7, 0.8, 0.9)) if more is kept else rng.choice((1.1, 1.25, 1.5, 2.0))
    bound = _rounded(value * factor)
    if bound == value or (bound < value) is not (factor < 1):
        return None
    said = f"{'more' if more else 'fewer' if _plural(sentence, found) else 'less'} than"
    return _replaced(sentence, found, f"{said} {_written(bound, found[1])}")


def _plural(sentence: str, found: re.Match[str]) -> bool:
    return bool(re.match(r"\s+(?:\w+\s+)?[a-z]+s\b", sentence[found.end() :]))


def _rounded(value: float) -> int:
    """To two leading digits, as bounds are said."""
    step = 10 ** max(0, len(str(int(value))) - 2)
    return int(value // step * step)


def _numbers(sentence: str) -> list[re.Match[str]]:
    return [
        found
        for found in _NUMBER.finditer(sentence)
        if _free(sentence, found)
        and not _YEAR.fullmatch(found[1])
        and not _LABEL_BEFORE.search(sentence[: found.start()])
        and _COUNTED.match(sentence[found.end() :])
        and not re.match(rf"\s+(?:{_ANY_MONTH})\b", sentence[found.end() :])
        and not (_AT.search(sentence[: found.start()]) and _TIME.match(sentence[found.end() :]))
        and sentence.count("(", 0, found.start()) == sentence.count(")", 0, found.start())
    ]


def _free(sentence: str, found: re.Match[str]) -> bool:
    """Whether a number stands for itself, not for a bound or a range."""
    before, after = sentence[: found.start()], sentence[found.end() :]
    return not _BOUNDED.search(before) and not _RANGE_AFTER.match(after)


def _in_bound(sentence: str, found: re.Match[str]) -> bool:
    """Whether a year or a month is of a date that is a bound or ends a range."""
    return _BOUNDED.search(_DATE_BEFORE.sub("", sentence[: found.start()])) is not None


def _another(number: str, rng: Random) -> str | None:
    value = float(number.replace(",", ""))
    factor = rng.choice((0.2, 0.35, 0.5, 0.6, 1.7, 2.0, 3.0, 5.0))
    if "." in number:
        places = len(number.split(".")[1])
        other = f"{value * factor:.{places}f}"
        return other if float(other) not in (value, 0.0) else None
    changed = round(value * factor)
    if value < 10:
        changed = rng.choice([digit for digit in range(2, 13) if digit != value])
    if changed in (value, 0):
        return None
    return _written(changed, number)


def _written(value: int, like: str) -> str:
    return f"{value:,}" if "," in like or (value >= 10_000) else str(value)


def _replaced(sentence: str, found: re.Match[str], by: str) -> str:
    return sentence[: found.start()] + by + sentence[found.end() :]
