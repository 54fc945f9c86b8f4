"""Stores tables in PostgreSQL, where processes and machines can share them.

All communication with the server runs on an event loop in a separate thread. Callers therefore wait
only for a limited time, even if the server or the network hangs. The synchronous client psycopg
does not ensure this: its statement timeout does not end a call to a server that has stopped
answering. For a few seconds after a failure, all calls fail at once. Background statements are then
retried.

Limits without a stated reason were chosen by hand.
"""

import asyncio
import atexit
import threading
import time
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from concurrent.futures import Future
from contextlib import suppress
from functools import lru_cache
from typing import Any, TypeVar
from urllib.parse import urlsplit
from uuid import uuid4

from conflictscore.errors import ConfigurationError, install_hint
from conflictscore.storage.database import SESSION, Done, Value, storable

T = TypeVar("T")
Exchange = Callable[[Any], Awaitable[T]]

_SCHEMES = ("postgresql", "postgres")
_SCHEMA = "conflictscore"
_MAKING = 0x636F6E66  # "conf" in ASCII; any number will do if all versions use the same
"""Number of the advisory lock that is held while tables are created."""
# Seconds allowed for connecting at the start, seconds allowed for a statement, seconds without
# calls after a failure, and seconds allowed for finishing at exit. A statement takes milliseconds,
# so a caller should not wait long for a server that is down.
_CONNECT_S, _PATIENCE_S, _REST_S, _CLOSE_S = 5.0, 2.0, 3.0, 5.0
# maximum connections per process; a server allows 100 by default, and many processes may share it
_CONNECTIONS = 4
_NEW_SERVER_S = 30
"""Number of seconds after a server's start in which its clients may not have reconnected yet."""
_SESSIONS = (
    "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1"
    # only administrators see the names of other users' sessions
    " OR (datname = current_database() AND usename <> current_user)"
    " OR extract(epoch FROM now() - pg_postmaster_start_time()) < CAST($2 AS integer)"
)
_OF_STATEMENTS = frozenset({"22", "23", "25", "40", "42"})
"""Classes of SQLSTATE error codes that mean that the statement is at fault, not the server."""
_TRIES = 40
"""Maximum number of retries of a background statement that may safely run twice. There is a pause
of three seconds before each retry, so all retries together take at least two minutes.
"""
_WAITING_CHARS = 64_000_000
"""Maximum total number of characters in the statements that wait in memory until the server is
available again."""


class _AwayError(ConfigurationError):
    """Raised if the server is unavailable, or was a few seconds ago; a retry may succeed."""


class PostgresTables:
    """The tables in a PostgreSQL database; see :class:`~conflictscore.storage.database.Database`.

    The tables are in the schema ``conflictscore``, which is created if missing.
    """

    remote = True
    each = "SELECT json_array_elements_text(CAST({} AS json))"

    def __init__(self, url: str) -> None:
        """Connect, and create the schema.

        ``url`` is ``postgresql://user:password@host:port/database``, as for libpq. For a server
        with standbys, separate its hosts by commas and add ``target_session_attrs=primary``.
        ``PGPASSWORD`` and similar variables are honoured.

        Raises:
            ConfigurationError: asyncpg is missing, the address is wrong, or the server cannot be
                reached or used.
        """
        self._where = shown_store(url)
        try:
            import asyncpg
        except ImportError:
            raise ConfigurationError(
                f"store {self._where} needs a package: {install_hint('postgres')}"
            ) from None
        # asyncpg raises InternalClientError for a connection whose server has died
        errors = (asyncpg.PostgresError, asyncpg.InterfaceError, asyncpg.InternalClientError)
        self._failures: tuple[type[Exception], ...] = (*errors, OSError, TimeoutError)
        self._rests_until, self._trouble = 0.0, ""
        self._closing = asyncio.Event()
        self._turns = asyncio.Semaphore(_CONNECTIONS)
        self._waiting_chars = 0
        self.session: str | None = f"{SESSION}{uuid4().hex}"
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="postgres", daemon=True)
        self._thread.start()
        try:
            self._pool = self._start(_pool(url, self.session)).result(_CONNECT_S)
            self.make(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
            if not self._wait(_is_direct):
                self.session = None
        except BaseException as error:
            self._end()
            if isinstance(error, (*self._failures, ValueError)):
                raise self._unusable(_reason(error)) from None
            raise
        atexit.register(self.close)

    def make(self, *tables: str) -> None:
        """Create tables under a lock, so that only one process at a time creates them."""

        async def made(connection: Any) -> None:
            async with connection.transaction():
                # concurrent statements with CREATE … IF NOT EXISTS may fail
                await connection.execute("SELECT pg_advisory_xact_lock($1)", _MAKING)
                for table in tables:
                    await connection.execute(table)

        self._wait(made)

    def has_session(self, name: str) -> bool:
        """See :class:`~conflictscore.storage.database.Database`."""
        [(count,)] = self.execute(_SESSIONS, name, _NEW_SERVER_S)
        return bool(count)

    def execute(self, statement: str, *parameters: Value) -> Sequence[Sequence[Any]]:
        """See :class:`~conflictscore.storage.database.Database`."""
        whole = storable(parameters)

        async def fetched(connection: Any) -> Sequence[Sequence[Any]]:
            return [tuple(row) for row in await connection.fetch(statement, *whole)]

        return self._wait(fetched)

    def later(self, statement: str, *parameters: Value, on_done: Done, again: bool = False) -> None:
        """See :class:`~conflictscore.storage.database.Database`."""
        whole = storable(parameters)

        async def executed() -> ConfigurationError | None:
            try:
                async with self._turns:  # one statement per connection: none waits in a queue
                    await self._connected(lambda connection: connection.execute(statement, *whole))
            except ConfigurationError as error:
                return error
            return None

        async def ended() -> None:
            error = await executed()
            size = sum(len(value) for value in whole if isinstance(value, str))
            if not again or not isinstance(error, _AwayError) or self._is_full(size):
                on_done(error)
                return
            self._waiting_chars += size
            for _ in range(_TRIES):
                with suppress(TimeoutError):  # a pause, which ends early when the store is closed
                    await asyncio.wait_for(self._closing.wait(), _REST_S)
                error = await executed()
                if not isinstance(error, _AwayError):
                    break
            self._waiting_chars -= size
            on_done(error)

        self._start(ended())

    def _is_full(self, size: int) -> bool:
        """Whether the statements waiting in memory leave no room for one more of this size."""
        return self._waiting_chars + size > _WAITING_CHARS

    def _start(self, work: Coroutine[Any, Any, T]) -> "Future[T]":
        return asyncio.run_coroutine_threadsafe(work, self._loop)

    def _wait(self, work: "Exchange[T]") -> T:
        """Run ``work`` with a connection, and wait at most a few seconds for its result."""
        self._refuse_in_rest()
        future = self._start(self._connected(work))
        try:
            return future.result(2 * _PATIENCE_S)
        except TimeoutError as error:  # even releasing the connection took too long
            future.cancel()
            raise self._failed(error) from None

    async def _connected(self, work: "Exchange[T]") -> T:
        """Run ``work`` with a connection, on the event loop of the connections."""
        self._refuse_in_rest()
        try:
            async with asyncio.timeout(_PATIENCE_S):
                async with self._pool.acquire(timeout=_PATIENCE_S) as connection:
                    return await work(connection)
        except self._failures as error:
            raise self._failed(error) from None

    def close(self) -> None:
        """Close all connections, after a short wait for statements in progress."""
        if self._loop.is_running():
            with suppress(TimeoutError):  # what is not finished by then is lost
                self._start(self._settled()).result(_CLOSE_S)
            self._loop.call_soon_threadsafe(self._pool.terminate)
            self._end()

    async def _settled(self) -> None:
        self._closing.set()  # Waiting statements are now retried without pauses.
        # A task that ends may start another task.
        while others := asyncio.all_tasks() - {asyncio.current_task()}:
            await asyncio.wait(others)
            await asyncio.sleep(0)

    def _end(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_CLOSE_S)

    def _failed(self, error: BaseException) -> ConfigurationError:
        reason = _reason(error)
        if str(getattr(error, "sqlstate", ""))[:2] in _OF_STATEMENTS:
            return self._unusable(reason)
        self._trouble, self._rests_until = reason, time.monotonic() + _REST_S
        return _AwayError(str(self._unusable(reason)))

    def _refuse_in_rest(self) -> None:
        if time.monotonic() < self._rests_until and not self._closing.is_set():
            raise _AwayError(str(self._unusable(self._trouble)))

    def _unusable(self, reason: str) -> ConfigurationError:
        return ConfigurationError(f"store {self._where} cannot be used ({reason})")


@lru_cache  # one pool of connections per address
def shared_tables(url: str) -> PostgresTables:
    """Return the tables at an address, with connections shared by all callers."""
    return PostgresTables(url)


async def _is_direct(connection: Any) -> bool:
    """Return whether no pooler, such as PgBouncer, shares the server's sessions among clients."""
    server_pid = await connection.fetchval("SELECT pg_backend_pid()")
    return bool(connection.get_server_pid() == server_pid)


async def _pool(url: str, session: str) -> Any:
    import asyncpg

    return await asyncpg.create_pool(
        url,
        min_size=0,  # with a minimum, each failed connection would be logged
        max_size=_CONNECTIONS,
        timeout=_PATIENCE_S,
        server_settings={"search_path": _SCHEMA, "application_name": session},
    )


def shown_store(url: str) -> str:
    """Return a PostgreSQL address without its password; raise ConfigurationError for any other."""
    try:
        parts = urlsplit(url)
        hosts = parts.netloc.rpartition("@")[2]
        for host in hosts.split(","):
            urlsplit(f"//{host}").port  # noqa: B018 - raises unless the port is a number
    except ValueError:
        parts = None
    if parts is None or parts.scheme not in _SCHEMES:
        raise ConfigurationError(
            "the store must be postgresql://user:password@host:port/database, with special"
            " characters in the password written as %XX"
        )
    return f"postgresql://{hosts}{parts.path}"


def _reason(error: BaseException) -> str:
    """Return the first line of the server's or the system's error, which never quotes a value."""
    if isinstance(error, TimeoutError):
        return "timed out"
    if isinstance(error, OSError):
        return error.strerror or "it cannot be reached"
    if isinstance(error, ValueError):
        return "its address cannot be read"
    return (str(error).splitlines() or [type(error).__name__])[0]
