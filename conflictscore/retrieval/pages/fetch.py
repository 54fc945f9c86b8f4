"""Fetches pages from the open web, but never from an internal network, and keeps no state.

The first address and the address of every redirect must be plain http or https. Each host name is
looked up once, and all its IP addresses must be public. The connection is then made to one of these
addresses, without a second look-up.
"""

import asyncio
import re
import socket
import zlib
from collections.abc import Sequence
from importlib.metadata import version
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network
from typing import Any, Self

import httpx2

from conflictscore.proxies import trusted_certificates
from conflictscore.retrieval.pages.page import FetchedPage, FetchSettings, UnreadableError
from conflictscore.threads import in_thread

# Types of pages that can be read.
_TYPES = ("text/html", "application/xhtml+xml", "text/plain")
_HEADERS = {
    "accept": ", ".join(_TYPES),
    "accept-encoding": "gzip",
    # A connection pool would reuse a TLS connection for a different site at the same IP address.
    "connection": "close",
    "user-agent": f"conflictscore/{version('conflictscore')} (reads pages for its user)",
}
_REDIRECTS = (301, 302, 303, 307, 308)  # The statuses on which browsers redirect.
# Enough for https, www and a new path; longer chains are usually loops or trackers.
_MOST_REDIRECTS = 3
# A host, perhaps with a port or as an address: "example.org:8080", "::1".
_HOST = re.compile(rb"[\w.:-]+")
# A media type: "text/html".
_TYPE = re.compile(r"[\w.+-]+/[\w.+-]+", re.ASCII)
_GZIP = zlib.MAX_WBITS | 16
"""The ``wbits`` value that makes zlib read the gzip format."""

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

_UNICAST = ip_network("2000::/3")
"""The range of all IPv6 addresses that have been allocated for public use.

Addresses outside it, such as the IPv4-mapped, IPv4-compatible and NAT64 forms of an IPv4 address,
are refused.
"""
_SPECIAL = [
    ip_network(network)
    for network in (
        "168.63.129.16/32",  # A cloud provider's internal service at a public address.
        "192.0.0.0/24",  # Assignments for protocols.
        "192.88.99.0/24",  # Relays from 6to4 to IPv6.
        "224.0.0.0/3",  # Multicast, reserved, broadcast.
        "2001::/23",  # Teredo, which contains an IPv4 address, and other protocol assignments.
        "2002::/16",  # 6to4, which contains an IPv4 address.
        "3fff::/20",  # For examples in documentation.
    )
]
"""Non-public addresses that ``is_global`` reports as public in some versions of Python."""


class PageFetcher:
    """Fetches pages; use it as an async context manager in one event loop.

    The fetcher keeps no cookies and sends no credentials. The fetcher ignores proxies in the
    environment, since a proxy would resolve host names itself. SSL_CERT_FILE and SSL_CERT_DIR are
    used; ConfigurationError is raised if they are unusable. robots.txt is not read: it is meant for
    crawlers, and each page here comes from a person's own search.
    """

    def __init__(self, settings: FetchSettings | None = None) -> None:
        self._settings = settings or FetchSettings()
        # A client would keep cookies and read the body of every redirect, so only the transport is
        # used.
        self._transport = httpx2.AsyncHTTPTransport(verify=trusted_certificates())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *raised: object) -> None:
        await self._transport.aclose()

    async def fetch(self, url: str) -> FetchedPage:
        """Fetch the page at this address within the limits of the settings.

        Raises:
            UnreadableError: The page cannot be fetched. The message states the reason.
        """
        timeout = self._settings.timeout
        try:
            async with asyncio.timeout(timeout):
                return await self._follow(url)
        except TimeoutError:
            raise UnreadableError(f"did not arrive within {timeout:g} s") from None
        except httpx2.ConnectError as error:
            wrong = "CERTIFICATE_VERIFY_FAILED" in str(error)
            why = "whose certificate is not valid" if wrong else "that cannot be reached"
            raise UnreadableError(f"is on a server {why}") from None
        except httpx2.ConnectTimeout:
            raise UnreadableError("is on a server that cannot be reached") from None
        except httpx2.HTTPError:
            raise UnreadableError("was cut off") from None

    async def _follow(self, url: str) -> FetchedPage:
        target = _checked(url)
        for _ in range(_MOST_REDIRECTS + 1):
            response = await self._send(target)
            try:
                location = response.headers.get("location")
                if response.status_code not in _REDIRECTS or location is None:
                    return await self._read(response, url, target)
            finally:
                await response.aclose()
            target = _checked(location, target)
        raise UnreadableError(f"redirects more than {_MOST_REDIRECTS} times")

    async def _send(self, target: httpx2.URL) -> httpx2.Response:
        """Send a request to the server, trying its IP addresses in turn until one answers."""
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
            raise UnreadableError(f"answered with status {response.status_code}")
        content_type = _content_type(response.headers.get("content-type", ""))
        body = _Body(response.headers.get("content-encoding", ""), self._settings.max_bytes)
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


def _checked(address: str, base: httpx2.URL | None = None) -> httpx2.URL:
    """Check an address; if it is the target of a redirect, resolve it against ``base``.

    Raises UnreadableError if the address must not be fetched.
    """
    how = "redirects to" if base else "has"
    try:
        url = base.join(address) if base else httpx2.URL(address)
    except (httpx2.InvalidURL, ValueError):
        raise UnreadableError(f"{how} an address that is not a URL") from None
    if url.scheme not in ("http", "https"):
        raise UnreadableError(f"{how} an address that is neither http nor https")
    if url.userinfo:
        raise UnreadableError(f"{how} an address with a user name in it")
    no_port = url.port is not None and not 0 < url.port < 65536
    if no_port or not _HOST.fullmatch(url.raw_host):
        raise UnreadableError(f"{how} an address that is not a URL")
    return url.copy_with(fragment=None)


def _content_type(header: str) -> str:
    # a server may send a type of any length, and the error message quotes it
    media_type = re.split("[;,]", header, maxsplit=1)[0].strip().lower()[:60]
    if not _TYPE.fullmatch(media_type):
        raise UnreadableError("does not state its content type")
    if media_type not in _TYPES:
        raise UnreadableError(f"is {media_type}")
    return media_type


def admitted(address: Address, allowed: Sequence[Network] = ()) -> bool:
    """Return whether pages may be fetched from an IP address (public, or explicitly allowed)."""
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return False
    return address.is_global and not any(address in network for network in _SPECIAL)


async def _resolve(host: str, port: int, allowed: Sequence[Network] = ()) -> list[str]:
    """Return one to four IP addresses to connect to, in the system's order of preference.

    A host name is refused if any of its addresses is refused, since a name with both internal and
    public addresses is suspicious. ``host`` may have any form that the system accepts, such as
    ``127.1``.
    """
    try:
        entries = await in_thread(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    # UnicodeError: not a host name, for example with a label of 64 letters
    except (OSError, UnicodeError):
        raise UnreadableError("has a host name that cannot be found") from None
    addresses = list(dict.fromkeys(str(entry[4][0]) for entry in entries))
    if not all(admitted(ip_address(address), allowed) for address in addresses):
        raise UnreadableError("is at an address that is not public")
    # at most four, a number chosen by hand: each takes a share of the time to connect
    return addresses[:4]


class _Body:
    """The body of a response, decompressed as it arrives.

    ``limit`` is the maximum number of bytes, both before and after decompression.

    A kilobyte sent over the network can become a gigabyte when decompressed. Raises UnreadableError
    if the server used an encoding that was not offered.
    """

    def __init__(self, encoding: str, limit: int) -> None:
        name = encoding.strip().lower()
        if name not in ("", "identity", "gzip", "x-gzip"):
            raise UnreadableError("uses a compression that was not requested")
        self._inflate: Any = zlib.decompressobj(_GZIP) if name.endswith("gzip") else None
        self._limit = limit
        self._wire = 0
        self._kept = bytearray()

    @property
    def full(self) -> bool:
        return max(self._wire, len(self._kept)) > self._limit

    def add(self, data: bytes) -> None:
        self._wire += len(data)
        if self._inflate is None:
            self._kept += data
            return
        try:
            while data and not self.full:
                if self._inflate.eof:  # servers may concatenate gzip streams or pad the last one
                    if not data.startswith(b"\x1f"):  # the first byte of each gzip stream
                        return
                    self._inflate = zlib.decompressobj(_GZIP)
                self._kept += self._inflate.decompress(data, self._limit + 1 - len(self._kept))
                data = self._inflate.unused_data
        except zlib.error:
            raise UnreadableError("is compressed and cannot be decompressed") from None

    def content(self) -> bytes:
        if self._inflate and self._wire and not (self.full or self._inflate.eof):
            raise UnreadableError("was cut off")
        return bytes(self._kept[: self._limit])
