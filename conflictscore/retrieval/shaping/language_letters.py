"""Rates how plausible a decoded text is in a language with the Latin alphabet.

A detector of encodings often cannot tell "längd" (windows-1252) from "lĺngd" (windows-1250), since
both consist of letters. The text's language tells the two apart, since each language uses few
letters beyond a to z.
"""

import math
import re
import unicodedata
from collections import Counter

_LETTERS = {
    "Albanian": "ë80 ç8",
    "Catalan": "à5 è4 é4 í4 ó5 ò3 ú2 ç2 ï1 ü1",
    "Croatian": "č9 ć6 đ3 š10 ž5",
    "Czech": "á9 č5 ď1 é6 ě12 í16 ň1 ó1 ř4 š7 ť1 ú1 ů2 ý10 ž7",
    "Danish": "å12 æ9 ø9 é1",
    "Dutch": "é1 ë1 ï1 ö1 ü1 è1",
    "Estonian": "ä10 õ10 ö2 ü7 š1 ž1",
    "Finnish": "ä36 ö4 å1",
    "French": "é19 è3 à5 ê2 ç1 ô1 û1 î1 â1 ù1 ï1 ë1 œ1",
    "German": "ä6 ö4 ü10 ß3",
    "Hungarian": "á33 é39 í5 ó10 ö12 ő9 ú3 ü6 ű2",
    "Icelandic": "á18 ð44 é6 í16 ó10 ú6 ý2 þ15 æ9 ö8",
    "Italian": "à6 è3 ù2 ò2 é1 ì1",
    "Latvian": "ā38 č2 ē17 ģ2 ī18 ķ2 ļ3 ņ6 š8 ū5 ž2",
    "Lithuanian": "ą6 č4 ę2 ė16 į6 š13 ų13 ū5 ž9",
    "Norwegian": "å15 ø9 æ2 é1",
    "Polish": "ą7 ć7 ę10 ł21 ń4 ó11 ś8 ź1 ż9",
    "Portuguese": "ã7 ç5 á1 é3 ê4 ó3 í1 ú2 à1 â1 õ1 ô1",
    "Romanian": "ă25 â6 î12 ş11 ţ10 ș11 ț10",
    "Slovak": "á20 ä1 č10 ď2 é8 í10 ĺ1 ľ4 ň2 ó2 ô2 ŕ1 š8 ť5 ú9 ý10 ž8",
    "Spanish": "ó8 í7 á5 é4 ñ3 ú2 ü1",
    "Swedish": "å13 ä18 ö13 é1",
    "Turkish": "ç12 ğ11 ı51 ö8 ş18 ü18 â1 î1 û1 i\u03072",
}
"""How often each letter occurs in a thousand letters, at least one time, by language.

The numbers are rounded from published letter frequencies.
"""
_FOREIGN = 0.01
"""The number for a letter that is not in a language's list."""
_PUNCTUATION = frozenset("“”‘’‚„‹›«»–—…•€£¥§°½¼¾×®©™²³±¿¡ºª\xa0\xad\xb7")
_OF_PUNCTUATION, _OUT_OF_PLACE = 0.5, 0.0001
"""The numbers for punctuation, and for a sign that does not occur at its place, such as the ³ in
"d³ugo"."""
_ABOUT_LANGUAGES = {
    language: {
        letter.rstrip("0123456789"): int(letter.lstrip(letter.rstrip("0123456789")))
        for letter in letters.split()
    }
    for language, letters in _LETTERS.items()
}
_ALMOST = 5
"""A text is almost ASCII if at most one character in this many is not."""
_NOT_ASCII = re.compile(r"[^\x00-\x7f]")
_INSIDE_A_WORD = "’-\xad\xb7"
"""Signs that occur between two letters."""
_BESIDE_NUMBERS = "±×½¼¾£¥"
"""Signs that do not occur next to a letter."""


def is_latin(text: str) -> bool:
    """Return whether the letters of a text beyond ASCII belong to the Latin alphabet."""
    letters = {sign for sign in _NOT_ASCII.findall(text) if sign.isalpha()} - {"ª", "º", "µ"}
    return all(unicodedata.name(letter, "").startswith("LATIN") for letter in letters)


def is_plain(text: str) -> bool:
    """Whether a text is almost ASCII, and all other signs are punctuation at its usual places."""
    signs = _signs(text)
    return set(signs) <= _PUNCTUATION and signs.total() * _ALMOST <= len(text)


def has_all_signs_in_place(text: str) -> bool:
    """Whether every sign beyond ASCII is a letter or punctuation that occurs at its place."""
    return not _signs(text)[""]


def plausibility(text: str) -> float:
    """Return the logarithm of the likelihood of a text in the language that fits it best."""
    signs = _signs(text)
    ascii_letters = sum(map(str.isalpha, text.encode("ascii", "ignore").decode()))
    return max(_in_language(signs, ascii_letters, rates) for rates in _ABOUT_LANGUAGES.values())


def _signs(text: str) -> Counter[str]:
    return Counter(_sign_at(text, match.start()) for match in _NOT_ASCII.finditer(text))


def _sign_at(text: str, place: int) -> str:
    """Return the sign at a place as a small letter; empty if it does not occur at such a place."""
    sign, before, after = text[place], text[place - 1 : place], text[place + 1 : place + 2]
    if sign.isalpha():
        return "" if sign.isupper() and before.islower() else sign.lower()
    letters = before.isalpha() + after.isalpha()
    if (letters == 2 and sign not in _INSIDE_A_WORD) or (letters and sign in _BESIDE_NUMBERS):
        return ""
    return sign if sign in _PUNCTUATION else ""


def _in_language(signs: Counter[str], ascii_letters: int, rates: dict[str, int]) -> float:
    others = math.log(1 - sum(rates.values()) / 1000) * ascii_letters
    return others + sum(
        count * math.log(_rate(sign, rates) / 1000) for sign, count in signs.items()
    )


def _rate(sign: str, rates: dict[str, int]) -> float:
    if not sign:
        return _OUT_OF_PLACE
    return _OF_PUNCTUATION if sign in _PUNCTUATION else rates.get(sign, _FOREIGN)
