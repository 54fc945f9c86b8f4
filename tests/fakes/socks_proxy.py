"""A SOCKS5 proxy on loopback, which connects to any address and passes bytes on."""

import socket
import socketserver
import struct
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

_VERSION, _NO_PASSWORD, _CONNECT, _IPV4, _NAME = 5, 0, 1, 1, 3


class SocksProxy(NamedTuple):
    """Where the proxy listens, and the addresses requested from it."""

    address: str
    asked: list[tuple[str, int]]


@contextmanager
def socks_proxy() -> Iterator[SocksProxy]:
    """Serve until the block is left."""
    asked: list[tuple[str, int]] = []

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            methods = self.rfile.read(2)[1]
            self.rfile.read(methods)
            self.request.sendall(bytes([_VERSION, _NO_PASSWORD]))
            _, command, _, kind = self.rfile.read(4)
            if kind == _IPV4:
                host = socket.inet_ntoa(self.rfile.read(4))
            else:
                assert kind == _NAME
                host = self.rfile.read(self.rfile.read(1)[0]).decode()
            [port] = struct.unpack("!H", self.rfile.read(2))
            assert command == _CONNECT
            asked.append((host, port))
            with socket.create_connection((host, port)) as target:
                self.request.sendall(bytes([_VERSION, 0, 0, _IPV4, 0, 0, 0, 0, 0, 0]))
                back = threading.Thread(target=_carry, args=(target, self.request))
                back.start()
                _carry(self.request, target)
                back.join()

    class Server(socketserver.ThreadingTCPServer):
        daemon_threads = True

    with Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.05,))
        thread.start()
        yield SocksProxy(f"socks5://127.0.0.1:{server.server_address[1]}", asked)
        server.shutdown()
        thread.join()


def _carry(source: socket.socket, target: socket.socket) -> None:
    try:
        while piece := source.recv(65536):
            target.sendall(piece)
        target.shutdown(socket.SHUT_WR)
    except OSError:
        pass  # either side hung up
