"""From an address to the numbers it may be reached at: public ones, or ones that were allowed.

httpx-secure looks at an address before anything is sent to it, but tells a name's address by
connecting to it, and it lets through special-purpose ranges that lead inside: 6to4, the local
NAT64 prefix, IPv4-compatible and site-local addresses. So names are looked up here, once a hop,
every answer is checked here, and the connection is made to a checked number.
"""

import socket
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv4Network, IPv6Address, IPv6Network, ip_address, ip_network

from conflictscore.retrieval.pages.page import PageError
from conflictscore.threads import in_thread

__all__ = ["NOT_PUBLIC", "admitted", "resolve"]

Address = IPv4Address | IPv6Address
Network = IPv4Network | IPv6Network

NOT_PUBLIC = "is at an address that is not public"
"""Why a page was not asked for; the address itself is nobody's business."""

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
            "168.63.129.16/32",  # a cloud's service for its own machines, at a public number
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


def admitted(address: Address, allowed: Sequence[Network] = ()) -> bool:
    """Whether a page may be fetched from here: a public address, or one that was allowed."""
    if any(address in network for network in allowed):
        return True
    if isinstance(address, IPv6Address) and address not in _UNICAST:
        return False
    return address.is_global and not any(address in network for network in _SPECIAL)


async def resolve(host: str, port: int, allowed: Sequence[Network] = ()) -> list[str]:
    """The numbers to connect to, in the system's order of preference; at least one.

    Args:
        host: A name or number, in whatever form the system understands, such as ``127.1``.
        port: The port that will be connected to.
        allowed: Networks that are reached although they are not public.

    Raises:
        PageError: The name is unknown, or one of its addresses may not be reached: a name that
            is both inside and outside is not to be trusted.
    """
    try:
        found = await in_thread(lambda: socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):  # UnicodeError: no host name at all, such as 64 letters long
        raise PageError("has a host name that cannot be found") from None
    numbers = list(dict.fromkeys(str(entry[4][0]) for entry in found))
    if not all(admitted(ip_address(number), allowed) for number in numbers):
        raise PageError(NOT_PUBLIC)
    return numbers[:_MOST_ADDRESSES]
