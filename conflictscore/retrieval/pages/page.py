"""The stages of a page, from an address to a text, and the error if it cannot be read."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated

import pydantic
from pydantic import ConfigDict, Field


class UnreadableError(Exception):
    """A page or file cannot be read.

    Its text is the reason, to be read after the name, such as ``"answered with status 404"``. It
    contains nothing from the page that was not checked to be harmless.
    """


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class FetchSettings:
    """The limits of a fetch, and the addresses that it may reach.

    Attributes:
        timeout: Seconds for one page, from the look-up of its name to its last byte; above 0.
        max_bytes: Maximum bytes of a page after decompression, at least 1; the rest is left out.
        allowed_networks: Networks that may be reached although they are not public, such as an
            intranet. All addresses of a name must be public or in these networks.
    """

    timeout: Annotated[float, Field(gt=0)] = 10.0
    max_bytes: Annotated[int, Field(ge=1)] = 2_000_000
    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The response from ``final_url``; ``truncated`` if it was longer."""

    url: str
    final_url: str
    content_type: str
    charset: str | None
    body: bytes
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """The main text of a page; ``cut`` if it was longer.

    The date is ``YYYY-MM-DD``.
    """

    text: str
    title: str = ""
    date: str | None = None
    cut: bool = False
