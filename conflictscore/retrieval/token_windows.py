"""Cuts a text into overlapping windows with a maximum number of tokens."""

import re
from bisect import bisect_right
from collections.abc import Callable, Sequence
from typing import NamedTuple

from conflictscore.errors import InputError
from conflictscore.sentences import sentence_starts
from conflictscore.tokens import count_tokens, token_starts

MARK = " […] "
"""The marker for omitted text between two passages of a document."""

LEAST_TOKENS = 16
"""Minimum number of tokens in a window. Fewer tokens convey nothing, and a single character can
take four."""

_WORD_END = re.compile(r"\s+")


class Vocabulary(NamedTuple):
    """A way of counting tokens.

    Attributes:
        starts: Returns the character offset at which each token of a text begins, in ascending
            order.
        count: Returns the number of tokens in a text.
    """

    starts: Callable[[str], list[int]]
    count: Callable[[str], int]


class TokenWindow(NamedTuple):
    """A part of a text, given by its start and end offsets."""

    start: int
    end: int


_COMMON = Vocabulary(token_starts, count_tokens)


def cut_windows(
    text: str, size: int, stride: int, vocabulary: Vocabulary = _COMMON
) -> list[TokenWindow]:
    """Cut a text into overlapping windows.

    A window begins and ends at the boundary of a sentence or, failing that, of a word. If the last
    quarter of a window contains neither boundary, the window ends between any two characters.
    ``size`` is the maximum number of tokens in a window. ``stride`` is the maximum number of tokens
    from the start of one window to the start of the next.

    The time is proportional to the length of the text times size / stride.

    At least one window is returned. Together the windows contain every character, and no window
    lies within its predecessor.

    Raises InputError if ``size`` is below 16, or ``stride`` is not between 1 and ``size``.
    """
    if size < LEAST_TOKENS or not 1 <= stride <= size:
        raise InputError(
            f"passages of {size} tokens every {stride} tokens: give {LEAST_TOKENS} tokens or more"
        )
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
        # a separate passage can take more tokens than as part of the whole text
        while (count := vocabulary.count(text[start:end])) > size:
            end = _break_before(start + (end - start) * size // count, start, breaks)
        # a window that ends no later than its predecessor adds nothing
        if not windows or end > windows[-1].end:
            windows.append(TokenWindow(start, end))
        start = _break_before(min(tokens[min(first + stride, total)], end), start, breaks)
    return windows


def _break_before(place: int, start: int, breaks: Sequence[Sequence[int]]) -> int:
    """Return the last break in the last quarter before ``place``, or ``place`` if there is none.

    An earlier break would make the window much shorter than it may be.
    """
    for places in breaks:
        index = bisect_right(places, place) - 1
        if index >= 0 and places[index] > place - (place - start) // 4:
            return places[index]
    return place
