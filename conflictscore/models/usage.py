"""Costs of model calls: of one step, and of the replies that are stored."""

import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from pydantic import ValidationError

from conflictscore.records import Usage

KEPT_CALLS: ContextVar[Callable[[str, Usage], None] | None] = ContextVar(
    "conflictscore_kept_calls", default=None
)
"""Called for each call that a cache answered here, with the model and what it had cost."""
_UNSTORED: ContextVar[Usage | None] = ContextVar("conflictscore_unstored", default=None)
"""The cost of this task's calls since the last value was stored."""
_MOST = 2**53
"""A count beyond this is no count: JSON readers lose its digits, and no database sums it."""


def whole_tokens(value: Any) -> int:
    """A count of tokens that a provider reports; 0, as if it were not told, if it is no count."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return int(value) if is_count and 0 <= value <= _MOST else 0


class UsageMeter(BaseCallbackHandler):
    """Adds up the calls it is passed to, with their tokens as the provider reports them."""

    run_inline = True
    """LangChain hands everything else to a worker thread, dozens of times a call."""

    def __init__(self) -> None:
        self.usage = Usage()
        self._lock = threading.Lock()  # LangChain calls back from several threads at once

    def cached(self, cost: Usage | None, model: str = "") -> None:
        """Count a call that a cache answered, with what it had cost, if that is known.

        ``model`` had answered; it is empty where none was called.
        """
        usage = Usage(cached_calls=1) if cost is None else cost.kept()
        self.count(usage)
        if model and (told := KEPT_CALLS.get()) is not None:
            told(model, usage)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count a call that was answered."""
        generation = response.generations[0][0] if response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        self.count(cost_of(message))

    def count(self, usage: Usage) -> None:
        """Count what a call cost."""
        with self._lock:
            self.usage += usage


def cost_of(message: Any) -> Usage:
    """Usage of the call that this message answered; it may be the ``raw`` part of a result."""
    message = message["raw"] if isinstance(message, Mapping) else message
    told = message.usage_metadata if isinstance(message, AIMessage) else None
    tokens: Mapping[str, Any] = told or {}
    read = whole_tokens(tokens.get("input_tokens"))
    details = tokens.get("input_token_details") or {}
    # LangChain puts a service tier before the name: flex_cache_read
    cached = sum(whole_tokens(n) for name, n in details.items() if name.endswith("cache_read"))
    return Usage(
        calls=1,
        input_tokens=read,
        cache_read_tokens=min(cached, read),
        output_tokens=whole_tokens(tokens.get("output_tokens")),
    )


def begin_cost() -> None:
    """Leave out the calls so far, which may be of whoever started this task."""
    _UNSTORED.set(None)


def add_cost(reply: Any) -> None:
    """Add the cost of the call that gave a reply."""
    _UNSTORED.set((_UNSTORED.get() or Usage()) + cost_of(reply))


def take_cost() -> dict[str, Any]:
    """The field to store with a value: the cost of the calls since the last one was stored.

    Of several values that one call gave, the first has its whole cost.
    """
    cost = _UNSTORED.get()
    if cost is None:
        return {}
    _UNSTORED.set(Usage())
    return {"cost": cost.to_json()}


def stored_cost(value: dict[str, Any]) -> Usage | None:
    """Take the cost out of a stored value; None where an earlier version stored it without."""
    try:
        return Usage.model_validate(value.pop("cost", None))
    except ValidationError:
        return None
