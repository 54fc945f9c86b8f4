"""Cutting a text into overlapping windows of a number of tokens."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from conflictscore.errors import InputError
from conflictscore.sentences import sentence_starts
from conflictscore.tokens import count_tokens, token_starts

MARK = " […] "
"""Marks text left out between two passages of a document."""

LEAST_TOKENS = 16
"""The smallest window: fewer tokens say nothing, and one character alone can take four."""

_WORD_END = re.compile(r"\s+")


class Vocabulary(NamedTuple):
    """How tokens are counted.

    Attributes:
        starts: Where in a text each token begins, one offset in characters a token, ascending.
        count: How many tokens a part of the text takes by itself.
    """

    starts: Callable[[str], list[int]]
    count: Callable[[str], int]


class TokenWindow(NamedTuple):
    """A part of a text: the offsets of its first character, and after its last."""

    start: int
    end: int


_COMMON = Vocabulary(token_starts, count_tokens)


def cut_windows(
    text: str, size: int, stride: int, vocabulary: Vocabulary = _COMMON
) -> list[TokenWindow]:
    """Cut a text into windows that overlap; time grows with the text's length times size / stride.

    A window begins and ends where a sentence does, or else a word; where there is neither in the
    last quarter of the way, it ends anywhere between two characters. ``size`` and ``stride``, from
    the start of a window to the start of the next, are at most so many tokens.

    The windows, at least one, together hold every character; none lies within the one before it.
    InputError if the size is below 16, or the stride not from 1 to the size.
    """
    if size < LEAST_TOKENS or not 1 <= stride <= size:
        raise InputError(f"passages of {size} tokens every {stride}: give 16 tokens or more")
    tokens = vocabulary.starts(text)
    total = len(tokens)
    tokens.append(len(text))
    breaks = sentence_starts(text)[1:], [match.end() for match in _WORD_END.finditer(text)]
    windows: list[TokenWindow] = []
    start = 0
    while not windows or windows[-1].end < len(text):
        first = bisect_right(tokens, start) - 1
        end = tokens[min(first + size, total)]
        end = end if end == len(text) else _break_before(end, start, breaks)
        # The same words can take more tokens by themselves than they took in the whole text.
        while (count := vocabulary.count(text[start:end])) > size:
            end = _break_before(start + (end - start) * size // count, start, breaks)
        if not windows or end > windows[-1].end:
            windows.append(TokenWindow(start, end))
        start = _break_before(min(tokens[min(first + stride, total)], end), start, breaks)
    return windows


def _break_before(place: int, start: int, breaks: Sequence[Sequence[int]]) -> int:
    """The last break in the last quarter of the way from a start to a place, or else the place."""
    for places in breaks:
        index = bisect_right(places, place) - 1
        if index >= 0 and places[index] > place - (place - start) // 4:
            return places[index]
    return place
