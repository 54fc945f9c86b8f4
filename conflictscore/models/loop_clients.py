"""Keeps one OpenAI client per event loop, since each aiohttp session belongs to one loop."""

import asyncio
import json
import ssl
import threading
import weakref
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any, NamedTuple

import httpx2
import openai

from conflictscore.threads import running_loop


class _Form(NamedTuple):
    """The parts of a request that all later requests reuse."""

    url: httpx2.URL
    headers: httpx2.Headers
    extensions: Mapping[str, Any]

    @classmethod
    def of(cls, request: httpx2.Request) -> "_Form":
        """Return the reusable parts of a request."""
        headers = request.headers.copy()  # the caller still sends the request itself
        for name in ("Content-Length", "Cookie"):
            headers.pop(name, None)
        return cls(request.url, headers, request.extensions)

    def filled(self, body: Mapping[str, Any], cookies: httpx2.Cookies) -> httpx2.Request | None:
        """Return the request with this body, or None if only OpenAI's client can write the body."""
        try:
            # as OpenAI's client writes it
            text = json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
            content = text.encode()
        except (TypeError, ValueError):
            return None
        # with ``content`` instead of a stream, httpx would normalise all headers again
        stream = httpx2.ByteStream(content)
        request = httpx2.Request(
            "POST", self.url, headers=self.headers, stream=stream, extensions=self.extensions
        )
        # otherwise, httpx would try encodings on all headers again
        request.headers.encoding = self.headers.encoding
        request.headers["Content-Length"] = str(len(content))
        if cookies:
            cookies.set_cookie_header(request)
        request.read()  # as httpx does for a request with ``content``
        return request


class LoopClient:
    """The OpenAI client of one event loop; it posts chat requests as plain JSON.

    OpenAI's client builds each request from its settings: it checks options, merges headers and
    joins addresses, which takes longer than sending the request. So only the first request is built
    by OpenAI's client. Later requests reuse the address and headers of the first, and are sent by
    the same HTTP client.
    """

    def __init__(self, client: openai.AsyncOpenAI, http: httpx2.AsyncClient) -> None:
        """``http`` is the HTTP client that ``client`` uses."""
        self._client, self._http = client, http
        self._form: _Form | None = None

    async def post(self, body: Mapping[str, Any]) -> httpx2.Response:
        """Return the response to a chat completion request if its status indicates success.

        Raises:
            openai.OpenAIError: The response has an error status, or there is no response.
        """
        request = None if self._form is None else self._form.filled(body, self._http.cookies)
        if request is None:
            response = await self._client.post(
                "/chat/completions", cast_to=httpx2.Response, body=body
            )
            if not response.history:  # otherwise this is the request that followed a redirect
                self._form = _Form.of(response.request)
            return response
        try:
            response = await self._http.send(request)
        except httpx2.TimeoutException as error:
            raise openai.APITimeoutError(request=request) from error
        except (httpx2.RequestError, ssl.SSLError) as error:
            raise openai.APIConnectionError(request=request) from error
        if not response.is_success:
            raise self._client._make_status_error_from_response(response)
        return response

    async def close(self) -> None:
        """Close the connections."""
        await self._client.close()


_Clients = dict[asyncio.AbstractEventLoop, LoopClient]


class LoopClients:
    """Gives each event loop its own client, and closes it when it is no longer needed."""

    def __init__(
        self, settings: openai.AsyncOpenAI, new_http_client: Callable[[], httpx2.AsyncClient]
    ) -> None:
        """All clients take their key, address and timeouts from the client ``settings``."""
        self._settings, self._new_http_client = settings, new_http_client
        self._clients: _Clients = {}
        self._lock = threading.Lock()  # every event loop runs in a thread of its own
        weakref.finalize(self, _close_all, self._clients)

    def here(self) -> LoopClient:
        """Return the client of the running event loop."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is not None:
            return client
        with self._lock:
            past_loops = [past for past in self._clients if past.is_closed()]
            _close_all({past: self._clients.pop(past) for past in past_loops})
            http = self._new_http_client()
            client = LoopClient(self._settings.with_options(http_client=http), http)
            return self._clients.setdefault(loop, client)


def _close_all(clients: _Clients) -> None:
    """Close clients whose loops may be idle or closed, since aiohttp warns about open clients."""
    here = running_loop()
    for loop, client in clients.items():
        with suppress(RuntimeError):  # the loop has just been closed
            if loop.is_running() and loop is not here:
                loop.call_soon_threadsafe(_close_now, client)
            elif loop.is_closed() or here is not None:
                _close_now(client)
            else:
                loop.run_until_complete(client.close())


def _close_now(client: LoopClient) -> None:
    """Close a client without waiting for its connections to shut down."""
    closing = client.close()
    # the first step of the coroutine closes the sockets; what follows would wait for the peers
    with suppress(StopIteration):
        closing.send(None)
    closing.close()
