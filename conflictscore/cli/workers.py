"""How the service runs: on one socket, in one process, or in several that accept from it.

The first worker starts alone, so that what is wrong with the options is said once. One that dies,
or whose event loop stands still, is replaced. On SIGHUP each is replaced in turn, once its
successor serves; on SIGTERM or Ctrl-C all finish what they were asked.
"""

import os
import re
import signal
import socket
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from multiprocessing import get_context, parent_process
from multiprocessing.connection import Connection, wait
from pathlib import Path
from tempfile import TemporaryDirectory
from types import FrameType
from typing import TYPE_CHECKING, Any

from conflictscore.cli.common import chosen_spec, run_async
from conflictscore.errors import InputError
from conflictscore.labelers.registry import LABELERS

if TYPE_CHECKING:
    from collections.abc import Iterator

    from conflictscore.middleware.service.connections import Server

__all__ = [
    "Worker",
    "divided",
    "opened_listener",
    "refuse_models_of_their_own",
    "run_workers",
    "serve_until_stopped",
]

_METRICS = "PROMETHEUS_MULTIPROC_DIR"
"""Where prometheus_client keeps what the processes count, by its own convention."""
_LOCAL = re.compile(r"local(:|$)")
_LOOK_S = 0.25
_SILENT_S = 120.0
"""Without a sign of life for as long, a worker is killed."""
_PAUSE_S = 5.0
"""Before a worker starts in place of one that never served."""
_spawning = get_context("spawn")


@dataclass(frozen=True)
class Worker:
    """What one of several processes that serve is told.

    Attributes:
        listener: The socket of all.
        beats: Takes its signs of life.
        folder: What the workers share and nobody else may read; it is gone when they are.
        first: Whether it speaks for all when they start.
        pause: Seconds to wait before it starts.
    """

    listener: socket.socket
    beats: Connection
    folder: Path
    first: bool
    pause: float

    def files(self, options: Mapping[str, Any]) -> dict[str, Path]:
        """Where all workers keep what one would have in memory."""
        names = ("runs_file", "spent_file")
        return {name: options[name] or self.folder / f"{name}.sqlite" for name in names}

    def beat(self) -> None:
        """Tell that it serves."""
        with suppress(OSError):
            self.beats.send_bytes(b".")


def opened_listener(host: str, port: int) -> socket.socket:
    """A socket that listens.

    Raises:
        InputError: The address cannot be listened on.
    """
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
        family, _, _, _, address = found[0]
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, dualstack_ipv6=both)
    except (OSError, OverflowError) as error:
        raise InputError(f"--host {host} --port {port}: cannot be listened on ({error})") from error


def serve_until_stopped(server: "Server", listener: socket.socket) -> None:
    """Serve until SIGTERM or Ctrl-C; a second Ctrl-C does not wait for running requests."""

    def end(number: int, stack: FrameType | None) -> None:
        server.should_exit = True

    # uvicorn raises a signal once more when all is over
    with _handling({signal.SIGINT: end, signal.SIGTERM: end}), listener:
        run_async(server.serve([listener]))


def divided(limits: Mapping[str, int | None], workers: int) -> dict[str, int | None]:
    """What each worker may have of limits that hold for all; the sum exceeds none of them.

    Raises:
        InputError: A limit leaves nothing for one of them.
    """
    for name, limit in limits.items():
        if limit is not None and limit < workers:
            raise InputError(
                f"--{name.replace('_', '-')} {limit} is divided among {workers} workers: give at"
                f" least {workers}"
            )
    return {name: None if most is None else most // workers for name, most in limits.items()}


def refuse_models_of_their_own(options: Mapping[str, Any], workers: int) -> None:
    """Make sure that no worker would load a model into its memory.

    Raises:
        InputError: An option names such a model.
    """
    kind = LABELERS.get(options["labeler"])
    named = [("--model", chosen_spec(options)), ("--judge", options["judge"])]
    named += [("--fallback", spec) for spec in options["fallback"]]
    own = [f"{option} {spec}" for option, spec in named if spec and _LOCAL.match(spec)]
    if kind and kind.needs != "model":
        own.append(f"--labeler {options['labeler']}")
    if own:
        raise InputError(
            f"{own[0]} needs a model in the memory of this machine, and each of {workers} workers"
            " would load a copy of its own; take --workers 1, or a model at an endpoint"
        )


def run_workers(
    number: int,
    listener: socket.socket,
    work: Callable[[Worker], None],
    *,
    grace: float,
    say: Callable[[str], None],
) -> int:
    """Serve with several processes until this one is told to stop.

    Args:
        number: How many.
        listener: The socket that they share; it is closed at the end.
        work: What each does, up to a SIGTERM; a function of a module. It tells by
            :meth:`Worker.beat` that it serves, and so again every few seconds.
        grace: Seconds that running requests have to finish.
        say: Told what becomes of workers.

    Returns:
        The exit code: 0, or that of a first worker that did not come to serve.
    """
    with TemporaryDirectory(prefix="conflictscore-") as folder:  # its owner's alone
        metrics = Path(folder) / "metrics"
        metrics.mkdir(mode=0o700)
        os.environ[_METRICS] = str(metrics)
        start = partial(_Running, listener, Path(folder), work)
        with listener:
            return _Workers(number, start, listener.close, grace, say).run()


class _Running:
    """A worker, as the process that started it knows it."""

    def __init__(
        self,
        listener: socket.socket,
        folder: Path,
        work: Callable[[Worker], None],
        *,
        first: bool = False,
        pause: float = 0.0,
    ) -> None:
        self._beats, theirs = _spawning.Pipe(duplex=False)
        worker = Worker(listener, theirs, folder, first, pause)
        self.process = _spawning.Process(target=_begin, args=(worker, work))
        self.process.start()
        theirs.close()
        self.serves = False
        self._heard = time.monotonic()

    @property
    def lost(self) -> str | None:
        """Why it needs a successor; None where it does not."""
        if not self.process.is_alive():
            return f"ended ({_ending(self.process.exitcode)})"
        if time.monotonic() - self._heard > _SILENT_S:
            return f"gave no sign of life for {_SILENT_S:.0f} seconds, and was killed"
        return None

    def hear(self) -> None:
        """Note its signs of life."""
        with suppress(EOFError, OSError):
            while self._beats.poll():
                self._beats.recv_bytes()
                self.serves, self._heard = True, time.monotonic()

    def bury(self) -> None:
        """Make sure that it is gone, with the gauges that are its own."""
        from prometheus_client.multiprocess import mark_process_dead

        self.process.kill()
        self.process.join()
        self._beats.close()
        mark_process_dead(self.process.pid)  # type: ignore[no-untyped-call]


class _Workers:
    """Starts, replaces and stops the workers."""

    def __init__(
        self,
        number: int,
        start: Callable[..., _Running],
        close: Callable[[], None],
        grace: float,
        say: Callable[[str], None],
    ) -> None:
        self._number, self._start, self._close, self._say = number, start, close, say
        self._patience = 2 * grace + 10  # the requests have it, and then the background
        self._serving: list[_Running] = []
        self._old: list[_Running] = []
        self._new: _Running | None = None
        self._leaving: dict[_Running, float] = {}
        self._stopping = self._renewing = False

    def run(self) -> int:
        """See :func:`run_workers`."""

        def stop(number: int, stack: FrameType | None) -> None:
            self._stopping = True

        def renew(number: int, stack: FrameType | None) -> None:
            self._renewing = True

        handlers: dict[int, _Handler] = {signal.SIGINT: stop, signal.SIGTERM: stop}
        if hasattr(signal, "SIGHUP"):
            handlers[signal.SIGHUP] = renew
        with _handling(handlers):
            try:
                return self._run()
            finally:
                self._end()

    def _run(self) -> int:
        first = self._start(first=True)
        self._serving.append(first)
        while self._look() and not first.serves:
            if why := first.lost:
                if (first.process.exitcode or -1) < 0:  # otherwise it has said why
                    self._say(f"the first worker {why}")
                return abs(first.process.exitcode or 1)
        while not self._stopping and len(self._serving) < self._number:
            self._serving.append(self._start())
        while self._look():
            self._replace()
            self._renew()
        return 0

    def _look(self) -> bool:
        """Wait a moment, or until one ends, and hear all of them; whether to go on."""
        everyone = [*self._serving, *self._leaving, *([self._new] if self._new else [])]
        wait([one.process.sentinel for one in everyone], _LOOK_S)
        for one in everyone:
            one.hear()
        return not self._stopping

    def _replace(self) -> None:
        for place, one in enumerate(self._serving):
            if why := one.lost:
                self._say(f"worker {one.process.pid} {why}; another takes its place")
                one.bury()
                self._serving[place] = self._start(pause=0.0 if one.serves else _PAUSE_S)
        for one, until in [*self._leaving.items()]:
            if not one.process.is_alive() or time.monotonic() > until:
                one.bury()
                del self._leaving[one]

    def _renew(self) -> None:
        """Go on with the replacement of all workers, one at a time."""
        if self._renewing and not self._old:
            self._renewing, self._old = False, [*self._serving]
        self._old = [one for one in self._old if one in self._serving]
        new = self._new
        if new is not None and (why := new.lost):
            self._say(f"the new worker {new.process.pid} {why}; those of before go on")
            new.bury()
            self._new, self._old = None, []
        elif new is not None and (new.serves or not self._old):
            leaving = self._old.pop(0) if self._old else new
            if leaving is not new:
                self._serving[self._serving.index(leaving)] = new
            self._new = None
            leaving.process.terminate()
            self._leaving[leaving] = time.monotonic() + self._patience
        elif new is None and self._old and not self._leaving:
            self._new = self._start()

    def _end(self) -> None:
        """Let all finish what they were asked, and take nothing new."""
        self._close()
        everyone = [*self._serving, *self._leaving, *([self._new] if self._new else [])]
        for one in everyone:
            one.process.terminate()
        ends = time.monotonic() + self._patience
        for one in everyone:
            one.process.join(max(0.0, ends - time.monotonic()))
            if one.process.is_alive():
                self._say(f"worker {one.process.pid} did not end, and was killed")
            one.process.kill()
            one.process.join()


_Handler = Callable[[int, FrameType | None], None]


@contextmanager
def _handling(handlers: Mapping[int, Any]) -> "Iterator[None]":
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _ending(code: int | None) -> str:
    return f"signal {-code}" if code is not None and code < 0 else f"exit code {code}"


def _begin(worker: Worker, work: Callable[[Worker], None]) -> None:
    """The process of a worker."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal sends it to all; the parent stops us
    if hasattr(signal, "SIGHUP"):
        signal.signal(signal.SIGHUP, signal.SIG_IGN)
    threading.Thread(target=_end_with_parent, daemon=True).start()
    time.sleep(worker.pause)
    work(worker)


def _end_with_parent() -> None:
    """Finish once nobody is left to replace this worker, or to stop it."""
    parent = parent_process()
    if parent is not None:
        parent.join()
        signal.raise_signal(signal.SIGTERM)
