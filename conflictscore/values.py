"""Functions that read the values in a statement: dates, and numbers with their sign and unit.

"1.2 km" and "1,200 m" are the same value; "900 thousand" and "1.2 million" are not. A number that
is read differently in different countries, such as "12.400", has both readings. Two numbers differ
only if none of their readings agree. So when in doubt, two statements are assumed to agree.
"""

import re
from collections.abc import Iterator
from functools import lru_cache
from math import isclose
from typing import NamedTuple

from conflictscore.calendar_words import MONTHS, USUAL_LETTERS, decade_at
from conflictscore.number_words import NUMBER_WORD, NUMBER_WORDS, number_of
from conflictscore.units import MAGNITUDES, SHORT_MAGNITUDES, UNITS

# At most this many characters of a statement are read; real statements are far shorter.
_MOST_COMPARED = 2000
_SAME = 1e-9  # maximum relative difference that conversion between units can cause
_ROUNDED = 0.02
"""Values in different units count as equal up to this relative difference (such as "31 m" and "102
feet"), since texts round converted values. Chosen by hand."""

_MOST_PARTS = 6
"""How many parts of a version number are read; further parts make a difference below ``_SAME``."""

DECADE = "decade"
"""The dimension of decades, such as "the 1990s", whose readings are their years."""
# A word or a sign that may be a unit; the "s" of "1990s" is none.
_UNIT_WORD = re.compile(r"(?!(?<=\d\d\d0)s\b)[^\W\d_]+[²³]?|[€$£¥%円°]")
# Words that mean a temperature even without a number before them, such as German "Grad".
_DEGREES = frozenset(("°", "degree", "degrees", "celsius", "fahrenheit", "grad"))

_MONTH = "|".join(sorted(map(re.escape, MONTHS), key=len, reverse=True))
# Dates such as "3 May 1931", "May 3rd, 1931", "1931-05-03", "May 1931", "1931年5月3日", "3.5.1931"
# and "31/12/1931". In figures, dots mean that the day comes first; with slashes, either may.
_DATE = re.compile(
    rf"(?<![\w.])(?=[\d{''.join(sorted({name[0] for name in MONTHS}))}])(?:"  # saves most attempts
    rf"(?P<day>\d{{1,2}})(?:st|nd|rd|th|\.|er)?\s{{1,2}}(?:of |de |di )?(?P<month>{_MONTH})\b\.?"
    r"(?:,?\s{1,2}(?:de |of |del )?(?P<year>\d{4})(?!\d))?"
    rf"|(?P<month2>{_MONTH})\b\.?\s{{1,2}}(?P<day2>\d{{1,2}})(?:st|nd|rd|th)?(?!\d)"
    r"(?:,?\s{1,2}(?P<year2>\d{4})(?!\d))?"
    r"|(?P<year3>\d{4})(?P<sign>[-/.])(?P<month3>\d{2})(?P=sign)(?P<day3>\d{2})(?!\d)"
    rf"|(?P<month4>{_MONTH})\b\.?,?\s{{1,2}}(?:de |of )?(?P<year4>\d{{4}})(?!\d)"
    r"|(?P<year5>\d{4})年(?:(?P<month5>\d{1,2})月(?:(?P<day5>\d{1,2})日)?)?"
    r"|(?P<day6>\d{1,2})\.\s?(?P<month6>\d{1,2})\.\s?(?P<year6>\d{4})(?!\d|\.\d)"
    r"|(?P<day7>\d{1,2})/(?P<month7>\d{1,2})/(?P<year7>\d{4})(?![\d/])"
    r")",
    re.IGNORECASE,
)
# "18 may drive" has no date.
_VERB = re.compile(r"\d may\Z")
# A space within or after a number: usual, no-break, thin (as in the SI), and narrow no-break.
_SPACE = " \u00a0\u2009\u202f"
# What may follow a number: a degree, a magnitude ("million") and a unit.
_AMOUNT_BEHIND = (
    rf"(?:[{_SPACE}-]?(?P<degree>°\s?[CFcf]\b|degrees? [cf](?:elsius|ahrenheit)?\b))?"
    rf"(?:[{_SPACE}-]?(?P<magnitude>[^\W\d_]{{2,12}}|[万億亿k](?!\w))\.?"
    r"(?=[\s\u00a0$€£¥%,.;:!?)]|$))?"
    rf"(?:[{_SPACE}-]?(?P<unit>[€$£¥%円]|[^\W\d_]{{1,14}}+(?:/h)?[²³]?(?!\.\w)))?"
)
# Numbers with sign, currency, degree, magnitude and unit, such as "-12.5 °C", "$3 million" and "120
# km/h". A hyphen after a word or digit is not a minus sign.
_NUMBER = re.compile(
    r"(?P<sign>(?<![\w\d.,])(?:[-\u2212\u2013](?=\d)|[-\u2212\u2013](?=[$€£¥]\d)|minus\s))?"
    r"(?P<currency>(?:US)?[$€£¥]\s?)?"
    rf"(?<![\d.,])(?P<number>\d{{1,3}}(?:[{_SPACE}'\u2019]\d{{3}})+(?:[.,]\d{{1,6}})?(?!\d)"
    rf"|\d+(?:[.,]\d+)*){_AMOUNT_BEHIND}",
    re.IGNORECASE,
)
# Like ``_NUMBER``, but for numbers in words, which have no currency before them.
_IN_WORDS = re.compile(
    rf"(?P<sign>)(?P<currency>)(?P<number>{NUMBER_WORD}){_AMOUNT_BEHIND}", re.IGNORECASE
)
# A word that can begin a number in words; the second part of "cloud-nine" does not.
_LETTERS = re.compile(r"(?<![^\W\d_]-)[^\W\d_]{3,20}")
_MINUS = re.compile(r"minus\s", re.IGNORECASE)
_DIGIT = re.compile(r"\d")
_PREFIX_CHARS = 10  # The longest sign and currency before the digits: "minus US$ ".
_LONG_CHARS = 2000  # In longer texts, only places near digits are tried.
# Numbers with thousands separators, all of the same kind.
_GROUPED = re.compile(r"\d{1,3}([.,])\d{3}(?:\1\d{3})*")
# Numbers with Indian separators, such as "1,23,456". A list without spaces can look the same.
_LAKHS = re.compile(r"\d{1,2}(?:,\d{2})+,\d{3}")


class StatedValue(NamedTuple):
    """A number, amount or date in a statement, and its position.

    Attributes:
        span: The start and end offsets, including sign, magnitude and unit.
        readings: The possible numbers, in the base unit of the dimension; empty for a date.
        dimension: The dimension of its unit, or its currency; None if it has no known unit or
            currency.
        unit: The unit as written; empty if it has no known unit.
        bare: The readings before any conversion, for comparison with a number without a unit, as in
            a table that states its unit elsewhere.
        date: Year, month and day, each None if not stated; None for a number.
        digits: The number as written, without its sign and unit; empty for a date.
    """

    span: tuple[int, int]
    readings: frozenset[float] = frozenset()
    dimension: str | None = None
    date: tuple[int | None, int | None, int | None] | None = None
    unit: str = ""
    bare: frozenset[float] = frozenset()
    digits: str = ""

    @property
    def is_year(self) -> bool:
        """Return whether the value is a year, or a plain number that may be a year."""
        if self.date is not None:
            return self.date[1:] == (None, None)
        plain = self.dimension is None and not self.unit and len(self.readings) == 1
        # four digits, at most a century ahead: 3500 is seldom a year
        return plain and 1000 <= min(self.readings) <= 2100 and self.span[1] - self.span[0] == 4

    def is_said_by(self, another: "StatedValue") -> bool:
        """Return whether another value includes this one: "1871" does not include "3 May 1871"."""
        if self.date is None or another.date is None:
            # a plain year is only a part of a date
            has_more_parts = self.date is not None and self.date[1:] != (None, None)
            is_in_decade = another.dimension == DECADE and self.dimension != DECADE
            return self.agrees(another) and not has_more_parts and not is_in_decade
        parts = zip(self.date, another.date, strict=True)
        return self.agrees(another) and all(a is None or b is not None for a, b in parts)

    def agrees(self, another: "StatedValue") -> bool:
        """Return whether two values may agree, allowing for units, rounding and partial dates."""
        if DECADE in (self.dimension, another.dimension):
            return not self._possible_years.isdisjoint(another._possible_years)
        if self.date is not None or another.date is not None:
            return _dates_agree(self, another)
        if self.dimension and another.dimension and self.dimension != another.dimension:
            return False
        if self.dimension is None or another.dimension is None:
            return _close(self.bare, another.bare, _SAME)
        within = _SAME if self._unit_key == another._unit_key else _ROUNDED
        if self.digits == another.digits:
            # the same digits are read in the same way, so "1,900 km" is not "1,900 m"
            pairs = zip(sorted(self.readings), sorted(another.readings), strict=False)
            return any(isclose(own, other, rel_tol=within) for own, other in pairs)
        return _close(self.readings, another.readings, within)

    @property
    def _possible_years(self) -> frozenset[float]:
        """The years that a date, a decade or a number without a unit may state."""
        if self.date is not None:
            return frozenset(float(year) for year in self.date[:1] if year is not None)
        return self.bare if self.dimension in (None, DECADE) else frozenset()

    @property
    def _unit_key(self) -> object:
        """A key that is the same for all spellings of a unit, such as "km" and "kilometres"."""
        unit = self.unit.casefold()
        return "f" in unit if self.dimension == "temperature" else UNITS.get(unit, unit)


def _close(readings: frozenset[float], others: frozenset[float], within: float) -> bool:
    return any(isclose(a, b, rel_tol=within) for a in readings for b in others)


def _dates_agree(first: StatedValue, second: StatedValue) -> bool:
    """Return whether two dates agree in all the parts that both have."""
    first_date, second_date = (each.date or _as_year(each) for each in (first, second))
    if first_date is None or second_date is None:
        return False
    parts = zip(first_date, second_date, strict=True)
    common_parts = [(a, b) for a, b in parts if a is not None and b is not None]
    return bool(common_parts) and all(a == b for a, b in common_parts)


def _as_year(number: StatedValue) -> tuple[int, None, None] | None:
    return (int(min(number.readings)), None, None) if number.is_year else None


@lru_cache(maxsize=512)  # the statements of an answer are compared with one another
def values_in(text: str) -> tuple[StatedValue, ...]:
    """Return the values in a statement, in order; the end of a very long statement is ignored."""
    return all_values_in(text[:_MOST_COMPARED])


def values_beyond(text: str, question: str) -> tuple[StatedValue, ...]:
    """Return the values in a statement that are not in its question.

    A date is included even if the question states its year. So is a number that occurs more often
    in the statement than in the question, as in "The Osk 200 race has 200 laps".
    """
    of_question, new = [*values_in(question)], list[StatedValue]()
    for each in values_in(text):
        said = next((asked for asked in of_question if each.is_said_by(asked)), None)
        if said is None:
            new.append(each)
        else:
            of_question.remove(said)
    return tuple(new)


def without_dates(text: str) -> str:
    """Return a statement without its dates, whose months are capitalised like names."""
    for each in reversed(values_in(text)):
        if each.date is not None:
            text = f"{text[: each.span[0]]}{text[each.span[1] :]}"
    return text


def dimensions_in(text: str) -> frozenset[str]:
    """Return the dimensions of all words in a text that can be units, even without a number."""
    words = _UNIT_WORD.findall(text.casefold())
    named = {UNITS[word][0] for word in words if word in UNITS}
    return frozenset(named if _DEGREES.isdisjoint(words) else {*named, "temperature"})


def all_values_in(text: str) -> tuple[StatedValue, ...]:
    """Return the values of a text of any length, in order."""
    if not text.isascii():
        text = text.translate(USUAL_LETTERS)
    dates = [*_dates(text)]
    stated_values, end = list[StatedValue](), 0
    for each in sorted([*dates, *_numbers(text)], key=lambda each: (each.span[0], -each.span[1])):
        if each.span[0] >= end:  # the day of a date is not a separate number
            stated_values.append(each)
            end = each.span[1]
    return tuple(stated_values)


def _dates(text: str) -> Iterator[StatedValue]:
    """Yield the dates in a text; a date that can be read in two ways is left as plain numbers."""
    for match in _DATE.finditer(text):
        date = None if _VERB.search(match[0]) else _date_of(match)
        if date is not None and (date[1] or 1) <= 12 and (date[2] or 1) <= 31:
            yield StatedValue(match.span(), date=date)


def _date_of(match: re.Match[str]) -> tuple[int | None, int | None, int | None] | None:
    """Return year, month and day of a match; None if the order of month and day is uncertain."""
    if match["day7"]:
        first, second = int(match["day7"]), int(match["month7"])
        if first <= 12 and second <= 12:  # "3/5/1931" may be in March or in May
            return None
        return int(match["year7"]), min(first, second), max(first, second)
    # each other alternative of the pattern has separate groups: year, year2, year3, ...
    fields = {name.rstrip("23456"): text for name, text in match.groupdict().items() if text}
    month = fields.get("month")
    number = None if month is None else MONTHS.get(month.casefold()) or int(month)
    year, day = (int(fields[name]) if name in fields else None for name in ("year", "day"))
    return year, number, day


def _near_digits(text: str) -> Iterator[re.Match[str]]:
    """Yield the matches of ``_NUMBER``, without trying positions that are far from any digit.

    A search that tries every position of a long text blocks all other threads until it ends.
    """
    position = 0
    while digit := _DIGIT.search(text, position):
        match = _NUMBER.search(text, max(position, digit.start() - _PREFIX_CHARS))
        if match is None:
            return
        yield match
        position = match.end()


class _Amount(NamedTuple):
    """The magnitude and unit after the digits of a number, and the offset where they end."""

    end: int
    magnitude: float = 1.0
    dimension: str | None = None
    unit: str = ""
    factor: float = 1.0  # the factor converts the unit to the base unit of its dimension


def _numbers(text: str) -> Iterator[StatedValue]:
    """Yield the numbers written in digits, then the numbers written in words."""
    is_long = len(text) > _LONG_CHARS
    for match in _near_digits(text) if is_long else _NUMBER.finditer(text):
        number = _number(match, _readings(match["number"]), is_negative=bool(match["sign"]))
        yield _decade(match) or number
    end = 0
    for letters in _LETTERS.finditer(text):
        if letters.start() < end or letters[0].lower() not in NUMBER_WORDS:
            continue
        in_words = _IN_WORDS.match(text, letters.start())
        if in_words:
            # "minus" and a space are six characters
            negative = _MINUS.match(text, max(letters.start() - 6, 0), letters.start())
            readings = frozenset([number_of(in_words["number"])])
            stated_value = _number(in_words, readings, is_negative=bool(negative))
            yield stated_value
            end = stated_value.span[1]


def _number(match: re.Match[str], readings: frozenset[float], *, is_negative: bool) -> StatedValue:
    """Return the number in a match, with its sign, currency, magnitude and unit.

    Temperatures are converted to degrees Celsius.
    """
    amount = _amount_behind(match)
    readings = _with_kelvin(match, readings)
    start, dimension, unit = match.start("number"), amount.dimension, amount.unit
    if match["currency"]:
        unit, start = match["currency"].strip(), match.start("currency")
        dimension = unit[-1]
    if match["sign"]:
        start = match.start("sign")
    bare, in_base_unit = readings, readings
    if is_negative or amount.magnitude != 1.0 or amount.factor != 1.0:
        sign = -1.0 if is_negative else 1.0
        bare = frozenset([sign * amount.magnitude * reading for reading in readings])
        in_base_unit = frozenset([amount.factor * reading for reading in bare])
    if dimension == "temperature" and "f" in unit.casefold():
        in_base_unit = frozenset((reading - 32) / 1.8 for reading in bare)
    if unit == "m":  # "5 m" can be five million
        bare = frozenset([*bare, *(1e6 * reading for reading in bare)])
    return StatedValue(
        (start, amount.end), in_base_unit, dimension, unit=unit, bare=bare, digits=match["number"]
    )


def _decade(match: re.Match[str]) -> StatedValue | None:
    """Return the decade that a number states, as in "the 1990s"; None if it states none."""
    place = match.span("number")
    decade = None if match["sign"] or match["currency"] else decade_at(match.string, *place)
    if decade is None:
        return None
    span = (decade.start, decade.end)
    return StatedValue(span, decade.years, DECADE, bare=decade.years, digits=match["number"])


def _with_kelvin(match: re.Match[str], readings: frozenset[float]) -> frozenset[float]:
    """Return the numbers to multiply by a magnitude; "300 K" can be 300 thousand or 300 kelvin."""
    may_be_kelvin = match["magnitude"] == "K" and not match["currency"]
    return readings.union(reading / 1e3 for reading in readings if may_be_kelvin)


def _amount_behind(match: re.Match[str]) -> _Amount:
    """Return the magnitude and unit of a number; the word after it may be either, or neither.

    The pattern puts the first word into the group ``magnitude``, whatever it is. A word that is not
    a magnitude is tried as a unit.
    """
    if match["degree"]:
        return _Amount(match.end("degree"), dimension="temperature", unit=match["degree"])
    magnitude, end, unit_group = 1.0, match.end("number"), "unit"
    word = match["magnitude"] and match["magnitude"].casefold()
    if word in MAGNITUDES or word == "k":
        magnitude, end = MAGNITUDES.get(word, 1e3), match.end("magnitude")
    elif word:
        unit_group = "magnitude"
    unit = match[unit_group]
    if match["currency"] and unit in SHORT_MAGNITUDES:  # "£5m" is not a length
        return _Amount(match.end(unit_group), SHORT_MAGNITUDES[unit])
    if not unit or unit.casefold() not in UNITS:
        return _Amount(end, magnitude)
    dimension, factor = UNITS[unit.casefold()]
    return _Amount(match.end(unit_group), magnitude, dimension, unit, factor)


def _readings(digits: str) -> frozenset[float]:
    """Return the possible numbers; there are two if the only separator precedes three digits."""
    if digits.isdecimal():
        return frozenset([float(digits)])
    plain = re.sub(rf"[{_SPACE}'\u2019]", "", digits)
    marks = [mark for mark in plain if mark in ".,"]
    if not marks:
        return frozenset([float(plain)])
    if len(set(marks)) == 2:  # the last separator is the decimal mark: "1,234.5"
        decimal = marks[-1]
        whole, _, part = plain.rpartition(decimal)
        return frozenset([float(f"{re.sub('[.,]', '', whole)}.{re.sub('[.,]', '', part)}")])
    without_marks = float(re.sub("[.,]", "", plain))
    if len(marks) > 1 and not _GROUPED.fullmatch(plain):  # A version or section number: "2.1.3".
        # Each part gets three digits, so that 2.1.3 differs from 2.13. Later parts are dropped:
        # they are too small to matter, and their powers would take quadratic time.
        parts = re.split("[.,]", plain)[:_MOST_PARTS]
        version = sum(float(part) / 1000**place for place, part in enumerate(parts))
        return frozenset([version, without_marks] if _LAKHS.fullmatch(plain) else [version])
    if len(marks) > 1:
        return frozenset([without_marks])
    fraction = float(plain.replace(",", "."))
    return (
        frozenset([without_marks, fraction]) if _GROUPED.fullmatch(plain) else frozenset([fraction])
    )
