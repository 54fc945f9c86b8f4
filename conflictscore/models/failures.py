"""Meaning of a failed model call: one clear line without a secret, and whether to retry."""

import math
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Any, Literal, NamedTuple

import openai
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    ProviderError,
    UnreadableReplyError,
    scrubbed,
)
from conflictscore.models.provider_errors import ProviderFault, fault_of

__all__ = ["Retries", "TransientError", "clear_error", "transient_error", "without_logprobs"]

_ABOUT_FORM = re.compile(r"(?i)grammar|json.?schema|response.?format|structured.output")
"""Servers such as llama.cpp fail with a 500 if they cannot compile a schema."""
_MODERATION = re.compile(
    r"(?i)moderat|flagged|content.{0,3}(?:policy|filter|management)|safety|guardrail|inappropriate"
    r"|DataInspection"
)
_LOADING = re.compile(r"(?i)\bloading\b")
"""llama.cpp answers with a 503 until it has loaded its model."""
_ABOUT_KEY = re.compile(
    r"(?i)\b(?:api.?)?keys?\b|credential|authenticat|authoriz|permission|account"
)
_ABOUT_MODEL = re.compile(r"(?i)\b(?:model|deployment)\b.{0,200}\b(?:not|no|unknown|exist)")
_NO_CREDIT = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
_OVERLOADED = 529
"""Anthropic's own status."""
_FIRST_WAIT_S = 0.5
_LONGEST_WAIT_S = 8.0
_DOUBLINGS = 4


def clear_error(
    error: Exception,
    *,
    provider: str,
    endpoint: str,
    secrets: Sequence[str] = (),
    answered: bool = False,
) -> Exception:
    """Turn a client's exception into one clear line that says what to do next.

    ``answered`` means that an earlier call of this model succeeded: neither its key nor its name is
    wrong then, unless the provider says so.

    Returns:
        A :class:`ConfigurationError` for what the user must change (key, model name, endpoint), a
        :class:`ProviderError` for a failure of the provider; LangGraph's control-flow exceptions
        and our own errors unchanged.
    """
    if isinstance(error, ConflictScoreError | GraphBubbleUp):
        return error
    if isinstance(error, openai.APITimeoutError):
        return ProviderError(f"{provider} at {endpoint} did not answer in time", provider=provider)
    if isinstance(error, openai.APIConnectionError):
        return ProviderError(f"{provider} cannot be reached at {endpoint}", provider=provider)
    fault = fault_of(error)
    if fault is not None:
        words = scrubbed(fault.words, *secrets)
        status = f"HTTP {fault.status}" if fault.status else ""
        said = ": ".join(filter(None, [status, words]))
        if setting := _wrong_setting(fault, said, provider, endpoint, answered):
            return setting
        how = f"failed with {said}" if status else f"failed: {said}"
        return ProviderError(f"{provider} {how}", provider=provider, status=fault.status)
    if isinstance(error, ValueError) and _MODERATION.search(str(error)):  # Azure's client
        return UnreadableReplyError(scrubbed(str(error), *secrets), provider=provider, again=False)
    if isinstance(error, ValueError | TypeError | LookupError | AttributeError):
        # the client found no chat completion in the body; it does not ask again by itself
        return UnreadableReplyError("it was no valid chat completion", provider=provider)
    return ProviderError(
        f"{provider} failed: {type(error).__name__}: {scrubbed(str(error), *secrets)}",
        provider=provider,
    )


def _wrong_setting(
    fault: ProviderFault, said: str, provider: str, endpoint: str, answered: bool
) -> ConfigurationError | None:
    """The error for a setting that no call can do with; None if only this call failed."""
    words = f"{fault.words} {fault.code}"
    if fault.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN} and "logprobs" in words:
        return without_logprobs(provider)
    if fault.status == HTTPStatus.TOO_MANY_REQUESTS and fault.code in _NO_CREDIT:
        # no QuotaError, which a search has whose chain goes on with the next provider: a run over
        # many rows has to stop here, and is resumed once there is credit
        return ConfigurationError(
            f"the account behind the key for {provider} has no quota left ({said})"
        )
    if fault.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND} and _MODERATION.search(words):
        return None
    about_key = fault.status == HTTPStatus.FORBIDDEN and (not answered or _ABOUT_KEY.search(words))
    if fault.status == HTTPStatus.UNAUTHORIZED or about_key:
        return ConfigurationError(
            f"{endpoint} refused the key for {provider} ({said});"
            " check it (of OpenAI and --base-url: OPENAI_API_KEY) and what it may be used for"
        )
    if fault.status == HTTPStatus.NOT_FOUND and (not answered or _ABOUT_MODEL.search(words)):
        return ConfigurationError(
            f"{endpoint} does not know the model {provider} ({said});"
            " check the name of the model and the endpoint"
        )
    return None


def without_logprobs(provider: str) -> ConfigurationError:
    """The error for a model that gives no log-probabilities."""
    return ConfigurationError(
        f"{provider} gives no log-probabilities, which the labeler 'choice' and the form mc2 need;"
        " use the labeler 'json', or the form mc1"
    )


class TransientError(NamedTuple):
    """A failure of a provider that may not happen again."""

    kind: Literal["refused", "late", "failed"]
    """``refused``: too many calls for it now. ``late``: no answer in time. ``failed``: the rest."""
    again: bool
    """Whether the provider leaves it to us to ask again."""
    after: float | None = None
    """Seconds that it asks to wait; None if it does not say."""


def transient_error(error: Exception) -> TransientError | None:
    """Error of the endpoint in a client's exception.

    None for what the same request would meet again: a refused key, an unknown model, a bad request,
    an account without credit, a body that is no completion.
    """
    if isinstance(error, openai.APITimeoutError):
        return TransientError("late", again=True)
    if isinstance(error, openai.APIConnectionError):
        return TransientError("failed", again=True)
    fault = fault_of(error)
    if fault is None or fault.status is None:
        return None
    status, headers = fault.status, fault.headers
    if status == HTTPStatus.TOO_MANY_REQUESTS and fault.code in _NO_CREDIT:
        return None
    if status == HTTPStatus.NOT_IMPLEMENTED or (
        status == HTTPStatus.INTERNAL_SERVER_ERROR and _ABOUT_FORM.search(fault.words)
    ):
        return None
    again, after = headers.get("x-should-retry") != "false", _asked_wait(headers)
    for_now = status == HTTPStatus.SERVICE_UNAVAILABLE and (after or _LOADING.search(fault.words))
    if status in {HTTPStatus.TOO_MANY_REQUESTS, _OVERLOADED} or for_now:
        return TransientError("refused", again, after)
    if (
        status in {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.CONFLICT}
        or status >= HTTPStatus.INTERNAL_SERVER_ERROR
    ):
        return TransientError("failed", again, after)
    return None


def _asked_wait(headers: Mapping[str, Any]) -> float | None:
    """Seconds from now, of a header in milliseconds or in seconds."""
    for name, unit in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        try:
            seconds = float(headers[name]) * unit
        except (KeyError, ValueError):
            continue
        return seconds if math.isfinite(seconds) and seconds >= 0 else None
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

    def wait(self, trouble: TransientError, attempt: int, spent: float) -> float | None:
        """Seconds before the next attempt; None to give up.

        ``attempt`` counts from 1; ``spent`` is in seconds since the first attempt began.
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
