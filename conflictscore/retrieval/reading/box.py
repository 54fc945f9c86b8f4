"""Reading pages and files in processes that can be ended, off the event loop."""

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.pages.page import FetchedPage, PageError, PageText
from conflictscore.retrieval.reading.by_ending import FileDocument, UnusableFileError
from conflictscore.threads import in_thread, usable_cores

__all__ = ["ReaderBox", "shared_box"]

_PAGE_SECONDS = 10.0
"""For one page. An article of 2 MB takes one, on an idle core; `worker` says what takes more."""
_FILE_SECONDS = 60.0
"""For one file. A PDF of 137 pages takes 4, on a busy core."""
_MEGABYTES = 1000
"""That reading one may take. A Word file of 20 MB of text takes a fifth."""
_MOST_WORKERS = 4


class ReaderBox:
    """Finds the text of pages and files, for any number of threads and event loops at once.

    Its processes start when they are needed, no more of them than there are cores, and serve one
    request after the other until `close`. A page or file that takes too long or too much memory,
    or breaks its process, costs that process and nothing else.

    Args:
        page_seconds: What one page may take, above 0.
        file_seconds: What one file may take, above 0.
        megabytes: The memory that reading one may take, above 0.
    """

    def __init__(
        self,
        page_seconds: float = _PAGE_SECONDS,
        file_seconds: float = _FILE_SECONDS,
        megabytes: int = _MEGABYTES,
    ) -> None:
        self._page_seconds, self._file_seconds = page_seconds, file_seconds
        self._megabytes = megabytes
        self._turn = threading.Semaphore(min(_MOST_WORKERS, usable_cores()))
        self._idle: list[_Worker] = []

    async def extract(self, page: FetchedPage) -> PageText:
        """Text of a page, decoded for any reader.

        Raises:
            PageError: It is not text, holds none, or none that can be had in time.
        """
        known, begun, cancelled = asdict(page), list[_Worker](), threading.Event()

        def begin(worker: _Worker) -> None:
            begun.append(worker)
            if cancelled.is_set():
                raise PageError("is no longer waited for")

        request, body = {"page": known}, known.pop("body")
        try:
            answer = await in_thread(lambda: self._answer(request, body, self._page_seconds, begin))
        except BaseException:
            cancelled.set()
            for worker in begun:
                worker.kill()
            raise
        if "error" in answer:
            raise PageError(answer["error"])
        text = clean_text(answer["text"])
        if not text:
            raise PageError("has no text")
        title = " ".join(clean_text(answer["title"]).split())
        return PageText(text=text, title=title, date=answer["date"], cut=answer["cut"])

    def read(self, data: bytes, ending: str, url: str) -> tuple[list[FileDocument], list[str]]:
        """The documents of a file and notes on it; see :func:`~.files.read_file`.

        Raises:
            UnusableFileError: As ``read_file``, or it takes too much time or memory.
            InputError: As ``read_file``.
        """
        try:
            answer = self._answer({"ending": ending, "url": url}, data, self._file_seconds)
        except PageError as error:
            raise UnusableFileError(f"it {error}") from None
        if "refused" in answer:
            raise InputError(answer["refused"])
        if "error" in answer:
            raise UnusableFileError(answer["error"])
        return [FileDocument(*fields) for fields in answer["documents"]], answer["notes"]

    def close(self) -> None:
        """End the processes that have nothing to do."""
        while self._idle:
            self._idle.pop().close()

    def _answer(
        self,
        request: dict[str, Any],
        body: bytes,
        seconds: float,
        begin: Callable[["_Worker"], None] = lambda worker: None,
    ) -> dict[str, Any]:
        with self._turn:
            worker = self._worker()
            try:
                begin(worker)
                limits = {"seconds": seconds, "megabytes": self._megabytes}
                answer = worker.ask({**request, **limits}, body)
            except BaseException:
                worker.close()
                raise
            self._idle.append(worker)
            return answer

    def _worker(self) -> "_Worker":
        with suppress(IndexError):  # of an empty list
            while True:
                worker = self._idle.pop()
                if worker.alive:
                    return worker
                worker.close()
        try:
            return _Worker()
        except OSError as error:
            reason = f"cannot be extracted: no process starts ({error.strerror})"
            raise PageError(reason) from None


class _Worker:
    def __init__(self) -> None:
        # It finds this package and its libraries wherever this process found them.
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "conflictscore.retrieval.reading.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, request: dict[str, Any], body: bytes) -> dict[str, Any]:
        """Blocks until there is an answer.

        Raises:
            PageError: The process ended instead.
        """
        head = json.dumps({**request, "size": len(body)}).encode()
        assert self._process.stdin is not None  # noqa: S101 - a pipe: see __init__
        assert self._process.stdout is not None  # noqa: S101 - as above
        asked = time.monotonic()
        with suppress(OSError):  # it ended; so there is no answer either
            self._process.stdin.write(head + b"\n" + body)
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        if time.monotonic() - asked < request["seconds"]:
            most = f"needs more than {request['megabytes']} MB of memory"
            raise PageError(f"breaks the extraction of its text, or {most}")
        raise PageError(f"has no text that could be extracted within {request['seconds']:g} s")

    def kill(self) -> None:
        """End the process, in the middle of a page too; whoever waits for it sees it end."""
        self._process.kill()

    def close(self) -> None:
        self.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with suppress(OSError):  # what was not written goes nowhere
                    pipe.close()


_shared: dict[int, ReaderBox] = {}
_sharing = threading.Lock()


def shared_box() -> ReaderBox:
    """The one box of this process; it ends with the interpreter.

    A forked child gets its own: the parent's processes answer the parent.
    """
    with _sharing:
        return _shared.setdefault(os.getpid(), ReaderBox())


@atexit.register
def _close_shared() -> None:
    if box := _shared.get(os.getpid()):
        box.close()
