"""What a failed model call means: one clear line without a secret, and whether to try again."""

import math
import random
import re
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal, NamedTuple

import openai
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    ProviderError,
    UnreadableReplyError,
)

__all__ = ["Retries", "Trouble", "clear_error", "trouble_of", "without_logprobs"]

_SECRETS = re.compile(r"(?i)\b(?:sk|key|pk|rk)-[\w*.-]{4,}|\bbearer\s+\S+|\bapi[_ -]?key\W+\S+")
_MESSAGE_CHARS = 300
_SECRET_CHARS = 6
"""A shorter one stands for no key, such as ``none``, and its letters may be part of any word."""
_TOO_MANY_REQUESTS, _UNAVAILABLE, _OVERLOADED = 429, 503, 529
_REQUEST_TIMEOUT, _CONFLICT, _SERVER = 408, 409, 500
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 8.0
_DOUBLINGS = 4


def clear_error(
    error: Exception, *, provider: str, endpoint: str, secrets: Sequence[str] = ()
) -> Exception:
    """Say what went wrong with a model call and what to do next.

    Args:
        error: What the client raised, after its own retries.
        provider: The model's name, as records show it.
        endpoint: Where it was called.
        secrets: What must not stand in the message, whoever quotes it, such as the client's key.

    Returns:
        A :class:`ConfigurationError` for what the user must change (key, model name, endpoint), a
        :class:`ProviderError` for what the provider failed at; LangGraph's control-flow exceptions
        and our own errors as they are.
    """
    if isinstance(error, ConflictScoreError | GraphBubbleUp):
        return error
    if isinstance(error.__cause__, ConflictScoreError):  # OpenAI's client wraps what stops a reply
        return error.__cause__
    match error:
        case openai.BadRequestError() | openai.PermissionDeniedError() if (
            "logprobs" in error.message
        ):
            return without_logprobs(provider)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return ConfigurationError(
                f"{endpoint} refused the key for {provider} (HTTP {error.status_code});"
                " check OPENAI_API_KEY and what it may be used for"
            )
        case openai.NotFoundError():
            return ConfigurationError(
                f"{endpoint} does not know the model {provider} (HTTP 404);"
                " check the name of the model and the endpoint"
            )
        case openai.RateLimitError() if error.code == "insufficient_quota":
            return ConfigurationError(
                f"the account behind the key for {provider} has no quota left"
            )
        case openai.APITimeoutError():
            return ProviderError(
                f"{provider} at {endpoint} did not answer in time", provider=provider
            )
        case openai.APIStatusError():
            return ProviderError(
                f"{provider} failed with HTTP {error.status_code}: {_safe(error.message, secrets)}",
                provider=provider,
                status=error.status_code,
            )
        case openai.APIConnectionError():
            return ProviderError(f"{provider} cannot be reached at {endpoint}", provider=provider)
        case ValueError() | TypeError() | LookupError() | AttributeError():
            # the client found no chat completion in the body; it does not ask again by itself
            return UnreadableReplyError("it was no valid chat completion", provider=provider)
    return ProviderError(
        f"{provider} failed: {type(error).__name__}: {_safe(str(error), secrets)}",
        provider=provider,
    )


def without_logprobs(provider: str) -> ConfigurationError:
    """The error for a model that gives no log-probabilities."""
    return ConfigurationError(
        f"{provider} gives no log-probabilities, which the labeler 'choice' needs;"
        " use the labeler 'json'"
    )


def _safe(text: str, secrets: Sequence[str]) -> str:
    """One bounded line in which everything that is or looks like a secret is blotted out."""
    for secret in secrets:
        if len(secret) >= _SECRET_CHARS:
            text = text.replace(secret, "[secret]")
    return _SECRETS.sub("[secret]", " ".join(text.split()))[:_MESSAGE_CHARS]


class Trouble(NamedTuple):
    """A failure of a provider that may not happen again."""

    kind: Literal["refused", "late", "failed"]
    """``refused``: too many calls for it now. ``late``: no answer in time. ``failed``: the rest."""
    again: bool
    """Whether the provider leaves it to us to ask again."""
    after: float | None = None
    """Seconds that it asks to wait; None where it does not say."""


def trouble_of(error: Exception) -> Trouble | None:
    """What a client's error says about its endpoint.

    Errors of other clients than OpenAI's are known by the ``status_code`` and ``response`` that
    they carry; a client that carries none is not read.

    Args:
        error: What the client raised.

    Returns:
        None for what the same request would meet again: a refused key, an unknown model, a bad
        request, an account without credit, a body that is no completion or far too long.
    """
    if isinstance(error.__cause__, ConflictScoreError):
        return None
    if isinstance(error, openai.APITimeoutError):
        return Trouble("late", again=True)
    if isinstance(error, openai.APIConnectionError):
        return Trouble("failed", again=True)
    status = getattr(error, "status_code", None)
    if not isinstance(status, int):
        return None
    said = {getattr(error, "code", None), getattr(error, "type", None)}
    if status == _TOO_MANY_REQUESTS and not _NO_CREDIT.isdisjoint(said):
        return None
    headers = getattr(getattr(error, "response", None), "headers", None)
    headers = headers if isinstance(headers, Mapping) else {}
    again, after = headers.get("x-should-retry") != "false", _asked_wait(headers)
    if status in {_TOO_MANY_REQUESTS, _OVERLOADED} or (status == _UNAVAILABLE and after):
        return Trouble("refused", again, after)
    if status in {_REQUEST_TIMEOUT, _CONFLICT} or status >= _SERVER:
        return Trouble("failed", again, after)
    return None


def _asked_wait(headers: Mapping[str, Any]) -> float | None:
    """Seconds from now, of a header in milliseconds, in seconds, or with a date."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
    try:
        date = parsedate_to_datetime(headers["retry-after"])
        return max(0.0, date.timestamp() - time.time())
    except (KeyError, ValueError, OverflowError):
        return None


@dataclass(frozen=True)
class Retries:
    """The waits between the attempts at one call: doubled each time, with jitter.

    A call that fails or is not answered in time is made so many times in all. One that the provider
    refuses for now (429) is made again for as long as the patience lasts, however often that is, so
    that a minute of refusals loses nothing: refusals are cheap, and the endpoint's window keeps
    them few. Nothing waits for a provider that asks for more than the patience.
    """

    attempts: int = 5
    """The most attempts at a call that fails or is not answered, and the least at one that is
    refused, which may have stood in line for long between them."""
    patience: float = 180.0
    """Seconds after the first attempt at which a refused call, or one that got no answer in time,
    is not made again."""

    def wait(self, trouble: Trouble, attempt: int, spent: float) -> float | None:
        """Seconds to wait before the next attempt; None to give up.

        Args:
            trouble: How the attempt failed.
            attempt: Which attempt that was, from 1.
            spent: Seconds since the first attempt began.
        """
        if not trouble.again:
            return None
        if trouble.after is None:
            doubled = _FIRST_WAIT_S * 2 ** min(attempt - 1, _DOUBLINGS)
            wait = min(_LONGEST_WAIT_S, doubled) * random.uniform(0.75, 1)  # noqa: S311 - jitter
        else:
            wait = trouble.after * random.uniform(1, 1.1)  # noqa: S311 - jitter
        counted, in_time = attempt < self.attempts, spent + wait <= self.patience
        worthwhile = {
            "failed": counted,
            "late": counted and in_time,
            "refused": counted or in_time,
        }
        return wait if worthwhile[trouble.kind] and wait <= self.patience else None
