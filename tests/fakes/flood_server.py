"""A loopback HTTP server with replies of 200 MB or without end, to test limits on reading."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import chain, repeat

FLOOD = 200_000_000
"""Bytes that the server would send."""


@dataclass
class Flood:
    """The requests, and how much of the reply was sent."""

    url: str
    requests: int = 0
    sent: list[int] = field(default_factory=list)


@contextmanager
def flooding(
    begin: bytes, piece: bytes, *, content_type: str = "application/json", coding: str = ""
) -> Iterator[Flood]:
    """Serve ``begin``, then ``piece`` until the client hangs up; ``coding`` may be false."""

    class Connection(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("content-length", 0)))
            self.do_GET()

        def do_GET(self) -> None:
            flood.requests += 1
            flood.sent.append(0)
            self.send_response(200)
            self.send_header("content-type", content_type)
            if coding:
                self.send_header("content-encoding", coding)
            self.end_headers()
            with suppress(OSError):
                for part in chain([begin], repeat(piece, FLOOD // len(piece))):
                    self.wfile.write(part)
                    flood.sent[-1] += len(part)
            self.close_connection = True

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the base's name
            """Keep the test's output clean."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Connection)
    flood = Flood(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield flood
    finally:
        server.shutdown()
        server.server_close()
