"""Requests for a text, a letter or a JSON object, put in the way that an endpoint takes.

Endpoints differ in the ways to ask for JSON, in the name of the limit of a reply, and in the
parameters that a model takes. A call that is refused for one of these is sent again in the next
way, and the way that was answered is the one of all later calls of the process.
"""

import asyncio
import json
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Collection, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar, Literal, NamedTuple, get_args
from weakref import WeakKeyDictionary

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_openai import AzureChatOpenAI, ChatOpenAI

from conflictscore.models.calls import call
from conflictscore.models.clients import EndpointChat, response_format, with_max_tokens
from conflictscore.models.failures import ProviderFault, fault_of
from conflictscore.prompts import PromptSet

JsonForm = Literal["json_schema", "json_object", "tool", "prompt"]
"""How a JSON object is asked for: by a schema that the server enforces, by its JSON mode, as the
arguments of a tool call, or in the prompt alone."""
_FORMS: tuple[JsonForm, ...] = get_args(JsonForm)

_REFUSED = frozenset({400, 422})
_NOT_OFFERED = frozenset({400, 404, 405, 415, 422, 500, 501})
_ABOUT_JSON = re.compile(
    r"(?i)response.?format|json|schema|structured|guided|grammar|\btools?\b|function"
)
_ABOUT_ELSE = re.compile(
    r"(?i)context|too long|token|moderat|flagged|filter|policy|safety|quota|credit|billing|key"
)
_DROPPABLE = ("temperature", "reasoning_effort", "top_p", "seed", "parallel_tool_calls")
LENGTHS = ("max_tokens", "max_completion_tokens")
"""Names of the limit of a reply."""
_OPENAI_CLIENTS = (ChatOpenAI, AzureChatOpenAI, EndpointChat)
"""Classes that ask as OpenAI does; a subclass, such as DeepSeek's, has a way of its own."""
_SCOUT_S = 1.0
"""A request in a form that a server does not know is refused at once; one that is not refused by
then has been taken."""


class RequestStyle(NamedTuple):
    """How a request is put."""

    json_form: JsonForm = "json_schema"
    dropped: frozenset[str] = frozenset()
    """Parameters that the model does not take."""
    length: str = ""
    """The name of the limit of a reply; empty for the client's own."""


@dataclass
class Capabilities:
    """Capabilities that calls of one model at one endpoint have shown so far."""

    style: RequestStyle = field(default_factory=RequestStyle)
    answered: bool = False
    """Whether any call was answered, so that its key and its name are right."""
    _json_answered: bool = False
    _all_forms_failed: bool = False
    _scouts: WeakKeyDictionary[asyncio.AbstractEventLoop, asyncio.Event] = field(
        default_factory=WeakKeyDictionary
    )
    _known: ClassVar[dict[tuple[str, str], "Capabilities"]] = {}

    @classmethod
    def of(cls, endpoint: str, model: str) -> "Capabilities":
        """The process-wide record of a model at an endpoint."""
        return cls._known.setdefault((endpoint, model), cls())

    def learn(self, style: RequestStyle, *, json: bool) -> None:
        """Report a request that was answered."""
        self.answered = True
        self._json_answered = self._json_answered or json
        form = style.json_form if json else self.style.json_form
        self.style = RequestStyle(
            form, self.style.dropped | style.dropped, style.length or self.style.length
        )

    def other_style(
        self, style: RequestStyle, error: Exception, *, json: bool, sent: Collection[str]
    ) -> RequestStyle | None:
        """Another style for a refused request with these parameters; None if none would help."""
        fault = fault_of(error)
        if fault is None or fault.status is None:
            return None
        named = f"{getattr(error, 'param', None) or ''} {fault.words}"
        if fault.status in _REFUSED:
            for name in _DROPPABLE:
                if name in sent and name in named and name not in style.dropped:
                    return style._replace(dropped=style.dropped | {name})
            length = style.length or next((name for name in LENGTHS[::-1] if name in sent), "")
            if length and length in named and not style.length:
                [other] = {*LENGTHS} - {length}
                return style._replace(length=other)
        return self._other_form(style, fault) if json else None

    def _other_form(self, style: RequestStyle, fault: ProviderFault) -> RequestStyle | None:
        """Another way to ask for JSON, if the endpoint may have refused this one.

        One that says so is asked in the next way; one that does not say what it refuses, by the
        prompt alone, which needs nothing of it.
        """
        if fault.status not in _NOT_OFFERED:
            return None
        if self._json_answered:  # another call has found the way while this one was out
            known = self.style.json_form
            return None if style.json_form == known else style._replace(json_form=known)
        if self._all_forms_failed:
            return None
        form: JsonForm | None = None
        if style.json_form == _FORMS[-1]:
            self._all_forms_failed = True  # it was about something else
            self.style = self.style._replace(json_form=_FORMS[0])
        elif _ABOUT_JSON.search(fault.words):
            form = _FORMS[_FORMS.index(style.json_form) + 1]
        elif fault.status in {*_REFUSED, 501} and not _ABOUT_ELSE.search(fault.words):
            form = _FORMS[-1]
        if form is None:
            return None
        # calls that begin meanwhile would be refused as this one was
        self.style = self.style._replace(json_form=form)
        return style._replace(json_form=form)

    @asynccontextmanager
    async def scouting(self) -> AsyncIterator[None]:
        """Let the first call for JSON go ahead of all others, which wait for a moment."""
        loop = asyncio.get_running_loop()
        if self._json_answered:
            yield
        elif first := self._scouts.get(loop):
            with suppress(TimeoutError):
                # wait_for of Python 3.11 loses a cancellation that comes with the event
                async with asyncio.timeout(_SCOUT_S):
                    await first.wait()
            yield
        else:
            first = self._scouts[loop] = asyncio.Event()
            try:
                yield
            finally:
                first.set()


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
