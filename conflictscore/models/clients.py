"""How clients of providers differ: in saying that a reply was cut, in asking for JSON."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.utils.function_calling import convert_to_openai_function
from langchain_openai.chat_models.base import BaseChatOpenAI
from pydantic import SecretStr

__all__ = [
    "completes",
    "response_format",
    "secrets_of",
    "tokens_of",
    "top_logprobs",
    "was_cut",
    "with_handler",
    "without_retries",
]

_CUT = {
    "finish_reason": {"length", "max_tokens"},  # chat completions, and Gemini in capitals
    "stop_reason": {"max_tokens"},  # Anthropic
    "stopReason": {"max_tokens"},  # Bedrock Converse
    "done_reason": {"length"},  # Ollama
}


def was_cut(message: BaseMessage) -> bool:
    """Whether a reply ended at its token limit.

    Args:
        message: The reply, with what its client put into ``response_metadata``.
    """
    said: Mapping[str, Any] = message.response_metadata
    if any(str(said.get(field)).lower() in reasons for field, reasons in _CUT.items()):
        return True
    details = said.get("incomplete_details")  # the Responses API
    return isinstance(details, Mapping) and details.get("reason") == "max_output_tokens"


def tokens_of(reply: Any) -> int:
    """The tokens that a reply, parsed or not, says the call took; 0 if it does not say."""
    message = reply["raw"] if isinstance(reply, Mapping) else reply
    usage = message.usage_metadata if isinstance(message, AIMessage) else None
    return usage["total_tokens"] if usage else 0


def top_logprobs(message: BaseMessage) -> dict[str, float]:
    """Natural log-probabilities of the likeliest first tokens; empty where none were given."""
    reported = (message.response_metadata.get("logprobs") or {}).get("content")
    if not reported:
        return {}
    likeliest = reported[0].get("top_logprobs") or [reported[0]]
    return {token["token"].strip(): token["logprob"] for token in reversed(likeliest)}


def completes(chat: BaseChatOpenAI) -> bool:
    """Whether it calls chat completions, whose fields the Responses API refuses.

    Where it was not told, only the client knows; one that cannot be asked may call either.
    """
    if chat.use_responses_api is not None:
        return not chat.use_responses_api
    responds = getattr(chat, "_use_responses_api", None)
    return responds is not None and not responds(dict(chat._default_params))


@lru_cache
def response_format(schema: str) -> dict[str, Any]:
    """A JSON schema, given as JSON, in the form of OpenAI's strict ``response_format``."""
    function = convert_to_openai_function(json.loads(schema), strict=True)
    form = {"name": function["name"], "schema": function["parameters"], "strict": True}
    return {"type": "json_schema", "json_schema": form}


def without_retries(chat: BaseChatModel) -> BaseChatModel:
    """The same chat model without retries, if its client can be told so."""
    if not isinstance(chat, BaseChatOpenAI):
        return chat
    client = chat.root_client.with_options(max_retries=0)
    async_client = chat.root_async_client.with_options(max_retries=0)
    update = {
        "root_client": client,
        "client": client.chat.completions,
        "root_async_client": async_client,
        "async_client": async_client.chat.completions,
    }
    return chat.model_copy(update=update)


def with_handler(
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None, handler: BaseCallbackHandler
) -> list[BaseCallbackHandler] | BaseCallbackManager:
    """The callbacks with one more; those that were given stay as they are."""
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(handler)
        return manager
    return [*(callbacks or []), handler]


def secrets_of(chat: BaseChatModel) -> list[str]:
    """The keys that a chat model holds, which must not appear in any message."""
    return [item.get_secret_value() for item in vars(chat).values() if isinstance(item, SecretStr)]
