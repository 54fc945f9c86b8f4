"""Words in any script, those included that put no space between them."""

import re
import unicodedata
from collections import Counter
from itertools import islice

__all__ = ["UNSPACED", "script_of", "spaced_out", "terms_in", "words_in"]

UNSPACED = (
    "\u0e00-\u0eff"  # Thai, Lao
    "\u1000-\u109f\u1780-\u17ff"  # Burmese, Khmer
    "\u3005-\u3007\u3040-\u30ff"  # Japanese
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"  # Chinese characters
)
"""Scripts that put no white space between words, as ranges of a regular expression's set."""
_HANGUL = "\u1100-\u11ff\u3130-\u318f\uac00-\ud7af"
"""Korean has spaces, and puts its particles behind the words that others look for."""
_RUN = re.compile(rf"[{UNSPACED}{_HANGUL}]+")
_WORD = re.compile(r"\w+")
_CHARACTER_OR_WORD = re.compile(rf"[{UNSPACED}]|[^\W{UNSPACED}]+")
_SCRIPT_LETTERS = 200
"""Letters that are looked at to tell a text's script."""


def words_in(text: str) -> list[str]:
    """The words of a text, case folded; a character in scripts without white space."""
    words: list[str] = _CHARACTER_OR_WORD.findall(text.casefold())
    return words


def terms_in(text: str) -> list[str]:
    """What a text is compared by: its words, case folded, in the order of the text.

    In Chinese, Japanese, Korean, Thai and the like every two characters in a row stand for a word,
    as is usual where no dictionary says which ones belong together.
    """
    return _WORD.findall(spaced_out(text.casefold()))


def spaced_out(text: str) -> str:
    """A text whose terms stand apart; see :func:`terms_in`."""
    return text if text.isascii() else _RUN.sub(_pairs, text)


def _pairs(run: re.Match[str]) -> str:
    said = run[0]
    pairs = [said[at : at + 2] for at in range(max(1, len(said) - 1))]
    return f" {' '.join(pairs)} "


def script_of(text: str) -> str:
    """The script of most letters, by Unicode's name, such as LATIN; empty without a letter."""
    letters = islice(filter(str.isalpha, text), _SCRIPT_LETTERS)
    scripts = Counter(unicodedata.name(letter, "?").split()[0] for letter in letters)
    return scripts.most_common(1)[0][0] if scripts else ""
