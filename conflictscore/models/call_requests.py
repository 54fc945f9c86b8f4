"""Sends requests in a style that the endpoint accepts, and tries other styles after refusals."""

import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from conflictscore.errors import UnreadableReplyError
from conflictscore.models.calls import call
from conflictscore.models.capabilities import (
    LENGTHS,
    Capabilities,
    JsonForm,
    RequestStyle,
    SentRequest,
)
from conflictscore.models.clients import response_format, with_max_tokens
from conflictscore.models.endpoint_chat import EndpointChat
from conflictscore.models.prompt_turns import are_plain, plain_turns
from conflictscore.models.replies import is_empty
from conflictscore.prompts import PromptSet

_OPENAI_CLIENTS = (ChatOpenAI, AzureChatOpenAI, EndpointChat)
"""Client classes that request JSON as OpenAI does.

Subclasses of these, such as DeepSeek's, request JSON differently.
"""


class RequestForm(NamedTuple):
    """A caller's requirements for a reply: its length, call parameters and JSON schema."""

    max_tokens: int
    """Maximum number of tokens of the reply, including reasoning."""
    parameters: Mapping[str, Any] = {}
    schema: str = ""
    """The JSON schema of the requested object; empty if no JSON is requested."""
    reasons: bool = True
    """Whether a reasoning model gets extra tokens to reason."""
    stated: bool = False
    """Whether the prompt states the schema because the server seems to have ignored it."""


class _PreparedRequest(NamedTuple):
    """A request in the style of its endpoint: the runnable to call, and its parameters."""

    writer: Runnable[Any, Any]
    parameters: Mapping[str, Any]
    stated: str = ""
    """JSON schema to state in the prompt; empty if the parameters convey it or no JSON is
    requested."""


class _SuspectFormError(Exception):
    """Raised to stop retrying a request that may be failing because of how it asks for JSON."""

    def __init__(self, failure: Exception) -> None:
        super().__init__(str(failure))
        self.failure = failure


@dataclass(frozen=True)
class StyledRequests:
    """Sends the requests of one model in the style that its endpoint accepts."""

    chat: BaseChatModel
    capabilities: Capabilities
    thinking_tokens: int
    """Tokens for reasoning, added to the reply limit of each request that allows reasoning."""
    spare_tokens: int
    """Tokens for reasoning, used if ``thinking_tokens`` is 0 but the model refuses a temperature,
    as reasoning models do."""
    scouts: bool
    """Whether the first request for JSON is sent alone, to learn which style the endpoint
    accepts."""

    async def reply(
        self,
        form: RequestForm,
        messages: list[BaseMessage],
        config: RunnableConfig,
        prompts: PromptSet,
        dispatch: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]],
    ) -> Any:
        """Send a request; if the endpoint may have refused its style, send it in a different style.

        Raises:
            Exception: The client's exception. If several ways to request JSON were refused, the
            exception of the first is raised.
        """
        scouting = self.capabilities.scouting() if form.schema and self.scouts else nullcontext()
        async with scouting:
            return await self._reply(form, messages, config, prompts, dispatch)

    async def _reply(
        self,
        form: RequestForm,
        messages: list[BaseMessage],
        config: RunnableConfig,
        prompts: PromptSet,
        dispatch: Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]],
    ) -> Any:
        """Try styles until the endpoint answers. Each refusal determines the next style.

        No style is sent twice, so an endpoint that refuses everything ends the attempts.
        """
        style, refusal = self.capabilities.style, None
        if form.stated:
            style = style._replace(json_form="prompt")
        tried_styles = set[RequestStyle]()
        while True:
            tried_styles.add(style)
            chat = self._chat(style)
            request = self._prepared(form, chat, style)
            turns = _turns(messages, request.stated, style, prompts)
            send = partial(call, request.writer, turns, config, **request.parameters)
            if form.schema:
                # the list collects the failures of all attempts in this style
                send = partial(self._watched, send, style, list[Exception]())
            try:
                reply = await dispatch(send)
            except Exception as caught:  # noqa: BLE001 - raised again unless another style may help
                error = caught.failure if isinstance(caught, _SuspectFormError) else caught
                refusal = refusal or error
                sent_request = SentRequest(
                    style,
                    _sent_by(chat, form),
                    self._tokens(form, style),
                    is_json=bool(form.schema),
                    plain=are_plain(turns),
                )
                next_style = self.capabilities.other_style(sent_request, error)
                if next_style is None or next_style in tried_styles:
                    raise refusal  # noqa: B904 - it keeps its own cause
                # a changed parameter resolves this refusal; if a later attempt fails, that
                # attempt's exception is raised
                refusal = refusal if next_style.json_form != style.json_form else None
                style = next_style
            else:
                # a repeated request that states the schema does not decide the form of later ones;
                # ``json_was_read`` does
                self.capabilities.learn(style, json=bool(form.schema) and not form.stated)
                return reply

    def repeated(self, form: RequestForm, error: UnreadableReplyError) -> RequestForm:
        """Record an unreadable reply, and return how to repeat the request."""
        if not form.schema:
            return form
        # ``{}`` may be the model's own reply; it counts against the form only if it comes twice
        is_hollow = bool(error.reply.strip()) and is_empty(error.reply)
        self.capabilities.form_failed(certain=error.by_form and not is_hollow)
        return form._replace(stated=error.formless and not self.capabilities.json_read)

    async def _watched(
        self, send: Callable[[], Awaitable[Any]], style: RequestStyle, failures: list[Exception]
    ) -> Any:
        """Send a request for JSON; raise ``_SuspectFormError`` if its form may be to blame."""
        try:
            return await send()
        except Exception as error:
            failures.append(error)
            if self.capabilities.suspects_form(style, failures):
                raise _SuspectFormError(error) from None
            raise

    def _chat(self, style: RequestStyle) -> BaseChatModel:
        """Return the chat model without the parameters that its endpoint refused."""
        dropped_names = [
            name for name in style.dropped if getattr(self.chat, name, None) is not None
        ]
        return (
            self.chat.model_copy(update=dict.fromkeys(dropped_names))
            if dropped_names
            else self.chat
        )

    def _tokens(self, form: RequestForm, style: RequestStyle) -> int:
        """Return the token limit of a reply, including reasoning."""
        room = self.thinking_tokens
        if "temperature" in style.dropped:
            room = room or self.spare_tokens
        tokens = max(form.max_tokens + room * form.reasons, style.least_tokens)
        return min(tokens, style.most_tokens or tokens)

    def _prepared(
        self, form: RequestForm, chat: BaseChatModel, style: RequestStyle
    ) -> _PreparedRequest:
        """Return the runnable and the parameters for a request in a style.

        JSON is requested in three ways: by OpenAI's parameters, by LangChain's structured output
        for other clients, or in the prompt if a client has neither.
        """
        parameters = {k: v for k, v in form.parameters.items() if k not in style.dropped}
        # a limit among the caller's parameters takes precedence
        parameters = {"max_tokens": self._tokens(form, style)} | parameters
        if not form.schema:
            writer, parameters = with_max_tokens(chat, parameters)
            return _PreparedRequest(writer, _with_length(parameters, style.length))
        # the second condition excludes subclasses; only the first tells mypy the type
        if isinstance(chat, _OPENAI_CLIENTS) and type(chat) in _OPENAI_CLIENTS:
            # with_structured_output is avoided: its chain takes twice the CPU time of a plain call
            schema_in_prompt = "" if style.json_form == "json_schema" else form.schema
            parameters |= _json_parameters(form.schema, style.json_form, chat.extra_body)
            return _PreparedRequest(chat, _with_length(parameters, style.length), schema_in_prompt)
        if style.json_form == "json_schema":
            with suppress(NotImplementedError, ValueError):  # the client cannot send a schema
                schema = json.loads(form.schema)
                # the chain does not pass parameters to the model, so the client's own limit applies
                return _PreparedRequest(chat.with_structured_output(schema, include_raw=True), {})
        return _PreparedRequest(*with_max_tokens(chat, parameters), form.schema)


def _turns(
    messages: list[BaseMessage], schema_in_prompt: str, style: RequestStyle, prompts: PromptSet
) -> list[BaseMessage]:
    """Return the messages in the endpoint's style, with the JSON schema if it must be stated."""
    turns = messages
    if schema_in_prompt:
        schema = prompts.render("json_only", schema=schema_in_prompt)
        turns = [*messages[:-1], HumanMessage(f"{messages[-1].text}\n\n{schema}")]
    return plain_turns(turns, prompts.render("opening")) if style.plain_turns else turns


def _json_parameters(
    schema: str, form: JsonForm, extra_body: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the parameters that ask OpenAI's API for a JSON object that matches a schema."""
    strict = response_format(schema)
    if form == "json_schema":
        return {"extra_body": {**(extra_body or {}), "response_format": strict}}
    if form == "json_object":
        return {"extra_body": {**(extra_body or {}), "response_format": {"type": "json_object"}}}
    if form == "tool":
        name = strict["json_schema"]["name"]
        function = {"name": name, "parameters": json.loads(schema)}
        return {
            "tools": [{"type": "function", "function": function}],
            "tool_choice": {"type": "function", "function": {"name": name}},
        }
    return {}


def _sent_by(chat: BaseChatModel, form: RequestForm) -> set[str]:
    """Return the names of the parameters that a refusal may refer to."""
    field_names = ("temperature", "reasoning_effort", "top_p", "seed")
    fields_set = {name for name in field_names if getattr(chat, name, None) is not None}
    # ChatOpenAI renames this parameter; other classes derived from its base class do not
    length = "max_completion_tokens" if isinstance(chat, ChatOpenAI) else "max_tokens"
    return fields_set | {length, *form.parameters}


def _with_length(parameters: dict[str, Any], length: str) -> dict[str, Any]:
    """Return call parameters that pass the reply limit under a different name than the client's."""
    if not length:
        return parameters
    # a caller may give the limit under both names; the first of them is sent
    [most] = [parameters.pop(name) for name in LENGTHS if name in parameters][:1] or [None]
    if most is None:
        return parameters
    return {**parameters, "extra_body": {**(parameters.get("extra_body") or {}), length: most}}
