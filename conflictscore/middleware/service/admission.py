"""Authenticates callers, and limits the size and number of requests.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import hmac
import ipaddress
import re
import time
from collections.abc import AsyncIterator, Callable, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager

from fastapi import Request

from conflictscore.middleware.service.keys import KeyHolder, key_digest, key_holder, read_keys
from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.service_settings import ServiceSettings

NOBODY = KeyHolder("nobody in particular")
"""The caller's identity in a service without keys."""
# The header "Host": a name or an address (IPv6 in brackets), perhaps with a port.
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z.-]+)(?::[0-9]{1,5})?", re.ASCII)
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
"""Headers that proxies add to a request."""
_UPLOAD_SECONDS = 30.0
"""Maximum time to receive a body, in seconds."""


class Access:
    """Authenticates callers by key; without keys, only callers on this machine are accepted.

    A web page can make a browser call a service on the same machine under another host name (DNS
    rebinding). A proxy on the machine may forward requests from elsewhere. So without keys, a
    request must name this machine as its host. It must not come from another machine or another
    machine's page, and must not have passed through a proxy.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        in_file = () if settings.key_file is None else read_keys(settings.key_file)
        self.holders = (*(key_holder(key, "key") for key in settings.keys), *in_file)
        self.max_body = settings.max_body
        self._local_only = not settings.no_auth
        self._origins = frozenset(settings.cors_origins)

    def caller(self, request: Request) -> KeyHolder:
        """Authenticate a request; refuse invalid keys (401) and other machines (403)."""
        if not self.holders:
            if self._local_only and (why := _not_from_here(request, self._origins)):
                raise RefusedError(
                    403,
                    f"without keys, this service only answers requests from its own machine, but "
                    f"{why}; start the service with a key file",
                    code="host_not_allowed",
                )
            return NOBODY
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        digest = key_digest(key.strip())
        # compare all keys, so that the time reveals nothing about a match
        holders = [holder for holder in self.holders if hmac.compare_digest(digest, holder.digest)]
        if scheme.casefold() != "bearer" or not holders:
            raise RefusedError(
                401,
                "the request has no valid key in its Authorization header",
                code="invalid_api_key",
            )
        return holders[0]


class AdmissionGate:
    """Admits ``at_once`` requests at a time; the same number may wait, and others are refused."""

    def __init__(self, at_once: int) -> None:
        self._most_waiting, self._waiting = at_once, 0
        self._free = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def admit(self, deadline: float) -> AsyncIterator[None]:
        """Admit one request for the duration of the block; refuse it (429) if too many wait."""
        busy = _too_many("too many requests are being served or waiting")
        if self._free.locked() and self._waiting >= self._most_waiting:
            raise busy
        self._waiting += 1
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._free.acquire()
        except TimeoutError:
            raise busy from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()


class Uploads:
    """Limits the total size of the bodies being received; each caller may use half of it."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._of: dict[str, int] = {}

    @contextmanager
    def of(self, owner: str) -> Iterator[Callable[[int], None]]:
        """Count the bytes of a body while it is received; refuse it (429) if there are too many."""
        size = 0

        def count(more: int) -> None:
            nonlocal size
            own = self._of.get(owner, 0)
            if self._held + more > self._most or own + more > self._most // 2:
                raise _too_many("too many bytes are being received at once")
            self._held, self._of[owner], size = self._held + more, own + more, size + more

        try:
            yield count
        finally:
            self._held -= size
            if size:
                self._of[owner] -= size


async def read_body(request: Request, most: int, count: Callable[[int], None]) -> bytes:
    """Read the body of a request.

    The body must be JSON, since a form on another site cannot send JSON. A body that is too large
    (413), too slow (408) or of the wrong type (415) is refused.
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind != "application/json":
        raise RefusedError(415, "send content-type: application/json", code="not_json")
    too_large = RefusedError(413, f"the body is larger than {most} bytes", code="body_too_large")
    length = request.headers.get("content-length", "")
    if length.isdecimal() and int(length) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(_UPLOAD_SECONDS):
            async for piece in request.stream():
                if len(body) + len(piece) > most:
                    raise too_large
                count(len(piece))
                body += piece
    except TimeoutError:
        raise RefusedError(408, "the body arrived too slowly", code="slow_body") from None
    return bytes(body)


def _not_from_here(request: Request, allowed_origins: Collection[str]) -> str | None:
    """Return why a request may come from another machine; None if it comes from this machine.

    Pages of ``allowed_origins`` are accepted like local pages. The function reads the raw headers,
    since URL parsers disagree about malformed addresses.
    """

    def local(authority: str) -> bool:
        match = _HOST.fullmatch(authority)
        return match is not None and is_this_machine(match[1].strip("[]").lower())

    hosts, origins = map(request.headers.getlist, ("host", "origin"))
    if len(hosts) != 1 or not local(hosts[0]):
        return "the Host header of this request names another host"
    if not all(o in allowed_origins or local(o.partition("://")[2]) for o in origins):
        return "this request comes from a page of another site"
    if any(name in request.headers for name in _OF_PROXIES):
        return "this request came through a proxy"
    if request.client is not None and not is_this_machine(request.client.host):
        return "this request comes from another machine"
    return None


def is_this_machine(host: str) -> bool:
    """Return whether a name or address can only mean this machine."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _too_many(why: str) -> RefusedError:
    return RefusedError(429, f"{why}; try again later", code="too_many_requests", retry_after="2")
