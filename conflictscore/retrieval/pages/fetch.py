"""Fetching a page from the open web: bounded, stateless, and never from an internal network.

Every hop of a page goes through the same gate. Its address must be plain http or https, its name
is looked up once, every IP address found must be public, and the connection is made to one of them,
so that nothing is looked up a second time in between.
"""

import asyncio
import os
import re
import socket
import ssl
import zlib
from collections.abc import Sequence
from functools import cache
from importlib.metadata import version
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Self

import httpx2

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.pages.page import FetchedPage, FetchSettings, PageError
from conflictscore.threads import in_thread

__all__ = ["Body", "PageFetcher", "admitted"]

_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
_HEADERS = {
    "accept": ", ".join(_TYPES),
    "accept-encoding": "gzip, deflate",  # what `Body` can decompress step by step
    # Two sites at one IP address are one to a pool of connections, which would mix up their TLS.
    "connection": "close",
    "user-agent": f"conflictscore/{version('conflictscore')} (reads pages for its user)",
}
_AUTHORITIES = ("SSL_CERT_FILE", "SSL_CERT_DIR")
"""Environment variables for authorities of your own, in place of the usual ones."""
_REDIRECTS = (301, 302, 303, 307, 308)
_HOST = re.compile(rb"[\w.:-]+")
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_LONGEST_TYPE = 60
"""Characters of a media type that a reason repeats."""
_GZIP = b"\x1f\x8b"

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_NOT_PUBLIC = "is at an address that is not public"
"""Why a page was not asked for; the address itself is not disclosed."""

_UNICAST = ip_network("2000::/3")
"""All of IPv6 that was ever given out for public use. What lies outside leads somewhere else, such
as the IPv4-mapped, IPv4-compatible and NAT64 forms of an IPv4 address."""
_SPECIAL = tuple(
    map(
        ip_network,
        (
            "0.0.0.0/8",
            "10.0.0.0/8",
            "100.64.0.0/10",  # carriers' own networks
            "127.0.0.0/8",
            "168.63.129.16/32",  # a cloud's service for its own machines, at a public address
            "169.254.0.0/16",
            "172.16.0.0/12",
            "192.0.0.0/24",
            "192.0.2.0/24",
            "192.88.99.0/24",  # relays from 6to4 to IPv6
            "192.168.0.0/16",
            "198.18.0.0/15",
            "198.51.100.0/24",
            "203.0.113.0/24",
            "224.0.0.0/3",  # multicast, reserved, broadcast
            "2001::/23",  # Teredo, which holds an IPv4 address, and other protocols' own
            "2001:db8::/32",
            "2002::/16",  # 6to4, which holds an IPv4 address
            "3fff::/20",
        ),
    )
)
_MOST_ADDRESSES = 4
"""Addresses of one name that are tried."""


class PageFetcher:
    """Fetches pages; an async context manager, for one event loop.

    It keeps no cookies, sends no credentials, and heeds no proxy of the environment, since a
    proxy looks names up by itself; SSL_CERT_FILE and SSL_CERT_DIR hold. Any port of a public
    address is asked. robots.txt speaks to crawlers and is not read: each page here is one that a
    person's own search found.

    Raises:
        ConfigurationError: SSL_CERT_FILE or SSL_CERT_DIR is wrong.
    """

    def __init__(self, settings: FetchSettings | None = None) -> None:
        self._settings = settings or FetchSettings()
        # A client around the transport would keep cookies, and look into every redirect.
        self._transport = httpx2.AsyncHTTPTransport(verify=_authorities())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._transport.aclose()

    async def fetch(self, url: str) -> FetchedPage:
        """The page at this address, as far as the settings allow.

        Raises:
            PageError: The page cannot be had; says why.
        """
        timeout = self._settings.timeout
        try:
            async with asyncio.timeout(timeout):
                return await self._follow(url)
        except TimeoutError:
            raise PageError(f"did not arrive within {timeout:g} s") from None
        except httpx2.ConnectError as error:
            raise PageError(_why_not_connected(error)) from None
        except httpx2.ConnectTimeout:
            raise PageError("is on a server that cannot be reached") from None
        except httpx2.HTTPError:
            raise PageError("was cut off") from None

    async def _follow(self, url: str) -> FetchedPage:
        target = _checked(url)
        for _ in range(self._settings.max_redirects + 1):
            response = await self._send(target)
            try:
                location = response.headers.get("location")
                if response.status_code not in _REDIRECTS or location is None:
                    return await self._read(response, url, target)
            finally:
                await response.aclose()
            target = _checked(location, target)
        raise PageError(f"redirects more than {self._settings.max_redirects} times")

    async def _send(self, target: httpx2.URL) -> httpx2.Response:
        """Asks one hop's server at its IP addresses, in turn until one answers."""
        host = target.raw_host.decode()
        port = target.port or (443 if target.scheme == "https" else 80)
        addresses = await _resolve(host, port, self._settings.allowed_networks)
        while True:
            request = httpx2.Request(
                "GET",
                target.copy_with(host=addresses[0]),
                headers={"host": target.netloc.decode(), **_HEADERS},
                extensions={
                    "sni_hostname": host.rstrip("."),
                    "timeout": {"connect": self._settings.timeout / len(addresses)},
                },
            )
            try:
                return await self._transport.handle_async_request(request)
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                del addresses[0]
                if not addresses:
                    raise

    async def _read(self, response: httpx2.Response, url: str, target: httpx2.URL) -> FetchedPage:
        if not response.is_success:
            raise PageError(f"answered with status {response.status_code}")
        content_type = _content_type(response.headers.get("content-type", ""))
        body = Body(response.headers.get("content-encoding", ""), self._settings.max_bytes)
        async for chunk in response.aiter_raw():
            body.add(chunk)
            if body.full:
                break
        return FetchedPage(
            url=url,
            final_url=str(target),
            content_type=content_type,
            charset=response.charset_encoding,
            body=body.content(),
            truncated=body.full,
        )


def _authorities() -> ssl.SSLContext:
    """The trusted certificate authorities; ConfigurationError if the environment names none."""
    try:
        return _read_authorities(*(os.environ.get(name) for name in _AUTHORITIES))
    except OSError as error:
        raise ConfigurationError(
            f"no certificates can be read from what {' or '.join(_AUTHORITIES)} names"
            f" ({error.strerror or error})"
        ) from None


@cache
def _read_authorities(*_named: str | None) -> ssl.SSLContext:
    return httpx2.create_ssl_context()


def _checked(address: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """An address that may be asked, relative to the one that leads to it; PageError otherwise."""
    how = "redirects to" if base else "has"
    try:
        url = base.join(address) if base else httpx2.URL(address)
    except (httpx2.InvalidURL, ValueError):
        raise PageError(f"{how} an address that is not a URL") from None
    if url.scheme not in ("http", "https"):
        raise PageError(f"{how} an address that is neither http nor https")
    if url.userinfo:
        raise PageError(f"{how} an address with a user name in it")
    no_port = url.port is not None and not 0 < url.port < 65536
    if no_port or not _HOST.fullmatch(url.raw_host):
        raise PageError(f"{how} an address that is not a URL")
    return url.copy_with(fragment=None)


def _content_type(header: str) -> str:
    """The media type; PageError if it is not one that is read."""
    found = re.split("[;,]", header, maxsplit=1)[0].strip().lower()[:_LONGEST_TYPE]
    if not _TYPE.fullmatch(found):
        raise PageError("does not say what type it is")
    if found not in _TYPES:
        raise PageError(f"is {found}")
    return found


def _why_not_connected(error: httpx2.ConnectError) -> str:
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, ssl.SSLCertVerificationError):
            return "is on a server whose certificate is not valid"
        if isinstance(cause, ssl.SSLError):
            return "is on a server where TLS fails"
        cause = cause.__cause__ or cause.__context__
    return "is on a server that cannot be reached"


def admitted(address: Address, allowed: Sequence[Network] = ()) -> bool:
    """Whether a page may be fetched from here: a public address, or one that was allowed."""
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return False
    return address.is_global and not any(address in network for network in _SPECIAL)


async def _resolve(host: str, port: int, allowed: Sequence[Network] = ()) -> list[str]:
    """The IP addresses to connect to, in the system's order of preference; at least one.

    A name is refused if any of its addresses is: one that is both inside and outside is not to be
    trusted. ``host`` may be in whatever form the system understands, such as ``127.1``.
    """
    try:
        found = await in_thread(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):  # UnicodeError: no host name at all, such as 64 letters long
        raise PageError("has a host name that cannot be found") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not all(admitted(ip_address(one), allowed) for one in addresses):
        raise PageError(_NOT_PUBLIC)
    return addresses[:_MOST_ADDRESSES]


class Body:
    """Body of a response, as it arrives, decompressed: at most ``limit`` bytes, here and as sent.

    A kilobyte on the wire may stand for a gigabyte. PageError if the encoding was not offered.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip", "deflate"):
            raise PageError("is compressed in a way that was not offered")
        self._packed = name not in ("", "identity")
        self._inflate: Any = None
        self._limit = limit
        self._wire = 0
        self._kept = bytearray()
        self._rest = b""

    @property
    def full(self) -> bool:
        """Whether there is more than the limit."""
        return max(self._wire, len(self._kept)) > self._limit

    def add(self, data: bytes) -> None:
        """Takes the next bytes from the wire; call it until the body is full.

        Raises:
            PageError: They cannot be decompressed.
        """
        self._wire += len(data)
        if not self._packed:
            self._kept += data
            return
        try:
            self._unpack(data)
        except zlib.error:
            raise PageError("is compressed and cannot be decompressed") from None

    def _unpack(self, data: bytes) -> None:
        """Unpack one gzip after the other, as servers join them."""
        data, self._rest = self._rest + data, b""
        while data and not self.full:
            if self._inflate is None or self._inflate.eof:
                if len(data) < len(_GZIP):
                    self._rest = data
                    return
                if self._inflate and not data.startswith(_GZIP):
                    return
                self._inflate = zlib.decompressobj(_window(data))
            self._kept += self._inflate.decompress(data, self._limit + 1 - len(self._kept))
            data = self._inflate.unused_data

    def content(self) -> bytes:
        """The bytes up to the limit.

        Raises:
            PageError: The compressed form breaks off.
        """
        ended = self._inflate and self._inflate.eof
        if self._packed and self._wire and not (self.full or ended):
            raise PageError("was cut off")
        return bytes(self._kept[: self._limit])


def _window(data: bytes) -> int:
    """How zlib is to read what begins so; many servers send ``deflate`` without its header."""
    has_header = data[0] & 15 == zlib.DEFLATED and int.from_bytes(data[:2]) % 31 == 0
    return zlib.MAX_WBITS | 32 if has_header or data.startswith(_GZIP) else -zlib.MAX_WBITS
