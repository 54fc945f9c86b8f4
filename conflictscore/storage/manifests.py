"""Compares manifests, which record the input and settings with which a run was started.

Limits without a stated reason were chosen by hand.
"""

import json
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import takewhile
from typing import Any

_WIDTH, _LEAD = 40, 10
"""Maximum number of characters shown of a changed value, and how many of them precede the change.
"""


def differences(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Return the differences between two manifests of plain JSON, in the order of their fields.

    Each difference is a line such as ``configuration.model.temperature was 0.0 and is now 0.7``.
    """
    before, now = dict(_leaves(old)), dict(_leaves(new))
    changes = []
    for field in {**before, **now}:
        old_text, new_text = (
            _json(side[field]) if field in side else "missing" for side in (before, now)
        )
        if old_text != new_text:
            same = takewhile(lambda pair: pair[0] == pair[1], zip(old_text, new_text, strict=False))
            start = max(0, sum(1 for _ in same) - _LEAD)
            old_part, new_part = _cut(old_text, start), _cut(new_text, start)
            changes.append(f"{field} was {old_part} and is now {new_part}")
    return changes


def shown(value: Any) -> str:
    """Return a value as JSON; if it is long, it is cut and ends with dots."""
    return _cut(_json(value), 0)


_json = partial(json.dumps, ensure_ascii=False)


def _leaves(fields: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, Any]]:
    for name, inner in fields.items():
        field = f"{above}{name}"
        if isinstance(inner, dict) and inner:
            yield from _leaves(inner, f"{field}.")
        else:
            yield field, inner


def _cut(text: str, start: int) -> str:
    """Return the text; if it is long, the part that begins at an offset, with dots at the cuts."""
    if len(text) <= _WIDTH:
        return text
    end = start + _WIDTH
    return f"{'...' if start else ''}{text[start:end]}{'...' if end < len(text) else ''}"
