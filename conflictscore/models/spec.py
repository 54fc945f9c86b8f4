"""Opens a :class:`LanguageModel` from a spec such as ``openai:gpt-4.1-mini`` or ``local``."""

import hashlib
import json
import os
import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, TypedDict
from urllib.parse import urlsplit, urlunsplit

import httpx2
from langchain_core.language_models import BaseChatModel
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.models.endpoint_chat import EndpointChat
from conflictscore.models.http_clients import http_clients
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.profiles import (
    ReasoningEffort,
    known_profile,
    split_spec,
    thinking_room,
    told_effort,
    with_options,
)
from conflictscore.models.retries import Retries
from conflictscore.storage.cache import ContentCache

OPENAI_DEFAULT = "gpt-4.1-mini"
"""The model of the paper's TruthfulQA study (section 6.1)."""

_OPENAI_URL = "https://api.openai.com/v1"
# Tokens assumed if a model's window is unknown. Nearly all models in use have at least as many, and
# a prompt that is too long for its model would be refused or silently cut.
_UNKNOWN_WINDOW = 8192
# Maximum calls in flight to an endpoint; chosen by hand. If the endpoint refuses some, the limit is
# lowered automatically.
_REMOTE_CALLS = 16


def default_spec() -> str:
    """Return the default model: OpenAI's if its key is set, otherwise the local model."""
    return f"openai:{OPENAI_DEFAULT}" if os.environ.get("OPENAI_API_KEY") else "local"


def open_model(
    spec: str,
    *,
    base_url: str | None = None,
    context_window: int | None = None,
    cache: ContentCache | None = None,
    max_calls: int | None = None,
    reasoning_effort: ReasoningEffort | None = None,
) -> LanguageModel:
    """Open a model by its spec.

    Args:
        spec: ``openai:NAME`` or just ``NAME`` names a model of OpenAI or, with ``base_url``, of any
            OpenAI-compatible endpoint. ``anthropic:NAME``, ``ollama:NAME`` and the like name models
            of the other providers of LangChain's ``init_chat_model``; they need the extra
            ``langchain`` and the provider's package. ``local`` is the embedded model,
            ``local:NAME`` a model from ``conflictscore model list``, and
            ``local:/path/to/any.gguf`` your own file. The embedded model is downloaded on first
            use. Options after a question mark override what is known about the model. They are
            ``temperature=`` (a number or ``none``), ``json=`` (``json_schema``, ``json_object``,
            ``tool`` or ``prompt``), ``length=`` (``max_tokens`` or ``max_completion_tokens``) and
            ``reasoning=`` (``yes`` or ``no``).
        base_url: An OpenAI-compatible endpoint, usually ending in ``/v1``; its key is
            ``OPENAI_API_KEY``.
        context_window: Tokens in prompt and reply together; by default the model's own window, or
            8192 if that is unknown.
        cache: Where replies are stored.
        max_calls: Maximum calls in flight to an endpoint; by default 16, and always 1 for the
            embedded model.
        reasoning_effort: How much the model should reason; ignored for models known to have no such
            setting. If the effort is None, the provider decides.

    Raises:
        ConfigurationError: The spec names no model, or its key or runtime is missing.
    """
    qualified_name, options = split_spec(spec)
    settings: _Settings = {
        "context_window": context_window,
        "max_calls": max_calls,
        "reasoning_effort": reasoning_effort,
    }
    provider, _, name = qualified_name.partition(":")
    url = base_url or os.environ.get("OPENAI_BASE_URL") or None
    if provider == "local":
        if base_url:
            raise ConfigurationError(
                "base_url cannot be used with a local model; name a model at that endpoint"
            )
        model = _open_local(name, context_window)
    elif provider == "openai" or not name or url:
        # at an endpoint's address, a colon is part of the model's name, as in llama3:8b
        name = name if provider == "openai" else qualified_name
        if not name.strip():
            raise ConfigurationError(_unknown(qualified_name))
        model = _open_openai(name, url, settings)
    else:
        model = _open_other(provider, name, settings)
    model = replace(model, cache=cache)
    return with_options(model, options) if options else model


class _Settings(TypedDict):
    """The settings of :func:`open_model` that are passed on to :func:`from_chat_model`."""

    context_window: int | None
    max_calls: int | None
    reasoning_effort: ReasoningEffort | None


def _open_other(provider: str, name: str, settings: _Settings) -> LanguageModel:
    """Open a model from any LangChain provider, at temperature 0 if it accepts a temperature."""
    spec = f"{provider}:{name}"
    if not (provider and name.strip()):
        raise ConfigurationError(_unknown(spec))
    try:
        from langchain.chat_models import init_chat_model
    except ImportError:
        raise ConfigurationError(
            f"{spec} needs LangChain ({install_hint('langchain')}) and the provider's package, "
            f"such as langchain-{provider}"
        ) from None
    try:
        # only an open model has the profile that says whether it accepts a temperature
        chat: BaseChatModel = init_chat_model(name, model_provider=provider)
        if (chat.profile or {}).get("temperature", True):
            chat = init_chat_model(name, model_provider=provider, temperature=0)
    except ImportError as missing:
        raise ConfigurationError(f"{spec}: {missing}") from None
    except Exception as error:  # noqa: BLE001 - each provider raises its own errors
        if str(error).startswith("Unsupported provider"):  # init_chat_model raises a ValueError
            raise ConfigurationError(_unknown(spec)) from None
        # the client's own message may contain a key
        raise ConfigurationError(
            f"{spec} cannot be set up ({type(error).__name__}); is the provider's key set, such as"
            f" {provider.upper()}_API_KEY?"
        ) from None
    if "num_ctx" in type(chat).model_fields:  # Ollama silently cuts longer prompts
        window = settings["context_window"] or _known_window(chat)
        chat = chat.model_copy(update={"num_ctx": window})
    return from_chat_model(chat, **settings)


def _unknown(spec: str) -> str:
    return (
        f"unknown model {spec!r}; write openai:NAME, local, local:NAME, local:/path/to/file.gguf,"
        " PROVIDER:NAME for a provider with a LangChain package, or NAME with "
        "base_url for an OpenAI-compatible endpoint"
    )


def from_chat_model(
    chat: BaseChatModel,
    *,
    context_window: int | None = None,
    cache: ContentCache | None = None,
    max_calls: int | None = None,
    reasoning_effort: ReasoningEffort | None = None,
) -> LanguageModel:
    """Wrap any LangChain chat model; the settings are those of :func:`open_model`.

    Calls of such a model are scheduled like all others, but retries are left to its client.
    Verdicts of the model are cached only if its settings are plain JSON, since nothing else
    distinguishes two models.
    """
    effort_setting = told_effort(chat, reasoning_effort)
    if effort_setting:
        chat = chat.model_copy(update=effort_setting)
    settings = {**chat._identifying_params, **effort_setting}
    # Ollama's client keeps the model's name only in a field
    names = [settings.get("model"), settings.get("model_name"), getattr(chat, "model", None)]
    name = next(
        (candidate for candidate in names if candidate and isinstance(candidate, str)),
        chat._llm_type,
    )
    # only the client of OpenAI's chat models has the address; their settings lack it
    client = getattr(chat, "root_async_client", None)
    endpoint = _without_credentials(str(client.base_url) if client else chat._llm_type)
    return LanguageModel(
        chat=chat,
        name=name,
        endpoint=endpoint,
        context_window=(window := context_window or _known_window(chat)),
        limit=ConcurrencyLimit.shared(endpoint, max_calls or _REMOTE_CALLS),
        parameters=_plain(settings) if settings else None,
        thinking_tokens=thinking_room(chat, window, effort_setting),
        cache=cache,
    )


def require_effort(effort: ReasoningEffort | None, *models: LanguageModel) -> None:
    """Raise ConfigurationError if none of the models accepts the reasoning effort."""
    if effort and not any(getattr(m.chat, "reasoning_effort", None) == effort for m in models):
        names = " and ".join(dict.fromkeys(model.name for model in models))
        raise ConfigurationError(
            f"no reasoning effort {effort!r} can be set for {names}; omit "
            "reasoning_effort, or use a model that accepts it"
        )


def _open_openai(name: str, base_url: str | None, settings: _Settings) -> LanguageModel:
    """Open a model of OpenAI, or of a compatible endpoint at an address.

    The model is called at temperature 0 and treated as deterministic. The exception is a model
    whose profile says that it accepts no temperature, or none while reasoning. A model at any other
    endpoint keeps its bare name, since ``openai:`` would suggest OpenAI's model.
    """
    url = base_url or _OPENAI_URL
    key = _endpoint_key(name, base_url)
    chat = EndpointChat.over(
        # its own clients, since the clients that LangChain shares outlive their event loop
        http_clients(url),
        model=name,
        # OpenAI's client requires a key, even if the endpoint does not
        api_key=SecretStr(key or "none"),
        base_url=url,
        timeout=120.0,  # seconds; a long answer of a reasoning model takes more than a minute
        profile=known_profile(name),
    )
    profile: Mapping[str, Any] = chat.profile or {}
    effort_setting = told_effort(chat, settings["reasoning_effort"])
    # A model with this setting accepts a temperature only while it does not reason. A model without
    # a profile gets both until its endpoint refuses one.
    steady = bool(profile.get("temperature", True)) and not (effort_setting and profile)
    chat = chat.model_copy(update={"temperature": 0.0} if steady else {})
    return replace(
        from_chat_model(chat, **settings),
        name=name if base_url else f"openai:{name}",
        endpoint=_without_credentials(url),
        parameters=({"temperature": 0} if steady else {}) | effort_setting,
        deterministic=steady,
        retries=Retries(),
    )


def _endpoint_key(name: str, base_url: str | None) -> str:
    """Check an endpoint's address and key, and return the key; empty for some private endpoints.

    Raises:
        ConfigurationError: The key or the address is invalid, or OpenAI's key is missing.
    """
    key = os.environ.get("OPENAI_API_KEY", "").strip()
    if not (key.isascii() and key.isprintable()):
        raise ConfigurationError(
            "OPENAI_API_KEY contains characters that a key cannot have; set it again"
        )
    if not key and not base_url:
        raise ConfigurationError(
            f'openai:{name} needs a key: set OPENAI_API_KEY, or use the model "local"'
        )
    if base_url and not _is_http_address(base_url):
        # the address is not shown, since it may contain a password
        raise ConfigurationError(
            "base_url (or OPENAI_BASE_URL) is not an http(s) address; write http://HOST:PORT/v1"
        )
    return key


def _is_http_address(text: str) -> bool:
    """Return whether a string is an http(s) address with a host; a port must be valid."""
    try:
        # both the client and this package parse the address, and each rejects different errors
        host, scheme = urlsplit(text).hostname, httpx2.URL(text).scheme
    except (httpx2.InvalidURL, ValueError):
        return False
    return scheme in {"http", "https"} and bool(host) and not re.search(r"\s", text)


def _open_local(name: str, window: int | None) -> LanguageModel:
    """Open a ``.gguf`` file or an embedded model, which is downloaded if it is missing.

    The digest of the weights is part of the model's identity, so that verdicts are cached by
    weights rather than by name or path. The model takes one call at a time, since parallel calls
    are not faster on a few cores.
    """
    from conflictscore.models.local import resolve
    from conflictscore.models.local.server import CONTEXT_WINDOW, shared_server
    from conflictscore.storage.fetching import fetch_with_bar, fetched

    weights = resolve(name)
    if isinstance(weights, Path):
        path = weights
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
    else:
        path, digest = fetched(weights) or fetch_with_bar(weights), weights.sha256
    server = shared_server(path, context_window=window or CONTEXT_WINDOW)
    chat = EndpointChat.over(
        # a proxy from the environment must not see calls to this process
        http_clients(server.base_url, use_proxy=False),
        model=server.model,
        api_key=SecretStr(server.api_key),
        base_url=server.base_url,
        # seconds; on two cores, reading a prompt that fills the window takes minutes
        timeout=900.0,
        temperature=0.0,
    )
    return LanguageModel(
        chat=chat,
        name=f"local:{weights.name}",
        endpoint=LOCAL_ENDPOINT,
        context_window=server.context_window,
        limit=ConcurrencyLimit.shared(server.base_url, 1),
        parameters={"temperature": 0, "sha256": digest},
        deterministic=True,
        has_grammars=True,
        retries=Retries(),
    )


def _known_window(chat: BaseChatModel) -> int:
    return int((chat.profile or {}).get("max_input_tokens") or _UNKNOWN_WINDOW)


def _without_credentials(url: str) -> str:
    """Return the address without user, password and query, for records and cache keys."""
    parts = urlsplit(url)
    host = parts.netloc.rpartition("@")[2]
    return urlunsplit((parts.scheme, host, parts.path.rstrip("/"), "", ""))


def _plain(settings: Mapping[str, Any]) -> Any:
    """Return settings as plain JSON; None if they have no JSON form."""
    try:
        return json.loads(json.dumps(settings, allow_nan=False))
    except (TypeError, ValueError):
        return None
