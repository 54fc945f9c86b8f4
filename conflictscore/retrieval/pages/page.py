"""Defines the stages of reading a page, from address to text, and the error if reading fails."""

from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network
from typing import Annotated

import pydantic
from pydantic import ConfigDict, Field


class UnreadableError(Exception):
    """Raised if a page or file cannot be read.

    The message states the reason. The message continues a sentence that begins with the name of the
    page or file, as in ``"answered with status 404"``. Any text that the message quotes from the
    page has been cleaned.
    """


@pydantic.dataclasses.dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class FetchSettings:
    """The limits of a fetch and the addresses that it may reach.

    Attributes:
        timeout: Maximum time for one page in seconds, from the look-up of its host name to its last
            byte; above 0. The default was chosen by hand.
        max_bytes: Maximum number of bytes in a page after decompression, at least 1. Any further
            bytes are left out. The default suffices for the text of long articles; chosen, not
            measured.
        allowed_networks: Networks that may be reached although they are not public, such as an
            intranet. All addresses of a host name must be public or in these networks.
    """

    timeout: Annotated[float, Field(gt=0)] = 10.0
    max_bytes: Annotated[int, Field(ge=1)] = 2_000_000
    allowed_networks: tuple[IPv4Network | IPv6Network, ...] = ()


@dataclass(frozen=True, slots=True)
class FetchedPage:
    """The response from ``final_url``; ``truncated`` says whether its body was cut off."""

    url: str
    final_url: str
    content_type: str
    charset: str | None
    body: bytes
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class PageText:
    """The main text of a page; ``cut`` says whether its end was left out.

    The date has the form ``YYYY-MM-DD``.
    """

    text: str
    title: str = ""
    date: str | None = None
    cut: bool = False
