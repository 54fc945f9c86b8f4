"""Rewords short answers (dates, numbers, units and places), keeping or reducing their precision."""

import re
from random import Random

from training.pairs import claim_key

_MONTHS = (
    *("January", "February", "March", "April", "May", "June", "July", "August", "September"),
    *("October", "November", "December"),
)
_DAY_FIRST = re.compile(rf"(\d{{1,2}})(?:st|nd|rd|th)? ({'|'.join(_MONTHS)}),? (\d{{4}})")
_MONTH_FIRST = re.compile(rf"({'|'.join(_MONTHS)}) (\d{{1,2}})(?:st|nd|rd|th)?,? (\d{{4}})")
_MONTH_YEAR = re.compile(rf"({'|'.join(_MONTHS)}),? (\d{{4}})")
_GROUPED = re.compile(r"\d{1,3}(?:,\d{3})+")
_LONG = re.compile(r"(?<![\d.,])(?!(?:1[5-9]|20)\d\d\b)\d{4,9}(?![\d.,])")
_UNITS = {
    "km": "kilometres", "m": "metres", "cm": "centimetres", "mm": "millimetres", "kg": "kilograms",
    "ft": "feet", "mi": "miles", "lb": "pounds", "ha": "hectares", "cc": "cubic centimetres",
    "%": "percent",
}  # fmt: skip
_MEASURED = re.compile(rf"(\d) ?({'|'.join(map(re.escape, _UNITS))})(?!\w)")
_SAID_COUNTS = "zero one two three four five six seven eight nine ten eleven twelve"
_COUNTS = _SAID_COUNTS.split(" ")
_COUNTRY = re.compile(r", (?:USA|U\.S\.A?\.|US|United States|UK|United Kingdom)$")
_INITIAL = re.compile(r"(?<=[a-z]) [A-Z]\.(?= [A-Z][a-z])")


def restated(answer: str, rng: Random) -> str | None:
    """Return the same answer in a different form; None if no other form is known."""
    forms: list[str] = []
    if date := _date(answer):
        day, month, year = date
        forms = [f"{day} {month} {year}", f"{month} {day}, {year}", f"the {day} of {month} {year}"]
    elif _MEASURED.search(answer):
        forms = [_MEASURED.sub(lambda found: f"{found[1]} {_UNITS[found[2]]}", answer)]
    elif _GROUPED.search(answer):
        forms = [_GROUPED.sub(lambda found: found[0].replace(",", ""), answer)]
    elif _LONG.search(answer):
        forms = [_LONG.sub(lambda found: f"{int(found[0]):,}", answer)]
    elif answer.isdecimal() and int(answer) < len(_COUNTS):
        forms = [_COUNTS[int(answer)]]
    elif answer.lower() in _COUNTS:
        forms = [str(_COUNTS.index(answer.lower()))]
    elif _COUNTRY.search(answer):
        forms = [_COUNTRY.sub("", answer)]
    elif _INITIAL.search(answer):
        forms = [_INITIAL.sub("", answer)]
    others = [form for form in forms if form != answer]
    return rng.choice(others) if others else None


def coarser(answer: str) -> str | None:
    """Return a less exact answer that an answer implies, such as the year of a date; else None."""
    if date := _date(answer):
        return date[2]
    if found := _MONTH_YEAR.fullmatch(answer):
        return found[2]
    places = answer.split(", ")
    if 2 <= len(places) <= 3 and all(place[:1].isupper() for place in places):
        return places[-1]
    return None


def apart(one: str, other: str) -> bool:
    """Return whether two answers certainly differ: neither is part of the other."""
    first, second = set(claim_key(one).split()), set(claim_key(other).split())
    return not first <= second and not second <= first


def states(text: str, answer: str) -> bool:
    """Return whether a text contains an answer word for word, or a date in a different form."""
    key, words = f" {claim_key(text)} ", [claim_key(answer)]
    if date := _date(answer):
        day, month, year = date
        words += [f"{day} {month} {year}".lower(), f"{month} {day} {year}".lower()]
    return any(f" {form} " in key for form in words)


def _date(answer: str) -> tuple[str, str, str] | None:
    if found := _DAY_FIRST.fullmatch(answer.strip()):
        return found[1], found[2], found[3]
    if found := _MONTH_FIRST.fullmatch(answer.strip()):
        return found[2], found[1], found[3]
    return None
