"""Finds the proxy and certificates for calls to an endpoint, from environment variables."""

import ssl
from contextlib import suppress
from importlib.util import find_spec
from ipaddress import ip_address, ip_network
from urllib.parse import urlsplit, urlunsplit
from urllib.request import getproxies, proxy_bypass

import httpx2

from conflictscore.errors import ConfigurationError, install_hint

PROXY_ADVICE = "check HTTP_PROXY, HTTPS_PROXY and ALL_PROXY, or put the endpoint's host in NO_PROXY"
"""Advice for a user whose proxy does not work."""
_SCHEMES = ("http", "https", "socks5", "socks5h")
_FORM = "http://HOST:PORT, or https, socks5 or socks5h instead of http"


def proxy_for(url: str) -> str | None:
    """Return the proxy address for a URL, from HTTP_PROXY, HTTPS_PROXY, ALL_PROXY and NO_PROXY.

    A client looks up the proxy only for the endpoint that it calls. A proxy that the client does
    not use must not cause an error, for example because the package for SOCKS is missing.

    Raises:
        ConfigurationError: The proxy's address cannot be read.
    """
    address = urlsplit(url)
    proxies = getproxies()
    proxy = proxies.get(address.scheme) or proxies.get("all")
    if not proxy or not address.hostname:
        return None
    # NO_PROXY may list the host without or with its port
    names = (address.hostname, address.netloc.rpartition("@")[2])
    if any(map(proxy_bypass, names)) or _in_excluded_network(address.hostname, proxies):
        return None
    proxy = proxy.strip() if "://" in proxy else f"http://{proxy.strip()}"
    with suppress(ValueError):
        parts = urlsplit(proxy)
        # reading the port raises ValueError if it is no number up to 65535; nothing listens on 0
        if parts.scheme in _SCHEMES and parts.hostname and parts.port != 0:
            return proxy
    raise ConfigurationError(
        f"the environment's proxy {proxy.rpartition('@')[2]} cannot be used: its address must have"
        f" the form {_FORM}; {PROXY_ADVICE}"
    )


def _in_excluded_network(host: str, proxies: dict[str, str]) -> bool:
    """Return whether NO_PROXY lists a network that contains the host, such as ``10.0.0.0/8``.

    Python's ``proxy_bypass`` compares only names, so it ignores networks.
    """
    try:
        address = ip_address(host)
    except ValueError:  # a name, not an IP address
        return False
    for name in proxies.get("no", "").split(","):
        with suppress(ValueError):  # the entry is not a network
            if "/" in name and address in ip_network(name.strip(), strict=False):
                return True
    return False


def through_proxy(url: str, status: str = "") -> str:
    """Return the end of an error message that names the proxy of a URL; empty without a proxy.

    ``status`` is the HTTP status with which the proxy refused to connect, if it did.
    """
    words = by_proxy(url)
    refusal = f" (HTTP {status})" if status else ""
    return f"{words}{refusal}; {PROXY_ADVICE}" if words else ""


def by_proxy(url: str) -> str:
    """Return the phrase for messages that names a URL's proxy; empty without a proxy."""
    proxy = None
    with suppress(ConfigurationError):  # the message is about a different failure
        proxy = proxy_for(url)
    return f" through the environment's proxy {without_login(proxy)}" if proxy else ""


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
            f" needs a package: {install_hint('socks')}; or put the endpoint's host in NO_PROXY"
        )


def trusted_certificates() -> ssl.SSLContext:
    """Return the certificates to trust, from SSL_CERT_FILE and SSL_CERT_DIR or else from httpx.

    Raises:
        ConfigurationError: The variables name no certificates.
    """
    try:
        return httpx2.create_ssl_context()
    except OSError as error:
        raise ConfigurationError(
            "no certificates can be read from SSL_CERT_FILE or SSL_CERT_DIR"
            f" ({error.strerror or error})"
        ) from None
