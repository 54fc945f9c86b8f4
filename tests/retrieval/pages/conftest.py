"""A network for the tests: a test says where names and numbers lead, and everything is recorded."""

import errno
import socket
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pytest

PUBLIC = "93.184.215.14"
"""A public IP address that stands for a web server of the tests."""


@dataclass
class Network:
    """Replaces the system's resolver and connector.

    Attributes:
        names: The IP addresses of each name; with several lists, each look-up takes the next one.
        servers: The loopback port that answers for a public IP address, on any port.
        lookups: The names that were looked up.
        attempts: The IP addresses to which a socket tried to connect, allowed or not.
    """

    names: dict[str, Sequence[Sequence[str]]] = field(
        default_factory=lambda: {"localhost": [["127.0.0.1", "::1"]]}
    )
    servers: dict[str, int] = field(default_factory=dict)
    lookups: list[str] = field(default_factory=list)
    attempts: list[str] = field(default_factory=list)

    def name(self, host: str, *answers: Sequence[str]) -> None:
        self.names[host] = answers

    def addresses(self, host: str) -> Sequence[str] | None:
        answers = self.names.get(host.rstrip(".").lower())
        turn = self.lookups.count(host) - 1
        return answers[min(turn, len(answers) - 1)] if answers else None


@pytest.fixture
def network(monkeypatch: pytest.MonkeyPatch) -> Network:
    """Only loopback is real: any other name is unknown, and any other address refuses."""
    net = Network()
    look_up, connect = socket.getaddrinfo, socket.socket.connect

    def getaddrinfo(host: Any, port: Any, *args: Any, **options: Any) -> Any:
        name = host.decode() if isinstance(host, bytes) else host
        net.lookups.append(name)
        known = net.addresses(name)
        options["flags"] = socket.AI_NUMERICHOST  # in every form that the system understands
        found = [look_up(number, port, *args, **options) for number in known or [host]]
        return [entry for entries in found for entry in entries]

    def connect_to(self: socket.socket, address: Any) -> None:
        if not isinstance(address, tuple):  # not an internet address
            return connect(self, address)
        net.attempts.append(address[0])
        if port := net.servers.get(address[0]):
            return connect(self, ("127.0.0.1", port))
        if address[0] in ("127.0.0.1", "::1"):
            return connect(self, address)
        raise OSError(errno.ECONNREFUSED, "refused")

    monkeypatch.setattr(socket, "getaddrinfo", getaddrinfo)
    monkeypatch.setattr(socket.socket, "connect", connect_to)
    monkeypatch.setattr(socket.socket, "connect_ex", _not_in_use)
    return net


def _not_in_use(_self: socket.socket, _address: Any) -> int:
    raise AssertionError("a connection that the tests do not see")
