"""Sends requests in the style that an endpoint was found to take, and in another if refused."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import AsyncExitStack, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from conflictscore.models.calls import call
from conflictscore.models.capabilities import LENGTHS, Capabilities, RequestStyle
from conflictscore.models.clients import response_format, with_max_tokens
from conflictscore.models.endpoint_chat import EndpointChat
from conflictscore.prompts import PromptSet

_OPENAI_CLIENTS = (ChatOpenAI, AzureChatOpenAI, EndpointChat)
"""Classes that ask as OpenAI does; a subclass, such as DeepSeek's, has a way of its own."""


class RequestForm(NamedTuple):
    """Form that is asked for."""

    max_tokens: int
    """The most tokens of the reply, those of reasoning included."""
    parameters: Mapping[str, Any] = {}
    schema: str = ""
    """The JSON schema of the object that is asked for; empty if none is."""
    reasons: bool = True
    """Whether a model that reasons gets room for that."""


class _PreparedRequest(NamedTuple):
    writer: Runnable[Any, Any]
    parameters: Mapping[str, Any]
    stated: str = ""
    """JSON schema that the prompt has to state, since nothing else does; or empty."""


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
        dispatch: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]],
    ) -> Any:
        """Send a request, and again in another style if a refusal may be about the style.

        Raises:
            Exception: The client's exception for the style that was tried first.
        """
        known, is_json = self.capabilities, bool(form.schema)
        refusal: Exception | None = None
        async with AsyncExitStack() as ahead:
            if is_json and self.scouts:
                await ahead.enter_async_context(known.scouting())
            style = known.style
            while True:
                chat = self._chat(style)
                made = self._prepared(form, chat, style)
                said = messages
                if made.stated:
                    stated = prompts.render("json_only", schema=made.stated)
                    said = [*messages[:-1], HumanMessage(f"{messages[-1].text}\n\n{stated}")]
                try:
                    reply = await dispatch(
                        partial(call, made.writer, said, config, **made.parameters)
                    )
                except Exception as error:  # noqa: BLE001 - raised again unless a style may help
                    refusal = refusal or error
                    sent = _sent_by(chat, form)
                    other = known.other_style(style, error, json=is_json, sent=sent)
                    if other is None:
                        raise refusal  # noqa: B904 - it keeps its own cause
                    refusal = refusal if other.json_form != style.json_form else None
                    style = other
                else:
                    known.learn(style, json=is_json)
                    return reply

    def _chat(self, style: RequestStyle) -> BaseChatModel:
        """The chat model without the parameters that it turned out not to take."""
        dropped = [name for name in style.dropped if getattr(self.chat, name, None) is not None]
        return self.chat.model_copy(update=dict.fromkeys(dropped)) if dropped else self.chat

    def _prepared(
        self, form: RequestForm, chat: BaseChatModel, style: RequestStyle
    ) -> _PreparedRequest:
        room = self.thinking_tokens
        if "temperature" in style.dropped:
            room = room or self.spare_tokens
        known = {k: v for k, v in form.parameters.items() if k not in style.dropped}
        known = {"max_tokens": form.max_tokens + room * form.reasons} | known
        if not form.schema:
            writer, known = with_max_tokens(chat, known)
            return _PreparedRequest(writer, _with_length(known, style.length))
        schema = json.loads(form.schema)
        if isinstance(chat, _OPENAI_CLIENTS) and type(chat) in _OPENAI_CLIENTS:
            # not by with_structured_output, whose chain costs twice the processor time of a call
            strict, stated = response_format(form.schema), form.schema
            body = dict(chat.extra_body or {})
            if style.json_form == "json_schema":
                known["extra_body"], stated = {**body, "response_format": strict}, ""
            elif style.json_form == "json_object":
                known["extra_body"] = {**body, "response_format": {"type": "json_object"}}
            elif style.json_form == "tool":
                function = {"name": strict["json_schema"]["name"], "parameters": schema}
                known["tools"] = [{"type": "function", "function": function}]
                choice = {"type": "function", "function": {"name": function["name"]}}
                known["tool_choice"] = choice
            return _PreparedRequest(chat, _with_length(known, style.length), stated)
        if style.json_form == "json_schema":
            strictly = {"strict": True} if type(chat) in _OPENAI_CLIENTS else {}
            with suppress(NotImplementedError, ValueError):  # it has no such way
                return _PreparedRequest(
                    chat.with_structured_output(schema, include_raw=True, **strictly), {}
                )
        return _PreparedRequest(*with_max_tokens(chat, known), form.schema)


def _sent_by(chat: BaseChatModel, form: RequestForm) -> set[str]:
    """The names of the parameters that a refusal may be about."""
    named = ("temperature", "reasoning_effort", "top_p", "seed")
    given = {name for name in named if getattr(chat, name, None) is not None}
    # ChatOpenAI renames the one; classes derived from its base do not
    length = "max_completion_tokens" if isinstance(chat, ChatOpenAI) else "max_tokens"
    return given | {length, *form.parameters}


def _with_length(known: dict[str, Any], length: str) -> dict[str, Any]:
    """Call parameters with the limit of a reply under another name, past the client."""
    if not length:
        return known
    [most] = [known.pop(name) for name in LENGTHS if name in known][:1] or [None]
    if most is None:
        return known
    return {**known, "extra_body": {**(known.get("extra_body") or {}), length: most}}
