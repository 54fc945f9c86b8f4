"""Shares CPU time between threads that read long texts and an event loop with short requests."""

import os
import selectors
import threading
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Out = TypeVar("Out")

# A thread sleeps four times as long as it had to wait for this process's other threads. It computes
# about as long as it waits, so a busy event loop gets five sixths of the time. A thread sleeps at
# most two seconds, and at most eight times as long as it has computed. The numbers were chosen by
# hand.
_REST, _MOST_REST, _LONGEST_REST_S = 4.0, 8.0, 2.0


class Turns:
    """Lets one thread at a time read long texts, in the order in which the threads ask.

    Python runs one thread at a time, so several threads that read long texts would leave a server's
    event loop little time. Short requests (:meth:`short_request`) therefore have precedence. While
    short requests run, a thread that had to wait during its turn sleeps at the end of the turn. So
    the short requests get most of the time of a busy process.
    """

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all threads, as if none had taken or awaited a turn."""
        # the lock protects all fields, which the threads of the process share
        self._lock, self._is_taken = threading.Lock(), False
        self.waiting = deque[threading.Event]()
        self._wall = self._cpu = self._process_cpu = 0.0
        self._short_requests = 0

    @contextmanager
    def short_request(self) -> Iterator[None]:
        """Give a request precedence over long texts."""
        self._count_short(1)
        try:
            yield
        finally:
            self._count_short(-1)

    def _count_short(self, change: int) -> None:
        with self._lock:  # event loops in several threads may count at the same time
            self._short_requests += change

    def take(self) -> None:
        """Wait for this thread's turn."""
        with self._lock:
            free = None if not self._is_taken else threading.Event()
            self._is_taken = True
            if free is not None:
                self.waiting.append(free)
        if free is not None:
            free.wait()
        self._wall, self._cpu = time.monotonic(), time.thread_time()
        self._process_cpu = time.process_time()

    def give(self) -> None:
        """End this thread's turn."""
        if self._short_requests:
            cpu = time.thread_time() - self._cpu
            # on a busy machine, the thread also waits for other processes, which need no rest
            others_cpu = time.process_time() - self._process_cpu - cpu
            wait_s = min(time.monotonic() - self._wall - cpu, others_cpu)
            # the turn is not given up before the sleep, so that no other thread takes the time
            if (rest := min(_REST * wait_s, _MOST_REST * cpu, _LONGEST_REST_S)) > 0:
                time.sleep(rest)
        with self._lock:
            if self.waiting:
                self.waiting.popleft().set()
            else:
                self._is_taken = False

    def run(self, work: Callable[[], Out]) -> Out:
        """Run a function in this thread's turn."""
        self.take()
        try:
            return work()
        finally:
            self.give()


TURNS = Turns()
"""The turns of this process's threads."""
# A forked child does not have the thread whose turn it is. Windows has no fork.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=TURNS.reset)


class TurnSelector(selectors.DefaultSelector):
    """Makes an event loop take a turn while it runs callbacks, and end the turn while it waits."""

    _has_turn = False

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        """See the base class."""
        self.give()
        events = super().select(timeout)
        TURNS.take()
        self._has_turn = True
        return events

    def give(self) -> None:
        """End the turn, if the loop has it."""
        if self._has_turn:
            self._has_turn = False
            TURNS.give()
