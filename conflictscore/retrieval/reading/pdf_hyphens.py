"""Joins words of a PDF that are hyphenated at line ends, and writes letters in their usual form.

Limits without a stated reason were chosen by hand.
"""

import re
import unicodedata
from functools import cached_property
from itertools import pairwise

import numpy as np

from conflictscore.retrieval.reading.pdf_words import JOINER

_HYPHENS = "\x02\ufffe"
"""Characters that pdfium inserts into a word that is hyphenated at the end of a line."""
_LINE_ENDS = "-\n", "\u2010\n", *_HYPHENS
"""Signs of a word that is divided at the end of a line; white space may follow the last two."""
_WORD = re.compile(r"\w*+")
# At most this many characters before a hyphen are read, so that the time stays linear.
_LONGEST_WORD = 60
_MOST_SEARCHES = 30
"""Maximum number of words that are searched in a text, before all its words are listed."""
_WITH_HYPHENS = re.compile(rf"[\w\-\u2010{_HYPHENS}]++")
# The letters of ligatures.
_SPELLED = {"ﬀ": "ff", "ﬁ": "fi", "ﬂ": "fl", "ﬃ": "ffi", "ﬄ": "ffl", "ﬅ": "st", "ﬆ": "st"}
_RARE, _AFTER_SURROGATES = 0xD800, 0xE000
"""The codes between these are halves of characters beyond Unicode's first plane; pdfium counts such
a character as two."""
_FORMS = re.compile("[\ufb50-\ufdff\ufe70-\ufefc]")
"""Matches Arabic presentation forms: letters in the shape that they have at one place in a word."""
_CODE = frozenset("&<>=\\$")
"""Characters before a word that show that the word is part of code."""


def undivided(text: str) -> str:
    """Join words that are hyphenated across two lines, and spell out ligatures.

    A hyphen is kept if a capital or a digit follows it (Barnes-Jewish, COVID-19), or if the word
    before it is code (``<&digit-``). A hyphen is also kept if the same word occurs with a hyphen
    within another line (proto-oncogene), and in compounds of more than two words (hard-to-find).
    """
    words = _Words(text)
    parts: list[str] = []
    start = 0
    for hyphen, end in _line_ends(text):
        before = _last_word(text[max(start, hyphen - _LONGEST_WORD) : hyphen])
        after = _first_word(text, end)
        if not _divides(before, after, text[hyphen]):
            continue
        own = not after.islower() or f"{before}-{after}".lower() in words.compounds
        sign = text[max(0, hyphen - len(before) - 1) : hyphen - len(before)]
        is_part = sign == "-" or text[end + len(after) : end + len(after) + 1] == "-"
        own = own or sign in _CODE or (is_part and words.form_compound(before, after))
        parts += [text[start:hyphen], "-" * (own and bool(after))]
        start = end
    joined_text = "".join([*parts, text[start:]])
    for sign in (*_HYPHENS, JOINER):
        joined_text = joined_text.replace(sign, "")
    return _plain(joined_text)


def _line_ends(text: str) -> list[tuple[int, int]]:
    """Return the places of hyphens at line ends, and the places where the next line begins.

    Searching for each sign is several times faster than a regular expression.
    """
    ends: list[tuple[int, int]] = []
    for sign in _LINE_ENDS:
        place = text.find(sign)
        while place >= 0:
            end = place + len(sign)
            is_followed = sign in _HYPHENS and text[end : end + 1] in ("\n", " ")
            ends.append((place, end + is_followed))
            place = text.find(sign, end)
    return sorted(ends)


def _plain(text: str) -> str:
    """Return a text with whole characters, and with letters in their usual forms."""
    if text.isascii():
        return text
    codes = np.frombuffer(text.encode("utf-16-le", "surrogatepass"), np.uint16)
    rare = codes[codes >= _RARE]  # searching few codes is faster than searching the text
    if (rare < _AFTER_SURROGATES).any():
        text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    if len(rare) and _FORMS.search(text):
        text = _FORMS.sub(lambda form: unicodedata.normalize("NFKC", form[0]), text)
    if (rare >= ord("ﬀ")).any():  # the ligature with the lowest code
        for ligature, letters in _SPELLED.items():
            text = text.replace(ligature, letters)
    return text


def _divides(before: str, after: str, hyphen: str) -> bool:
    """Whether the hyphen at the end of a line belongs to a word.

    A dash does not belong to a word, and neither does the hyphen in "10-$20". The characters that
    pdfium inserts always belong to a word, since it inserts them only within words.
    """
    return bool(before and (after or hyphen in _HYPHENS))


class _Words:
    """The words of a text, which are looked up only where a hyphen ends a line."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._searches = 0

    @cached_property
    def _lower(self) -> str:
        return self._text.lower()

    @cached_property
    def compounds(self) -> set[str]:
        """Return the pairs of words that are joined by a hyphen within a line."""
        compounds: set[str] = set()
        is_second = False  # whether the word before the hyphen is the second word of a pair
        for before, after in pairwise(self._lower.split("-")):
            pair = _last_word(before[-_LONGEST_WORD:]), _first_word(after[:_LONGEST_WORD])
            is_pair = all(pair) and not (is_second and len(pair[0]) == len(before))
            if is_pair:
                compounds.add("-".join(pair))
            is_second = is_pair
        return compounds

    @cached_property
    def _alone(self) -> set[str]:
        """Return the words that contain no hyphen."""
        tokens = {*self._lower.split()}  # repetitions need not be examined
        pieces = {*_WITH_HYPHENS.findall(" ".join(tokens))}
        return {piece for piece in pieces if len(piece) > 1 and piece.isalpha()}

    def _is_alone(self, word: str) -> bool:
        """Whether a word occurs without a hyphen beside it.

        A few words are searched in the text, which is faster than listing all its words.
        """
        if self._searches >= _MOST_SEARCHES:
            return word in self._alone
        self._searches += 1
        text = self._lower
        place = text.find(word) if len(word) > 1 and word.isalpha() else -1
        while place >= 0:
            end = place + len(word)
            if not _WITH_HYPHENS.search(text[max(0, place - 1) : place] + text[end : end + 1]):
                return True
            place = text.find(word, end)
        return False

    def form_compound(self, before: str, after: str) -> bool:
        """Whether two parts of a longer compound both occur as separate words in the text."""
        before, after = before.lower(), after.lower()
        are_words = self._is_alone(before) and self._is_alone(after)
        return are_words and not self._is_alone(before + after)


def _first_word(text: str, start: int = 0) -> str:
    """Return the word that begins at a position; empty if no word begins there."""
    word = _WORD.match(text, start)
    return word[0] if word else ""


def _last_word(text: str) -> str:
    return _first_word(text[::-1])[::-1]
