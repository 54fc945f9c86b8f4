"""From a client's exception to one clear line that carries no secret."""

import re

import openai
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    ProviderError,
    UnreadableReplyError,
)

__all__ = ["clear_error"]

_SECRETS = re.compile(r"(?i)\b(?:sk|key|pk|rk)-[\w*.-]{4,}|\bbearer\s+\S+|\bapi[_ -]?key\W+\S+")
_MESSAGE_CHARS = 300


def clear_error(error: Exception, *, provider: str, endpoint: str) -> Exception:
    """Say what went wrong with a model call and what to do next.

    Args:
        error: What the client raised, after its own retries.
        provider: The model's name, as records show it.
        endpoint: Where it was called.

    Returns:
        A :class:`ConfigurationError` for what the user must change (key, model name, endpoint), a
        :class:`ProviderError` for what the provider failed at; LangGraph's control-flow exceptions
        and our own errors as they are.
    """
    if isinstance(error, ConflictScoreError | GraphBubbleUp):
        return error
    match error:
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
                f"{provider} failed with HTTP {error.status_code}: {_safe(error.message)}",
                provider=provider,
                status=error.status_code,
            )
        case openai.APIConnectionError():
            return ProviderError(f"{provider} cannot be reached at {endpoint}", provider=provider)
        case ValueError() | TypeError() | LookupError():
            # the client found no chat completion in the body; it does not ask again by itself
            return UnreadableReplyError("it was no valid chat completion", provider=provider)
    return ProviderError(
        f"{provider} failed: {type(error).__name__}: {_safe(str(error))}", provider=provider
    )


def _safe(text: str) -> str:
    """One bounded line in which anything that looks like a key is blotted out."""
    return _SECRETS.sub("[secret]", " ".join(text.split()))[:_MESSAGE_CHARS]
