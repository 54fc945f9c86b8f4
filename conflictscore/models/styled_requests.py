"""Requests put in the way that an endpoint takes, which is found out by the first of them."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from conflictscore.models.calls import begin
from conflictscore.models.capabilities import Capabilities, RequestStyle
from conflictscore.models.direct import DirectPath, direct_path
from conflictscore.models.request_forms import RequestForm, without
from conflictscore.prompts import PromptSet
from conflictscore.threads import on_home_loop

__all__ = ["StyledRequests"]

_Dispatch = Callable[[Callable[[], Awaitable[Any]]], Awaitable[Any]]


@dataclass(frozen=True)
class StyledRequests:
    """Sends the requests of one model in the style that its endpoint was found to take."""

    chat: BaseChatModel
    capabilities: Capabilities
    thinking_tokens: int
    """Room for reasoning that every request asks for."""
    spare_tokens: int
    """The same for a model that turns out to reason, since it refuses a temperature."""
    direct: bool
    """Whether a judge's calls may take the direct path."""
    scouts: bool
    """Whether the first call for JSON goes ahead of the others."""
    _chats: dict[frozenset[str], BaseChatModel] = field(default_factory=dict)
    _directs: dict[frozenset[str], DirectPath | None] = field(default_factory=dict)

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
        direct = self._direct(style) if form.verdict else None
        if direct and (meters := direct.meters(config)) is not None:
            reply = partial(direct.reply, messages, config, made.parameters, meters)
            return partial(on_home_loop, reply)
        return partial(begin, made.writer, messages, config, **made.parameters)

    def _chat(self, style: RequestStyle) -> BaseChatModel:
        if style.dropped not in self._chats:
            self._chats[style.dropped] = without(self.chat, style.dropped)
        return self._chats[style.dropped]

    def _direct(self, style: RequestStyle) -> DirectPath | None:
        if style.dropped not in self._directs:
            path = direct_path(self._chat(style)) if self.direct else None
            self._directs[style.dropped] = path
        return self._directs[style.dropped]
