"""The one place that bounds concurrency: so many calls in flight an endpoint, in this process."""

import asyncio
from weakref import WeakKeyDictionary

import anyio

__all__ = ["ConcurrencyLimit"]


class ConcurrencyLimit:
    """A bound on calls in flight that all graphs and runs on an endpoint share.

    A semaphore belongs to one event loop, so there is one a loop; a process that calls from
    several loops at once gets the bound for each of them.
    """

    _by_endpoint: "dict[tuple[str, int], ConcurrencyLimit]" = {}  # noqa: RUF012 - process-wide

    def __init__(self, calls: int) -> None:
        self.calls = calls
        # anyio's, since asyncio's keeps its loop alive, and with it the entry of every past loop
        self._semaphores: WeakKeyDictionary[asyncio.AbstractEventLoop, anyio.Semaphore] = (
            WeakKeyDictionary()
        )

    @classmethod
    def shared(cls, endpoint: str, calls: int) -> "ConcurrencyLimit":
        """The process-wide limit of an endpoint."""
        return cls._by_endpoint.setdefault((endpoint, calls), cls(calls))

    async def __aenter__(self) -> None:
        await self._semaphore.acquire()

    async def __aexit__(self, *exc_info: object) -> None:
        self._semaphore.release()

    @property
    def _semaphore(self) -> anyio.Semaphore:
        loop = asyncio.get_running_loop()
        return self._semaphores.setdefault(loop, anyio.Semaphore(self.calls))
