"""Letters that look alike, made one: for comparing texts, never for showing them.

A copy whose Latin letters were replaced by Cyrillic ones reads the same and shares no word with its
original. What is taken for alike is Unicode's own list (UTS #39, confusables).
"""

import re
import unicodedata
from functools import cache

from conflictscore.prompts import without_invisibles

__all__ = ["latin_letters", "plain_letters"]

_ACCENTS = re.compile("[\u0300-\u036f]+")
_FOREIGN = re.compile(r"[^\x00-\x7f\W\d_]")
"""A letter that is not of ASCII."""
_WITH_A_LETTER = re.compile(r"\d*[^\W\d_]\w*")
_STROKES = str.maketrans("i10", "llo")


def plain_letters(text: str) -> str:
    """A text, case folded, in which letters that look alike are the same letter.

    As :func:`latin_letters`; within words ``i``, ``l`` and ``1`` are one too, and so are ``o`` and
    ``0``. Numbers stay as they are.
    """
    folded = latin_letters(text).casefold()
    return _WITH_A_LETTER.sub(lambda word: word[0].translate(_STROKES), folded)


def latin_letters(text: str) -> str:
    """A text in which what looks like a letter from A to Z is that letter.

    Characters that are not drawn and accents are gone.
    """
    text = unicodedata.normalize("NFKD", without_invisibles(text))
    text = unicodedata.normalize("NFKC", _ACCENTS.sub("", text))
    return text.translate(_latin()) if _FOREIGN.search(text) else text


@cache
def _latin() -> dict[int, str]:
    """For each letter of another script that looks like one of A to Z, or a to z, that one."""
    from confusable_homoglyphs.confusables import confusables_data

    return {
        ord(letter): alike["c"]
        for letter, all_alike in confusables_data.items()
        if len(letter) == 1 and letter.isalpha() and not letter.isascii()
        for alike in all_alike
        if len(alike["c"]) == 1 and alike["c"].isascii() and alike["c"].isalpha()
    }
