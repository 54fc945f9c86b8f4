"""The direct path of a judge call: the OpenAI client's request, over a connection pool of our own.

Between a prompt and the socket, LangChain's chat model and the OpenAI client take most of the
processor time of a call (docs/findings/speed.md). So the client composes one request of each form,
on a transport that keeps it; each call then fills in its messages and goes out over aiohttp. A
reply that is not plainly a completion, and every HTTP error, is handed to the client to read, so
that it means what it means on the other path.
"""

import asyncio
import atexit
import json
import os
import ssl
from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass

import httpx2
import openai
from langchain_core.callbacks import (
    BaseCallbackHandler,
    BaseCallbackManager,
    CallbackManager,
    Callbacks,
)
from langchain_core.globals import get_llm_cache
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, UsageMetadata
from langchain_core.messages.ai import InputTokenDetails
from langchain_core.runnables import RunnableConfig
from langchain_openai import ChatOpenAI
from typing_extensions import TypeIs

from conflictscore.models.bounds import check_length
from conflictscore.models.calls import single_flight
from conflictscore.models.clients import EndpointChat, completes
from conflictscore.models.usage import UsageMeter, cost_of
from conflictscore.threads import in_thread

if TYPE_CHECKING:
    from aiohttp import ClientSession, ClientTimeout

__all__ = ["DirectPath", "direct_path"]

_SAMPLE = (HumanMessage("ask"), AIMessage("say"))
_SENT_BY_US = frozenset({"host", "content-length", "accept-encoding", "connection"})
_DECODED = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_NOT_PLAIN = ("refusal", "tool_calls", "function_call", "audio")
_KEPT = ("finish_reason", "native_finish_reason", "logprobs")
_OK = 200
_SILENCES = 5
"""A reply that drips may take so many times as long as one may be silent."""
_TRUST = ("SSL_CERT_FILE", "SSL_CERT_DIR")
_IDLE_S = 5.0
"""How long an idle connection is kept, as the OpenAI client keeps it."""


class _Request(NamedTuple):
    """A request as the client composed it, but for its messages."""

    composed: httpx2.Request
    url: str
    headers: dict[str, str]
    around: tuple[bytes, bytes]
    """The body before its messages and after them."""
    shapes: dict[str, dict[str, Any]]
    """A message of each type, whose ``content`` is to be replaced."""
    timeout: "ClientTimeout"
    tls: ssl.SSLContext | Literal[True]

    def filled(self, messages: Sequence[BaseMessage]) -> bytes:
        said = [self.shapes[message.type] | {"content": message.content} for message in messages]
        return _dumped(said).join(self.around)


def direct_path(chat: BaseChatModel) -> "DirectPath | None":
    """The direct path of a chat model that is called as OpenAI's own class calls it; else None.

    A subclass may do more than send a request, and a model that streams or calls the Responses API
    does not send this one.
    """
    if (
        isinstance(chat, ChatOpenAI)
        and type(chat) in {ChatOpenAI, EndpointChat}
        and completes(chat)
        and not chat.streaming
    ):
        proxy = _proxy_of(str(chat.root_async_client.base_url))
        if proxy is None or proxy.startswith("http:"):
            return DirectPath(chat, proxy)
    return None


class DirectPath:
    """Sends what a chat model would send, and reads what it would read.

    Safe for threads and event loops: each loop has its own connections, shared by all models.
    """

    def __init__(self, chat: ChatOpenAI, proxy: str | None) -> None:
        """Take the chat model, and the address of an HTTP proxy."""
        self._chat, self._proxy = chat, proxy
        self._requests: dict[str, _Request] = {}

    def meters(self, config: RunnableConfig) -> list[UsageMeter] | None:
        """Meters that count a call; None if a tracer or LangChain's cache would miss it."""
        handlers = [
            *_handlers_of(config.get("callbacks")),
            *_handlers_of(self._chat.callbacks),
            *CallbackManager.configure(verbose=self._chat.verbose).handlers,  # of the environment
        ]
        meters = [handler for handler in handlers if _only_counts(handler)]
        missed = len(meters) < len(handlers) or get_llm_cache() is not None
        return None if missed else meters

    async def reply(
        self,
        messages: Sequence[BaseMessage],
        config: RunnableConfig,
        parameters: Mapping[str, Any],
        meters: Iterable[UsageMeter],
    ) -> AIMessage:
        """The model's reply to human and AI messages of text, counted by ``meters``.

        Raises:
            openai.OpenAIError: As the chat model would raise it.
        """
        request = await self._request(parameters)
        status, headers, body = await self._sent(request, request.filled(messages))
        message = _completion(body) if status == _OK else None
        if message is None:
            kept = [(name, value) for name, value in headers if name.lower() not in _DECODED]
            answer = httpx2.Response(status, headers=kept, content=body)
            reader = self._over(_CannedTransport(answer))
            return await reader.ainvoke([*messages], config, **parameters)
        cost = cost_of(message)
        for meter in meters:
            meter.count(cost)
        return message

    async def _request(self, parameters: Mapping[str, Any]) -> _Request:
        key = json.dumps(parameters, sort_keys=True, default=repr)
        request = self._requests.get(key)
        if request is None:
            compose = partial(self._composed, parameters)
            async with single_flight((self, key), compose) as (made, _):
                request = self._requests[key] = await made
        return request

    async def _composed(self, parameters: Mapping[str, Any]) -> _Request:
        from aiohttp import ClientTimeout

        kept = _CannedTransport(httpx2.Response(_OK, json={"choices": []}))
        await self._over(kept)._agenerate([*_SAMPLE], **parameters)
        request = kept.request
        body = json.loads(request.content)
        limits = request.extensions["timeout"]
        silence = limits["read"]
        trusted = partial(_tls, *map(os.environ.get, _TRUST))
        return _Request(
            request,
            str(request.url.copy_with(username=None, password=None)),
            {name: value for name, value in request.headers.items() if name not in _SENT_BY_US}
            | {"accept-encoding": "identity"},
            _around_messages(body),
            {said.type: sent for said, sent in zip(_SAMPLE, body["messages"], strict=True)},
            ClientTimeout(
                total=silence and _SILENCES * silence,
                sock_connect=limits["connect"],
                sock_read=silence,
            ),
            await in_thread(trusted) if request.url.scheme == "https" else True,
        )

    def _over(self, transport: "_CannedTransport") -> ChatOpenAI:
        client = self._chat.root_async_client.with_options(
            http_client=httpx2.AsyncClient(transport=transport), max_retries=0
        )
        update = {"root_async_client": client, "async_client": client.chat.completions}
        return self._chat.model_copy(update=update)

    async def _sent(
        self, request: _Request, body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        import aiohttp

        session = await _session()
        try:
            async with session.post(
                request.url,
                data=body,
                headers=request.headers,
                timeout=request.timeout,
                proxy=self._proxy,
                ssl=request.tls,
            ) as response:
                said = bytearray()
                async for part in response.content.iter_any():
                    said += part
                    check_length(len(said), self._chat.model_name)
                return response.status, [*response.headers.items()], bytes(said)
        except TimeoutError:
            raise openai.APITimeoutError(request.composed) from None
        except (aiohttp.ClientError, OSError):
            raise openai.APIConnectionError(request=request.composed) from None


class _CannedTransport(httpx2.AsyncBaseTransport):
    """Sends nothing: keeps the request, and gives an answer that is there already."""

    request: httpx2.Request

    def __init__(self, answer: httpx2.Response) -> None:
        self._answer = answer

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        self.request = request
        return self._answer


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()


def _around_messages(body: Mapping[str, Any]) -> tuple[bytes, bytes]:
    """A body as it is sent, without its messages."""
    fields = [_dumped({name: value})[1:-1] for name, value in body.items()]
    place = [*body].index("messages")
    before = b"".join(field + b"," for field in fields[:place])
    after = b"".join(b"," + field for field in fields[place + 1 :])
    return b"{" + before + b'"messages":', after + b"}"


def _completion(body: bytes) -> AIMessage | None:
    """The message of a plain completion; None for a body that the client is to read."""
    try:
        said = json.loads(body)
        [choice] = said["choices"]
        message = choice["message"]
        text, usage = message["content"], _usage(said.get("usage"))
        more = any(map(message.get, _NOT_PLAIN))
        # a reply without a text may be in a field that the client looks into
        more = more or said.get("error") or choice.get("error")
        plain = isinstance(text, str) and text.strip() and not more
        known = {name: choice.get(name) for name in _KEPT}
    except (ValueError, LookupError, TypeError, AttributeError, RecursionError):
        return None
    if not plain or (usage is None) != (said.get("usage") is None):
        return None
    return AIMessage(text, response_metadata=known, usage_metadata=usage)


def _usage(said: Any) -> UsageMetadata | None:
    """The tokens of a call; None if any of them is no count."""
    if said is None:
        return None
    details = said.get("prompt_tokens_details") or {}
    read, written, cached = (
        said.get("prompt_tokens"),
        said.get("completion_tokens"),
        details.get("cached_tokens"),
    )
    known = [count for count in (read, written, cached or 0) if type(count) is int and count >= 0]
    if len(known) < 3:
        return None
    usage = UsageMetadata(input_tokens=read, output_tokens=written, total_tokens=read + written)
    if cached is not None:
        usage["input_token_details"] = InputTokenDetails(cache_read=cached)
    return usage


def _only_counts(handler: BaseCallbackHandler) -> TypeIs[UsageMeter]:
    """Whether a handler wants to know of a call no more than what it cost."""
    return isinstance(handler, UsageMeter) and type(handler).on_llm_end is UsageMeter.on_llm_end


def _handlers_of(callbacks: Callbacks) -> list[BaseCallbackHandler]:
    return callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or []


def _proxy_of(url: str) -> str | None:
    """The proxy that the environment names for an address."""
    parts, known = urlsplit(url), getproxies()
    proxy = known.get(parts.scheme) or known.get("all")
    if not proxy or proxy_bypass(parts.netloc.rpartition("@")[2]):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


@lru_cache(maxsize=1)
def _tls(*_trusted: str | None) -> ssl.SSLContext:
    """Certificates that the OpenAI client trusts under this environment."""
    return httpx2.create_ssl_context()


class _PooledSession(NamedTuple):
    session: "ClientSession"
    keeper: AsyncGenerator["ClientSession", None]


_sessions: dict[asyncio.AbstractEventLoop, _PooledSession] = {}


async def _session() -> "ClientSession":
    """The connections of this event loop, closed when it shuts its generators down."""
    loop = asyncio.get_running_loop()
    kept = _sessions.get(loop)
    if kept is None:
        for ended in [one for one in _sessions if one.is_closed()]:
            _sessions.pop(ended).session.detach()  # by a loop that did not
        keeper = _opened()
        kept = _sessions[loop] = _PooledSession(await anext(keeper), keeper)
    return kept.session


async def _opened() -> AsyncGenerator["ClientSession", None]:
    from aiohttp import ClientSession, TCPConnector

    # how many calls are in flight is bounded by who makes them
    connector = TCPConnector(limit=0, keepalive_timeout=_IDLE_S)
    async with ClientSession(connector=connector) as session:
        try:
            yield session
        finally:
            _sessions.pop(asyncio.get_running_loop(), None)


@atexit.register
def _close() -> None:
    """Close what loops in other threads still hold, so that nothing complains of it."""
    for loop, kept in [*_sessions.items()]:
        if loop.is_running():
            with suppress(TimeoutError):
                asyncio.run_coroutine_threadsafe(kept.session.close(), loop).result(1)
        else:
            kept.session.detach()
