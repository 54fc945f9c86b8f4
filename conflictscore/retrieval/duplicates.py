"""Near-identical documents: ten copies of one press release are one witness.

Texts are compared by their shingles, which are three words in a row with case, punctuation and
white space aside. Two texts are near-identical if the shingles that both have are at least 80 %
of those that either has (their Jaccard index): one text with another heading or another end. They
are too where these are at least 20 % and are found in every quarter of either text: one text that
was edited, or had words changed all over it. With one word in six changed 44 % are left, and 24 %
between two such copies; reports written independently share next to none, and pages with the same
long notice share them in one place. MinHash proposes the pairs, so that not every two texts are
compared; the index itself is then taken exactly, and decides.

A changed word can be the number that matters, so each copy is still labelled by itself.

Before any of this, letters that look alike are made one: a copy whose Latin letters were replaced
by Cyrillic ones reads the same and shares no word with its original. What is taken for alike is
Unicode's own list (UTS #39, confusables). Texts so changed are compared and never shown.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import cache

from rensa import RMinHash, RMinHashLSH

from conflictscore.prompts import without_invisibles
from conflictscore.records import Document
from conflictscore.scripts import words_in

_ALIKE, _EDITED = 0.8, 0.2
_IN_EACH_PART = 0.1
"""Share of the shingles of each part of an edited copy that its original has."""
_AMONG_COPIES, _MOST_COMPARED = 0.05, 16
"""Jaccard index that an edited copy has with those of the same original before it. Otherwise a text
made of pieces of two reports would make one witness of them."""
_PARTS, _LEAST_OF_PART = 4, 15
"""Parts of a text, and the fewest shingles of one."""
_FEWEST = 20
"""Shingles that a text needs to be compared by them; with fewer, a single word decides."""

_SLOTS, _BANDS, _SEED = 128, 64, 1
"""A pair at 44 % is missed, for want of a band of 2 equal slots, one time in a million."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
_FOREIGN = re.compile(r"[^\x00-\x7f\W\d_]")
"""A letter that is not of ASCII."""
_WITH_A_LETTER = re.compile(r"(?<!\d)\d*+[^\W\d_]\w*+")
_WITH_A_STROKE = re.compile(r"(?<!\w)[^\W01]*+[01]\w*+")
_STROKES = str.maketrans("i10", "llo")


def mark_duplicates(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Mark each document that is a near-copy of an earlier one, in ``duplicate_of``.

    A document is compared with earlier ones that are not copies themselves, and marked with the
    one it is most like, the earlier on a tie: thus it is near-identical to the document that it
    names, and not only to a copy of a copy of it. A text with fewer than 20 shingles is a copy only
    if it is the same but for case, white space and letters that look alike. Earlier marks are
    replaced.
    """
    originals = _Originals()
    first = {document.number: originals.match(document) for document in documents}
    return tuple(
        one.model_copy(
            update={"duplicate_of": first[one.number] if first[one.number] != one.number else None}
        )
        for one in documents
    )


class _Originals:
    """The texts that are no copies so far; ``match`` gives the number of a text's original."""

    def __init__(self) -> None:
        self._index = RMinHashLSH(_EDITED, _SLOTS, _BANDS)
        self._shingles: dict[int, dict[str, None]] = {}
        self._copies: defaultdict[int, list[dict[str, None]]] = defaultdict(list)
        self._by_text: dict[str, int] = {}

    def match(self, document: Document) -> int:
        text = " ".join(_plain_letters(document.text).split())
        if text not in self._by_text:
            self._by_text[text] = self._nearest(document.number, text)
        return self._by_text[text]

    def _nearest(self, number: int, text: str) -> int:
        shingles = _shingles(text)
        if len(shingles) < _FEWEST:
            return number
        sketch = RMinHash(_SLOTS, _SEED)
        sketch.update(shingles)
        proposed: list[int] = self._index.query(sketch)
        likeness = {n: self._likeness(shingles, n) for n in proposed}
        if best := max(likeness.values(), default=0.0):
            first = min(original for original in likeness if likeness[original] == best)
            self._copies[first].append(shingles)
            return first
        self._index.insert(number, sketch)
        self._shingles[number] = shingles
        return number

    def _likeness(self, shingles: dict[str, None], original: int) -> float:
        """The Jaccard index of a text and an original; 0 where it is no copy of it."""
        one = self._shingles[original]
        index = _jaccard(shingles, one)
        if index >= _ALIKE:
            return index
        edited = (
            index >= _EDITED
            and _is_all_over(shingles, one)
            and _is_all_over(one, shingles)
            and all(
                _jaccard(shingles, copy) >= _AMONG_COPIES
                for copy in self._copies[original][:_MOST_COMPARED]
            )
        )
        return index if edited else 0.0


def _shingles(text: str) -> dict[str, None]:
    words = words_in(text)
    return dict.fromkeys(map(" ".join, zip(words, words[1:], words[2:], strict=False)))


def _jaccard(one: dict[str, None], other: dict[str, None]) -> float:
    shared = len(one.keys() & other)
    return shared / (len(one) + len(other) - shared)


def _is_all_over(one: dict[str, None], other: dict[str, None]) -> bool:
    """Whether each part of a text has some of the shingles of another."""
    shingles = [*one]
    size = max(_LEAST_OF_PART, -(-len(shingles) // _PARTS))
    parts = [shingles[at : at + size] for at in range(0, len(shingles) - size // 2, size)]
    return all(sum(s in other for s in part) >= _IN_EACH_PART * len(part) for part in parts)


def _plain_letters(text: str) -> str:
    """A text, case folded, in which letters that look alike are the same letter.

    Characters that are not drawn and accents are gone; within words ``i``, ``l`` and ``1`` are one,
    and so are ``o`` and ``0``. Numbers stay as they are.
    """
    text = unicodedata.normalize("NFKD", without_invisibles(text))
    text = unicodedata.normalize("NFKC", _ACCENTS.sub("", text))
    text = text.translate(_lookalikes()) if _FOREIGN.search(text) else text
    # every "i" is in a word, but of digits only those beside letters are taken for letters
    text = text.casefold().replace("i", "l")
    return _WITH_A_STROKE.sub(lambda word: _WITH_A_LETTER.sub(_in_strokes, word[0]), text)


def _in_strokes(word: re.Match[str]) -> str:
    return word[0].translate(_STROKES)


@cache
def _lookalikes() -> dict[int, str]:
    """For each letter of another script that looks like one of A to Z, or a to z, that one."""
    from confusable_homoglyphs.confusables import confusables_data

    return {
        ord(letter): alike["c"]
        for letter, all_alike in confusables_data.items()
        if len(letter) == 1 and letter.isalpha() and not letter.isascii()
        for alike in all_alike
        if len(alike["c"]) == 1 and alike["c"].isascii() and alike["c"].isalpha()
    }
