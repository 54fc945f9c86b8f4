"""Names of months, and decades as written in several languages."""

import re
from collections.abc import Mapping
from typing import NamedTuple

MONTHS: Mapping[str, int] = {
    name: number
    for number, names in enumerate(
        (
            "january jan januar jänner janvier enero gennaio janeiro januari stycznia января",
            "february feb februar février febrero febbraio fevereiro februari lutego февраля",
            "march mar märz mars marzo março maart marca марта",
            "april apr avril abril aprile kwietnia апреля",
            "may mai mayo maggio maio mei maj maja мая",
            "june jun juni juin junio giugno junho czerwca июня",
            "july jul juli juillet julio luglio julho lipca июля",
            "august aug août agosto augustus augusti sierpnia августа",
            "september sep sept septembre septiembre settembre setembro września сентября",
            "october oct oktober octobre octubre ottobre outubro października октября",
            "november nov novembre noviembre novembro listopada ноября",
            "december dec dezember décembre diciembre dicembre dezembro grudnia декабря",
        ),
        start=1,
    )
    for name in names.split()
}

# With IGNORECASE, a pattern matches these letters like the usual ones, but ``lower`` does not
# convert them: "APR\u0130L" would be a month that no table has. Each is replaced by a single
# letter, so that offsets stay the same.
USUAL_LETTERS = str.maketrans(
    {
        "\u0130": "I",  # Capital i with a dot.
        "\u0131": "i",  # Small i without a dot.
        "\u017f": "s",  # Long s.
        "\u1c80": "\u0432",  # Rounded Cyrillic letters.
        "\u1c81": "\u0434",
        "\u1c82": "\u043e",
        "\u1c83": "\u0441",
        "\u1c84": "\u0442",
        "\u1c85": "\u0442",
        "\u1c86": "\u044a",
    }
)
# Centuries that a decade in two digits, such as "the 90s", may belong to.
_CENTURIES = (1800, 1900, 2000)
_NUMBER = re.compile(r"(?:1\d|20)\d0|[1-9]0")
# What follows the digits of a decade: "1990s", "1990's", "1990er", Swedish "1990-talet", Finnish
# "1990-luvulla", "1990年代", and the Russian endings.
_ENDING = re.compile(
    r"(?:['\u2019]?s|['\u2019]?er(?:ne|[ns])?|-?tal(?:l?et)?|-?luvu\w{1,4}"
    r"|-?(?:\u0435|\u0445|\u044b\u0435|\u044b\u0445))(?!\w)|年代",
    re.IGNORECASE,
)
# A decade in two digits: "90s" without "the" or an apostrophe before it may be 90 seconds, and
# German "30er" without "Jahre" a speed limit.
_SHORT_ENDING = re.compile(r"['\u2019]?s(?!\w)|er[ns]?(?=[ -]jahre)|年代", re.IGNORECASE)
_BEFORE_SHORT = re.compile(r"(?:\bthe\s|['\u2018\u2019])\Z", re.IGNORECASE)
# Words for "years" before a decade: French "années 1990", Italian "anni 90".
_YEARS = re.compile(
    r"\b(?:années|anni|años|anos|jaren|décennie|decennio|década de)\s\Z", re.IGNORECASE
)
_LONGEST_BEFORE = 12  # characters; the longest of these words with a space


class Decade(NamedTuple):
    """The years that a decade may contain, and the offsets of its start and end in a text."""

    years: frozenset[float]
    start: int
    end: int


def decade_at(text: str, start: int, end: int) -> Decade | None:
    """Return the decade that the digits between two offsets of a text state; None if they do not.

    "1900s" may be ten or a hundred years, so it includes a hundred.
    """
    digits = text[start:end]
    if digits[-1:] != "0" or not _NUMBER.fullmatch(digits):
        return None
    before = text[max(0, start - _LONGEST_BEFORE) : start]
    is_short = len(digits) == 2
    ending = _short_ending(text, end, before) if is_short else _ENDING.match(text, end)
    years_word = _YEARS.search(before)
    if years_word is not None:
        start -= len(before) - years_word.start()
    elif ending is None:
        return None
    first, number = int(digits), 100 if digits.endswith("00") else 10
    firsts = [century + first for century in _CENTURIES] if is_short else [first]
    years = (float(year) for each in firsts for year in range(each, each + number))
    return Decade(frozenset(years), start, ending.end() if ending else end)


def _short_ending(text: str, end: int, before: str) -> re.Match[str] | None:
    """Return what follows the two digits of a decade; None if they are not a decade."""
    ending = _SHORT_ENDING.match(text, end)
    may_be_seconds = ending is not None and ending[0].endswith("s")
    return None if may_be_seconds and not _BEFORE_SHORT.search(before) else ending
