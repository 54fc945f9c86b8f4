"""Creates an endpoint's HTTP clients, with proxy, certificates, and a size limit on replies."""

import os
import ssl
from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple
from urllib.parse import urlsplit

import httpx2
import openai

from conflictscore.models.bounds import bound_reply, bound_reply_async
from conflictscore.proxies import is_socks, proxy_for, require_socks, trusted_certificates

_UNCOMPRESSED = {"accept-encoding": "identity"}
"""Asks for uncompressed replies, since a few compressed bytes can expand to any length."""


class HttpClients(NamedTuple):
    """Clients of one endpoint; each raises ProviderError if a reply is too long."""

    synchronous: httpx2.Client
    asynchronous: httpx2.AsyncClient
    over_aiohttp: Callable[[], httpx2.AsyncClient] | None
    """Makes an asynchronous client that takes a fraction of httpx's CPU time, since httpx checks
    every idle connection at each request. The client belongs to the event loop of its first
    request. None if aiohttp cannot be used, because the proxy uses SOCKS or the address has a
    password."""
    proxy: str | None
    """The proxy that the clients use; None if there is no proxy."""


def http_clients(base_url: str, *, use_proxy: bool = True) -> HttpClients:
    """Return the clients of the endpoint at an address.

    If ``use_proxy`` is True, the clients use the proxies from the environment.

    Raises:
        ConfigurationError: The endpoint's proxy has an unreadable address or needs a package that
            is missing, or the environment's certificates cannot be read.
    """
    proxy = proxy_for(base_url) if use_proxy else None
    require_socks(proxy)
    settings: dict[str, Any] = {
        "headers": _UNCOMPRESSED,
        "proxy": proxy,
        "trust_env": False,  # otherwise httpx would read the proxy from the environment
        "verify": _certificates(*map(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR"))),
    }
    # aiohttp does not accept both a key and a password in the address
    httpx_only = is_socks(proxy) or "@" in urlsplit(base_url).netloc
    asynchronous = settings | {"event_hooks": {"response": [bound_reply_async]}}
    return HttpClients(
        openai.DefaultHttpxClient(**settings, event_hooks={"response": [bound_reply]}),
        openai.DefaultAsyncHttpxClient(**asynchronous),
        None if httpx_only else lambda: openai.DefaultAioHttpClient(**asynchronous),
        proxy,
    )


@cache
def _certificates(file: str | None, folder: str | None) -> ssl.SSLContext:
    """Return the certificates to trust: those that SSL_CERT_FILE and SSL_CERT_DIR name, or httpx's.

    Reading certificates takes tens of milliseconds, so all clients of the process share them. The
    two variables are passed as arguments so that the cache cannot hide a change to them.
    """
    return trusted_certificates()
