"""The interface through which nodes and labelers ask a model for text, JSON or a letter.

Every call to a model goes through this module. It schedules calls, counts usage, and turns each
error into one clear line. It also caches the replies of deterministic models, and asks again if a
reply is unreadable.
"""

import json
from collections.abc import Awaitable, Callable, Coroutine, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig

from conflictscore.errors import ProviderError, UnreadableReplyError
from conflictscore.models import LOCAL_ENDPOINT
from conflictscore.models.breaker import CircuitBreaker
from conflictscore.models.call_requests import RequestForm, StyledRequests
from conflictscore.models.callbacks import hidden_config
from conflictscore.models.calls import call, dispatch
from conflictscore.models.capabilities import Capabilities
from conflictscore.models.clear_errors import clear_error, without_logprobs
from conflictscore.models.clients import secrets_of, with_max_tokens
from conflictscore.models.endings import early_ending, require_whole, was_cut
from conflictscore.models.endpoint_chat import EndpointChat
from conflictscore.models.json_replies import json_reply
from conflictscore.models.limits import ConcurrencyLimit
from conflictscore.models.logprobs import grammar_of, letter_logprobs
from conflictscore.models.prompt_cuts import may_be_cut, require_whole_prompt
from conflictscore.models.proxy_watch import by_answering_proxy
from conflictscore.models.replies import FormlessReplyError, is_empty, reply_text, without_reasoning
from conflictscore.models.retries import Retries
from conflictscore.models.usage import (
    UsageMeter,
    add_cost,
    begin_cost,
    cost_of,
    served_by,
    stored_cost,
    take_cost,
)
from conflictscore.prompts import PromptSet, neutral
from conflictscore.records import Usage, encodable
from conflictscore.storage.cache import ContentCache, content_key
from conflictscore.threads import in_time

T = TypeVar("T")

_TOP_LOGPROBS = 20
"""OpenAI returns at most this many candidate tokens; a letter not among them is improbable."""
_OPENAI_URL = "https://api.openai.com"
THINKING_TOKENS = 8192
"""Tokens that a reasoning model may use in addition to the limit of its reply. Chosen by hand: with
fewer, more replies are cut off; with more, the context window has less room for documents."""


@dataclass(frozen=True)
class LanguageModel:
    """A LangChain chat model, with the settings that are needed to call it.

    The methods ``ask``, ``ask_json`` and ``ask_letter`` request an unreadable reply once more and
    state the reason (template ``retry``). A second unreadable reply raises
    :class:`UnreadableReplyError`. The methods raise :class:`ConfigurationError` for a wrong key or
    model name, and :class:`ProviderError` if the provider fails and retrying does not help.
    """

    chat: BaseChatModel
    name: str
    """The model's name in records, errors and cache keys, such as ``openai:gpt-4.1-mini``."""
    endpoint: str
    """Where the model is served; since this is part of cache keys, it is the same in every run."""
    context_window: int
    """Maximum number of tokens in prompt and reply together."""
    limit: ConcurrencyLimit
    parameters: Mapping[str, Any] | None = None
    """The settings that determine the model's replies, as plain JSON. If the settings are unknown,
    this is None, and nothing from this model is cached."""
    deterministic: bool = False
    """Whether the same prompt should give the same reply, so that replies may be cached."""
    has_grammars: bool = False
    """Whether the model's server can restrict a reply with a grammar, as llama.cpp can."""
    thinking_tokens: int = 0
    """Tokens that a reasoning model may use in addition to the limit of its reply."""
    cache: ContentCache | None = None
    retries: Retries | None = None
    """The rules for retrying a failed call; None leaves retries to the client."""
    admit: Callable[[], None] | None = None
    """Called before each attempt; raises if the budget of a run is used up."""
    on_kept: Callable[[Sequence[BaseMessage], int, Mapping[str, Any]], None] | None = None
    """Called with messages, reply limit and stored reply whenever the cache has a reply."""
    capabilities: Capabilities | None = None
    """Capabilities of the model's endpoint, if set by the user; None to detect them."""

    def __post_init__(self) -> None:
        """Turn streaming off, so that callers see no drafts; ``streaming=True`` is left alone."""
        if not getattr(self.chat, "streaming", False):
            quiet = self.chat.model_copy(update={"disable_streaming": True})
            object.__setattr__(self, "chat", quiet)

    @property
    def is_local(self) -> bool:
        """Whether the model runs on this machine, where models are small, slow and free."""
        return self.endpoint == LOCAL_ENDPOINT

    @property
    def identity(self) -> dict[str, Any] | None:
        """The model's part of the cache key of a reply or verdict; None forbids caching."""
        if self.parameters is None:
            return None
        return {"model": self.name, "endpoint": self.endpoint, "parameters": dict(self.parameters)}

    async def ask(
        self,
        prompt: str,
        read: Callable[[str], T],
        *,
        prompts: PromptSet,
        meter: UsageMeter,
        max_tokens: int,
        history: Sequence[BaseMessage] = (),
        parameters: Mapping[str, Any] | None = None,
        on_early_ending: Callable[[str], None] | None = None,
    ) -> T:
        """Ask for text, and read the reply with ``read``.

        ``read`` turns the reply into a value, or raises ValueError with the reason. ``history``
        holds the text messages that precede the prompt. ``parameters`` are further call parameters,
        such as stop words; replies to calls with them are not cached.

        If a readable reply may be incomplete, ``on_early_ending`` is called with the reason, and
        the reply is not cached. Without ``on_early_ending``, every readable reply is taken to be
        complete, since a judge's reply is readable only if it is complete.
        """
        key: dict[str, Any] = {"reply to": prompt, "max_tokens": max_tokens, "by": self.identity}
        if history:
            key["after"] = [[message.type, message.text] for message in history]
        repeatable = self.deterministic and self.identity is not None and not parameters
        cache = self.cache if repeatable else None
        form = RequestForm(max_tokens, parameters or {})
        asked_text = "\n".join([*(message.text for message in history), prompt])
        place = content_key(key) if cache else ""
        stored_reply = (await cache.find_async([place])).get(place, {}) if cache else {}
        if isinstance(stored_text := stored_reply.get("text"), str):
            # if only another caller could read this reply, the model is asked again
            with suppress(ValueError):
                reading = read(without_reasoning(encodable(stored_text), asked_text))
                meter.cached(stored_cost(stored_reply), self.name)
                if self.on_kept is not None:
                    self.on_kept([*history, HumanMessage(prompt)], max_tokens, stored_reply)
                return reading
        begin_cost()

        def taken(reply: AIMessage) -> T:
            require_whole(reply, self.name, (parameters or {}).get("max_tokens", max_tokens))
            text = str(reply.text)
            try:
                text = reply_text(reply, asked_text)
                reading = read(text)
            except ValueError as error:
                raise self._unreadable(str(error), text) from error
            ending = early_ending(reply) if on_early_ending else None
            if ending and on_early_ending:
                on_early_ending(ending)
            elif cache is not None:
                cache.keep(place, {"text": text, **served_by(reply), **take_cost()})
            return reading

        return await self._ask(prompt, form, taken, prompts, meter, history)

    def ask_json(
        self,
        prompt: str,
        schema: Mapping[str, Any],
        read: Callable[[Mapping[str, Any]], T],
        *,
        prompts: PromptSet,
        meter: UsageMeter,
        max_tokens: int,
        needed: AbstractSet[str] | None = None,
        listed: str = "",
        aliases: Mapping[str, str] | None = None,
    ) -> Coroutine[Any, Any, T]:
        """Ask for a JSON object that matches a titled schema; the server enforces it if it can.

        ``read`` checks the object and turns it into a value, or raises ValueError. ``needed`` names
        the fields that a reply must have (default: the schema's required fields). ``listed`` and
        ``aliases`` are the ``list_field`` and ``aliases`` of ``json_reply``. Replies are not cached
        here, since labelers cache verdicts.
        """
        fields = needed if needed is not None else frozenset(schema.get("required", ()))

        def taken(reply: Any) -> T:
            raw = reply["raw"] if isinstance(reply, Mapping) else reply
            try:
                require_whole(raw, self.name, max_tokens)
            except UnreadableReplyError as error:
                # If a reply has only white space up to the limit, the schema may be the cause. But
                # a reasoning model may have used up the limit before it replied.
                is_blank = was_cut(raw) and is_empty(str(raw.text))
                error.by_form = is_blank and not self.thinking_tokens
                raise
            try:
                reading = read(json_reply(raw, fields, list_field=listed, aliases=aliases))
            except ValueError as error:
                unreadable = self._unreadable(str(error), str(raw.text))
                if isinstance(error, FormlessReplyError):
                    unreadable.by_form, unreadable.formless = error.empty, not error.empty
                raise unreadable from error
            return reading

        form = RequestForm(max_tokens, schema=json.dumps(schema))
        return self._ask(prompt, form, taken, prompts, meter)

    def ask_letter(
        self,
        prompt: str,
        letters: Sequence[str],
        read: Callable[[Mapping[str, float]], T],
        *,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> Coroutine[Any, Any, T]:
        """Ask for one of several letters or short words, and read how likely each was.

        ``read`` gets the result of :func:`~conflictscore.models.logprobs.letter_logprobs`.

        Raises:
            ConfigurationError: The server returns no log-probabilities.
        """
        asked_for: dict[str, Any] = {"logprobs": True, "top_logprobs": _TOP_LOGPROBS}
        if self.has_grammars:
            asked_for["extra_body"] = {"grammar": grammar_of(letters)}
        form = RequestForm(1, asked_for, reasons=False)

        def taken(reply: AIMessage) -> T:
            try:
                logprobs = letter_logprobs(reply, letters)
            except ValueError as error:
                raise self._unreadable(str(error), reply.text) from None
            if logprobs is None:
                raise without_logprobs(self.name)
            return read(logprobs)

        return self._ask(prompt, form, taken, prompts, meter)

    async def reply(
        self,
        messages: Sequence[BaseMessage],
        parameters: Mapping[str, Any],
        config: RunnableConfig | None = None,
    ) -> AIMessage:
        """Return the model's reply to messages that were not created from this package's prompts.

        The call is scheduled like all others, is never cached, and raises the client's own errors.
        If the client cannot read the stream, a ``ProviderError`` is raised.
        """
        sender, call_parameters = with_max_tokens(self.chat, parameters)
        send = partial(call, sender, [*messages], config, **call_parameters)
        waits = list[str]()
        async with in_time(self.name, waits):
            try:
                # each conversation is a caller of its own, so they all get slots in turn
                message: AIMessage = await self._dispatched(send, object(), waits)
            except json.JSONDecodeError as error:  # OpenAI's client, for an event without data
                reason = "its stream has an event that is not JSON"
                raise ProviderError(f"{self.name} failed: {reason}", provider=self.name) from error
        return message

    @cached_property
    def _capabilities(self) -> Capabilities:
        return self.capabilities or Capabilities.of(self.endpoint, self.name)

    async def _ask(
        self,
        prompt: str,
        form: RequestForm,
        parse: Callable[[Any], T],
        prompts: PromptSet,
        meter: UsageMeter,
        history: Sequence[BaseMessage] = (),
    ) -> T:
        """Send the messages; if the reply is unreadable, ask once more and say why."""
        asked_messages = [m.model_copy(update={"content": encodable(m.text)}) for m in history]
        asked_messages.append(HumanMessage(encodable(prompt)))
        config, breaker = hidden_config(meter), CircuitBreaker.current()

        async def reply_to(turns: list[BaseMessage], sent: RequestForm) -> tuple[Any, Usage]:
            reply = await self._replied(sent, turns, config, prompts, meter)
            cost = cost_of(reply)
            add_cost(cost)
            return reply, cost

        async def attempt(turns: list[BaseMessage], sent: RequestForm, *, last: bool) -> T:
            try:
                reply, cost = await reply_to(turns, sent)
                if may_be_cut(cost, turns, self._capabilities):
                    read_again = (await reply_to(turns, sent))[1].input_tokens
                    require_whole_prompt(
                        cost.input_tokens, read_again, turns, self.name, self._capabilities
                    )
                reading = parse(reply)
            except ProviderError as error:
                if last or not (isinstance(error, UnreadableReplyError) and error.again):
                    breaker.failed(error)
                raise
            breaker.succeeded()
            if sent.schema:
                self._capabilities.json_was_read(stated=sent.stated)
            return reading

        try:
            return await attempt(asked_messages, form, last=False)
        except UnreadableReplyError as error:
            again_form = self._requests.repeated(form, error)
            if not error.again:
                raise
            again = HumanMessage(prompts.render("retry", reason=error.reason))
            messages_with_reason = [
                *asked_messages,
                # many servers refuse an empty turn
                AIMessage(neutral(error.reply) or "(nothing)"),
                again,
            ]
            unreadable = error
        sent_form = self._capabilities.style.json_form
        async with breaker.again(unreadable):
            try:
                return await attempt(messages_with_reason, again_form, last=True)
            except UnreadableReplyError as error:
                if not (error.by_form and form.schema):
                    raise
                self._capabilities.form_failed_again()
                if self._capabilities.style.json_form == sent_form:
                    raise
            # JSON is now requested in a different way, and the old way may have been the cause
            return await attempt(asked_messages, form, last=True)

    async def _replied(
        self,
        form: RequestForm,
        messages: list[BaseMessage],
        config: RunnableConfig,
        prompts: PromptSet,
        meter: UsageMeter,
    ) -> Any:
        waits = list[str]()
        go = partial(self._dispatched, caller=meter, waits=waits)
        try:
            async with in_time(self.name, waits):
                return await self._requests.reply(form, messages, config, prompts, go)
        except Exception as error:  # noqa: BLE001 - a caller's model may raise anything
            raise self._clear(error) from None

    @cached_property
    def _requests(self) -> StyledRequests:
        return StyledRequests(
            self.chat,
            self._capabilities,
            thinking_tokens=self.thinking_tokens,
            # half of a small context window stays free for the prompt
            spare_tokens=min(THINKING_TOKENS, self.context_window // 2),
            # these two are known to accept the first form
            scouts=not (self.is_local or self.endpoint.startswith(_OPENAI_URL)),
        )

    def _dispatched(
        self, send: Callable[[], Awaitable[Any]], caller: Hashable, waits: list[str]
    ) -> Coroutine[Any, Any, Any]:
        return dispatch(
            self.watching_proxy(send),
            limit=self.limit,
            caller=caller,
            admit=self.admit,
            retries=self.retries,
            waiting=lambda error: waits.append(str(self._clear(error))),
        )

    def watching_proxy(self, send: Callable[[], Awaitable[T]]) -> Callable[[], Awaitable[T]]:
        """Wrap the call ``send`` so that it gives up early if its proxy does not answer."""
        proxy = self.chat.proxy if isinstance(self.chat, EndpointChat) else None
        if proxy is None:
            return send
        return partial(by_answering_proxy, send, proxy, self.name, self.endpoint)

    def _clear(self, error: Exception) -> Exception:
        return clear_error(
            error,
            provider=self.name,
            endpoint=self.endpoint,
            secrets=secrets_of(self.chat),
            has_answered=self._capabilities.answered,
        )

    def _unreadable(self, reason: str, reply: str) -> UnreadableReplyError:
        return UnreadableReplyError(reason, provider=self.name, reply=reply)
