"""Finds the texts in search results whose fields have unknown names."""

from collections.abc import Mapping, Sequence
from typing import Any

_DEPTH = 12  # Maximum nesting depth that is searched; real results have only a few levels.
# Minimum number of words in the text of an unknown field; shorter values are names, dates and the
# like.
_LEAST_WORDS = 4


def renamed(data: object, depth: int = _DEPTH) -> object:
    """Copy results with unknown field names, renaming the field with the longest texts to ``text``.

    All results must be mappings that have a text of several words in the same field.
    """
    if isinstance(data, Mapping) and depth:
        inner = (renamed(value, depth - 1) for value in data.values())
        return next((each for each in inner if each), None)
    if not isinstance(data, list) or not all(isinstance(each, Mapping) for each in data):
        return None
    key = _text_key(data)
    # the old field becomes None, so that the text does not become metadata as well
    return None if key is None else [{**each, "text": each[key], key: None} for each in data]


def _text_key(results: Sequence[Mapping[Any, Any]]) -> Any:
    """Return the field with the longest texts; None if no field has a text in every result."""
    fields = results[0] if results else {}
    texts = [
        key for key in fields if all(_words_in(each.get(key)) >= _LEAST_WORDS for each in results)
    ]
    return max(texts, key=lambda key: sum(len(each[key]) for each in results), default=None)


def _words_in(value: object) -> int:
    return len(value.split()) if isinstance(value, str) else 0
