"""What has to be known of OpenAI's two APIs, chat completions and responses."""

import json
from functools import lru_cache
from typing import Any

from langchain_core.utils.function_calling import convert_to_openai_function
from langchain_openai.chat_models.base import BaseChatOpenAI

__all__ = ["completes", "response_format"]


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
    """What OpenAI's API calls a JSON schema, in JSON, that is to be kept to strictly."""
    function = convert_to_openai_function(json.loads(schema), strict=True)
    form = {"name": function["name"], "schema": function["parameters"], "strict": True}
    return {"type": "json_schema", "json_schema": form}
