"""Costs of model calls: of one step, and of the replies that are stored."""

import logging
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from functools import cache
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage
from langchain_core.outputs import ChatGeneration, LLMResult
from pydantic import ValidationError

from conflictscore.records import Usage

__all__ = [
    *("KEPT_CALLS", "UsageMeter", "add_cost", "begin_cost", "cost_of", "known_tokens"),
    *("stored_cost", "take_cost", "tokens_of"),
]

_log = logging.getLogger(__name__)
KEPT_CALLS: ContextVar[Callable[[str, Usage], None] | None] = ContextVar(
    "conflictscore_kept_calls", default=None
)
"""Called for each call that a cache answered here, with the model and what it had cost."""
_UNSTORED: ContextVar[Usage | None] = ContextVar("conflictscore_unstored", default=None)
"""The cost of this task's calls since the last value was stored."""
_READ_AND_WRITTEN = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
_MOST = 2**53
"""A count beyond this is no count: JSON readers lose its digits, and no database sums it."""


def known_tokens(usage: object, model: str) -> dict[str, Any] | None:
    """Tokens that a provider reports, in OpenAI's or LangChain's form, as far as they can be true.

    A value that is no whole number from 0 is unknown, which the log says once for each model. None
    if the tokens of the prompt or of the reply are unknown.
    """
    if usage is None:
        return None
    given = usage if isinstance(usage, Mapping) else {}
    known: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            known[name] = {part: int(n) for part, n in value.items() if _is_count(n)}
        elif _is_count(value):
            known[name] = int(value)
        elif value is not None or name in _READ_AND_WRITTEN:
            _warn_once(model)
            if name in _READ_AND_WRITTEN:
                return None
    if not isinstance(usage, Mapping):
        _warn_once(model)
    return known or None


def _is_count(value: Any) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return is_number and 0 <= value <= _MOST and value == int(value)


@cache
def _warn_once(model: str) -> None:
    _log.warning(
        "%s reports token counts that are not whole numbers from 0; they count as unknown", model
    )


def tokens_of(message: AIMessage) -> dict[str, Any] | None:
    """Tokens of its call that a message reports; see :func:`known_tokens`."""
    model = str(message.response_metadata.get("model_name") or "the model")
    return known_tokens(message.usage_metadata, model)


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
    tokens = (tokens_of(message) if isinstance(message, AIMessage) else None) or {}
    return Usage(
        calls=1,
        input_tokens=tokens.get("input_tokens", 0),
        cache_read_tokens=_found_in_cache(tokens),
        output_tokens=tokens.get("output_tokens", 0),
    )


def _found_in_cache(tokens: Mapping[str, Any]) -> int:
    """The input tokens that came from the provider's prompt cache; never more than there are."""
    details = tokens.get("input_token_details", {})
    # LangChain puts a service tier before the name: flex_cache_read
    found = sum(n for name, n in details.items() if name.endswith("cache_read"))
    return int(min(found, tokens.get("input_tokens", 0)))


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
