"""Puts a changed answer back into the content blocks of its message; unchanged blocks are kept.

Text blocks carry citations, annotations and ids, and the model's thinking is in separate blocks. A
block loses its annotations only if its text has changed.
"""

from collections.abc import Mapping, Sequence
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Any

from conflictscore.sentences import sentence_starts

Content = str | list[str | dict[str, Any]]

_ABOUT_WORDS = ("annotations", "citations", "logprobs")
"""Fields of a block that refer to positions in its text."""
_MOST_SENTENCES = 2000
"""The maximum number of sentences that are compared one by one.

If a longer answer differs at all, all of its text counts as changed.
"""


THOUGHTS = ("reasoning_content", "reasoning", "reasoning_details")
"""Fields that hold the model's reasoning; they are kept when an answer changes."""


def with_text(content: Content, before: str, after: str) -> Content:
    """Replace the text in a message's content.

    Args:
        content: A text, or blocks, some of which are text.
        before: The joined text of the blocks.
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
        # white space left over from a removed sentence goes to the next block
        space = new if new.isspace() and start < last else ""
        if (new and not space) or not text:
            new_blocks.append(_renewed(block, text, new))
    return new_blocks


class _Places:
    """Maps positions in a text to positions in its changed version."""

    def __init__(self, before: str, after: str) -> None:
        self._after = len(after)
        old, new = _sentences(before), _sentences(after)
        matcher = SequenceMatcher(None, old, new, autojunk=False)
        self._kept = [(0, 0, 0)]  # start in the old text, start in the new text, length
        old_ends, new_ends = _ends(old), _ends(new)
        for block in matcher.get_matching_blocks():
            length = old_ends[block.a + block.size] - old_ends[block.a]
            self._kept.append((old_ends[block.a], new_ends[block.b], length))

    def of(self, place: int) -> int:
        """Return the new position of a character.

        If the character is in a changed part of the text, this is the end of that part.
        """
        for start, now, length in self._kept:
            if place <= start + length:
                return now + max(0, place - start)
        return self._after


def _sentences(text: str) -> list[str]:
    """Split a text into sentences and the white space between them.

    The white space is separate, since it may belong to the block before or after it.
    """
    starts = sentence_starts(text)
    if len(starts) > _MOST_SENTENCES:
        return [text]
    parts = list[str]()
    for start, end in pairwise([*starts, len(text)]):
        sentence = text[start:end].rstrip()
        parts += [sentence, text[start + len(sentence) : end]]
    return [part for part in parts if part]


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
