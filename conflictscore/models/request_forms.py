"""Requests for a text, a letter or a JSON object, put in the way that an endpoint takes.

The first request finds that way out.
"""

import json
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from conflictscore.models.calls import begin
from conflictscore.models.capabilities import LENGTHS, Capabilities, RequestStyle
from conflictscore.models.clients import EndpointChat, completes, response_format, with_max_tokens
from conflictscore.prompts import PromptSet

__all__ = ["RequestForm", "StyledRequests"]

_Dispatch = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]

_OPENAI_CLIENTS = (ChatOpenAI, AzureChatOpenAI, EndpointChat)
"""Classes that ask as OpenAI does; a subclass, such as DeepSeek's, has a way of its own."""


class _PreparedRequest(NamedTuple):
    """A request but for its messages."""

    writer: Runnable[Any, Any]
    parameters: Mapping[str, Any]
    schema: str = ""
    """JSON schema that the prompt has to state, since nothing else does; or empty."""


@dataclass(frozen=True)
class RequestForm:
    """Form that is asked for."""

    name: str
    max_tokens: int
    """The most tokens of the reply, those of reasoning included."""
    parameters: Mapping[str, Any]
    schema: str = ""
    """The JSON schema of the object that is asked for; empty if none is."""

    def sent_by(self, chat: BaseChatModel) -> set[str]:
        """The names of the parameters that a refusal may be about."""
        named = ("temperature", "reasoning_effort", "top_p", "seed")
        given = {name for name in named if getattr(chat, name, None) is not None}
        # ChatOpenAI renames the one; classes derived from its base do not
        length = "max_completion_tokens" if isinstance(chat, ChatOpenAI) else "max_tokens"
        return given | {length, *self.parameters}

    def prepared(
        self, chat: BaseChatModel, style: RequestStyle, spare_tokens: int
    ) -> _PreparedRequest:
        """The request in a style; ``spare_tokens`` is room for reasoning beside ``max_tokens``."""
        known = {k: v for k, v in self.parameters.items() if k not in style.dropped}
        known = {"max_tokens": self.max_tokens + spare_tokens} | known
        if not self.schema:
            writer, known = with_max_tokens(chat, known)
            return _PreparedRequest(writer, _with_length(known, style.length))
        return self._json(chat, style, known)

    def _json(
        self, chat: BaseChatModel, style: RequestStyle, known: dict[str, Any]
    ) -> _PreparedRequest:
        if isinstance(chat, _OPENAI_CLIENTS) and type(chat) in _OPENAI_CLIENTS and completes(chat):
            # not by with_structured_output, whose chain costs twice the processor time of a call
            strict = response_format(self.schema)
            body = dict(chat.extra_body or {})
            if style.json_form == "json_schema":
                known["extra_body"] = {**body, "response_format": strict}
                return _PreparedRequest(chat, _with_length(known, style.length))
            if style.json_form == "json_object":
                known["extra_body"] = {**body, "response_format": {"type": "json_object"}}
            elif style.json_form == "tool":
                function = {"name": strict["json_schema"]["name"], "parameters": self._object}
                known["tools"] = [{"type": "function", "function": function}]
                choice = {"type": "function", "function": {"name": function["name"]}}
                known["tool_choice"] = choice
            return _PreparedRequest(chat, _with_length(known, style.length), self.schema)
        if style.json_form == "json_schema":
            strictly = {"strict": True} if type(chat) in _OPENAI_CLIENTS else {}
            try:
                writer = chat.with_structured_output(self._object, include_raw=True, **strictly)
            except (NotImplementedError, ValueError):  # it has no such way
                pass
            else:
                return _PreparedRequest(writer, {})
        writer, known = with_max_tokens(chat, known)
        return _PreparedRequest(writer, known, self.schema)

    @property
    def _object(self) -> dict[str, Any]:
        schema: dict[str, Any] = json.loads(self.schema)
        return schema


@dataclass(frozen=True)
class StyledRequests:
    """Sends the requests of one model in the style that its endpoint was found to take."""

    chat: BaseChatModel
    capabilities: Capabilities
    thinking_tokens: int
    """Room for reasoning that every request asks for."""
    spare_tokens: int
    """The same for a model that turns out to reason, since it refuses a temperature."""
    scouts: bool
    """Whether the first call for JSON goes ahead of the others."""

    async def reply(
        self,
        form: RequestForm,
        messages: list[BaseMessage],
        config: RunnableConfig,
        prompts: PromptSet,
        dispatch: _Dispatch,
    ) -> Any:
        """Send a request, and again in another style if a refusal may be about the style.

        Raises:
            Exception: The client's exception for the style that was tried first.
        """
        known, is_json = self.capabilities, bool(form.schema)
        scouting = await known.scout() if is_json and self.scouts else None
        style = known.style
        refusal: Exception | None = None
        try:
            while True:
                attempt = self._attempt(form, style, messages, config, prompts)
                try:
                    reply = await dispatch(attempt)
                except Exception as error:  # noqa: BLE001 - raised again unless a style may help
                    refusal = refusal or error
                    sent = form.sent_by(self._chat(style))
                    other = known.other_style(style, error, json=is_json, sent=sent)
                    if other is None:
                        raise refusal  # noqa: B904 - it keeps its own cause
                    refusal = refusal if other.json_form != style.json_form else None
                    style = other
                else:
                    known.learn(style, json=is_json)
                    return reply
        finally:
            if scouting is not None:
                scouting.set()

    def _attempt(
        self,
        form: RequestForm,
        style: RequestStyle,
        messages: list[BaseMessage],
        config: RunnableConfig,
        prompts: PromptSet,
    ) -> Callable[[], Awaitable[Any]]:
        """A function that makes one attempt at a call."""
        room = self.thinking_tokens
        if "temperature" in style.dropped:
            room = room or self.spare_tokens
        made = form.prepared(self._chat(style), style, 0 if form.name == "letter" else room)
        if made.schema:
            *before, last = messages
            schema = prompts.render("json_only", schema=made.schema)
            messages = [*before, HumanMessage(f"{last.text}\n\n{schema}")]
        return partial(begin, made.writer, messages, config, **made.parameters)

    def _chat(self, style: RequestStyle) -> BaseChatModel:
        """The chat model without the parameters that it turned out not to take."""
        dropped = [name for name in style.dropped if getattr(self.chat, name, None) is not None]
        return self.chat.model_copy(update=dict.fromkeys(dropped)) if dropped else self.chat


def _with_length(known: dict[str, Any], length: str) -> dict[str, Any]:
    """Call parameters with the limit of a reply under another name, past the client."""
    if not length:
        return known
    [most] = [known.pop(name) for name in LENGTHS if name in known][:1] or [None]
    if most is None:
        return known
    return {**known, "extra_body": {**(known.get("extra_body") or {}), length: most}}
