"""What the judges of several benchmarks share: asking at the same time, and reading a verdict."""

import re
from collections.abc import Callable, Coroutine, Sequence
from functools import partial
from typing import Any, TypeVar

from conflictscore.benchmarks.harness.records import Verdict
from conflictscore.labelers.asking import together

__all__ = ["MARKUP", "at_once", "read_verdict"]

_V = TypeVar("_V")

MARKUP = r"[\s*_`#>\-]*"
"""The Markdown that may stand around a word of a reply."""

_VALUE = re.compile(rf"{MARKUP}\[?{MARKUP}(true|false){MARKUP}\]?[\s*_`.]*", re.IGNORECASE)
_EXPLANATION = re.compile(rf"^{MARKUP}explanation{MARKUP}:[*_\s]*", re.IGNORECASE | re.MULTILINE)


async def at_once(works: Sequence[Callable[[], Coroutine[Any, Any, _V]]]) -> tuple[_V, ...]:
    """Do all of this at once; the model bounds how many calls are in flight.

    Returns:
        The results, in order.

    Raises:
        ConfigurationError: A setting is wrong, so that all stop.
        BudgetError: The budget of a model is used up; what was in flight has ended first.
    """
    made: dict[int, _V] = {}

    async def kept(number: int, work: Callable[[], Coroutine[Any, Any, _V]]) -> None:
        made[number] = await work()

    await together([partial(kept, number, work) for number, work in enumerate(works)])
    return tuple(made[number] for number in range(len(works)))


def read_verdict(reply: str, word: str) -> Verdict:
    """The verdict of a reply: a line ``WORD: True`` or ``WORD: False``, and the explanation.

    Upper and lower case, square brackets and Markdown around the words make no difference. A reply
    without an explanation still has a verdict.

    Args:
        reply: What the judge wrote.
        word: What the line begins with, such as ``TRUTHFUL``.

    Raises:
        ValueError: There is no such line, one says anything else, or two of them disagree.
    """
    begins = re.compile(rf"{MARKUP}{re.escape(word)}{MARKUP}:", re.IGNORECASE)
    values = set()
    for line in reply.splitlines():
        if found := begins.match(line):
            value = _VALUE.fullmatch(line, found.end())
            if value is None:
                raise ValueError(f'the line "{word}:" said neither True nor False')
            values.add(value[1].lower() == "true")
    if len(values) != 1:
        said = "said both True and False" if values else "was missing"
        raise ValueError(f'the line "{word}:" {said}')
    parts = _EXPLANATION.split(reply, maxsplit=1)
    explanation = " ".join(parts[1].split()) if len(parts) > 1 else ""
    return Verdict(value=values.pop(), explanation=explanation or None)
