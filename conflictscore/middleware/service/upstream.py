"""The upstream endpoint, called with the caller's own request.

A forwarded request counts against the concurrency limit of all calls to the endpoint until the
whole reply has arrived. A refusal lowers that limit. The request is not retried here: the caller's
client retries, as it would without this service.
"""

import json
import time
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

import openai
from langchain_openai.chat_models.base import BaseChatOpenAI

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.middleware.service.refusals import RefusedError, refusal_of
from conflictscore.models.failures import transient_error
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.provider_errors import error_in_completion

__all__ = ["OWN_NAME", "Upstream"]

OWN_NAME = "conflictscore"
"""The model name that every deployment accepts."""


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

    async def complete(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The whole chat completion for a request; failures of the upstream are refusals."""
        unstreamed = {k: v for k, v in body.items() if k not in ("stream", "stream_options")}
        limit, completions = self.model.limit, self._client.chat.completions
        async with limit.place(object()):
            if self.model.admit:
                self.model.admit()
            began = time.monotonic()
            try:
                response = await completions.with_raw_response.create(
                    model=self._name, messages=[], extra_body={**unstreamed, "model": self._name}
                )
            except (openai.OpenAIError, ProviderError) as error:
                failure = transient_error(error)
                if failure is not None and failure.kind in ("refused", "late"):
                    limit.refused(began)
                raise refusal_of(error, self.model, forwarded=True) from error
            limit.answered()
        with suppress(ValueError, RecursionError):
            completion = json.loads(response.content)
            if _is_completion(completion) and "error" not in completion:
                return dict(completion)
            if told := error_in_completion(completion):
                raise refusal_of(told, self.model) from told
            if _is_completion(completion):
                return dict(completion)
        message = "the upstream sent something that is not a chat completion"
        raise RefusedError(502, message, code="upstream_unreadable")


def _is_completion(value: Any) -> bool:
    """Whether this is a chat completion with at least one message."""
    try:
        messages = [choice["message"] for choice in value["choices"]]
    except (TypeError, LookupError):
        return False
    return bool(messages) and all(isinstance(message, dict) for message in messages)
