"""Finds words in any script, with or without spaces, and unifies equivalent spellings."""

import re
import unicodedata
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import islice
from math import log
from typing import NamedTuple

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao.
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer.
    "\u3005-\u3007\u3040-\u30ff"  # Japanese.
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters.
)
"""Scripts without spaces between words, as ranges for a character set in a regular expression."""
HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
"""The Korean script. Korean has spaces between words, but attaches particles to them."""
# Text without spaces between words, which is compared by its characters.
_RUN = re.compile(rf"[{UNSPACED}{HANGUL}]+")
WORD_CHARACTER = (
    r"[\w\u0610-\u061a\u064b-\u065f\u0670\u0591-\u05bd\u05bf\u05c1\u05c2\u0730-\u074a"
    r"\u0900-\u0963\u0966-\u0df3\u0f18-\u0f39\u0f71-\u0f84\u0f90-\u0fbc\u1a17-\u1a1b]"
)
"""A letter, or a letter's vowel sign. Without vowel signs, Indic words would be split."""
_WORD = re.compile(rf"{WORD_CHARACTER}+")
# A character of a script without spaces, or a word.
_CHARACTER_OR_WORD = re.compile(rf"[{UNSPACED}]|(?:(?![{UNSPACED}]){WORD_CHARACTER})+")
# Finds the same words in an ASCII text, in a fifth of the time.
_ASCII_WORD = re.compile(r"\w+", re.ASCII)
# To save time, a text's script is determined from this many letters.
_SCRIPT_LETTERS = 200
# Marks that may be left out without changing the word. Vowel signs of Indic scripts are not
# included, since they are never optional.
_ACCENTS = (
    "\u0300-\u036f\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20ff"
    "\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7"  # Vowels of Hebrew.
    "\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed"  # Arabic.
    "\u0730-\u074a\u08d3-\u08e1\u08e3-\u08ff"  # Syriac, further Arabic.
)
# A run of combining accents.
_ACCENT = re.compile(f"[{_ACCENTS}]+")
_CLUSTER = re.compile(
    # Japanese voicing marks and later letters of a Korean syllable join the character before them
    rf"[\x00-\x7f]+(?![{_ACCENTS}\u3099\u309a\u1160-\u11ff])|.[{_ACCENTS}\u3099\u309a\u1160-\u11ff]*",
    re.DOTALL,
)
_ALIKE = str.maketrans(
    dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff\u180e\u0640", "")
    | dict.fromkeys("\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d", "-")
    | dict.fromkeys("\u2018\u2019\u201a\u201b\u2032\u02bb\u02bc\u02be\u02bf\u00b4", "'")
    | dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"')
    | dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹", (f"^{n}" for n in range(10)), strict=True))
    | dict(zip("₀₁₂₃₄₅₆₇₈₉", (f"_{n}" for n in range(10)), strict=True))
    | {"ø": "o", "ł": "l", "đ": "d", "ħ": "h", "æ": "ae", "œ": "oe", "ı": "i", "þ": "th", "ð": "d"}
    | dict.fromkeys("\u0671\u0672\u0673", "\u0627")  # Arabic alef.
    | dict.fromkeys("\u0649\u06cc\u06d2\u06cd", "\u064a")  # Yeh, as in Persian and Urdu.
    | dict.fromkeys("\u06a9\u06aa", "\u0643")  # Kaf.
    | dict.fromkeys("\u06c1\u06be\u06d5\u0629\u06c3", "\u0647")  # Heh and teh marbuta.
    | {
        chr(code): str(unicodedata.decimal(chr(code)))
        for code in range(0x80, 0x20000)
        if chr(code).isdecimal()
    }
)
"""Replacements for look-alike characters, for other forms of letters and digits, and for invisible
characters. Superscript digits stay distinct, since 10⁶ is not 106."""
# Only clusters (letters with their marks) of up to 4 characters are cached; longer ones are rare,
# and hostile text could fill the cache with them.
_LONGEST_KEPT = 4


class Folded(NamedTuple):
    """A folded text, and for each character, the span of the original text that it comes from."""

    text: str
    starts: range | list[int]
    """For each character, the offset in the original text at which its source begins."""
    ends: range | list[int]
    """For each character, the offset in the original text at which its source ends."""


def word_set(text: str) -> frozenset[str]:
    """Return the words of a space-separated list, as a set."""
    return frozenset(text.split())


def fold(text: str) -> str:
    """Return a text in a form in which equivalent spellings are the same.

    Folding removes differences of case, accents, optional vowel signs (Arabic, Hebrew), Unicode
    form (NFC or NFD), ligatures, full width, digit scripts, and forms of Arabic letters. Folding
    also removes soft hyphens and zero-width characters, and unifies dashes and quotation marks.
    """
    # in ASCII, only the case can differ
    return text.lower() if text.isascii() else folded(text).text


def folded(text: str) -> Folded:
    """Fold a text like :func:`fold`, but keep the original span of each character."""
    if text.isascii():
        return Folded(text.lower(), range(len(text)), range(1, len(text) + 1))
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _CLUSTER.finditer(text):
        said, (start, end) = match[0], match.span()
        if said.isascii():
            pieces.append(said.lower())
            starts += range(start, end)
            ends += range(start + 1, end + 1)
            continue
        piece = _folded_cluster(said) if len(said) <= _LONGEST_KEPT else _fold_cluster(said)
        pieces.append(piece)
        starts += [start] * len(piece)
        ends += [end] * len(piece)
    return Folded("".join(pieces), starts, ends)


def _fold_cluster(text: str) -> str:
    # NFKD separates ligatures, full width and accents. NFC then joins what is still separate, such
    # as Korean syllables. Case and look-alikes are folded twice, since normalization can produce
    # further capitals and look-alikes.
    apart = unicodedata.normalize("NFKD", text.casefold().translate(_ALIKE))
    return unicodedata.normalize("NFC", _ACCENT.sub("", apart)).casefold().translate(_ALIKE)


_folded_cluster = lru_cache(maxsize=20_000)(_fold_cluster)


def words_in(text: str) -> list[str]:
    """Return the case-folded words of a text; in scripts without spaces, its characters."""
    pattern = _ASCII_WORD if text.isascii() else _CHARACTER_OR_WORD
    words: list[str] = pattern.findall(text.casefold())
    return words


def terms_in(text: str) -> list[str]:
    """Return the terms by which texts are compared: their folded words, in order.

    In Chinese, Japanese, Korean, Thai and similar scripts, every two adjacent characters count as a
    word. Pairs of characters are the usual substitute for words if there is no dictionary.
    """
    if text.isascii():  # only the case can differ, as in :func:`fold`
        return _ASCII_WORD.findall(text.lower())
    return _WORD.findall(spaced_out(fold(text)))


def term_sets(texts: Sequence[str]) -> list[frozenset[str]]:
    """Return each text's distinct terms (see :func:`terms_in`), quickly if all texts are ASCII."""
    if "".join(texts).isascii():
        return list(map(frozenset, map(_ASCII_WORD.findall, map(str.lower, texts))))
    return [frozenset(terms_in(text)) for text in texts]


def word_weights(spread: Mapping[str, int], texts: int) -> dict[str, float]:
    """Return the weight of each word: the fewer of the texts contain it, the more it weighs.

    ``spread`` is the number of texts that contain each word.
    """
    # many words are in equally many texts, and a logarithm takes longer than a look-up
    weights = {count: log(1 + texts / count) for count in {*spread.values()}}
    return {word: weights[count] for word, count in spread.items()}


def spaced_out(text: str) -> str:
    """Return a text with spaces between its terms (see :func:`terms_in`)."""
    return text if text.isascii() else _RUN.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    said = run[0]
    pairs = [said[at : at + 2] for at in range(max(1, len(said) - 1))]
    return f" {' '.join(pairs)} "


def script_of(text: str) -> str:
    """Return Unicode's name for the script of most letters, such as LATIN; "" if there are none."""
    letters = islice(filter(str.isalpha, text), _SCRIPT_LETTERS)
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)
    return scripts.most_common(1)[0][0] if scripts else ""
