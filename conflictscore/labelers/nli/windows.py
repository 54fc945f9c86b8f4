"""Prepares a document for an NLI model by cutting it into windows with enough context.

One part of a page often explains another. The title names the subject, the date explains "from
tomorrow", and the first row of a table explains the cells in the tenth row. So the title and the
date precede each window. Each window except the first also follows its context: a heading, a table
header or a sentence.

The numbers were chosen by hand. More context leaves less room for the window itself, so a document
has more windows, and takes longer to read.
"""

import re
from bisect import bisect_right
from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from conflictscore.records import Document
from conflictscore.retrieval.ranking import BM25Ranker
from conflictscore.retrieval.token_windows import (
    LEAST_TOKENS,
    TokenWindow,
    Vocabulary,
    cut_windows,
)
from conflictscore.sentences import sentence_starts

MOST_WINDOWS = 128
"""Maximum number of a document's windows that are read: those nearest to the claim. The number
limits the time for very long documents, which are then marked as read only in part."""

_TITLE_TOKENS = 24  # most titles are shorter; a longer one would take room from the window
_DATE_CHARS = 10
"""Number of characters of an ISO date; a time after it is left out."""
_LONGEST_DATE = 40
"""Maximum length, in characters, of a date in any other format; a longer text is not a date."""
_CLAIM_TOKENS = 40
"""Tokens reserved for a claim, so that the windows of a document are the same for most claims."""
_PREMISE_TOKENS = 48
"""Minimum number of tokens of a window, even if the claim is long."""
_LEAD_TOKENS = 40
"""Maximum number of tokens for the context of a window; half are for the heading above it."""
_LEAD_SHARE = 4
"""The context takes up at most 1 / ``_LEAD_SHARE`` of a window."""
_OVERLAP = 4
"""Each window overlaps the previous one by at most 1 / ``_OVERLAP``. So any two successive
sentences occur together in at least one window.
"""

# A date such as 1931-05-03.
_ISO_DATE = re.compile(r"\d{4}-\d{2}-\d{2}(?!\d)")
# A line longer than this many characters is a sentence, even if it ends in a colon.
_LONGEST_HEADING = 80
_MARKED_HEADING = re.compile(r"#{1,6}\s|(\*\*|__)[^*_]+(\*\*|__):?$")
_ROW = re.compile(r"\|.*\||\t")
_RULE = re.compile(r"[\s|:+=-]+")
"""Matches the line between the header and the rows of a Markdown table."""
_FEWEST_SEPARATORS = 2
"""Minimum number of separators in a row of comma-separated values.

A neighbouring line must have the same number of separators.
"""
_SEPARATORS = (",", ";")


class Premises(NamedTuple):
    """A document in the form that the model reads.

    Attributes:
        texts: Its windows, each preceded by the title, the date and its context.
        windows: The same windows as they appear in the document.
        cut: Whether the document has more windows than are read.
    """

    texts: tuple[str, ...]
    windows: tuple[str, ...]
    cut: bool


def premise_tokens(claim_tokens: int, pair_tokens: int, marks: int) -> int:
    """Return the maximum length, in tokens, of a premise that is paired with the claim."""
    return max(pair_tokens - marks - max(claim_tokens, _CLAIM_TOKENS), _PREMISE_TOKENS)


class CutDocument:
    """The windows of a document; if there are too many, only those nearest to a claim."""

    def __init__(self, document: Document, size: int, vocabulary: Vocabulary) -> None:
        """Cut the document; the arguments are those of :func:`premises`."""
        self._text, self._vocabulary = document.text, vocabulary
        self._heading = _heading(document, vocabulary)
        room = size - vocabulary.count(self._heading)
        self._lead = min(_LEAD_TOKENS, room // _LEAD_SHARE)
        self._outline: _Outline | None = None
        # without context at first, since a document that fits into one window needs none
        self._windows = self._cut_to(room)
        if len(self._windows) == 1:
            return
        # half of the context is for the heading, so a shorter context would hold only a few words
        if room - self._lead >= LEAST_TOKENS and self._lead >= LEAST_TOKENS // 2:
            self._windows = self._cut_to(room - self._lead)
            self._outline = _Outline(self._text)

    def _cut_to(self, room: int) -> list[TokenWindow]:
        """Cut the text into windows of at most ``room`` tokens, which overlap by a quarter."""
        heading_tokens = self._vocabulary.count(self._heading)

        def count(part: str) -> int:
            # a text may be tokenized differently after the heading than alone
            return self._vocabulary.count(self._heading + part) - heading_tokens

        vocabulary = Vocabulary(self._vocabulary.starts, count)
        return cut_windows(self._text, room, room - room // _OVERLAP, vocabulary)

    @cached_property
    def _whole(self) -> Premises:
        return self._shown(self._windows[:MOST_WINDOWS], cut=len(self._windows) > MOST_WINDOWS)

    @cached_property
    def _ranker(self) -> BM25Ranker:
        return BM25Ranker([self._text[window.start : window.end] for window in self._windows])

    def near(self, claim: str) -> Premises:
        """Return the windows; if there are too many, those with the most words of the claim."""
        if len(self._windows) <= MOST_WINDOWS:
            return self._whole
        scores = self._ranker.scores(claim)
        if not scores.max() > 0:
            return self._whole  # no window has a word of the claim
        nearest = np.argsort(-scores, kind="stable")[:MOST_WINDOWS]
        return self._shown([self._windows[n] for n in sorted(nearest)], cut=True)

    def _shown(self, windows: Sequence[TokenWindow], *, cut: bool) -> Premises:
        leads = [
            _trimmed(self._outline.before(window.start), self._lead, self._vocabulary)
            if self._outline
            else ""
            for window in windows
        ]
        shown = [self._text[window.start : window.end] for window in windows]
        texts = (self._heading + lead + text for lead, text in zip(leads, shown, strict=True))
        return Premises(tuple(texts), tuple(shown), cut=cut)


def premises(document: Document, size: int, vocabulary: Vocabulary, claim: str = "") -> Premises:
    """Cut a document into windows, each with enough context to be understood.

    A document that fits is one window. The windows of a longer document overlap by a quarter, and
    each window except the first is preceded by its context. The context begins with the heading
    above the window. If the window begins in a table, the header of the table follows; otherwise,
    the previous sentence follows.

    Args:
        document: The document; its text, title and metadata ``date`` are used.
        size: Maximum length of a premise, in tokens.
        vocabulary: A vocabulary that counts tokens in the same way as the model.
        claim: The claim; if there are too many windows, those nearest to the claim are read.
    """
    return CutDocument(document, size, vocabulary).near(claim)


def _heading(document: Document, vocabulary: Vocabulary) -> str:
    """Return the title (unless the text begins with it) and the date, each as a sentence."""
    title = " ".join(document.title.split())
    if document.text.lstrip().startswith(title):
        title = ""
    starts = vocabulary.starts(title)
    if len(starts) > _TITLE_TOKENS:
        title = title[: starts[_TITLE_TOKENS]].rstrip()
    return "".join(_as_sentence(part) for part in (title, date_of(document)) if part)


def date_of(document: Document) -> str:
    """Return the date of a document as the model reads it; empty if there is none."""
    date = " ".join(str(document.metadata.get("date") or "").split())
    if _ISO_DATE.match(date):
        return date[:_DATE_CHARS]
    return date if len(date) <= _LONGEST_DATE else ""


def _as_sentence(text: str) -> str:
    return text + (" " if text.endswith((".", "!", "?", "…", ":", "|")) else ". ")


class _Outline:
    """The structure of a text: the starts of lines and sentences, the headings, and the tables."""

    def __init__(self, text: str) -> None:
        """Analyse the text, in linear time."""
        self._text = text
        self._sentences = sentence_starts(text)
        lines = text.split("\n")
        self._starts = [0]
        for line in lines[:-1]:
            self._starts.append(self._starts[-1] + len(line) + 1)
        self._headings = _last_headings(lines)
        self._heads = _table_heads(lines)
        self._lines = lines

    def before(self, start: int) -> tuple[str, ...]:
        """Return the lines of context for a window at an offset; empty for the first window.

        Returns:
            The nearest heading above, followed by the header of the table. Outside a table, the
            heading is followed by the previous sentence, or by the beginning of the sentence that
            contains the offset.
        """
        if not start:
            return ()
        line = bisect_right(self._starts, start) - 1
        heading, head = self._headings[line], self._heads[line]
        parts = [] if heading is None else [self._lines[heading]]
        if head is not None:  # a window that begins with the header already has it
            parts += [] if self._starts[head] == start else [self._lines[head]]
        else:
            sentence = self._sentences[bisect_right(self._sentences, start - 1) - 1]
            is_inside = bisect_right(self._sentences, start) == bisect_right(
                self._sentences, start - 1
            )
            parts.append(self._text[sentence:start] + ("…" if is_inside else ""))
        return tuple(dict.fromkeys(" ".join(part.split()) for part in parts))


def _last_headings(lines: Sequence[str]) -> list[int | None]:
    """Return, for each line, the number of the nearest heading above it."""
    latest: int | None = None
    headings: list[int | None] = []
    for number, line in enumerate(lines):
        headings.append(latest)
        if _is_heading(line.strip()):
            latest = number
    return headings


def _is_heading(line: str) -> bool:
    """Return whether a line is marked as a heading, in capitals, or introduces the next lines."""
    if not line or len(line) > _LONGEST_HEADING or _ROW.search(line):
        return False
    return bool(_MARKED_HEADING.match(line)) or line.isupper() or line.endswith(":")


def _table_heads(lines: Sequence[str]) -> list[int | None]:
    """Return, for each line, the number of the first line of its table; None outside a table."""
    counts = [tuple(line.count(separator) for separator in _SEPARATORS) for line in lines]
    alike = [
        max((n for n, second in zip(first_counts, two, strict=True) if n == second), default=0)
        >= _FEWEST_SEPARATORS
        for first_counts, two in pairwise(counts)
    ]
    first: int | None = None
    heads: list[int | None] = []
    for number, line in enumerate(lines):
        beside = alike[max(number - 1, 0) : number + 1]
        is_row = bool(_ROW.search(line)) or any(beside)
        if not is_row:
            first = None
        elif first is None:
            first = number
        # a table that begins with a rule has no header
        heads.append(first if first is None or not _RULE.fullmatch(lines[first]) else None)
    return heads


def _trimmed(parts: Sequence[str], most: int, vocabulary: Vocabulary) -> str:
    """Join the lines of a window's context, and cut them to at most this many tokens in total."""
    lead = ""
    for parts_left, part in zip(range(len(parts), 0, -1), parts, strict=True):
        # one token is for the full stop that ends the part
        room = (most - vocabulary.count(lead)) // parts_left - 1
        starts = vocabulary.starts(part)
        if len(starts) > room:
            part = part[: starts[max(room, 0)]].rstrip()
        lead += _as_sentence(part) if part else ""
    return lead
