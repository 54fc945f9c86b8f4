"""Finds near-identical documents, so that ten copies of a press release count as one witness.

In this project, a witness is an independent source. Texts are compared by their shingles, which are
sequences of three successive words. Case, punctuation and white space are ignored. Two texts are
near-identical if their Jaccard index (the number of shared shingles divided by the number of all
shingles) is at least .8. This rule covers copies with a different heading or ending. Two texts are
also near-identical if the index is at least .2 and every quarter of each text shares shingles with
the other text. The rule about quarters covers texts that were edited throughout. If one word in
seven is changed at random, the index is about .46 between a copy and its original, and about .25
between two such copies. Independently written reports share almost no shingles. Pages that repeat
the same long notice share shingles in only one place. MinHash proposes candidate pairs, so that not
all pairs need to be compared. The exact index then decides whether a pair is near-identical.

Each copy is still labelled separately, since the changed word may be the number that matters.

Look-alike letters are unified first, because a copy with Cyrillic instead of Latin letters reads
the same but has no words in common with its original. The table of look-alikes comes from Unicode
(UTS #39, confusables). The unified texts are only compared, never shown.
"""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Sequence
from functools import cache, partial

from rensa import RMinHash, RMinHashLSH

from conflictscore.prompts import without_invisibles
from conflictscore.records import Document
from conflictscore.scripts import words_in
from conflictscore.threads import read_in_thread

# The module's docstring explains these limits and the copies that they cover.
_ALIKE, _EDITED = 0.8, 0.2
_IN_EACH_PART = 0.1
"""Minimum share of shingles that each part of an edited copy must have in common with the
original. Chosen by hand: a part with some accidental matches has a smaller share, and a part in
which one word in six was changed has about half."""
_AMONG_COPIES = 0.05
"""Minimum Jaccard index between an edited copy and each earlier copy of the same original. Without
this minimum, a text assembled from two reports would merge them into one witness. Chosen by hand:
two copies with one word in seven changed have about .25, and two separate reports almost 0."""
_MOST_COMPARED = 16
"""A text is compared with at most this many earlier copies, so that hundreds of copies do not take
quadratic time; chosen by hand."""
_PARTS, _LEAST_OF_PART = 4, 15
"""Number of parts into which a text is divided, and minimum number of shingles in a part; chosen by
hand. In a smaller part, a few changed words could destroy all shared shingles."""
_FEWEST = 20
"""Minimum number of shingles in a text that may be a near-copy. In a shorter text, a single word
would tip the result."""

_SLOTS, _BANDS, _SEED = 512, 256, 1
"""MinHash parameters.

Each sketch has 512 slots, in 256 bands of 2. Two texts become a candidate pair if both slots of
some band are equal. A pair with a Jaccard index of .2, the lowest that counts, is missed three
times in 100,000 cases, by the formula (1 - .2²)^256. The seed is fixed, so that every run finds the
same copies.
"""

# Accents as separate characters, as NFKD leaves them.
_ACCENTS = re.compile("[\u0300-\u036f]+")
_FOREIGN = re.compile(r"[^\x00-\x7f\W\d_]")
"""A non-ASCII letter."""
# Words that contain a letter.
_WITH_A_LETTER = re.compile(r"(?<!\d)\d*+[^\W\d_]\w*+")
_STROKES = str.maketrans("i10", "llo")


def mark_duplicates(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Set ``duplicate_of`` on each document that is a near-copy of an earlier one.

    Each document is compared with the earlier documents that are not copies themselves.
    ``duplicate_of`` is the number of the most similar one, or of the earliest if several are
    equally similar. A document is therefore near-identical to the document that it refers to, not
    merely to a copy of a copy. A text with fewer than 20 shingles counts as a copy only if the two
    texts are equal apart from case, white space and look-alike letters. Existing values are
    replaced.
    """
    originals = _Originals()
    first = {document.number: originals.match(document) for document in documents}
    return tuple(_marked(document, first[document.number]) for document in documents)


async def mark_in_thread(documents: Sequence[Document]) -> tuple[Document, ...]:
    """Run :func:`mark_duplicates` without blocking the event loop."""
    chars = sum(len(document.text) for document in documents)
    return await read_in_thread(partial(mark_duplicates, documents), chars)


def _marked(document: Document, original: int) -> Document:
    duplicate_of = None if original == document.number else original
    if document.duplicate_of == duplicate_of:
        return document
    return document.model_copy(update={"duplicate_of": duplicate_of})


class _Originals:
    """Holds the originals: the texts processed so far that are not copies.

    ``match`` returns the document number of a text's original.
    """

    def __init__(self) -> None:
        self._index = RMinHashLSH(_EDITED, _SLOTS, _BANDS)
        self._shingles: dict[int, dict[str, None]] = {}
        self._copies: defaultdict[int, list[dict[str, None]]] = defaultdict(list)
        self._by_text: dict[str, int] = {}

    def match(self, document: Document) -> int:
        text = _plain_letters(document.text)
        # two empty texts are equal too; an empty text is not evidence, so this changes no count
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
        """Return the Jaccard index of a text and an original, or 0 if the text is not a copy."""
        one = self._shingles[original]
        index = _jaccard(shingles, one)
        # MinHash only estimates, so a proposed pair may have an index below both limits
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
    """Return whether each part of the first text shares enough shingles with the second text."""
    shingles = [*one]
    size = max(_LEAST_OF_PART, -(-len(shingles) // _PARTS))
    # a remainder of at most half a part is too short to decide
    parts = [shingles[at : at + size] for at in range(0, len(shingles) - size // 2, size)]
    return all(sum(s in other for s in part) >= _IN_EACH_PART * len(part) for part in parts)


def _plain_letters(text: str) -> str:
    """Return the case-folded text with single spaces, and with look-alike letters unified.

    Invisible characters and accents are removed. Within words, ``i``, ``l`` and ``1`` become one
    letter, and ``o`` and ``0`` become another. Numbers remain unchanged.
    """
    if not text.isascii():
        text = unicodedata.normalize("NFKD", without_invisibles(text))
        text = unicodedata.normalize("NFKC", _ACCENTS.sub("", text))
        text = text.translate(_lookalikes()) if _FOREIGN.search(text) else text
    # "i" is always part of a word, but a digit counts as a letter only next to letters
    text = text.casefold().replace("i", "l")
    # few parts contain 0 or 1, and the pattern passes over plain numbers
    parts = [
        _WITH_A_LETTER.sub(_in_strokes, part) if "0" in part or "1" in part else part
        for part in text.split()
    ]
    return " ".join(parts)


def _in_strokes(word: re.Match[str]) -> str:
    return word[0].translate(_STROKES)


@cache
def _lookalikes() -> dict[int, str]:
    """Map each foreign letter to the ASCII letter that it looks like."""
    from confusable_homoglyphs.confusables import confusables_data

    # each foreign letter has one such ASCII letter in the table, so no choice has to be made
    return {
        ord(letter): alike["c"]
        for letter, all_alike in confusables_data.items()
        if len(letter) == 1 and letter.isalpha() and not letter.isascii()
        for alike in all_alike
        if len(alike["c"]) == 1 and alike["c"].isascii() and alike["c"].isalpha()
    }
