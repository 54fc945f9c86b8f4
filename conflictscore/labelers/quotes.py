"""Finds evidence in a document: a quotation, or the sentences nearest to a claim.

Evidence is always shown in the words of the document. The judge's quotation only shows where to
look.

Limits without a stated reason were chosen by hand.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import chain, pairwise
from math import fsum
from typing import NamedTuple

from conflictscore.prompts import material
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.retrieval.token_windows import MARK
from conflictscore.scripts import (
    HANGUL,
    UNSPACED,
    WORD_CHARACTER,
    Folded,
    folded,
    term_sets,
    terms_in,
    word_weights,
)
from conflictscore.sentences import sentence_starts

LONGEST_PASSAGE = 400
"""Maximum length, in characters, of the passage that is shown for a verdict: two or three
sentences, which a reader takes in at a glance."""

Span = tuple[int, int]
"""The start and end offsets of a piece of text; the end is exclusive."""

_ENDS = "\"'“”‘’«»… ."
"""Characters that are removed from both ends of a quotation."""
# Omission marks, such as "[…]" and "...".
_LEFT_OUT = re.compile(r"[\[(]\s*(?:…|\.{3,})\s*[\])]|…|\.{3,}|\. \. \.")
# Repetitions are bounded, so that a search through a hostile text takes linear time.
_SQUEEZABLE = re.compile(
    r"(?P<hyphen>(?<=[^\W\d_])-(?:[ \t]{0,8}\r?\n[ \t]{0,40})?(?=[^\W\d_]))"
    r"|(?P<blank>\s++)|[^\s-]++|-"
)
# A place between two characters of a word. An underscore is Markdown's emphasis. Scripts without
# spaces do not mark where a word ends, and Korean attaches particles to words.
_INSIDE_WORD = re.compile(
    rf"(?<![_{UNSPACED}{HANGUL}])(?<={WORD_CHARACTER})(?![_{UNSPACED}{HANGUL}]){WORD_CHARACTER}"
)
_MOST_TRIED = 1_000
"""A quotation may occur within longer words; at most this many such occurrences are passed over.

Only a quotation of a few letters occurs so often. It then counts as not found. The limit keeps the
time linear in a hostile text, and was chosen by hand.
"""


def quoted_spans(quote: str, text: str) -> tuple[Span, ...]:
    """Return the spans where a quotation occurs in a text; empty if it does not occur.

    A quotation consists of whole words: "art" does not occur in "party". White space, case and
    quotation marks are ignored. So are hyphens between letters, since a hyphen at the end of a line
    may belong to the word or only divide it. A quotation with omissions (``…``, ``...`` or ``[…]``)
    occurs if all its parts occur in order. Each part then has its own span.
    """
    whole = quote.strip(_ENDS)
    if not whole:
        return ()
    # the exact quotation first: full stops at its ends, or an omission mark, may be in the document
    attempts = ([quote.strip()], [whole], [part.strip(_ENDS) for part in _LEFT_OUT.split(whole)])
    return next(filter(None, (_in_order(parts, text) for parts in attempts)), ())


def _in_order(parts: list[str], text: str) -> tuple[Span, ...]:
    """Return the spans of all parts if they occur in this order; otherwise, an empty tuple."""
    squeezed_text, spans, place = _squeezed(text), list[Span](), 0
    for quote in filter(None, (_squeezed(part).text.strip() for part in parts)):
        for _ in range(_MOST_TRIED):
            start = squeezed_text.text.find(quote, place)
            if start < 0:
                return ()
            end = start + len(quote)
            span = squeezed_text.starts[start], squeezed_text.ends[end - 1]
            if not any(_INSIDE_WORD.match(text, edge) for edge in span):
                break
            place = start + 1
        else:
            return ()
        place = end
        spans.append(span)
    return tuple(spans)


@lru_cache(maxsize=64)  # several quotations are searched for in the same document
def _squeezed(text: str) -> Folded:
    """Fold a text, drop hyphens between letters, and reduce white space to single spaces."""
    whole = folded(text)
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _SQUEEZABLE.finditer(whole.text):
        start, end = match.span()
        if match["hyphen"]:
            continue
        character = " " if match["blank"] else match[0]
        pieces.append(character)
        end = start + len(character)
        starts += whole.starts[start:end]
        ends += whole.ends[start:end]
    return Folded("".join(pieces), starts, ends)


def stands_in(quote: str, document: Document) -> bool:
    """Return whether a quotation occurs in a document's title or text; see :func:`quoted_spans`."""
    return bool(found_in(quote, document)[1])


def found_in(quote: str, document: Document) -> tuple[str, tuple[Span, ...]]:
    """Return the title and text as a judge reads them, and the spans of a quotation in them."""
    return _found_in(quote, document.title, document.text)


@lru_cache(maxsize=64)  # a verdict's quotation is looked up when it is read and when it is shown
def _found_in(quote: str, title: str, text: str) -> tuple[str, tuple[Span, ...]]:
    whole = _whole(title, text)
    return whole, quoted_spans(material(quote), whole)


@lru_cache(maxsize=64)  # several quotations are searched for in the same document
def _whole(title: str, text: str) -> str:
    return material(f"{title}\n{text}")


def passage_of(claim: Claim, document: Document, verdict: EvidenceLabel) -> str | None:
    """Return the passage to show for a verdict, on one line and in the words of the document.

    The passage is the text that the judge quoted, or the window that decided the label. A quotation
    is usable if it is in the document and has at most 400 characters. Without a usable quotation,
    the passage consists of the sentences that share the most words with the claim; rare words weigh
    more. Return None if the verdict takes no side, or if the document is blank.
    """
    if verdict.passage or verdict.label not in (Label.SUPPORTS, Label.CONTRADICTS):
        return verdict.passage
    if not verdict.snippet:
        return _nearest(claim.text, material(document.text)) or None
    whole, spans = found_in(verdict.snippet, document)
    passage = MARK.join(" ".join(whole[start:end].split()) for start, end in spans)
    if passage and len(passage) <= LONGEST_PASSAGE:
        return passage
    # The title is left out: it has many words of the claim, so it would often be nearest, although
    # it says little by itself.
    within = MARK.join(whole[start:end] for start, end in spans) or material(document.text)
    return _nearest(claim.text, within) or None


def _nearest(claim: str, text: str) -> str:
    """Return up to 400 characters of sentences that share the most words with the claim."""
    texts, terms_by_sentence, lasts = _sentences(text)
    if not lasts:
        return texts[0]
    claim_words = frozenset(terms_in(claim))
    shared_words = [claim_words & terms for terms in terms_by_sentence]
    spread = Counter(chain.from_iterable(shared_words))
    if not spread:  # no sentence has any of the claim's words
        return " ".join(texts[: lasts[0]])
    worth = _Worth(word_weights(spread, len(texts)))
    best, most = (0, 0), (-1.0, -1.0)
    before: frozenset[str] | None = None
    words, end = frozenset[str](), 0
    for first, (own, last) in enumerate(zip(shared_words, lasts, strict=True)):
        if own == before:  # the passage has all words of the previous one, maybe more
            for more in shared_words[end:last]:
                words |= more
        elif own:
            words = own.union(*shared_words[first + 1 : last])
        before, end = own, last
        # if the first sentence of a passage has none of the claim's words, the passage that begins
        # one sentence later is as good
        if own and (worth[words], worth[own]) > most:
            best, most = (first, last), (worth[words], worth[own])
    return " ".join(texts[slice(*best)])


class _Worth(dict[frozenset[str], float]):
    """Maps a set of words to the sum of their weights, which is computed only once."""

    def __init__(self, weights: Mapping[str, float]) -> None:
        super().__init__()
        self._weights = weights

    def __missing__(self, words: frozenset[str]) -> float:
        self[words] = total = fsum(map(self._weights.__getitem__, words))
        return total


class _Sentences(NamedTuple):
    """The sentences of a document, each on one line; a sentence that is too long is split."""

    texts: Sequence[str]
    terms: Sequence[frozenset[str]]
    lasts: Sequence[int]
    """For each sentence, the end of the longest passage that begins with it and has at most 400
    characters."""


@lru_cache(maxsize=64)  # all the claims of an answer are compared with the same documents
def _sentences(text: str) -> _Sentences:
    """Return the sentences of a text; a short text counts as one sentence, without further data."""
    starts = [*sentence_starts(text), len(text)]
    pieces = [text[start:end] for start, end in pairwise(starts)]
    texts = [line for line in map(" ".join, map(str.split, pieces)) if line]
    if max(map(len, texts), default=0) > LONGEST_PASSAGE:
        texts = [
            line[start : start + LONGEST_PASSAGE]
            for line in texts
            for start in range(0, len(line), LONGEST_PASSAGE)
        ]
    if len(whole := " ".join(texts)) <= LONGEST_PASSAGE:
        return _Sentences([whole], [], [])
    return _Sentences(texts, term_sets(texts), _ends_of_runs([*map(len, texts)]))


def _ends_of_runs(lengths: Sequence[int]) -> list[int]:
    """Return, for each sentence, the end of the longest passage (up to 400 characters) from it."""
    last, length, count = 0, -1, len(lengths)
    lasts = [0] * count
    for place, own in enumerate(lengths):
        while last < count and length + 1 + lengths[last] <= LONGEST_PASSAGE:
            length += 1 + lengths[last]
            last += 1
        lasts[place] = last
        length -= 1 + own
    return lasts
