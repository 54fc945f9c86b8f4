"""Who is let in."""

import hashlib
import hmac
import ipaddress

from fastapi import Request

from conflictscore.middleware.service.faults import RefusedError
from conflictscore.middleware.service.settings import ServiceSettings

__all__ = ["Access"]

_NOBODY = "nobody in particular"


class Access:
    """Lets in whoever has a key, or, where there are none, whoever asks for this very machine.

    A page in somebody's browser can be made to call a service on that machine under a name of its
    own. So a service without keys answers to no other name than the machine's own.
    """

    def __init__(self, settings: ServiceSettings) -> None:
        self._digests = [_digest(key) for key in settings.keys]
        self._local_only = not settings.keys and not settings.no_auth

    def owner(self, request: Request) -> str:
        """A name for whoever asks, the same for the same key, from which no key can be had.

        Raises:
            RefusedError: They have no key (401), or ask for another machine (403).
        """
        if not self._digests:
            if self._local_only and not _this_machine(request.url.hostname or ""):
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


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogateescape")).digest()


def _this_machine(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
