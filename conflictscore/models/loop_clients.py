"""OpenAI's client over aiohttp, one for each event loop: a session belongs to the loop it is in."""

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress
from functools import partial

import httpx2
import openai

_CLOSING: set[asyncio.Task[None]] = set()
"""An event loop holds its tasks weakly."""
_Clients = dict[asyncio.AbstractEventLoop, openai.AsyncOpenAI]


class LoopClients:
    """Gives each event loop a client of its own, and closes it when nobody needs it any more."""

    def __init__(
        self, settings: openai.AsyncOpenAI, new_http_client: Callable[[], httpx2.AsyncClient]
    ) -> None:
        """``settings`` is a client with the key, address and timeouts of all of them."""
        self._settings, self._new_http_client = settings, new_http_client
        self._clients: _Clients = {}
        self._lock = threading.Lock()
        weakref.finalize(self, _close_all, self._clients)

    def here(self) -> openai.AsyncOpenAI:
        """The client of the running event loop."""
        loop = asyncio.get_running_loop()
        client = self._clients.get(loop)
        if client is not None:
            return client
        with self._lock:
            past_loops = [past for past in self._clients if past.is_closed()]
            _close_all({past: self._clients.pop(past) for past in past_loops})
            client = self._settings.with_options(http_client=self._new_http_client())
            return self._clients.setdefault(loop, client)


def _close_all(clients: _Clients) -> None:
    """Close clients whose loops may run, rest or be closed; aiohttp complains of an open one."""
    for loop, client in clients.items():
        with suppress(RuntimeError):  # the loop was closed just now
            if loop.is_running():
                loop.call_soon_threadsafe(partial(_close_soon, loop, client))
            elif loop.is_closed():
                _close_without_loop(client)
            else:
                loop.run_until_complete(client.close())


def _close_soon(loop: asyncio.AbstractEventLoop, client: openai.AsyncOpenAI) -> None:
    closing = loop.create_task(client.close())
    _CLOSING.add(closing)
    closing.add_done_callback(_CLOSING.discard)


def _close_without_loop(client: openai.AsyncOpenAI) -> None:
    """Close a client whose connections ended with their loop: it has nothing to wait for."""
    closing = client.close()
    with suppress(StopIteration):
        closing.send(None)
    closing.close()
