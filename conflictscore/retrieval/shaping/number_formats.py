"""Writes the number in a spreadsheet cell as the cell's format code shows it.

Months and weekdays are written in English. Dates whose format depends on the reader's own settings
are written as year, month and day.
"""

import math
import operator
import re
from collections.abc import Callable
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal
from fractions import Fraction
from typing import NamedTuple

BUILT_IN = {
    0: "General", 1: "0", 2: "0.00", 3: "#,##0", 4: "#,##0.00", 9: "0%", 10: "0.00%",
    11: "0.00E+00", 12: "# ?/?", 13: "# ??/??", 14: "yyyy-mm-dd", 15: "d-mmm-yy", 16: "d-mmm",
    17: "mmm-yy", 18: "h:mm AM/PM", 19: "h:mm:ss AM/PM", 20: "h:mm", 21: "h:mm:ss",
    22: "yyyy-mm-dd h:mm", 32: "h:mm", 33: "h:mm:ss", 37: "#,##0 ;(#,##0)",
    38: "#,##0 ;(#,##0)", 39: "#,##0.00;(#,##0.00)", 40: "#,##0.00;(#,##0.00)", 45: "mm:ss",
    46: "[h]:mm:ss", 47: "mm:ss.0", 48: "##0.0E+0", 49: "@",
} | dict.fromkeys((27, 28, 29, 30, 31, 36, 50, 51, 54, 57, 58), "yyyy-mm-dd")  # fmt: skip
"""Format codes that files refer to by number. Numbers 14 and 22 depend on the reader's settings.
Numbers 27 to 36 and 50 to 58 depend on the language of an East Asian Excel. A number is included if
it means a date in all these languages, or a time in all of them."""
_LONGEST_CODE = 500  # Number of characters of a format code to read; Excel allows about 250.
_OWN_DATE = re.compile(r"\[\$-f[48]00\]", re.IGNORECASE)
"""Matches the code for a date or time in the format of the reader's system."""
# Quantifiers are bounded, so that matching a hostile text takes linear time.
_TOKEN = re.compile(
    r'"(?P<quoted>[^"]*)"?|\\(?P<escaped>.)|_(?P<space>.)|\*(?P<fill>.)|(?P<section>;)'
    r"|\[(?P<bracket>[^\[\]]{0,99})\]|(?P<general>general)|(?P<noon>am/pm|a/p)"
    r"|(?P<power>e[+-])|(?P<date>y+|m+|d+|h+|s+(?:\.0+)?)|(?P<era>e+|g+)|(?P<digit>[0#?])|(?P<point>\.)"
    r"|(?P<comma>,)|(?P<percent>%)|(?P<slash>/)|(?P<text>@)|(?P<literal>.)",
    re.IGNORECASE | re.DOTALL,
)
# The code of an elapsed time, "[h]", and a condition, "[>=100]"; both without brackets.
_ELAPSED = re.compile(r"h+|m+|s+", re.IGNORECASE)
_CONDITION = re.compile(r"(<=|>=|<>|<|>|=)\s*(-?\d+(?:\.\d+)?)")
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<": operator.lt, "<=": operator.le, "=": operator.eq, ">=": operator.ge, ">": operator.gt,
    "<>": operator.ne,
}  # fmt: skip
_CURRENCY = re.compile(r"\$([^-]*)(?:-.*)?")
_LAST_DAY = 2_958_465
"""31 December 9999, the last day of a spreadsheet's calendar."""
_DAYS_TO_1904 = 1462  # number of days from 1900 to 1904, when the calendar of old Mac files begins
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip
_DAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_SECONDS_OF_DAY = 86_400
# The format General writes a number with at most 10 digits, and in scientific notation if it is too
# small. Whole numbers keep up to 21 digits, since account numbers and the like must not be rounded.
_MOST_WHOLE_DIGITS, _MOST_DIGITS, _LEAST_EXPONENT = 21, 10, -4
_PRECISION = 26
"""Maximum number of digits used for rounding; numbers in files have at most 17."""


class _Token(NamedTuple):
    """A part of a format code; ``kind`` is the name of a group in ``_TOKEN``."""

    kind: str
    text: str


def shown_number(number: float, code: str, *, from_1904: bool = False) -> str:
    """Return a number as a cell with this format code shows it; empty if the code hides it."""
    if not math.isfinite(number):  # no format can display a number outside a cell's range
        return str(number)
    section, has_own_sign = _section_for(number, _sections(_without_own_dates(code or "General")))
    tokens = [token for token in section if token.kind != "condition"]
    kinds = {token.kind for token in tokens}
    if kinds & {"date", "elapsed"}:
        days = number + _DAYS_TO_1904 * from_1904
        # the rounded seconds must not lie after the last day, since Python's dates end there too
        return _date(tokens, days) if 0 <= days < _LAST_DAY + 0.99999 else general(number)
    if kinds & {"general", "text"}:
        return _around(tokens, general(abs(number) if has_own_sign else number))
    if not kinds & {"digit", "point"}:
        return _signed(number, _literals(tokens), has_own_sign)
    words = _digits(tokens, Decimal(repr(abs(float(number)))))
    is_zero = not any(character in "123456789" for character in words)
    return _signed(number, words, has_own_sign or is_zero)


def _without_own_dates(code: str) -> str:
    if not _OWN_DATE.search(code):
        return code
    return "yyyy-mm-dd" if "y" in code.lower() else "h:mm:ss"


def _signed(number: float, words: str, has_own_sign: bool) -> str:
    return f"-{words}" if number < 0 and words and not has_own_sign else words


def shown_text(text: str, code: str) -> str:
    """Return a text as a cell with this format code shows it; empty if the code hides it."""
    sections = _sections(code)
    last = sections[-1]
    # The fourth section is for text. With fewer sections, the last one is for text if it has "@".
    if len(sections) < 4 and not any(token.kind == "text" for token in last):
        return text
    return _around(last, text)


def general(number: float) -> str:
    """Return a number as a cell without a format shows it; whole numbers keep all digits."""
    if not math.isfinite(number):
        return str(number)
    exact = Decimal(repr(float(number)))
    if exact == exact.to_integral_value() and exact.adjusted() < _MOST_WHOLE_DIGITS:
        return f"{int(exact)}"
    if exact.adjusted() < _LEAST_EXPONENT or exact.adjusted() >= _MOST_WHOLE_DIGITS:
        # Excel shows five decimals in scientific notation
        mantissa, _, power = f"{exact:.5E}".partition("E")
        mantissa = mantissa.rstrip("0").rstrip(".")
        return f"{mantissa}E{power[0]}{power[1:]:0>2}"
    decimals = max(0, _MOST_DIGITS - 1 - max(exact.adjusted(), 0))
    return f"{_rounded(exact, decimals):f}".rstrip("0").rstrip(".")


def _around(tokens: list[_Token], words: str) -> str:
    """Return a section's literal text, with ``words`` in place of the number or text."""
    return "".join(words if t.kind in ("general", "text") else t.text for t in tokens)


def _sections(code: str) -> list[list[_Token]]:
    """Split a code into sections of tokens, for positive numbers, negative ones, zero and text."""
    sections: list[list[_Token]] = [[]]
    for match in _TOKEN.finditer(code[:_LONGEST_CODE]):
        kind, text = match.lastgroup or "", match[match.lastgroup or 0]
        if kind == "section":
            sections.append([])
            continue
        if kind == "bracket":
            kind, text = _bracket(text)
        if kind == "space":
            text = " "
        if kind != "fill" and kind:
            sections[-1].append(_Token(kind, text))
    return sections


def _bracket(text: str) -> tuple[str, str]:
    """Return the kind and text of a part in brackets; both are empty for colours and languages."""
    if _ELAPSED.fullmatch(text):
        return "elapsed", text
    if _CONDITION.fullmatch(text):
        return "condition", text
    currency = _CURRENCY.fullmatch(text)
    return ("literal", currency[1]) if currency and currency[1] else ("", "")


def _section_for(number: float, sections: list[list[_Token]]) -> tuple[list[_Token], bool]:
    """Return the section for a number, and whether the section itself shows the sign."""
    numeric = sections[:3]
    conditions = [_condition(section) for section in numeric]
    if any(conditions):
        places = (
            place for place, each in enumerate(conditions) if not each or _holds(each, number)
        )
        place = next(places, len(numeric) - 1)
        return numeric[place], number < 0 and _is_negative_only(conditions, place)
    if number < 0 and len(numeric) > 1:
        return numeric[1], True
    return numeric[2 if number == 0 and len(numeric) > 2 else 0], False


def _is_negative_only(conditions: list[re.Match[str] | None], place: int) -> bool:
    """Return whether a section with conditions applies to negative numbers only.

    Such a section is the first one with the condition "below 0", or the second one after "above 0".
    As in LibreOffice, every other section shows the sign of a negative number.
    """
    first = conditions[0]
    if first is None or float(first[2]) != 0:
        return False
    return first[1] in ("<", "<=") if place == 0 else place == 1 and first[1] in (">", ">=")


def _condition(section: list[_Token]) -> re.Match[str] | None:
    texts = (token.text for token in section if token.kind == "condition")
    return _CONDITION.fullmatch(next(texts, ""))


def _holds(condition: re.Match[str], number: float) -> bool:
    return _COMPARISONS[condition[1]](number, float(condition[2]))


def _rounded(exact: Decimal, decimals: int) -> Decimal:
    if exact.adjusted() + decimals > _PRECISION:  # the number has no further digits
        return exact
    return exact.quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP)


def _digits(tokens: list[_Token], exact: Decimal) -> str:
    """Format a non-negative number by a section that has digit placeholders."""
    exact = exact.scaleb(2 * sum(token.kind == "percent" for token in tokens))
    kinds = [token.kind for token in tokens]
    power = kinds.index("power") if "power" in kinds else None
    if power is not None:
        return _scientific(tokens, power, exact)
    slash = kinds.index("slash") if "slash" in kinds else None
    if slash is not None and "digit" in kinds[:slash]:
        return _fraction(tokens, slash, exact)
    point = kinds.index("point") if "point" in kinds else len(tokens)
    grouped, thousands = _commas(kinds, point)
    exact = exact.scaleb(-3 * thousands)
    decimals = kinds[point:].count("digit")
    whole, _, rest = f"{_rounded(exact, decimals):f}".partition(".")
    return _whole(tokens[:point], whole, grouped) + _decimals(
        tokens[point:], rest.ljust(decimals, "0")
    )


def _commas(kinds: list[str], point: int) -> tuple[bool, int]:
    """Return whether thousands are grouped, and how many times a number is divided by 1,000."""
    commas = [place for place, kind in enumerate(kinds) if kind == "comma"]
    last = max((n for n, kind in enumerate(kinds) if kind in ("digit", "point")), default=-1)
    # a comma between digits groups thousands; one after the last digit, or right before the point,
    # divides by 1,000
    grouped = any("digit" in kinds[:place] and "digit" in kinds[place:point] for place in commas)
    return grouped, sum(place > last or place == point - 1 for place in commas)


def _whole(tokens: list[_Token], digits: str, grouped: bool) -> str:
    """Put the digits before the point in their places, from the right.

    The first place takes all remaining digits.
    """
    digits = digits.lstrip("0")
    pieces: list[str] = []
    written = 0
    first = next((place for place, token in enumerate(tokens) if token.kind == "digit"), None)
    for place in range(len(tokens) - 1, -1, -1):
        token = tokens[place]
        if token.kind == "comma":
            continue
        if token.kind != "digit":
            pieces.append(token.text)
            continue
        last, digits = (digits[-1:], digits[:-1]) if place != first else (digits, "")
        for digit in reversed(last or {"0": "0", "?": " "}.get(token.text, "")):
            if grouped and written and written % 3 == 0 and digit != " ":
                pieces.append(",")
            pieces.append(digit)
            written += 1
    if first is None:
        pieces.append(digits)
    return "".join(reversed(pieces))


def _decimals(tokens: list[_Token], digits: str) -> str:
    """Write the point and the decimals; places marked ``#`` show no trailing zeros."""
    needed = len(digits.rstrip("0"))
    pieces: list[str] = []
    place = 0
    for token in tokens:
        if token.kind == "digit":
            digit = digits[place : place + 1]
            place += 1
            pieces.append(
                digit if place <= needed or token.text == "0" else " " * (token.text == "?")
            )
        elif token.kind != "comma":
            pieces.append(token.text)
    return "".join(pieces)


def _scientific(tokens: list[_Token], power: int, exact: Decimal) -> str:
    before = tokens[:power]
    kinds = [token.kind for token in before]
    step = max(1, kinds[: kinds.index("point") if "point" in kinds else None].count("digit"))
    decimals = kinds[kinds.index("point") :].count("digit") if "point" in kinds else 0
    exponent = exact.adjusted() // step * step if exact else 0
    if _rounded(exact.scaleb(-exponent), decimals) >= 10**step:
        exponent += step
    mantissa = _digits(before, exact.scaleb(-exponent))
    width = sum(token.kind == "digit" and token.text == "0" for token in tokens[power:])
    sign = "-" if exponent < 0 else "+" * ("+" in tokens[power].text)
    return f"{mantissa}E{sign}{abs(exponent):0{width}d}{_literals(tokens[power + 1 :])}"


def _fraction(tokens: list[_Token], slash: int, exact: Decimal) -> str:
    """Write a number as an integer and a fraction, or only as a fraction if the code says so."""
    start, end = _fraction_places(tokens, slash)
    has_whole = any(token.kind == "digit" for token in tokens[:start])
    whole = int(exact) if has_whole else 0
    below = "".join(token.text for token in tokens[slash + 1 : end])
    numerator, denominator = _nearest(Fraction(exact) - whole, below)
    if has_whole and numerator == denominator:
        whole, numerator = whole + 1, 0
    words = [f"{numerator}/{denominator}"] if numerator or not has_whole else []
    if whole or not words:
        words.insert(0, str(whole))
    return _literals(tokens[:start]).strip() + " ".join(words) + _literals(tokens[end:])


def _fraction_places(tokens: list[_Token], slash: int) -> tuple[int, int]:
    """Return the index of a fraction's first token and the index after its last token."""
    start, end = slash, slash + 1
    while start and tokens[start - 1].kind == "digit":
        start -= 1
    while end < len(tokens) and (tokens[end].kind == "digit" or tokens[end].text.isdecimal()):
        end += 1
    return start, end


def _literals(tokens: list[_Token]) -> str:
    return "".join(token.text for token in tokens if token.kind != "digit")


def _nearest(part: Fraction, below: str) -> tuple[int, int]:
    """Return the nearest numerator and denominator for the places of the denominator."""
    if below.isdecimal() and int(below):
        return int(part * int(below) + Fraction(1, 2)), int(below)
    # the denominator has as many digits as the format has places, but at least one and at most five
    near = part.limit_denominator(max(9, 10 ** min(len(below), 5) - 1))
    return near.numerator, near.denominator


def _date(tokens: list[_Token], days: float) -> str:
    """Write a moment in a section for dates; ``days`` counts from the start of the calendar."""
    decimals = max((t.text.count("0") for t in tokens if t.kind == "date"), default=0)
    # spreadsheets show at most thousandths of a second
    seconds = round(days * _SECONDS_OF_DAY, min(decimals, 3))
    # before March 1900, spreadsheets are a day off, since their calendar includes 29 February 1900
    epoch = datetime(1899, 12, 30 if days >= 61 else 31)  # noqa: DTZ001 - cells have no zone
    moment = epoch + timedelta(seconds=seconds)
    has_noon = any(token.kind == "noon" for token in tokens)
    pieces: list[str] = []
    units = [
        (place, token.text[0].lower())
        for place, token in enumerate(tokens)
        if token.kind in ("date", "elapsed")
    ]
    for place, token in enumerate(tokens):
        if token.kind == "elapsed":
            size = {"h": 3_600, "m": 60, "s": 1}[token.text[0].lower()]
            pieces.append(f"{int(seconds // size):0{len(token.text)}d}")
        elif token.kind == "noon":
            mark = "AM" if moment.hour < 12 else "PM"
            pieces.append(mark if len(token.text) > 3 else mark[0])
        elif token.kind in ("date", "era"):
            is_minute = token.text[0] in "mM" and _is_minute(units, place)
            pieces.append(_unit(token.text.lower(), moment, is_minute, has_noon))
        else:
            pieces.append(token.text)
    return "".join(pieces)


def _is_minute(units: list[tuple[int, str]], place: int) -> bool:
    """Return whether an ``m`` stands for minutes, since it follows hours or precedes seconds."""
    number = next(number for number, (each, _) in enumerate(units) if each == place)
    before = units[number - 1][1] if number else ""
    after = units[number + 1][1] if number + 1 < len(units) else ""
    return before == "h" or after == "s"


def _year(letter: str, width: int, year: int) -> str:
    if letter == "g":
        return ""  # the name of an East Asian era; its year ("e") is written in full
    return f"{year % 100:02d}" if letter == "y" and width < 3 else str(year)


def _unit(unit: str, moment: datetime, is_minute: bool, has_noon: bool) -> str:
    # the longest meaningful code has five letters: it stands for the first letter of a month
    letter, width = unit[0], min(len(unit), 5)
    if letter in "gey":
        return _year(letter, width, moment.year)
    if letter == "h":
        hour = (moment.hour % 12 or 12) if has_noon else moment.hour
        return f"{hour:0{min(width, 2)}d}"
    if letter == "s":
        whole, _, decimals = unit.partition(".")
        part = f"{moment.microsecond:06d}"[: len(decimals)]
        return f"{moment.second:0{min(len(whole), 2)}d}{'.' * bool(part)}{part}"
    if is_minute:
        return f"{moment.minute:0{min(width, 2)}d}"
    number = moment.month if letter == "m" else moment.day
    if width < 3:
        return f"{number:0{width}d}"
    # "mmm" and "ddd" are three letters of the name, "mmmmm" is one, and "mmmm" the whole name
    name = _MONTHS[number - 1] if letter == "m" else _DAYS[moment.weekday()]
    return name[:1] if width == 5 and letter == "m" else name[:3] if width == 3 else name
