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


def whole_tokens(value: Any) -> int:
    """A count of tokens that a provider reports; 0, as if it were not told, if it is no count."""
    is_count = isinstance(value, int) and not isinstance(value, bool)
    return int(value) if is_count and 0 <= value <= _MOST else 0


def known_tokens(usage: object, model: str) -> dict[str, Any] | None:
    """Tokens that a provider reports, in OpenAI's or LangChain's form, as far as they can be true.

    A value that is no whole number from 0 is unknown, which the log says once for each model. None
    if the tokens of the prompt or of the reply are unknown.
    """
    if usage is None:
        return None
    given = usage if isinstance(usage, Mapping) else {}
    if not isinstance(usage, Mapping) or any(
        name in given and _count(given[name]) is None for name in _READ_AND_WRITTEN
    ):
        _warn_once(model)
        return None
    known: dict[str, Any] = {}
    for name, value in given.items():
        if isinstance(value, Mapping):
            known[name] = {part: n for part, v in value.items() if (n := _count(v)) is not None}
        elif (n := _count(value)) is not None:
            known[name] = n
        elif value is not None:
            _warn_once(model)
    return known


def _count(value: object) -> int | None:
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    is_count = isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= _MOST
    return value if is_count else None  # type: ignore[return-value]


@cache
def _warn_once(model: str) -> None:
    _log.warning(
        "%s reports token counts that are not whole numbers from 0; they count as unknown", model
    )


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


def served_by(reply: Any) -> dict[str, Any]:
    """The field to store with a reply: the model that the provider says has answered.

    ``fingerprint`` tells builds of one model apart, where the provider gives one. Empty where it
    says neither.
    """
    about = reply.response_metadata if isinstance(reply, AIMessage) else {}
    named = {
        "model": about.get("model_name") or about.get("model"),
        "fingerprint": about.get("system_fingerprint"),
    }
    known = {name: text for name, text in named.items() if isinstance(text, str)}
    return {"served": known} if known else {}


def begin_cost() -> None:
    """Leave out the calls so far, which may be of whoever started this task."""
    _UNSTORED.set(None)


def add_cost(reply: Any) -> None:
    """Add the cost of the call that gave a reply."""
    _UNSTORED.set((_UNSTORED.get() or Usage()) + cost_of(reply))


def take_cost() -> dict[str, Any]:
    """The field to store with a value: the cost of the calls since the last one was stored.

    If one call gave several values, the first carries its whole cost.
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
