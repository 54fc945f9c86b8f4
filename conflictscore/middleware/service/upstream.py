"""Calls the upstream endpoint with the caller's own request.

A forwarded request counts towards the endpoint's concurrency limit until the whole reply has
arrived, and a refusal lowers that limit. Requests are not retried here, since the caller's client
retries as it would without this service.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import partial
from typing import Any

import openai
from langchain_openai.chat_models.base import BaseChatOpenAI

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.middleware.service.refusals import RefusedError, refusal_of
from conflictscore.middleware.service.wire import finite_json
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.provider_faults import error_in_completion
from conflictscore.models.retries import transient_error

OWN_NAME = "conflictscore"
"""The model name that every deployment accepts."""


_GOOD_FOR_S = 10.0
"""Seconds for which the states of the endpoints are reused."""
_WAIT_S = 5.0
"""How long to wait for an endpoint's list of models, in seconds."""
_OK = "ok"


class Upstream:
    """The endpoint of the answering model, called with this service's key.

    ``names`` are the model names that requests may use.

    Raises:
        ConfigurationError: The endpoint does not support OpenAI's chat completions.
    """

    def __init__(self, model: LanguageModel, *, timeout: float) -> None:
        if not isinstance(model.chat, BaseChatOpenAI):
            raise ConfigurationError(
                f"{model.name} is not an OpenAI-compatible endpoint, so the service cannot forward "
                "requests to it; use openai:NAME, local, or NAME with a base URL"
            )
        self.model = model
        self._name = model.chat.model_name
        self._client: openai.AsyncOpenAI = model.chat.root_async_client.with_options(
            max_retries=0, timeout=timeout
        )
        self.names = tuple(dict.fromkeys((OWN_NAME, self._name, model.name)))

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """Request a whole chat completion; upstream failures become error responses."""
        request_body = {k: v for k, v in body.items() if k not in ("stream", "stream_options")}
        limit, completions = self.model.limit, self._client.chat.completions
        # sent as extra_body, since the client's method lacks parameters for other servers' fields;
        # the method requires messages, which those in extra_body then replace
        send = partial(
            completions.with_raw_response.create,
            model=self._name,
            messages=[],
            extra_body={**request_body, "model": self._name},
        )
        # each request is a caller of its own, so that none waits for all requests before it
        async with limit.place(object()):
            if self.model.admit:
                self.model.admit()
            began = time.monotonic()
            try:
                response = await self.model.watching_proxy(send)()
                completion = _parsed(response.content)
                # an error in the body of a 200 gets the same refusal as an error status
                if upstream_error := error_in_completion(completion):
                    raise upstream_error
            except (openai.OpenAIError, ProviderError) as error:
                failure = transient_error(error)
                if failure is not None and failure.kind in ("refused", "late"):
                    limit.refused(began)
                raise refusal_of(error, self.model, forwarded=True) from error
            limit.answered()
        if _is_completion(completion):
            return dict(completion)
        message = "the upstream sent something that is not a chat completion"
        raise RefusedError(502, message, code="upstream_unreadable")


def _parsed(content: bytes) -> Any:
    """Return the JSON in the body of a response, or None if it is not valid JSON."""
    with suppress(ValueError, RecursionError):
        return finite_json(content)
    return None


def _is_completion(value: Any) -> bool:
    try:
        messages = [choice["message"] for choice in value["choices"]]
    except (TypeError, LookupError):
        return False
    return bool(messages) and all(map(_is_message, messages))


def _is_message(value: Any) -> bool:
    """Return whether a value is a message; its tool calls, if any, must have OpenAI's format."""
    if not isinstance(value, dict):
        return False
    calls = value.get("tool_calls") or []
    return isinstance(calls, list) and all(
        isinstance(call, dict) and isinstance(call.get("function") or {}, dict) for call in calls
    )


class Readiness:
    """Checks endpoints by listing their models, at most every ten seconds; this costs no tokens."""

    def __init__(self, upstream: LanguageModel, judge: LanguageModel) -> None:
        self._upstream, self._judge = upstream, judge
        self._states: dict[str, str] = {}
        self._until = 0.0
        self._asking = asyncio.Lock()

    async def states(self) -> dict[str, str]:
        """Return, for upstream and judge, ``ok`` or the problem, without addresses or names."""
        async with self._asking:  # concurrent requests share the answer
            if time.monotonic() >= self._until:
                state = await _state_of(self._upstream)
                same = self._judge is self._upstream
                judges = state if same else await _state_of(self._judge)
                self._states = {"upstream": state, "judge": judges}
                self._until = time.monotonic() + _GOOD_FOR_S
        return self._states


async def _state_of(model: LanguageModel) -> str:
    """Return ``ok``, or the problem with a model's endpoint; in doubt, the endpoint is ok."""
    client = getattr(model.chat, "root_async_client", None)
    if model.is_local or client is None:
        return _OK  # started on demand, or not an OpenAI-compatible endpoint
    try:
        models = client.with_options(timeout=_WAIT_S, max_retries=0).models
        # the client's own parser raises errors of any type for a body that is not a list of models
        response = await models.with_raw_response.list()
    except (openai.AuthenticationError, openai.PermissionDeniedError):
        return "refuses this service's key"
    except openai.APIStatusError as error:
        # any other status probably means that the endpoint has no list of models
        busy = error.status_code == 429 or error.status_code >= 500
        return f"answers HTTP {error.status_code}" if busy else _OK
    except openai.OpenAIError:
        return "cannot be reached"
    names = _names_in(_parsed(response.content))
    model_name = str(getattr(model.chat, "model_name", model.name))
    # Ollama lists "name:latest" for "name"
    is_listed = not names or model_name in names or f"{model_name}:latest" in names
    return _OK if is_listed else "does not list its model"


def _names_in(listing: Any) -> set[str]:
    """Return the names in a list of models, or no names if the list is unreadable."""
    models = listing.get("data") if isinstance(listing, dict) else None
    entries = models if isinstance(models, list) else ()
    return {str(model.get("id", "")) for model in entries if isinstance(model, dict)}
