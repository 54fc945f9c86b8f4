"""A PostgreSQL server for the tests, on a unix socket in a temporary folder."""

import os
import pwd
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import pytest

from tests.middleware.service.serving import until

FOUND = shutil.which("postgres") or next(
    iter(sorted(Path("/usr/lib/postgresql").glob("*/bin/postgres"), reverse=True)), None
)
_OPTIONS = ("-F", "-c", "listen_addresses=", "-c", "max_connections=60")


class PostgresServer:
    """A server that can be stopped, started again and held up."""

    def __init__(self, folder: Path, user: str | None) -> None:
        self._folder, self._user = folder, user
        self._process: subprocess.Popen[bytes] | None = None
        self.log = folder / "log"

    @property
    def url(self) -> str:
        """Where it listens."""
        return f"postgresql://tests:SECRET@/postgres?host={quote(str(self._folder))}"

    def make(self) -> None:
        """Create its files."""
        options = ["--no-sync", "--auth=trust", "--username=tests", "--encoding=UTF8"]
        command = [self._program("initdb"), "--pgdata", f"{self._folder}/data", *options]
        subprocess.run(command, check=True, capture_output=True, user=self._user)

    def start(self) -> None:
        """Start it, and wait until it accepts connections."""
        command = [self._program("postgres"), "-D", f"{self._folder}/data", "-k", str(self._folder)]
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *_OPTIONS],
                stdout=log,
                stderr=log,
                user=self._user,
                start_new_session=True,
            )
        ready = [self._program("pg_isready"), "-q", "-h", str(self._folder)]
        until(lambda: subprocess.run(ready, check=False).returncode == 0, 60)

    def stop(self) -> None:
        """Stop it at once."""
        if self._process is not None:
            self._process.send_signal(signal.SIGQUIT)
            self._process.wait(60)
            self._process = None

    def _program(self, name: str) -> str:
        return str(Path(FOUND or "").resolve().with_name(name))

    @contextmanager
    def held_up(self) -> Iterator[None]:
        """Hold it up: it accepts what it is sent, and replies nothing."""
        assert self._process is not None
        listed = subprocess.run(
            ["ps", "-o", "pid=", "--ppid", str(self._process.pid)],
            check=True,
            capture_output=True,
        )
        everybody = [self._process.pid, *map(int, listed.stdout.split())]
        try:
            for pid in everybody:
                os.kill(pid, signal.SIGSTOP)
            yield
        finally:
            for pid in everybody:
                os.kill(pid, signal.SIGCONT)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running server; the test is skipped if PostgreSQL is not installed."""
    if FOUND is None:
        pytest.skip("no PostgreSQL server is installed")
    user = None
    with tempfile.TemporaryDirectory(prefix="pg-", ignore_cleanup_errors=True) as name:
        if os.geteuid() == 0:  # it refuses to run as root
            names = {one.pw_name for one in pwd.getpwall()}
            user = "postgres" if "postgres" in names else "nobody"
            shutil.chown(name, user)
        server = PostgresServer(Path(name), user)
        server.make()
        server.start()
        try:
            yield server
        finally:
            server.stop()
