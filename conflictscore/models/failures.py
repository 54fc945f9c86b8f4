"""From a client's exception to one clear line that carries no secret."""

import re
from collections.abc import Sequence

import openai
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    ProviderError,
    UnreadableReplyError,
)

__all__ = ["clear_error", "without_logprobs"]

_SECRETS = re.compile(r"(?i)\b(?:sk|key|pk|rk)-[\w*.-]{4,}|\bbearer\s+\S+|\bapi[_ -]?key\W+\S+")
_MESSAGE_CHARS = 300
_SECRET_CHARS = 6
"""A shorter one stands for no key, such as ``none``, and its letters may be part of any word."""


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
    match error:
        case openai.BadRequestError() | openai.PermissionDeniedError() if _on_logprobs(error):
            return without_logprobs(provider)
        case openai.AuthenticationError() | openai.PermissionDeniedError():
            return ConfigurationError(
                f"{endpoint} refused the key for {provider} (HTTP {error.status_code});"
                " check OPENAI_API_KEY and what the key may use"
            )
        case openai.NotFoundError():
            return ConfigurationError(
                f"{endpoint} knows no model {provider} (HTTP 404); check --model and --base-url"
            )
        case openai.RateLimitError() if error.code == "insufficient_quota":
            return ConfigurationError(
                f"the account behind the key for {provider} has no quota left"
            )
        case openai.APITimeoutError():
            return ProviderError(
                f"{provider} at {endpoint} gave no answer in time", provider=provider
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
    """What is wrong with a model that says nothing of how likely each letter was."""
    return ConfigurationError(
        f"{provider} gives no log-probabilities, which the labeler 'choice' needs;"
        " use --labeler json"
    )


def _on_logprobs(error: openai.APIStatusError) -> bool:
    return "logprobs" in error.message


def _safe(text: str, secrets: Sequence[str]) -> str:
    """One bounded line in which every secret, and all that looks like one, is blotted out."""
    for secret in secrets:
        if len(secret) >= _SECRET_CHARS:
            text = text.replace(secret, "[secret]")
    return _SECRETS.sub("[secret]", " ".join(text.split()))[:_MESSAGE_CHARS]
