"""Functions that extract the numbers, names, negations and informative words of a text.

Time is linear in the length of the text.
"""

import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import NamedTuple

from conflictscore.number_words import NUMBER_WORDS, number_of
from conflictscore.scripts import fold, spaced_out, terms_in
from conflictscore.word_lists import (
    FUNCTION_WORDS,
    IRREGULAR,
    NEGATIONS,
    PHRASES,
    negations_in,
    stem,
)

_SMALL = 20  # in English, the largest number with its own word, other than multiples of ten
_NUMBER = re.compile(r"\d+(?:[.,:/\u066b\u066c]\d+)*")
# A number with its ordinal ending, which is no word: "3rd".
_NUMBER_OR_ORDINAL = re.compile(rf"{_NUMBER.pattern}(?:(?:st|nd|rd|th)\b)?", re.IGNORECASE)
# Separators of thousands: they are followed by exactly three digits.
_THOUSANDS = re.compile(r"[,.\u066c\u00a0\u2009\u202f'](?=\d{3}(?:\D|$))")
_SPACED_THOUSANDS = re.compile(r"(?<=\d)[ \u00a0\u2009\u202f'](?=\d{3}(?:\D|$))")
# A fraction that is a single character, after a digit: "1½" would otherwise be folded to 11/2.
_AFTER_DIGIT = re.compile("(?<=\\d)(?=[\u00bc-\u00be\u2150-\u215e\u2189])")
# Citations such as "[3]", "[1, 2]" and "(see document 4)". A colon after the bracket marks the
# definition of a footnote, which is not a citation.
_CITATION = re.compile(
    r"\[\^?\d{1,3}(?:[ ,;\u2013-]{1,3}\d{1,3}){0,20}\](?!:)"
    r"|[\[(](?:see |per )?(?:documents?|docs?|sources?|passages?|refs?|cites?|quellen?|dokumente?)"
    r"[ .:#]{0,3}\d{1,3}(?:[ ,;&#\u2013-]{1,4}(?:and )?#?\d{1,3}){0,20}[\])]",
    re.IGNORECASE,
)
SOURCE = re.compile(
    r"\b(?:documents?|docs?|sources?|passages?|texts?) ?#?\d{1,3}\b"
    r"(?:(?:, | and |, and )#?\d{1,3}\b){0,20}",
    re.IGNORECASE,
)
"""Matches documents that the answer cites by number; such a number is not a fact of the answer."""
# Lists of sources in a sentence, such as "documents (1, 2 and 3)".
_LISTED_SOURCES = re.compile(
    r"\b(?:documents?|sources?|passages?|texts?) ?\(#?\d{1,3}"
    r"(?:(?:, ?| and |, and )#?\d{1,3}){0,20}\)",
    re.IGNORECASE,
)
_POINTING = re.compile(
    r"\b(?:(?:latter|former|these|those|other|first|last) (?:two|three|four|five)"
    r"|as (?:long|soon|well) as|(?:at|by) th(?:at|e) time"
    r"|the (?:first|second|third|last|next) (?:item|point|option|case|step|part))\b",
    re.IGNORECASE,
)
"""Matches phrases that refer back or join clauses; a word such as "two" in them is not a number."""
_APOSTROPHE = "['\u2019]"
# Phrases with a straight or a typographic apostrophe.
_PHRASE = re.compile(
    r"\b(?:{})\b".format("|".join(re.escape(p).replace("'", _APOSTROPHE) for p in PHRASES)),
    re.IGNORECASE,
)
# The target of a Markdown link, or a bare address.
_TARGET = re.compile(r"(?<=\])\([^()\s]{1,2000}\)|\bhttps?://[^\s)>\]]{1,2000}")
_WORD = re.compile(r"\w[\w'\u2019-]*")
WORD_OR_NUMBER = re.compile(r"\d+(?:[.,:/]\d+)*|[^\W\d_][\w'\u2019-]*")
"""Matches a word, or a number with its separators."""
_TENS = ("thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_NUMBER_WORDS = dict(
    zip(
        "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen"  # noqa: SIM905
        " fifteen sixteen seventeen eighteen nineteen twenty".split(),
        map(str, range(_SMALL + 1)),
        strict=True,
    )
) | {"first": "1", "second": "2", "third": "3", "once": "1", "twice": "2"}
_NUMBER_WORDS |= {word: str(number) for word, number in zip(_TENS, range(30, 100, 10), strict=True)}
_NUMBER_WORDS |= {
    f"{ten}-{unit}": str(int(_NUMBER_WORDS[ten]) + int(_NUMBER_WORDS[unit]))
    for ten in ("twenty", *_TENS)
    for unit in ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
}
# Number words of other languages. Those from a hundred on are left out, since an English claim has
# several words for such a number ("two hundred").
_NUMBER_WORDS |= {
    fold(word): f"{number_of(word):g}"
    for word in NUMBER_WORDS
    if number_of(word) < 100 and fold(word) not in {*_NUMBER_WORDS, *FUNCTION_WORDS}
}
_UNINFORMATIVE = FUNCTION_WORDS | NEGATIONS
_OFTEN_NO_NUMBER = frozenset(("one", "first", "second", "once"))
"""Number words that often have a different meaning, as in "one of them" and "at first"."""
_MANY_CAPITALS = 0.4
"""Largest share of capitalised words at which capitals mark names; German texts have more. Chosen
by hand."""
# With fewer words, the share of capitals is not reliable, and English is the most likely language.
_FEW_TO_JUDGE = 8


_OPENS_SENTENCE = frozenset('.!?:;\n"\u201c\u201e(*_|>#')
"""Characters after which a capital letter does not mark a name. In Markdown, some of them begin a
line, a cell or emphasis."""


class Terms(NamedTuple):
    """The terms of a text that the claims about it must contain."""

    numbers: frozenset[str]
    names: frozenset[str]
    negations: frozenset[str]
    words: frozenset[str]  # stems of informative words, including names

    @property
    def of_a_place(self) -> frozenset[str]:
        """Return the words by which a claim is assigned to a passage."""
        return self.words | self.numbers


def plain_text(text: str) -> str:
    """Remove citations, link targets, source numbers, and phrases that state nothing."""
    for pattern in (_TARGET, _CITATION, _LISTED_SOURCES, SOURCE, _POINTING, _PHRASE):
        text = pattern.sub(" ", text)
    return text


# The same claims and passages are compared again after the model is asked about uncovered parts.
@lru_cache(maxsize=256)  # Each claim is compared with many passages.
def terms_of(text: str, *, names: bool) -> Terms:
    """Return the terms of a text.

    If ``names`` is true, capitalised words within a sentence count as names.
    """
    plain = plain_text(text)
    numbers = frozenset(numbers_in(plain))
    capitals = frozenset(stem_of(word) for word in _capitals(plain)) if names else frozenset[str]()
    words = frozenset(telling_words(plain))
    return Terms(numbers, capitals & words, negations_in(plain), words)


def telling_words(text: str) -> Iterator[str]:
    """Yield the stems of the informative words of a text, in order.

    Negations and the words of numbers do not count as informative.
    """
    for term in terms_in(_NUMBER_OR_ORDINAL.sub(" ", text)):
        is_number = term in _NUMBER_WORDS and term not in _OFTEN_NO_NUMBER
        # single letters say little: they are initials, options or units
        if len(term) > 1 and not is_number and term not in _UNINFORMATIVE:
            yield stem_of(term)


@lru_cache(maxsize=4096)  # cached, since words recur
def stem_of(word: str) -> str:
    """Return the stem of a word in any script; case is ignored."""
    bare = spaced_out(fold(word)).strip("' ")
    return stem(IRREGULAR.get(bare, bare))


def numbers_in(text: str) -> Iterator[str]:
    """Yield the numbers of a text in one notation: 2,140 and 2.140 become 2140, ½ becomes 1/2."""
    spaced_text = text if text.isascii() else _AFTER_DIGIT.sub(" ", text)
    # folding writes such a fraction with a sign that is not a slash
    closed_up = _SPACED_THOUSANDS.sub("", fold(spaced_text).replace("\u2044", "/"))
    for match in _NUMBER.finditer(closed_up):
        yield _THOUSANDS.sub("", match[0]).replace(",", ".")
    for word in _WORD.findall(closed_up):
        if word in _NUMBER_WORDS and word not in _OFTEN_NO_NUMBER:
            yield _NUMBER_WORDS[word]


def small_numbers(text: str) -> frozenset[str]:
    """Return the numbers below a hundred that are written as words, converted to digits."""
    words = _WORD.findall(fold(text))
    return frozenset(_NUMBER_WORDS[word] for word in words if word in _NUMBER_WORDS)


def _capitals(text: str) -> Iterator[str]:
    """Yield the capitalised words that do not begin a sentence."""
    end = 0
    opens = True
    for match in _WORD.finditer(text):
        between = text[end : match.start()]
        opens = opens or not _OPENS_SENTENCE.isdisjoint(between)
        if not opens and match[0][0].isupper():
            yield match[0]
        opens, end = False, match.end()


@lru_cache(maxsize=16)  # the same texts are tested again for each claim of an answer
def tells_names(text: str) -> bool:
    """Return whether capitals mark names in a text; in German, they mark all nouns."""
    within = [word for word in _words_inside(text) if fold(word) not in FUNCTION_WORDS]
    capitals = sum(word[0].isupper() for word in within)
    return capitals <= _MANY_CAPITALS * len(within) or len(within) < _FEW_TO_JUDGE


def _words_inside(text: str) -> Iterable[str]:
    """Return the words of a text except its first, whose capital marks no name.

    Other sentences begin with a capital too, but they are few among the words.
    """
    words = [match[0] for match in _WORD.finditer(text)]
    return (word for word in words[1:] if word[0].isalpha())
