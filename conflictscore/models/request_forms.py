"""Forms of a request, and how a client asks for them: text, a letter, a JSON object."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import Runnable
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from conflictscore.models.capabilities import RequestStyle
from conflictscore.models.clients import EndpointChat, completes, response_format, with_max_tokens

__all__ = ["PreparedRequest", "RequestForm"]

_OPENAI_CLIENTS = (ChatOpenAI, AzureChatOpenAI, EndpointChat)
"""Classes that ask as OpenAI does; a subclass, such as DeepSeek's, has a way of its own."""
_LENGTHS = ("max_tokens", "max_completion_tokens")


class PreparedRequest(NamedTuple):
    """A request but for its messages.

    Attributes:
        writer: What is called.
        parameters: The call parameters.
        schema: JSON schema that the prompt has to state, since nothing else does; or empty.
    """

    writer: Runnable[Any, Any]
    parameters: Mapping[str, Any]
    schema: str = ""


@dataclass(frozen=True)
class RequestForm:
    """Form that is asked for."""

    name: str
    max_tokens: int
    """The most tokens of the reply, those of reasoning included."""
    parameters: Mapping[str, Any]
    schema: str = ""
    """The JSON schema of the object that is asked for; empty if none is."""
    repeatable: bool = True
    """Whether a reply may be given to somebody else who asks the same."""
    verdict: bool = True
    """Whether a judge asks, whose calls may take the direct path."""

    @property
    def terms(self) -> str:
        """Distinguishes replies in forms of the same name and length."""
        return self.schema or json.dumps(dict(self.parameters), sort_keys=True, default=repr)

    def sent_by(self, chat: BaseChatModel) -> set[str]:
        """The names of the parameters that a refusal may be about."""
        named = ("temperature", "reasoning_effort", "top_p", "seed")
        given = {name for name in named if getattr(chat, name, None) is not None}
        # ChatOpenAI renames the one; classes derived from its base do not
        length = "max_completion_tokens" if isinstance(chat, ChatOpenAI) else "max_tokens"
        return given | {length, *self.parameters}

    def prepared(
        self, chat: BaseChatModel, style: RequestStyle, spare_tokens: int
    ) -> PreparedRequest:
        """The request in a style; ``spare_tokens`` is room for reasoning beside ``max_tokens``."""
        known = {k: v for k, v in self.parameters.items() if k not in style.dropped}
        known = {"max_tokens": self.max_tokens + spare_tokens} | known
        if not self.schema:
            writer, known = with_max_tokens(chat, known)
            return PreparedRequest(writer, _with_length(known, style.length))
        return self._json(chat, style, known)

    def _json(
        self, chat: BaseChatModel, style: RequestStyle, known: dict[str, Any]
    ) -> PreparedRequest:
        if isinstance(chat, _OPENAI_CLIENTS) and type(chat) in _OPENAI_CLIENTS and completes(chat):
            # not by with_structured_output, whose chain costs twice the processor time of a call
            strict = response_format(self.schema)
            body = dict(chat.extra_body or {})
            if style.json_form == "json_schema":
                known["extra_body"] = {**body, "response_format": strict}
                return PreparedRequest(chat, _with_length(known, style.length))
            if style.json_form == "json_object":
                known["extra_body"] = {**body, "response_format": {"type": "json_object"}}
            elif style.json_form == "tool":
                function = {"name": strict["json_schema"]["name"], "parameters": self._object}
                known["tools"] = [{"type": "function", "function": function}]
                choice = {"type": "function", "function": {"name": function["name"]}}
                known["tool_choice"] = choice
            return PreparedRequest(chat, _with_length(known, style.length), self.schema)
        if style.json_form == "json_schema":
            strictly = {"strict": True} if type(chat) in _OPENAI_CLIENTS else {}
            try:
                writer = chat.with_structured_output(self._object, include_raw=True, **strictly)
            except (NotImplementedError, ValueError):  # it has no such way
                pass
            else:
                return PreparedRequest(writer, {})
        writer, known = with_max_tokens(chat, known)
        return PreparedRequest(writer, known, self.schema)

    @property
    def _object(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.schema)
        return schema


def _with_length(known: dict[str, Any], length: str) -> dict[str, Any]:
    """Call parameters with the limit of a reply under another name, past the client."""
    if not length:
        return known
    [most] = [known.pop(name) for name in _LENGTHS if name in known][:1] or [None]
    if most is None:
        return known
    return {**known, "extra_body": {**(known.get("extra_body") or {}), length: most}}


def without(chat: BaseChatModel, dropped: frozenset[str]) -> BaseChatModel:
    """The chat model without some of its parameters."""
    update = {name: None for name in dropped if getattr(chat, name, None) is not None}
    return chat.model_copy(update=update) if update else chat
