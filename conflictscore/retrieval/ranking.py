"""Scores how well texts match a question, by the words that they share with it (BM25)."""

import logging
import re
import warnings
from collections.abc import Iterator, Sequence
from unicodedata import normalize

import numpy as np
from numpy.typing import NDArray

from conflictscore.scripts import UNSPACED, WORD_CHARACTER, fold, spaced_out

# in a notebook, bm25s warns that a progress-bar widget is missing, although it shows no progress
# bars
with warnings.catch_warnings():
    warnings.filterwarnings("ignore", message="IProgress not found")
    import bm25s
    from bm25s.stopwords import STOPWORDS_EN
# bm25s sets its logger to DEBUG, so its lines would appear even in logs meant for warnings
logging.getLogger("bm25s").setLevel(logging.NOTSET)

# Quantifiers are bounded, so that matching a hostile text takes linear time. The bounds were chosen
# by hand: they exceed the words, gaps and numbers of ordinary texts.
_DIVIDED = re.compile(r"(?<=[^\W\d_])[-\u2010][ \t]{0,8}\r?\n[ \t]{0,40}(?=[^\W\d_])")
"""Matches the place where a word is hyphenated at the end of a line."""
_TERM = re.compile(
    rf"[{UNSPACED}]|{WORD_CHARACTER}{{2,}}"
    rf"|(?<!['\w])\w(?:\+\+|\#)?(?!['\w])"  # a single letter or digit: "vitamin K", "C++"
)
_STOP_WORDS = frozenset(STOPWORDS_EN)
_NAMED_STOP_WORD = re.compile(r"\b(?:[A-Z]{2,5}|[A-Z][a-z]{0,4})\b")
"""Matches a capitalised stop word, which may be a name: "What is IT?", "vitamin A", "Who wrote
It?".

A short word in capitals counts as different from the lower-case word: "US", "WHO".
"""
_COMPOUND = re.compile(
    r"(?<![\w-])(?=[-_^\w]{0,60}[^\W\d_])[^\W_]{1,30}(?:[-_^][^\W_]{1,30}){1,5}(?![\w-])"
)
"""Matches a word made of several parts, at least one of which contains a letter: "co-operation",
"F-16", "CO_2"."""
_PARTED = re.compile(r"[-_^]")
# A name that contains an apostrophe, such as "Qur'an", but not a contraction ("it's", "don't").
_APOSTROPHE = re.compile(
    r"(?<![\w'-])([^\W\d_]{2,30})'(?!(?:s|t|d|m|ll|re|ve)\b)([^\W\d_]{1,30})(?![\w'-])"
)
_INITIALS = re.compile(r"(?<![\w.])(?:[^\W\d_a-z]\.){2,5}(?!\w)")
"""Matches initials with full stops, such as "U.S."."""
# A word with a letter that is also written without its accent ("Oresund").
_UMLAUT = re.compile(r"\w{0,30}[äöüåø]\w{0,30}")
_WRITTEN_OUT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "å": "aa", "ø": "oe"})
"""Maps letters that keyboards may lack to their usual spelling: "Müller" is also written
"Mueller"."""
_NASAL = re.compile("[\u0919\u091e\u0923\u0928\u092e]\u094d(?=[\u0915-\u0939])")
"""Matches a Hindi nasal consonant, which may also be written as a dot (U+0902)."""
_LOWER_CASE = re.compile(r"[a-z]")
# The place at which a sentence begins, perhaps after a quotation mark or a bracket.
_SENTENCE_START = re.compile(r"(?:^|[.!?:]\s{0,9}|\n)[\"'“‘(]?\Z")
_BEFORE = 12  # number of characters before a word that are searched for the start of a sentence
_NUMERO = re.compile(r"\u2116|(?<!\w)n[\u00ba\u00b0](?=\s?\d)", re.IGNORECASE)
"""Matches a numero sign before a number, as in "№5", "nº 5" and "n° 5"."""
_NUMBERED = re.compile(r"(?<!\w)(?:no|nr)\.?(\d{1,9})(?!\w)")
"""Matches "No" before a number without a space."""
_ORDINAL = re.compile(r"(?<!\w)(\d{1,6})(?:st|nd|rd|th|er?|ere|eme|[oa]s?|te[nr]?)(?!\w)")
"""Matches an ordinal number in digits, such as "10th", "10e" and "10ª"."""
_ORDINAL_WORDS = {
    word: number
    for number, word in enumerate(
        (
            "first", "second", "third", "fourth", "fifth", "sixth", "seventh", "eighth", "ninth",
            "tenth", "eleventh", "twelfth", "thirteenth", "fourteenth", "fifteenth", "sixteenth",
            "seventeenth", "eighteenth", "nineteenth",
        ),
        start=1,
    )
}  # fmt: skip

# The beginnings of "twenty" to "ninety", which the endings "y" and "ieth" complete.
_TENS = ("twent", "thirt", "fort", "fift", "sixt", "sevent", "eight", "ninet")
_ORDINAL_WORD = re.compile(
    rf"(?<!\w)(?:(?:({'|'.join(_TENS)})y[- ])?({'|'.join(_ORDINAL_WORDS)})|({'|'.join(_TENS)})ieth)"
    r"(?!\w)"
)
"""Matches an English ordinal number below 100, such as "tenth" and "twenty-first"."""
_ARTICLE = re.compile(
    "(?<!\\w)(?:[\u0648\u0641\u0628\u0643]?\u0627\u0644|\u0644\u0644)(\\w{3,40})(?!\\w)"
)
"""Matches an Arabic word with its article, which may follow "and", "so", "in" or "like"."""
# Thousands separators: comma, full stop, apostrophes, the Arabic one, and several spaces.
_SEPARATOR = r"[,.'\u2019\u066c\u00a0\u202f\u2009 ]"
_GROUPED = re.compile(
    rf"(?<![\d.,])\d{{1,3}}(?:{_SEPARATOR}\d{{2,3}}){{0,6}}{_SEPARATOR}\d{{3}}(?!\d)"
)
"""Matches a number with thousands separators, or with Indian grouping (12,50,000)."""
_NOT_A_DIGIT = re.compile(r"\D")


class BM25Ranker:
    """Scores texts by the words that they share with a question; thread-safe.

    English stop words are ignored, unless capitals suggest that they are names ("IT"). A number
    with thousands separators matches the same number without them, and an ordinal number ("10th",
    "tenth") matches the cardinal number. In scripts without spaces, each pair of characters counts
    as a word.
    """

    def __init__(self, texts: Sequence[str]) -> None:
        self._size = len(texts)
        self._index: bm25s.BM25 | None = None
        words = [list(_terms(text, is_question=False)) for text in texts]
        if any(words):  # bm25s fails if no text has a word
            self._index = bm25s.BM25()  # the library's usual variant and constants
            self._index.index(words, show_progress=False)

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the score of each text in order; higher is better, and 0 means no shared word."""
        words = list(_terms(query, is_question=True))
        if self._index is None or not words:
            return np.zeros(self._size, np.float32)
        scores: NDArray[np.float32] = self._index.get_scores(words)
        return scores


def _terms(text: str, *, is_question: bool) -> Iterator[str]:
    """Yield the terms that rank a text: case-folded words, and stop words that may be names.

    A word with two spellings yields both, so it counts twice if both texts have the same spelling.
    For example, "co-operation" also yields "cooperation",
    "U.S." yields "US", and "Müller" yields "mueller". An Arabic word with its article also yields
    the word without it.
    """
    whole = _NUMERO.sub("No. ", _DIVIDED.sub("", text))
    folded = fold(whole)
    for term in _TERM.findall(spaced_out(folded)):
        if term not in _STOP_WORDS:
            yield term
    yield from _other_spellings(whole, folded)
    for number in _GROUPED.findall(folded):
        yield _NOT_A_DIGIT.sub("", number)
    yield from _NUMBERED.findall(folded)
    yield from _ORDINAL.findall(folded)
    for tens, ones, round_tens in _ORDINAL_WORD.findall(folded):
        ten = 10 * (_TENS.index(tens or round_tens) + 2) if tens or round_tens else 0
        yield str(ten + _ORDINAL_WORDS.get(ones, 0))
    for line in whole.split("\n"):
        if _LOWER_CASE.search(line):  # in a line of capitals only, capitals do not indicate names
            yield from _named_stop_words(line, is_question=is_question)


def _other_spellings(text: str, folded: str) -> Iterator[str]:
    """Yield the alternative spellings of the words in a text."""
    for word in _COMPOUND.findall(folded):
        yield _PARTED.sub("", word)
    yield from map("".join, _APOSTROPHE.findall(folded))
    for initials in _INITIALS.findall(text):
        word = initials.replace(".", "")
        yield word if word.lower() in _STOP_WORDS else fold(word)
    if not text.isascii():
        yield from _ARTICLE.findall(folded)
        composed = normalize("NFC", text).lower()
        for word in _UMLAUT.findall(composed):
            yield fold(word.translate(_WRITTEN_OUT))
        for word in _TERM.findall(_NASAL.sub("\u0902", folded)) if _NASAL.search(folded) else ():
            yield word


def _named_stop_words(line: str, *, is_question: bool) -> Iterator[str]:
    """Yield capitalised stop words as terms that differ from the lower-case words.

    In a question, such words are skipped at the beginning of a sentence. In a document, they are
    kept even there: "It is a novel by Stephen King.".
    """
    for match in _NAMED_STOP_WORD.finditer(line):
        word = match[0]
        if word.lower() not in _STOP_WORDS and not _in_capitals(word):
            continue
        before = line[max(0, match.start() - _BEFORE) : match.start()]
        if is_question and not _in_capitals(word) and _SENTENCE_START.search(before):
            continue
        yield word


def _in_capitals(word: str) -> bool:
    return len(word) > 1 and word.isupper()
