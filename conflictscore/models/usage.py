"""Counts the cost of model calls, and stores it with cached replies."""

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
_NO_USAGE = Usage()
KEPT_CALLS: ContextVar[Callable[[str, Usage], None] | None] = ContextVar(
    "conflictscore_kept_calls", default=None
)
"""Called for each cached reply in this context, with the model and the original cost."""
_UNSTORED: ContextVar[Usage | None] = ContextVar("conflictscore_unstored", default=None)
"""The cost of this task's calls since the last value was stored."""
_READ_AND_WRITTEN = ("prompt_tokens", "completion_tokens", "input_tokens", "output_tokens")
_MOST = 2**53
"""The largest valid count. JSON readers may round larger numbers, and databases may be unable to
sum them."""


def whole_tokens(count: Any) -> int:
    """Return a token count reported by a provider, or 0 if the count is invalid.

    A :class:`Usage` cannot express that a count is unknown. To distinguish 0 from an unknown count,
    use :func:`known_tokens`.
    """
    return _count(count) or 0


def known_tokens(usage: object, model: str) -> dict[str, Any] | None:
    """Return the valid token counts that a provider reports, in OpenAI's or LangChain's form.

    A count that is not a non-negative integer is treated as unknown. An unusable count is logged
    once per model. Returns None if the tokens of the prompt or of the reply are unknown.
    """
    if usage is None:
        return None
    reported_tokens = usage if isinstance(usage, Mapping) else {}
    if not isinstance(usage, Mapping) or any(
        name in reported_tokens and _count(reported_tokens[name]) is None
        for name in _READ_AND_WRITTEN
    ):
        _warn_once(model)
        return None
    tokens: dict[str, Any] = {}
    for name, number in reported_tokens.items():
        if isinstance(number, Mapping):
            tokens[name] = {part: n for part, v in number.items() if (n := _count(v)) is not None}
        elif (n := _count(number)) is not None:
            tokens[name] = n
        elif number is not None:
            _warn_once(model)
    return tokens


def _count(number: object) -> int | None:
    """Return a count as an integer, or None if it is invalid; a float such as 12.0 is valid."""
    if type(number) is not int:  # so that a bool does not count
        if not isinstance(number, float) or not number.is_integer():
            return None
        number = int(number)
    return number if 0 <= number <= _MOST else None


@cache
def _warn_once(model: str) -> None:
    _log.warning(
        "%s reports token counts that are negative or not integers; they count as unknown", model
    )


class UsageMeter(BaseCallbackHandler):
    """A callback that counts calls and adds up the tokens that the provider reports."""

    run_inline = True
    """Without this setting, LangChain would run callbacks in a worker thread, dozens of times per
    call.
    """

    def __init__(self) -> None:
        self._totals = {**vars(_NO_USAGE)}
        self._lock = threading.Lock()  # LangChain invokes callbacks from several threads at once

    @property
    def usage(self) -> Usage:
        """The sum of all costs counted so far."""
        with self._lock:
            return Usage(**self._totals)

    @property
    def ignore_chat_model(self) -> bool:
        """Whether LangChain leaves out the event that a call starts: only its end has a usage.

        For a handler without a method for this event, LangChain copies all messages into a string.
        """
        return True

    def cached(self, cost: Usage | None, model: str = "") -> None:
        """Count a call answered from a cache, with its original cost if known.

        ``model`` is the model that originally answered; empty if no model was called.
        """
        usage = Usage(cached_calls=1) if cost is None else cost.kept()
        self.count(usage)
        if model and (count_call := KEPT_CALLS.get()) is not None:
            count_call(model, usage)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        """Count an answered call."""
        generation = response.generations[0][0] if response.generations[0] else None
        message = generation.message if isinstance(generation, ChatGeneration) else None
        self.count(cost_of(message))

    def count(self, usage: Usage) -> None:
        """Add the cost of a call."""
        totals = self._totals
        with self._lock:
            for name, number in vars(usage).items():
                if number:
                    totals[name] += number


def cost_of(message: Any) -> Usage:
    """Return the usage of the call that returned a message, or a mapping with it under ``raw``."""
    if not isinstance(message, AIMessage) and isinstance(message, Mapping):
        message = message["raw"]
    usage_metadata = message.usage_metadata if isinstance(message, AIMessage) else None
    tokens: Mapping[str, Any] = usage_metadata or {}
    input_tokens = whole_tokens(tokens.get("input_tokens"))
    details = tokens.get("input_token_details") or {}
    # LangChain puts the service tier before the name, as in flex_cache_read
    cached_tokens = sum(
        whole_tokens(n) for name, n in details.items() if name.endswith("cache_read")
    )
    return Usage(
        calls=1,
        input_tokens=input_tokens,
        # Tokens written to a provider's cache are ordinary input, see ``models.prices``. A wrong
        # report must not count more tokens as cached than were read.
        cache_read_tokens=min(cached_tokens, input_tokens),
        output_tokens=whole_tokens(tokens.get("output_tokens")),
    )


def served_by(reply: Any) -> dict[str, Any]:
    """Return the field ``served`` to store with a reply: the model that the provider reports.

    If the provider sends a ``fingerprint``, which distinguishes builds of a model, the field
    contains it too. If the provider sends neither, the mapping is empty.
    """
    about = reply.response_metadata if isinstance(reply, AIMessage) else {}
    reported_fields = {
        "model": about.get("model_name") or about.get("model"),
        "fingerprint": about.get("system_fingerprint"),
    }
    text_fields = {name: text for name, text in reported_fields.items() if isinstance(text, str)}
    return {"served": text_fields} if text_fields else {}


def begin_cost() -> None:
    """Forget the cost so far, since a new task inherits the cost of its creator's calls."""
    _UNSTORED.set(None)


def add_cost(cost: Usage) -> None:
    """Add the cost of a call."""
    unstored = _UNSTORED.get()
    _UNSTORED.set(cost if unstored is None else unstored + cost)


def take_cost() -> dict[str, Any]:
    """Return the field ``cost`` to store with a value: the cost since the last value was stored.

    If one call produced several values, its whole cost is stored with the first of them.
    """
    cost = _UNSTORED.get()
    if cost is None:
        return {}
    _UNSTORED.set(_NO_USAGE)
    return {"cost": cost.to_json()}


def stored_cost(stored_reply: dict[str, Any]) -> Usage | None:
    """Remove the cost from a stored value and return it; None if it was stored without a cost."""
    try:
        return Usage.model_validate(stored_reply.pop("cost", None))
    except ValidationError:
        return None
