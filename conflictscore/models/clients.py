"""Handles differences between providers' clients in how they request JSON and limit a reply."""

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage
from langchain_core.utils.function_calling import convert_to_openai_function
from pydantic import SecretStr

from conflictscore.models.bounds import check_length
from conflictscore.records import encodable


def clean_reply(reply: Any) -> Any:
    """Make a reply's text encodable in UTF-8; raise ProviderError if the reply is too long."""
    if isinstance(reply, Mapping):
        return {name: clean_reply(part) for name, part in reply.items()}
    if not isinstance(reply, AIMessage):
        return encodable(reply)
    check_length(len(reply.text), str(reply.response_metadata.get("model_name") or "the model"))
    if type(reply.content) is str and reply.content.isascii() and not reply.tool_calls:
        return reply  # the usual case, and the test is cheap
    fields = {"content": reply.content, "tool_calls": reply.tool_calls}
    clean = encodable(fields)
    return reply if clean == fields else reply.model_copy(update=clean)


@lru_cache  # all calls of a labeler send the same schema
def response_format(schema: str) -> dict[str, Any]:
    """Return a JSON schema (as JSON text) in the form of OpenAI's strict ``response_format``."""
    function = convert_to_openai_function(json.loads(schema), strict=True)
    form = {"name": function["name"], "schema": function["parameters"], "strict": True}
    return {"type": "json_schema", "json_schema": form}


def with_max_tokens(
    chat: BaseChatModel, parameters: Mapping[str, Any]
) -> tuple[BaseChatModel, dict[str, Any]]:
    """Return a chat model and call parameters, with ``max_tokens`` under the client's own name."""
    call_parameters, fields = dict(parameters), type(chat).model_fields
    if "max_tokens" in fields or "max_tokens" not in call_parameters:
        return chat, call_parameters
    if "num_predict" in fields:
        # in Ollama's client, options passed with a call would replace all of the model's options
        most = call_parameters.pop("max_tokens")
        return chat.model_copy(update={"num_predict": most}), call_parameters
    if "max_output_tokens" in fields:  # Gemini's client
        call_parameters["max_output_tokens"] = call_parameters.pop("max_tokens")
    return chat, call_parameters


def secrets_of(chat: BaseChatModel) -> list[str]:
    """Return the API keys of a chat model. Keys must not appear in any message."""
    return [
        attribute.get_secret_value()
        for attribute in vars(chat).values()
        if isinstance(attribute, SecretStr)
    ]
