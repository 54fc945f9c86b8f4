"""Turns a client's exception into one clear line that says what to do next, without secrets.

Limits without a stated reason were chosen by hand.
"""

import re
import ssl
from collections.abc import Sequence
from http import HTTPStatus

import openai
from langgraph.errors import GraphBubbleUp

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    FailureKind,
    ProviderError,
    UnreadableReplyError,
    scrubbed,
)
from conflictscore.models.provider_faults import (
    NO_CREDIT,
    OVERLOADED,
    ProviderFault,
    failed_generation,
    fault_of,
    is_unmade,
    proxy_status,
    timed_out,
    tls_fault,
)
from conflictscore.proxies import by_proxy, through_proxy

# Providers name their content filters differently. The pattern combines the wordings of OpenAI,
# Azure, OpenRouter and Alibaba (DataInspection). They send such refusals with status 400, 403 or
# 404.
_MODERATION = re.compile(
    r"(?i)moderat|flagged|content.{0,3}(?:policy|filter|management)|safety|guardrail|inappropriate"
    r"|DataInspection"
)
# Words that show that an error is about the key or the account.
_ABOUT_KEY = re.compile(
    r"(?i)\b(?:api.?)?keys?\b|credential|authenticat|authoriz|permission|account"
)
_OF_PROXIES = frozenset(
    (
        HTTPStatus.FORBIDDEN,
        HTTPStatus.PROXY_AUTHENTICATION_REQUIRED,
        HTTPStatus.BAD_GATEWAY,
        HTTPStatus.SERVICE_UNAVAILABLE,
        HTTPStatus.GATEWAY_TIMEOUT,
    )
)
"""Statuses that come from a proxy, not from the endpoint."""
# "The model `x` does not exist", "unknown model"; the distance keeps the time linear.
_ABOUT_MODEL = re.compile(r"(?i)\b(?:model|deployment)\b.{0,200}\b(?:not|no|unknown|exist)")


def clear_error(
    error: Exception,
    *,
    provider: str,
    endpoint: str,
    secrets: Sequence[str] = (),
    has_answered: bool = False,
) -> Exception:
    """Turn a client's exception into one clear line that says what to do next.

    ``has_answered`` means that an earlier call to this model succeeded. The key and the model name
    are then assumed to be correct unless the provider says otherwise.

    Returns:
        A :class:`ConfigurationError` if the user must change a setting (key, model name, endpoint),
        otherwise a :class:`ProviderError`. LangGraph's control-flow exceptions and this package's
        own errors are returned unchanged.
    """
    if isinstance(error, ConflictScoreError | GraphBubbleUp):
        return error
    # OpenAI's client reports both kinds below as connection errors, so they are looked for first
    if tls := tls_fault(error):
        place = f"{endpoint}{through_proxy(endpoint)}"
        return ProviderError(
            f"{provider} cannot be reached at {place}: {_insecure(tls)}",
            provider=provider,
            failure=FailureKind.UNREACHABLE,
        )
    if timed_out(error):
        return ProviderError(
            f"{provider} at {endpoint} did not answer in time{through_proxy(endpoint)}",
            provider=provider,
            failure=FailureKind.TIMED_OUT,
        )
    if isinstance(error, openai.APIConnectionError):
        return ProviderError(
            f"{provider} cannot be reached at {endpoint}"
            f"{through_proxy(endpoint, proxy_status(error))}",
            provider=provider,
            failure=FailureKind.UNREACHABLE,
        )
    fault = fault_of(error)
    if fault is not None and is_unmade(fault):
        return UnreadableReplyError(
            "its server could not turn the reply into JSON",
            provider=provider,
            reply=failed_generation(error),
            by_form=True,
        )
    if fault is not None:
        fault_text = _fault_text(fault, endpoint, secrets)
        if setting := _wrong_setting(fault, fault_text, provider, endpoint, has_answered):
            return setting
        how = f"failed with {fault_text}" if fault.status else f"failed: {fault_text}"
        is_throttled = fault.status in {HTTPStatus.TOO_MANY_REQUESTS, OVERLOADED}
        return ProviderError(
            f"{provider} {how}",
            provider=provider,
            status=fault.status,
            failure=FailureKind.REFUSED if is_throttled else FailureKind.FAILED,
        )
    if isinstance(error, ValueError) and _MODERATION.search(str(error)):  # Azure's client
        return UnreadableReplyError(scrubbed(str(error), *secrets), provider=provider, again=False)
    if isinstance(error, ValueError | TypeError | LookupError | AttributeError):
        # the client found no chat completion in the body, and it does not retry in this case
        return UnreadableReplyError("it was not a valid chat completion", provider=provider)
    return ProviderError(
        f"{provider} failed: {type(error).__name__}: {scrubbed(str(error), *secrets)}",
        provider=provider,
    )


def _insecure(fault: ssl.SSLError) -> str:
    """Say why no secure connection could be made, and what to do about it."""
    if isinstance(fault, ssl.SSLCertVerificationError):
        return (
            f"its certificate is not accepted ({fault.verify_message}); if the server is yours, set"
            " SSL_CERT_FILE to a file with its CA certificate"
        )
    reason = (fault.reason or "no reason given").replace("_", " ").lower()
    return f"no secure connection can be made ({reason}); perhaps its address begins with http://"


def _fault_text(fault: ProviderFault, endpoint: str, secrets: Sequence[str]) -> str:
    """Return a provider's status and message, and the proxy that may have sent them."""
    status = f"HTTP {fault.status}" if fault.status else ""
    fault_text = ": ".join(filter(None, [status, scrubbed(fault.words, *secrets)]))
    return fault_text + (by_proxy(endpoint) if fault.status in _OF_PROXIES else "")


def _wrong_setting(
    fault: ProviderFault, fault_text: str, provider: str, endpoint: str, has_answered: bool
) -> ConfigurationError | None:
    """Return the error for a setting that makes every call fail; None if only this call failed."""
    words = f"{fault.words} {fault.code}"
    if fault.status in {HTTPStatus.BAD_REQUEST, HTTPStatus.FORBIDDEN} and "logprobs" in words:
        return without_logprobs(provider)
    if fault.status == HTTPStatus.TOO_MANY_REQUESTS and fault.code in NO_CREDIT:
        # This is not a QuotaError, since a run over many rows must stop here. It can be resumed
        # when there is credit again.
        return ConfigurationError(
            f"the account behind the key for {provider} has no quota left ({fault_text})"
        )
    if fault.status in {HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND} and _MODERATION.search(words):
        return None
    about_key = fault.status == HTTPStatus.FORBIDDEN and (
        not has_answered or _ABOUT_KEY.search(words)
    )
    if fault.status == HTTPStatus.UNAUTHORIZED or about_key:
        return ConfigurationError(
            f"{endpoint} refused the key for {provider} ({fault_text});"
            " check OPENAI_API_KEY (used for OpenAI and --base-url) and its permissions"
        )
    if fault.status == HTTPStatus.NOT_FOUND and (not has_answered or _ABOUT_MODEL.search(words)):
        return ConfigurationError(
            f"{endpoint} does not know the model {provider} ({fault_text});"
            " check the name of the model and the endpoint"
        )
    return None


def without_logprobs(provider: str) -> ConfigurationError:
    """Return the error for a model that returns no log-probabilities."""
    return ConfigurationError(
        f"{provider} returns no log-probabilities, which the labeler 'choice' and the "
        "form mc2 need; use the labeler 'json' or the form mc1"
    )
