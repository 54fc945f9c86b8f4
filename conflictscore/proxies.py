"""Finds the proxy that environment variables set for calls to an endpoint."""

from importlib.util import find_spec
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

from conflictscore.errors import ConfigurationError, install_hint

PROXY_ADVICE = (
    "check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or put the endpoint's host into NO_PROXY"
)
"""Advice for a user whose proxy does not work."""


def proxy_for(url: str) -> str | None:
    """Return the proxy address for a URL, from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    A client looks up the proxy only for the endpoint that it calls. A proxy that it does not use,
    such as a SOCKS proxy whose package is missing, must not cause an error.
    """
    address = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if not proxy or not address.hostname:
        return None
    names = (address.hostname, address.netloc.rpartition("@")[2])  # without and with the port
    if any(map(proxy_bypass, names)):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def through_proxy(url: str) -> str:
    """Return the end of a message about a failed call: the URL's proxy; empty if it has none."""
    proxy = proxy_for(url)
    if proxy is None:
        return ""
    return f" through the environment's proxy {without_login(proxy)}; {PROXY_ADVICE}"


def without_login(proxy: str) -> str:
    """Return the address of a proxy for use in messages, without user name and password."""
    parts = urlsplit(proxy)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], "", "", ""))


def is_socks(proxy: str | None) -> bool:
    """Return whether a proxy uses SOCKS. Only the httpx client can use such a proxy."""
    return proxy is not None and urlsplit(proxy).scheme.startswith("socks")


def require_socks(proxy: str | None) -> None:
    """Raise ConfigurationError if a SOCKS proxy is set but its package is missing."""
    # httpx imports the package only at its first call
    if is_socks(proxy) and find_spec("socksio") is None:
        raise ConfigurationError(
            "the environment names a SOCKS proxy (ALL_PROXY, HTTP_PROXY or HTTPS_PROXY), which"
            f" needs a package: {install_hint('socks')}; or put the endpoint's host into NO_PROXY"
        )
