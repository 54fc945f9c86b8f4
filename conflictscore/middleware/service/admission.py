"""Who is let in, how large a request may be, and how many are worked on at once."""

import asyncio
import hashlib
import hmac
import ipaddress
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from fastapi import Request

from conflictscore.middleware.service.refusals import RefusedError
from conflictscore.middleware.service.settings import ServiceSettings

__all__ = ["Access", "Slots", "is_this_machine", "read_body"]

_NOBODY = "nobody in particular"
_UPLOAD_SECONDS = 30.0
_RETRY_AFTER_S = "2"


class Access:
    """Lets in whoever has a key, or, where there are no keys, whoever addresses this machine.

    A page in somebody's browser can be made to call a service on that machine under a name of its
    own. So a service without keys answers only to the machine's own names.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._digests = [_digest(key) for key in settings.keys]
        self._local_only = not settings.keys and not settings.no_auth

    def owner(self, request: Request) -> str:
        """A name for the caller: the same for the same key, which cannot be had from it.

        Raises:
            RefusedError: They have no key (401), or address another machine (403).
        """
        if not self._digests:
            if self._local_only and not is_this_machine(request.url.hostname or ""):
                raise RefusedError(
                    403,
                    "without keys this service answers only to localhost; give it a key file",
                    code="host_not_allowed",
                )
            return _NOBODY
        scheme, _, key = request.headers.get("authorization", "").partition(" ")
        given = _digest(key.strip())
        # every key is compared, so that the time says nothing about which one is near
        known = [hmac.compare_digest(given, digest) for digest in self._digests]
        if scheme.casefold() != "bearer" or not any(known):
            raise RefusedError(401, "no valid key is given as bearer token", code="invalid_api_key")
        return given.hex()[:32]


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
        come_back = RefusedError(
            429,
            "too many requests are being served and waiting; come back later",
            code="too_many_requests",
            retry_after=_RETRY_AFTER_S,
        )
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


async def read_body(request: Request, most: int) -> bytes:
    """The body of a request, which must be JSON: no page of another site can send that unasked.

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
                body += piece
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise RefusedError(408, "the body came too slowly", code="slow_body") from None
    return bytes(body)


def is_this_machine(host: str) -> bool:
    """Whether a name or an address can only mean the machine that it is used on."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()
