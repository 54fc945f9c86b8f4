"""Evidence in a document: the place of a quotation, or the sentences nearest to a claim.

Evidence is always shown in the document's own words; a judge's quotation only says where to look.
"""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from math import fsum, log

from conflictscore.prompts import material
from conflictscore.records import Claim, Document, EvidenceLabel, Label
from conflictscore.retrieval.token_windows import MARK
from conflictscore.scripts import Folded, folded, terms_in
from conflictscore.sentences import sentence_starts

LONGEST_PASSAGE = 400
"""Maximum characters of a document shown for a verdict."""

Span = tuple[int, int]
"""Offsets of a stretch of text: start, and end (exclusive)."""

_ENDS = "\"'“”‘’«»… ."
"""Characters around a quotation that are not part of it."""
_LEFT_OUT = re.compile(r"[\[(]\s*(?:…|\.{3,})\s*[\])]|…|\.{3,}|\. \. \.")
_SQUEEZABLE = re.compile(
    r"(?P<divided>(?<=[^\W\d_])-[ \t]{0,8}\r?\n[ \t]{0,40}(?=[^\W\d_]))|(?P<blank>\s++)|[^\s-]++|-"
)


def quoted_spans(quote: str, text: str) -> tuple[Span, ...]:
    """Where a quotation occurs in a text.

    White space, case, marks around the quotation and hyphenation at line ends are ignored. A
    quotation with omissions (``…``, ``...`` or ``[…]``) occurs if all its parts do, in order; the
    result has one span per part, or is empty.
    """
    whole = quote.strip(_ENDS)
    if not whole:
        return ()
    attempts = ([quote.strip()], [whole], [part.strip(_ENDS) for part in _LEFT_OUT.split(whole)])
    return next(filter(None, (_in_order(parts, text) for parts in attempts)), ())


def _in_order(parts: list[str], text: str) -> tuple[Span, ...]:
    squeezed_text, spans, place = _squeezed(text), list[Span](), 0
    for quote in filter(None, (_squeezed(part).text.strip() for part in parts)):
        start = squeezed_text.text.find(quote, place)
        if start < 0:
            return ()
        place = start + len(quote)
        spans.append((squeezed_text.starts[start], squeezed_text.ends[place - 1]))
    return tuple(spans)


@lru_cache(maxsize=64)
def _squeezed(text: str) -> Folded:
    whole = folded(text)
    pieces: list[str] = []
    starts: list[int] = []
    ends: list[int] = []
    for match in _SQUEEZABLE.finditer(whole.text):
        start, end = match.span()
        if match["divided"]:
            continue
        character = " " if match["blank"] else match[0]
        pieces.append(character)
        end = start + len(character)
        starts += whole.starts[start:end]
        ends += whole.ends[start:end]
    return Folded("".join(pieces), starts, ends)


def stands_in(quote: str, document: Document) -> bool:
    """Whether a quotation occurs in a document's title or text; see :func:`quoted_spans`."""
    return bool(found_in(quote, document)[1])


def found_in(quote: str, document: Document) -> tuple[str, tuple[Span, ...]]:
    """A document's title and text as a judge reads them, and where a quotation occurs in them."""
    whole = material(f"{document.title}\n{document.text}")
    return whole, quoted_spans(material(quote), whole)


def passage_of(claim: Claim, document: Document, verdict: EvidenceLabel) -> str | None:
    """The passage of a document to show for a verdict, on one line and in the document's words.

    It is the judge's quotation as found in the document, or the deciding window. If there is none,
    it is not found, or it has more than 400 characters, it is the sentences with most of the
    claim's words, where rare words weigh more. None if the verdict takes no side or the document is
    blank.
    """
    if verdict.passage or verdict.label not in (Label.SUPPORTS, Label.CONTRADICTS):
        return verdict.passage
    if not verdict.snippet:
        return _nearest(claim.text, material(document.text)) or None
    whole, spans = found_in(verdict.snippet, document)
    passage = MARK.join(" ".join(whole[start:end].split()) for start, end in spans)
    if passage and len(passage) <= LONGEST_PASSAGE:
        return passage
    within = " ".join(whole[start:end] for start, end in spans) or material(document.text)
    return _nearest(claim.text, within) or None


def _nearest(claim: str, text: str) -> str:
    """The consecutive sentences, of at most 400 characters, that have most of the claim's words."""
    sentences, claim_words = _sentences(text), frozenset(terms_in(claim))
    texts = [sentence for sentence, _ in sentences]
    whole = " ".join(texts)
    if len(whole) <= LONGEST_PASSAGE:
        return whole
    shared_words = [claim_words & terms for _, terms in sentences]
    spread = Counter(word for words in shared_words for word in words)
    weight = {word: log(1 + len(texts) / count) for word, count in spread.items()}
    worth_by_words: dict[frozenset[str], float] = {}

    def worth_of(words: frozenset[str]) -> float:
        if words not in worth_by_words:
            worth_by_words[words] = fsum(map(weight.__getitem__, words))
        return worth_by_words[words]

    best, most = (0, 0), (-1.0, -1.0)
    for first, last in _rows(texts):
        own = shared_words[first]
        if spread and not own:
            continue  # the run that begins with the next sentence has the same words
        worth = worth_of(own.union(*shared_words[first + 1 : last])), worth_of(own)
        if worth > most:
            best, most = (first, last), worth
        if not spread:
            break  # no run has any of the words
    return " ".join(texts[slice(*best)])


def _rows(texts: Sequence[str]) -> Iterator[tuple[int, int]]:
    """For each sentence, the longest run from it on with at most 400 characters, as a range."""
    last, length = 0, -1
    for first, sentence in enumerate(texts):
        while last < len(texts) and length + 1 + len(texts[last]) <= LONGEST_PASSAGE:
            length += 1 + len(texts[last])
            last += 1
        yield first, last
        length -= 1 + len(sentence)


@lru_cache(maxsize=64)  # all claims of an answer are compared with the same documents
def _sentences(text: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Sentences with their terms, each on one line; overlong sentences are split."""
    starts = [*sentence_starts(text), len(text)]
    lines = (" ".join(text[start:end].split()) for start, end in pairwise(starts))
    parts = (
        line[start : start + LONGEST_PASSAGE]
        for line in lines
        for start in range(0, len(line), LONGEST_PASSAGE)
    )
    return tuple((part, frozenset(terms_in(part))) for part in parts)
