"""Finds near-identical documents: ten copies of a press release are one witness.

Texts are compared by their shingles: three successive words, ignoring case, punctuation and white
space. Two texts are near-identical if their Jaccard index (shared shingles divided by all shingles)
is at least .8, as for copies with a different heading or end. They are also near-identical if it is
at least .2 and every quarter of both texts has shared shingles, as for a text edited throughout. If
one word in six is changed, a copy keeps 44 % of the original's shingles, and two such copies share
24 %. Independently written reports share almost none, and pages with the same long notice share
them in one place. MinHash proposes pairs, so that not all pairs need comparing, and the exact index
decides.

The changed word may be the number that matters, so each copy is still labelled separately.

Look-alike letters are unified first, because a copy with Cyrillic instead of Latin letters reads
the same but shares no word with its original. The look-alikes are those of Unicode's list (UTS #39,
confusables). Texts changed in this way are only compared, never shown.
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
"""Minimum share of shingles from the original in each part of an edited copy."""
_AMONG_COPIES, _MOST_COMPARED = 0.05, 16
"""Minimum Jaccard index of an edited copy with earlier copies of the same original. Otherwise a
text made of pieces of two reports would merge them into one witness."""
_PARTS, _LEAST_OF_PART = 4, 15
"""Number of parts of a text, and minimum shingles of a part."""
_FEWEST = 20
"""Minimum shingles of a text for this comparison; with fewer, a single word would decide."""

_SLOTS, _BANDS, _SEED = 128, 64, 1
"""MinHash parameters.

A pair with an index of .44 is missed (no band of 2 equal slots) once in a million.
"""

_ACCENTS = re.compile("[\u0300-\u036f]+")
_FOREIGN = re.compile(r"[^\x00-\x7f\W\d_]")
"""A non-ASCII letter."""
_WITH_A_LETTER = re.compile(r"(?<!\d)\d*+[^\W\d_]\w*+")
_WITH_A_STROKE = re.compile(r"(?<!\w)[^\W01]*+[01]\w*+")
_STROKES = str.maketrans("i10", "llo")


def mark_duplicates(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Mark each document that is a near-copy of an earlier one, in ``duplicate_of``.

    A document is compared with earlier documents that are not copies, and marked with the most
    similar one, or the earlier one on a tie. So it is near-identical to the document that it names,
    not only to a copy of a copy. A text with fewer than 20 shingles is a copy only if it is equal
    apart from case, white space and look-alike letters. Earlier marks are replaced.
    """
    originals = _Originals()
    first = {document.number: originals.match(document) for document in documents}
    return tuple(_marked(document, first[document.number]) for document in documents)


def _marked(document: Document, original: int) -> Document:
    duplicate_of = None if original == document.number else original
    if document.duplicate_of == duplicate_of:
        return document
    return document.model_copy(update={"duplicate_of": duplicate_of})


class _Originals:
    """The texts seen so far that are not copies.

    ``match`` returns the number of a text's original.
    """

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
        """The Jaccard index of a text and an original; 0 if the text is not a copy."""
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
    """Whether each part of a text shares enough shingles with a second text."""
    shingles = [*one]
    size = max(_LEAST_OF_PART, -(-len(shingles) // _PARTS))
    parts = [shingles[at : at + size] for at in range(0, len(shingles) - size // 2, size)]
    return all(sum(s in other for s in part) >= _IN_EACH_PART * len(part) for part in parts)


def _plain_letters(text: str) -> str:
    """A case-folded text in which look-alike letters are unified.

    Invisible characters and accents are removed. Within words ``i``, ``l`` and ``1`` become the
    same letter, and so do ``o`` and ``0``. Numbers are kept.
    """
    text = unicodedata.normalize("NFKD", without_invisibles(text))
    text = unicodedata.normalize("NFKC", _ACCENTS.sub("", text))
    text = text.translate(_lookalikes()) if _FOREIGN.search(text) else text
    # every "i" is part of a word, but a digit counts as a letter only next to letters
    text = text.casefold().replace("i", "l")
    return _WITH_A_STROKE.sub(lambda word: _WITH_A_LETTER.sub(_in_strokes, word[0]), text)


def _in_strokes(word: re.Match[str]) -> str:
    return word[0].translate(_STROKES)


@cache
def _lookalikes() -> dict[int, str]:
    """Maps letters of other scripts to the look-alike letter among A to Z and a to z."""
    from confusable_homoglyphs.confusables import confusables_data

    return {
        ord(letter): alike["c"]
        for letter, all_alike in confusables_data.items()
        if len(letter) == 1 and letter.isalpha() and not letter.isascii()
        for alike in all_alike
        if len(alike["c"]) == 1 and alike["c"].isascii() and alike["c"].isalpha()
    }
