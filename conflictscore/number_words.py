"""Functions that read numbers written as words, such as "sixty-one" and "zweiundvierzig".

Words that also mean something else, in any of these languages, are left out: Spanish "once" is an
English word, and French "neuf" also means "new".
"""

import re
from collections.abc import Mapping


def _words(text: str) -> list[str]:
    return text.split()


_ONES = _words("one two three four five six seven eight nine")
_TEENS = _words("ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen")
_TENS = _words("twenty thirty forty fifty sixty seventy eighty ninety")
_OF_TENS = [10 * place for place in range(2, 10)]
_GERMAN_ONES = _words("ein zwei drei vier fünf sechs sieben acht neun")
_GERMAN_TENS = _words("zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig")
_DUTCH_ONES = _words("een twee drie vier vijf zes zeven acht negen")
_DUTCH_TENS = _words("twintig dertig veertig vijftig zestig zeventig tachtig negentig")
_LISTED = {
    "zwei drei vier fünf sechs sieben acht neun zehn": 2,
    "zwölf dreizehn vierzehn fünfzehn sechzehn siebzehn achtzehn neunzehn": 12,
    "deux trois quatre cinq": 2,
    "huit": 8,
    "onze douze treize quatorze quinze seize": 11,
    "tres cuatro cinco seis siete ocho nueve diez": 3,
    "doce trece catorce": 12,
    "tre quattro cinque": 3,
    "sette": 7,
    "nove dieci undici dodici tredici quattordici quindici sedici": 9,
    "três quatro": 3,
    "sete oito": 7,
    "dez": 10,
    "twee drie": 2,
    "vijf zes zeven": 5,
    "negen tien": 9,
    "twaalf dertien veertien vijftien zestien zeventien achttien negentien": 12,
}
_ROUND = {
    "vingt veinte venti vinte": 20,
    "trente treinta trenta trinta": 30,
    "quarante cuarenta quaranta quarenta": 40,
    "cinquante cincuenta cinquanta cinquenta": 50,
    "soixante sesenta sessanta sessenta": 60,
    "hundred hundert honderd": 100,
}
_COUNTED: Mapping[str, float] = {
    **{word: float(number) for number, word in enumerate(_ONES, start=1)},
    **{word: float(number) for number, word in enumerate(_TEENS, start=10)},
    **{word: float(number) for number, word in zip(_OF_TENS, _TENS, strict=True)},
    **{
        word: float(number)
        for words, first in _LISTED.items()
        for number, word in enumerate(words.split(), start=first)
    },
    **{word: float(number) for words, number in _ROUND.items() for word in words.split()},
    **{
        f"{one}{joint}{ten}": float(unit + number)
        for ones, tens, joints in (
            (_GERMAN_ONES, _GERMAN_TENS, ("und",)),
            (_DUTCH_ONES, _DUTCH_TENS, ("en", "ën")),  # "ën" after "e": "tweeëntwintig"
        )
        for joint in joints
        for unit, one in enumerate(ones, start=1)
        for number, ten in zip(_OF_TENS, tens, strict=True)
    },
    **{
        word: float(number)
        for tens in (_GERMAN_TENS, _DUTCH_TENS)
        for number, word in zip(_OF_TENS, tens, strict=True)
    },
}
_ENGLISH_TENS = "|".join(_TENS)
# Longer words come first, since a pattern takes the first alternative that matches: "sixteen", not
# "six".
_SMALL = (
    rf"(?:(?:{_ENGLISH_TENS})[- ](?:{'|'.join(_ONES)})"
    rf"|{'|'.join(sorted(_COUNTED, key=len, reverse=True))})"
)
NUMBER_WORD = (
    # "two hundred and three hundred" states two numbers
    rf"(?:{_SMALL}(?: hundred)?|hundred)(?:(?<=hundred) (?:and )?{_SMALL}(?! hundred))?"
    # a number word must not be part of an ordinal, of a longer word, or of "treinta y dos"
    r"(?![^\W\d_]|-\w*(?:first|second|third|th)\b|-(?:vingt|dix|et)"
    r"|-(?:un|deux|trois|quatre|cinq|six|sept|huit|neuf)\b| (?:et|y) un| y [dtcsoqn])"
)
"""Pattern for numbers in words, below ten thousand; magnitudes such as "million" may follow."""
NUMBER_WORDS = frozenset(_COUNTED) - {"one"}  # "one" is usually a pronoun
"""The lower-case words that can begin a number in words."""


def number_of(words: str) -> float:
    """Return the number that is stated by words that match ``NUMBER_WORD``."""
    words = words.lower()
    if words in _COUNTED:
        return _COUNTED[words]
    many, is_large, rest = words.partition("hundred")
    if is_large:
        rest = rest.strip().removeprefix("and ")
        return 100 * (number_of(many.strip()) if many else 1) + (number_of(rest) if rest else 0)
    return sum(_COUNTED[word] for word in re.split("[- ]", words))
