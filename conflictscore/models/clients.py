"""How clients of providers differ: in saying that a reply was cut, in asking for JSON."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import lru_cache
from math import exp, fsum, inf, log
from typing import Any

import openai
from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.runnables import RunnableConfig
from langchain_core.runnables.config import ensure_config
from langchain_core.utils.function_calling import convert_to_openai_function
from langchain_openai import ChatOpenAI
from openai.types import CompletionUsage
from openai.types.chat import ChatCompletion
from pydantic import SecretStr

from conflictscore.models.bounds import check_length
from conflictscore.models.provider_faults import error_in_completion
from conflictscore.models.usage import known_tokens
from conflictscore.records import encodable

_LEAST_PROBABILITY = 1e-9
_ROUNDED = 0.01
"""Rounding of servers above a log-probability of 0."""

_HIDDEN = ["nostream"]
"""Tag that keeps drafts and verdicts out of LangGraph's ``messages`` stream."""


_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "reasoning_text")
"""Where servers put the reasoning of a reply."""


class EndpointChat(ChatOpenAI):
    """``ChatOpenAI`` that no report of tokens can fail, and that passes on errors in a 200.

    A reply that a server took for reasoning is in ``additional_kwargs["reasoning_content"]``.
    """

    def _create_chat_result(
        self, response: dict[str, Any] | openai.BaseModel, generation_info: Any = None
    ) -> ChatResult:
        if isinstance(response, ChatCompletion) and response.usage is not None:
            said: Any = response.usage
            if isinstance(said, CompletionUsage):
                said = said.model_dump(warnings=False)
            known = known_tokens(said, self.model_name)
            response.usage = None if known is None else CompletionUsage.construct(**known)
        if error := error_in_completion(response, str(self.root_client.base_url)):
            raise error
        choices = response.choices if isinstance(response, ChatCompletion) else []
        for choice in choices:
            _mend(choice.message)
        result = super()._create_chat_result(response, generation_info)
        for made, choice in zip(result.generations, choices, strict=False):
            made.message.response_metadata |= {
                "native_finish_reason": getattr(choice, "native_finish_reason", None)
            }
            thoughts = [getattr(choice.message, name, None) for name in _THOUGHTS]
            if (thought := next(filter(None, thoughts), None)) and not made.message.text:
                made.message.additional_kwargs["reasoning_content"] = thought
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: Any
    ) -> ChatGenerationChunk | None:
        if "usage" in chunk:
            chunk = {**chunk, "usage": known_tokens(chunk["usage"], self.model_name)}
        return super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )


def _mend(message: Any) -> None:
    """Put a reply's content and the arguments of its calls into the form that LangChain takes."""
    message.role = "assistant"  # with any other, LangChain makes a message without tool calls
    if isinstance(message.content, dict):
        message.content = [message.content]
    for call in message.tool_calls or ():
        arguments = call.function.arguments
        if not isinstance(arguments, str):
            call.function.arguments = json.dumps(arguments)
        elif arguments.lstrip().startswith('"'):  # JSON in JSON
            with suppress(ValueError):
                call.function.arguments = str(json.loads(arguments))


def clean_reply(reply: Any) -> Any:
    """A reply, parsed or not, that can be stored and counted; ProviderError if it is too long."""
    if isinstance(reply, Mapping):
        return {name: clean_reply(part) for name, part in reply.items()}
    if not isinstance(reply, AIMessage):
        return encodable(reply)
    check_length(len(reply.text), str(reply.response_metadata.get("model_name") or "the model"))
    given = {"content": reply.content, "tool_calls": reply.tool_calls}
    clean = encodable(given)
    return reply if clean == given else reply.model_copy(update=clean)


def letter_logprobs(message: BaseMessage, letters: Sequence[str]) -> dict[str, float] | None:
    """The natural log-probability of each letter as the first token; None if none were given.

    All are finite: a letter too improbable to be reported gets an upper bound.

    Raises:
        ValueError: What was given cannot be read, or the reply is none of the letters.
    """
    reported = message.response_metadata.get("logprobs")
    reported = reported.get("content") if isinstance(reported, dict) else reported
    if not reported:
        return None
    try:
        likeliest = reported[0].get("top_logprobs") or [reported[0]]
        told = [(one["token"].strip(), one["logprob"]) for one in reversed(likeliest)]
        readable = all(type(value) in (int, float) and value <= _ROUNDED for _, value in told)
    except (LookupError, TypeError, AttributeError):
        readable = False
    top = {t: min(float(value), 0.0) for t, value in told if value > -inf} if readable else {}
    if not top:
        raise ValueError("its log-probabilities are not numbers up to 0, each with a token")
    if not any(letter in top for letter in letters):
        raise ValueError(f"it was none of {', '.join(letters)}")
    # a letter that is not reported has at most what the reported tokens leave over
    left = max(_LEAST_PROBABILITY, 1 - fsum(exp(value) for value in top.values()))
    floor = min(log(left), *top.values())
    return {letter: top.get(letter, floor) for letter in letters}


@lru_cache
def response_format(schema: str) -> dict[str, Any]:
    """A JSON schema, given as JSON, in the form of OpenAI's strict ``response_format``."""
    function = convert_to_openai_function(json.loads(schema), strict=True)
    form = {"name": function["name"], "schema": function["parameters"], "strict": True}
    return {"type": "json_schema", "json_schema": form}


def with_max_tokens(
    chat: BaseChatModel, parameters: Mapping[str, Any]
) -> tuple[BaseChatModel, dict[str, Any]]:
    """A chat model and call parameters, with ``max_tokens`` under its client's name for it."""
    known, fields = dict(parameters), type(chat).model_fields
    if "max_tokens" in known and "max_tokens" not in fields:
        if "num_predict" in fields:  # Ollama: options of a call would replace all of the model's
            return chat.model_copy(update={"num_predict": known.pop("max_tokens")}), known
        if "max_output_tokens" in fields:  # Gemini
            known["max_output_tokens"] = known.pop("max_tokens")
    return chat, known


def with_handler(
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None, handler: BaseCallbackHandler
) -> list[BaseCallbackHandler] | BaseCallbackManager:
    """The callbacks with one more; those that were given stay as they are."""
    if isinstance(callbacks, BaseCallbackManager):
        manager = callbacks.copy()
        manager.add_handler(handler)
        return manager
    return [*(callbacks or []), handler]


def hidden_config(meter: BaseCallbackHandler) -> RunnableConfig:
    """The config around the call with the meter added, and hidden from LangGraph's stream.

    By hand, since merging costs as much as all else that is done for a call.
    """
    config = ensure_config()
    config["callbacks"] = with_handler(config.get("callbacks"), meter)
    config["tags"] = [*config.get("tags", []), *_HIDDEN]
    return config


def secrets_of(chat: BaseChatModel) -> list[str]:
    """The keys that a chat model holds, which must not appear in any message."""
    return [item.get_secret_value() for item in vars(chat).values() if isinstance(item, SecretStr)]
