"""Stages of a page from an address to a text, and how reading can fail."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated

import pydantic
from pydantic import ConfigDict, Field


class UnreadableError(Exception):
    """A page or file cannot be read.

    Its text is the reason, in words that follow its name, such as ``"answered with status 404"``;
    it holds nothing of the page but what was checked to be harmless.
    """


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class FetchSettings:
    """Limits of a fetch, and the addresses it may reach.

    Attributes:
        timeout: Seconds for one page, from its name's look-up to its last byte; above 0.
        max_bytes: Bytes of a page after decompression, at least 1; what is over is left out.
        allowed_networks: Networks that are reached although they are not public, such as an
            intranet's. A name is reached if all of its addresses are public or in these.
    """

    timeout: Annotated[float, Field(gt=0)] = 10.0
    max_bytes: Annotated[int, Field(ge=1)] = 2_000_000
    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """Response of the server that answered, ``final_url``; ``truncated`` if there is more of it."""

    url: str
    final_url: str
    content_type: str
    charset: str | None
    body: bytes
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """Main text of a page; ``cut`` if there is more of it. The date is ``YYYY-MM-DD``."""

    text: str
    title: str = ""
    date: str | None = None
    cut: bool = False
