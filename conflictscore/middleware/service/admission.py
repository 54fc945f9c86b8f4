"""Who is let in, how large a request may be, and how many are worked on at once."""

import asyncio
import hmac
import ipaddress
import re
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

from fastapi import Request

from conflictscore.middleware.service.keys import KeyFile, KeyHolder, digest_of, holder_of
from conflictscore.middleware.service.policy import ServiceSettings
from conflictscore.middleware.service.refusals import RefusedError

__all__ = ["NOBODY", "Access", "Slots", "Uploads", "is_this_machine", "read_body"]

NOBODY = KeyHolder("nobody in particular")
"""Who calls a service without keys."""
_HOST = re.compile(r"(\[[0-9a-fA-F:.]+\]|[0-9a-zA-Z.-]+)(?::[0-9]{1,5})?", re.ASCII)
_OF_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-real-ip")
_UPLOAD_SECONDS = 30.0
_RETRY_AFTER_S = "2"


class Access:
    """Lets in whoever has a key, or, where there are no keys, whoever is at this machine.

    A page in somebody's browser can be made to call a service on that machine under a name of its
    own, and a proxy on that machine brings requests from elsewhere. So a service without keys
    answers only to the machine's own names, to its own pages, and to no proxy.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._keys = tuple(holder_of(key, "key") for key in settings.keys)
        self._file = None if settings.key_file is None else KeyFile(settings.key_file)
        self._local_only = not settings.no_auth

    @property
    def holders(self) -> tuple[KeyHolder, ...]:
        """All keys that are good now."""
        return self._keys + (self._file.holders() if self._file else ())

    def caller(self, request: Request) -> KeyHolder:
        """Whose key it is that a request comes with.

        Raises:
            RefusedError: They have no key (401), or address another machine (403).
        """
        holders = self.holders
        if not holders:
            if self._local_only and (why := _not_from_here(request)):
                raise RefusedError(
                    403,
                    f"without keys this service answers only to localhost, and {why}; give it a"
                    " key file",
                    code="host_not_allowed",
                )
            return NOBODY
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        given = digest_of(key.strip())
        # every key is compared, so that the time says nothing about which one is near
        known = [holder for holder in holders if hmac.compare_digest(given, holder.digest)]
        if scheme.casefold() != "bearer" or not known:
            raise RefusedError(401, "no valid key is given as bearer token", code="invalid_api_key")
        return known[0]


class Slots:
    """Room for a number of requests at once; as many again wait, and any more are turned away."""

    def __init__(self, at_once: int) -> None:
        self._most_waiting, self._waiting = at_once, 0
        self._free = asyncio.Semaphore(at_once)

    @asynccontextmanager
    async def one(self, deadline: float) -> AsyncIterator[None]:
        """Hold a slot.

        Args:
            deadline: The latest time to wait until, on the clock of ``time.monotonic``.

        Raises:
            RefusedError: Too many wait already, or the deadline has passed (429).
        """
        come_back = _come_back("too many requests are being served and waiting")
        if self._free.locked() and self._waiting >= self._most_waiting:
            raise come_back
        self._waiting += 1
        try:
            async with asyncio.timeout(deadline - time.monotonic()):
                await self._free.acquire()
        except TimeoutError:
            raise come_back from None
        finally:
            self._waiting -= 1
        try:
            yield
        finally:
            self._free.release()


class Uploads:
    """Bytes of bodies that are being received: so many in all, and half of them for one caller."""

    def __init__(self, most: int) -> None:
        self._most, self._held = most, 0
        self._of: dict[str, int] = {}

    @contextmanager
    def of(self, owner: str) -> Iterator[Callable[[int], None]]:
        """Receive a body; gives what is told of each piece's size, and raises where it is full.

        Raises:
            RefusedError: There is no room for so many bytes (429).
        """
        size = 0

        def count(more: int) -> None:
            nonlocal size
            own = self._of.get(owner, 0)
            if self._held + more > self._most or own + more > self._most // 2:
                raise _come_back("too much is being received at once")
            self._held, self._of[owner], size = self._held + more, own + more, size + more

        try:
            yield count
        finally:
            self._held -= size
            if size:
                self._of[owner] -= size


async def read_body(request: Request, most: int, count: Callable[[int], None]) -> bytes:
    """The body of a request, which must be JSON: no page of another site can send that unasked.

    Args:
        request: The request.
        most: The most bytes.
        count: Told the size of each piece before it is kept.

    Raises:
        RefusedError: It is too large (413), comes too slowly (408), or is not declared JSON (415).
    """
    kind = request.headers.get("content-type", "").partition(";")[0].strip().casefold()
    if kind != "application/json":
        raise RefusedError(415, "send content-type: application/json", code="not_json")
    too_large = RefusedError(413, f"the body is larger than {most} bytes", code="body_too_large")
    announced = request.headers.get("content-length", "")
    if announced.isdecimal() and int(announced) > most:
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
        raise RefusedError(408, "the body came too slowly", code="slow_body") from None
    return bytes(body)


def _not_from_here(request: Request) -> str | None:
    """Why a request may come from elsewhere; None where it can only come from this machine.

    The raw headers are read: of what is malformed, URL parsers make different names.
    """

    def local(authority: str) -> bool:
        named = _HOST.fullmatch(authority)
        return named is not None and is_this_machine(named[1].strip("[]").lower())

    hosts, origins = map(request.headers.getlist, ("host", "origin"))
    if len(hosts) != 1 or not local(hosts[0]):
        return "the Host of this request is another"
    if not all(local(origin.partition("://")[2]) for origin in origins):
        return "this request comes from a page of another site"
    if any(name in request.headers for name in _OF_PROXIES):
        return "this request came through a proxy"
    if request.client is not None and not is_this_machine(request.client.host):
        return "this request comes from another machine"
    return None


def is_this_machine(host: str) -> bool:
    """Whether a name or an address can only mean the machine that it is used on."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _come_back(why: str) -> RefusedError:
    return RefusedError(
        429, f"{why}; come back later", code="too_many_requests", retry_after=_RETRY_AFTER_S
    )
