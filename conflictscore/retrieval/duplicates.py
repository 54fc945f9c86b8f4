"""Near-identical documents: ten copies of one press release are one witness.

Texts are compared by their shingles, which are three words in a row with case, punctuation and
white space aside. Two texts are near-identical where the shingles that both have are at least 80 %
of those that either has (their Jaccard index). MinHash proposes the pairs, so that not every two
texts are compared; the index itself is then taken exactly, and decides.

Meaning, on request, finds what words do not: texts whose embeddings have a cosine of at least
0.9. Of 10,778 pairs of documents of one question that are no copies by words, 91 are that close
(``measurements.floods``), and of pairs of one text with a word in six changed at random, three in
ten.

80 % was chosen on search results: the wrong pairs among some 2,300 passages, pages of different
videos that came back with one and the same notice of the search engine, reach 77 %. What stands at
80 % and above is one text with another heading, another end, or a few words changed. One of these
words can be the number that matters, so each copy is still labelled by itself.

Before any of this, letters that look alike are made one: a copy whose Latin letters were replaced
by Cyrillic ones reads the same and shares no word with its original. What is taken for alike is
Unicode's own list (UTS #39, confusables). Texts so changed are compared and never shown.
"""

import re
import unicodedata
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING

from rensa import RMinHash, RMinHashLSH

from conflictscore.prompts import without_invisibles
from conflictscore.records import Document, Likeness
from conflictscore.retrieval.ranking import require_dense
from conflictscore.scripts import words_in

if TYPE_CHECKING:
    from conflictscore.retrieval.dense import Floats

__all__ = ["mark_duplicates", "meanings"]

_ALIKE = 0.8
_SAME_MEANING = 0.9
_LATIN = 0.9
"""The share of letters from A to Z in a text that the embedding model can read."""
_FEWEST = 20
"""Shingles that a text needs to be compared by them; with fewer, a single word decides."""

_SLOTS, _BANDS, _SEED = 128, 32, 1
"""A pair at 80 % is missed, for want of a band of 4 equal slots, one time in 20 million."""

_ACCENTS = re.compile("[\u0300-\u036f]+")
_FOREIGN = re.compile(r"[^\x00-\x7f\W\d_]")
"""A letter that is not of ASCII."""
_WITH_A_LETTER = re.compile(r"\d*[^\W\d_]\w*")
_STROKES = str.maketrans("i10", "llo")


def mark_duplicates(documents: Sequence[Document], by: Likeness = "words") -> tuple[Document, ...]:
    """Mark each document that is a near-copy of an earlier one.

    A document is compared with those before it that are not copies themselves, and marked with the
    one it is most like, the earlier on a tie. It is thus near-identical to the document that it
    names, and not only to a copy of a copy of it. A text with fewer than 20 shingles is a copy only
    where it is the same but for case, white space and letters that look alike.

    Args:
        documents: The documents of one question, in order. Marks that they have already are
            replaced.
        by: How a copy is known: by its ``words``, or also, where they tell nothing, by its
            ``meaning`` (extra ``dense``).

    Returns:
        The same documents with ``duplicate_of``: the number of the first document of the group,
        None for that document itself and for one without copies.

    Raises:
        ConfigurationError: The extra that ``meaning`` needs is missing, or the cache folder cannot
            be written.
        ProviderError: Its model cannot be fetched.
    """
    originals = _Originals()
    first = {document.number: originals.match(document) for document in documents}
    if by == "meaning":
        alike = _of_one_meaning([one for one in documents if first[one.number] == one.number])
        first = {number: alike.get(original, original) for number, original in first.items()}
    return tuple(
        one.model_copy(
            update={"duplicate_of": first[one.number] if first[one.number] != one.number else None}
        )
        for one in documents
    )


class _Originals:
    """The documents so far that are not copies, for the next one to be compared with."""

    def __init__(self) -> None:
        self._index = RMinHashLSH(_ALIKE, _SLOTS, _BANDS)
        self._shingles: dict[int, set[str]] = {}
        self._by_text: dict[str, int] = {}

    def match(self, document: Document) -> int:
        """The number of the document that this one is a copy of, its own where it is none."""
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
        likeness: dict[int, float] = {
            original: _jaccard(shingles, self._shingles[original])
            for original in self._index.query(sketch)
        }
        best = max(likeness.values(), default=0.0)
        if best >= _ALIKE:
            return min(original for original in likeness if likeness[original] == best)
        self._index.insert(number, sketch)
        self._shingles[number] = shingles
        return number


def _of_one_meaning(documents: Sequence[Document]) -> dict[int, int]:
    """For each document that says the same as an earlier one that does not, the number of that."""
    long = [one for one in documents if len(_shingles(_plain_letters(one.text))) >= _FEWEST]
    vectors = meanings(long)
    kept: list[int] = []
    alike: dict[int, int] = {}
    for number, vector in vectors.items():
        cosines = {one: float(vectors[one] @ vector) for one in kept}
        best = max(cosines, key=cosines.__getitem__, default=None)
        if best is not None and cosines[best] >= _SAME_MEANING:
            alike[number] = best
        else:
            kept.append(number)
    return alike


def meanings(documents: Sequence[Document]) -> "dict[int, Floats]":
    """The meaning of each text as a vector of length 1, the mean over its pieces, by number.

    Texts that are not in Latin letters have none: the model knows English only.

    Raises:
        ConfigurationError: The extra is missing, or the cache folder cannot be written.
        ProviderError: The model cannot be fetched.
    """
    require_dense("comparing documents by meaning")
    from conflictscore.retrieval.dense import shared_encoder

    texts = {document.number: _latin_letters(document.text) for document in documents}
    texts = {number: text for number, text in texts.items() if _is_latin(text)}
    means = (pieces.mean(axis=0) for pieces in shared_encoder().encode(list(texts.values())))
    return {number: mean / (mean @ mean) ** 0.5 for number, mean in zip(texts, means, strict=True)}


def _is_latin(text: str) -> bool:
    letters = [letter for letter in text if letter.isalpha()]
    return sum(map(str.isascii, letters)) >= _LATIN * len(letters) > 0


def _shingles(text: str) -> set[str]:
    words = words_in(text)
    return {" ".join(three) for three in zip(words, words[1:], words[2:], strict=False)}


def _jaccard(one: set[str], other: set[str]) -> float:
    shared = len(one & other)
    return shared / (len(one) + len(other) - shared)


def _plain_letters(text: str) -> str:
    """A text, case folded, in which letters that look alike are the same letter.

    As ``_latin_letters``; within words ``i``, ``l`` and ``1`` are one too, and so are ``o`` and
    ``0``. Numbers stay as they are.
    """
    folded = _latin_letters(text).casefold()
    return _WITH_A_LETTER.sub(lambda word: word[0].translate(_STROKES), folded)


def _latin_letters(text: str) -> str:
    """A text in which what looks like a letter from A to Z is that letter.

    Characters that are not drawn and accents are gone.
    """
    text = unicodedata.normalize("NFKD", without_invisibles(text))
    text = unicodedata.normalize("NFKC", _ACCENTS.sub("", text))
    return text.translate(_lookalikes()) if _FOREIGN.search(text) else text


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
