"""The upstream endpoint, called with the caller's own request.

A forwarded request counts against the concurrency limit of all calls to the endpoint until the
whole reply has arrived. A refusal lowers that limit. The request is not retried here, since its
bytes are passed on as they arrive: the caller's client retries, as it would without this service.
"""

import json
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager, suppress
from typing import Any

import httpx2
import openai
from langchain_openai.chat_models.base import BaseChatOpenAI

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.middleware.service.refusals import RefusedError, refusal_of
from conflictscore.middleware.service.wire import header_value
from conflictscore.models.failures import transient_error
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.provider_errors import error_in_completion

__all__ = [
    "OWN_NAME",
    "Upstream",
    "UpstreamReply",
    "read_completion",
    "unreadable",
]

OWN_NAME = "conflictscore"
"""The model name that every deployment accepts."""


class UpstreamReply:
    """The upstream's reply to a forwarded request, of which only the headers have arrived."""

    def __init__(self, response: Any) -> None:
        self._response = response
        given = header_value(response.headers.get("content-type"))
        self.content_type = given or "application/json"

    async def read(self) -> bytes:
        """Read the whole body."""
        with _breaking_off():
            data: bytes = await self._response.read()
        return data

    async def stream(self) -> AsyncIterator[bytes]:
        """The body in chunks, as they arrive."""
        with _breaking_off():
            async for chunk in self._response.iter_bytes():
                yield chunk


class Upstream:
    """The endpoint behind the answering model, reached with the key of this service.

    ``names`` are the models that a request may name. A model that does not speak OpenAI's chat
    completions is a ConfigurationError.
    """

    def __init__(self, model: LanguageModel, *, timeout: float) -> None:
        if not isinstance(model.chat, BaseChatOpenAI):
            raise ConfigurationError(
                f"{model.name} is not an OpenAI-compatible endpoint, which the service needs to"
                " forward requests to; use openai:NAME, local, or NAME with a base URL"
            )
        self.model = model
        self._name = model.chat.model_name
        self._client: openai.AsyncOpenAI = model.chat.root_async_client.with_options(
            max_retries=0, timeout=timeout
        )
        self.names = tuple(dict.fromkeys((OWN_NAME, self._name, model.name)))

    @asynccontextmanager
    async def open(self, body: Mapping[str, Any]) -> AsyncIterator[UpstreamReply]:
        """Forward a request, and open the reply; failures of the upstream are refusals."""
        forwarded = {**body, "model": self._name}
        limit = self.model.limit
        async with limit.place(object()):
            if self.model.admit:
                self.model.admit()
            began = time.monotonic()
            try:
                async with self._client.chat.completions.with_streaming_response.create(
                    model=self._name, messages=[], extra_body=forwarded
                ) as response:
                    limit.answered()
                    yield UpstreamReply(response)
            except openai.OpenAIError as error:
                failure = transient_error(error)
                if failure is not None and failure.kind in ("refused", "late"):
                    limit.refused(began)
                raise refusal_of(error, self.model, forwarded=True) from error

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The whole chat completion for a request."""
        unstreamed = {k: v for k, v in body.items() if k not in ("stream", "stream_options")}
        async with self.open(unstreamed) as reply:
            data = await reply.read()
        completion = read_completion(data)
        if completion is None or "error" in completion:
            with suppress(ValueError, RecursionError):
                if error := error_in_completion(json.loads(data)):
                    raise refusal_of(error, self.model) from error
        if completion is None:
            raise unreadable()
        return completion


def read_completion(data: bytes) -> dict[str, Any] | None:
    """Parse a chat completion with at least one message; None for anything else."""
    try:
        completion = json.loads(data)
        messages = [choice["message"] for choice in completion["choices"]]
    except (ValueError, TypeError, LookupError, RecursionError):
        return None
    whole = bool(messages) and all(isinstance(message, dict) for message in messages)
    return completion if whole and isinstance(completion, dict) else None


def unreadable() -> RefusedError:
    """The error of a reply that is not a chat completion."""
    message = "the upstream sent something that is not a chat completion"
    return RefusedError(502, message, code="upstream_unreadable")


@contextmanager
def _breaking_off() -> Iterator[None]:
    """Turn errors while a body is read into refusals."""
    try:
        yield
    except httpx2.TimeoutException as error:
        raise RefusedError(
            504, "the upstream stopped in the middle of its reply", code="upstream_timeout"
        ) from error
    except ProviderError as error:
        raise RefusedError(502, str(error), code="upstream_too_long") from error
    except httpx2.HTTPError as error:
        raise RefusedError(
            502, "the upstream broke off its reply", code="upstream_failed"
        ) from error
