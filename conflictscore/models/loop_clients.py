"""OpenAI's client over aiohttp, one per event loop, since a session belongs to its loop."""

import asyncio
import threading
import weakref
from collections.abc import Callable
from contextlib import suppress

import httpx2
import openai

from conflictscore.threads import running_loop

_Clients = dict[asyncio.AbstractEventLoop, openai.AsyncOpenAI]


class LoopClients:
    """Gives each event loop its own client, and closes it when it is no longer needed."""

    def __init__(
        self, settings: openai.AsyncOpenAI, new_http_client: Callable[[], httpx2.AsyncClient]
    ) -> None:
        """``settings`` is a client whose key, address and timeouts all clients use."""
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
    """Close clients, whether their loops run, rest or are closed; aiohttp warns about open ones."""
    here = running_loop()
    for loop, client in clients.items():
        with suppress(RuntimeError):  # the loop has just been closed
            if loop.is_running() and loop is not here:
                loop.call_soon_threadsafe(_close_now, client)
            elif loop.is_closed() or here is not None:
                _close_now(client)
            else:
                loop.run_until_complete(client.close())


def _close_now(client: openai.AsyncOpenAI) -> None:
    """Close a client without waiting for its connections to say goodbye."""
    closing = client.close()
    with suppress(StopIteration):
        closing.send(None)
    closing.close()
