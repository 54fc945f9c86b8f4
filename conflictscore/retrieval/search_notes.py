"""Collects notes for the reader of an answer, even from a retriever that others wrap.

```python
with collecting() as notes:
    documents = retriever.invoke(question)
```

The collector is stored in the context. The same collector is therefore used in
``asyncio.to_thread``, in LangChain's executors, and in any thread that runs in a copy of the
context.
"""

import logging
from contextvars import ContextVar

_log = logging.getLogger(__name__)
_collected: ContextVar[list[str] | None] = ContextVar("conflictscore_notes", default=None)


class OperatorNote(str):
    """A note that may name files or quote other people's questions, so callers do not see it."""

    __slots__ = ()


class collecting:  # noqa: N801 - used like a function
    """Collect the notes added inside the block, in order and without repetitions.

    A generator would cost every row of a scored file more.
    """

    __slots__ = ("_token",)

    def __enter__(self) -> list[str]:
        notes: list[str] = []
        self._token = _collected.set(notes)
        return notes

    def __exit__(self, *exc_details: object) -> None:
        _collected.reset(self._token)


def note(text: str) -> None:
    """Add a one-line note for the reader of the answer; without a collector it is only logged."""
    notes = _collected.get()
    if notes is None:
        _log.info("%s", text)
        return
    if text not in notes:
        notes.append(text)
