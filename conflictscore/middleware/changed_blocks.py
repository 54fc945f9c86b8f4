"""Puts a changed answer back into the content blocks of its message; unchanged blocks are kept.

Text blocks carry citations, annotations and ids, and the model's thinking is in separate blocks. A
block loses its annotations only if its text has changed.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from conflictscore.sentences import sentence_starts

Content = str | list[str | dict[str, Any]]

_ABOUT_WORDS = ("annotations", "citations", "logprobs")
"""Fields of a block that refer to positions in its text."""
THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields that hold the model's reasoning; they are kept when an answer changes."""


def with_text(content: Content, before: str, after: str) -> Content:
    """Replace the text in a message's content.

    Args:
        content: A string, or a list of blocks, some of which are text.
        before: The text of the content, or the joined texts of its blocks.
        after: The new text.
    """
    if isinstance(content, str):
        return after
    texts = [_text_of(block) for block in content]
    if "".join(text for text in texts if text is not None) != before:
        return _in_first(content, texts, after)
    new_blocks, start, space = list[str | dict[str, Any]](), 0, ""
    places, last = _Places(before, after), len(before)
    for block, text in zip(content, texts, strict=True):
        if text is None:
            new_blocks.append(block)
            continue
        new = space + after[places.of(start) : places.of(start + len(text))]
        start += len(text)
        # white space left over from a removed sentence is put into the next block
        space = new if new.isspace() and start < last else ""
        if (new and not space) or not text:  # a block that was empty before may carry citations
            new_blocks.append(_renewed(block, text, new))
    return new_blocks


class _Places:
    """Maps positions in the old text to positions in the new text."""

    def __init__(self, before: str, after: str) -> None:
        old, new = _sentences(before), _sentences(after)
        old_ends, new_ends = _ends(old), _ends(new)
        # Unchanged parts: start in the old text, start in the new text, length. The empty parts at
        # both ends keep the first and the last position in place.
        self._unchanged = [
            (0, 0, 0),
            *((old_ends[at], new_ends[now], len(old[at])) for at, now in _unchanged(old, new)),
            (len(before), len(after), 0),
        ]
        self._ends = [start + length for start, _, length in self._unchanged]

    def of(self, place: int) -> int:
        """Return the new position of a character.

        For a character in a changed part of the text, return the end of that part.
        """
        start, now, _ = self._unchanged[bisect_left(self._ends, place)]
        return now + max(0, place - start)


def _sentences(text: str) -> list[str]:
    """Split text into sentences and the white space between them.

    The white space is separate, since it may belong to the block before or after it.
    """
    parts = list[str]()
    for start, end in pairwise([*sentence_starts(text), len(text)]):
        sentence = text[start:end].rstrip()
        parts += [sentence, text[start + len(sentence) : end]]
    return [part for part in parts if part]


def _unchanged(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions, in both lists, of the parts that have not changed, in order.

    Parts that occur once in each list are matched first, as far as their order is the same. Equal
    neighbours of a match are matched too (a patience diff). The time is about linear in the length
    of the texts. With difflib, a long answer with many changes would take minutes.
    """
    anchors = [(-1, -1), *_same_order(_unique_matches(old, new)), (len(old), len(new))]
    for (before, now_before), (after, now_after) in pairwise(anchors):
        room = min(after - before, now_after - now_before) - 1
        head = 0
        while head < room and old[before + head + 1] == new[now_before + head + 1]:
            head += 1
        tail = 0
        while tail < room - head and old[after - tail - 1] == new[now_after - tail - 1]:
            tail += 1
        yield from ((before + n, now_before + n) for n in range(1, head + 1))
        yield from ((after - n, now_after - n) for n in range(tail, 0, -1))
        if after < len(old):
            yield after, now_after


def _unique_matches(old: Sequence[str], new: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield the positions of the parts that occur exactly once in each list, in the old order."""
    old_counts, new_counts = Counter(old), Counter(new)
    new_places = {part: place for place, part in enumerate(new)}
    for place, part in enumerate(old):
        if old_counts[part] == new_counts[part] == 1:
            yield place, new_places[part]


def _same_order(matches: Iterator[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the most matches in the same order in both lists (longest increasing subsequence)."""
    lasts = list[int]()  # for each length, the earliest new position at which such a chain ends
    chains = list[tuple[tuple[int, int], Any]]()  # for each length, its last match and the rest
    for match in matches:
        length = bisect_left(lasts, match[1])
        chain = (match, chains[length - 1] if length else None)
        lasts[length : length + 1] = [match[1]]
        chains[length : length + 1] = [chain]
    longest, link = list[tuple[int, int]](), chains[-1] if chains else None
    while link is not None:
        longest.append(link[0])
        link = link[1]
    return longest[::-1]


def _ends(sentences: Sequence[str]) -> list[int]:
    ends = [0]
    for sentence in sentences:
        ends.append(ends[-1] + len(sentence))
    return ends


def _text_of(block: str | Mapping[str, Any]) -> str | None:
    """Return the text of a text block; None for other blocks."""
    if isinstance(block, str):
        return block
    is_text = block.get("type") in ("text", "output_text") and isinstance(block.get("text"), str)
    return str(block["text"]) if is_text else None


def _renewed(block: str | dict[str, Any], text: str, new: str) -> str | dict[str, Any]:
    if new == text:
        return block
    if isinstance(block, str):
        return new
    return {**{k: v for k, v in block.items() if k not in _ABOUT_WORDS}, "text": new}


def _in_first(
    content: Sequence[str | dict[str, Any]], texts: Sequence[str | None], after: str
) -> Content:
    """Put the whole new text into the first text block, and drop the other text blocks."""
    first = next((n for n, text in enumerate(texts) if text is not None), None)
    if first is None:
        return after
    return [
        _renewed(block, str(text), after) if text is not None else block
        for n, (block, text) in enumerate(zip(content, texts, strict=True))
        if text is None or n == first
    ]
