"""Extracting the text of pages in processes that can be ended, off the event loop."""

import atexit
import json
import os
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conflictscore.retrieval.documents import clean_text
from conflictscore.retrieval.pages.page import FetchedPage, PageError, PageText
from conflictscore.threads import in_thread, usable_cores

__all__ = ["PageExtractor", "shared_extractor"]

_SECONDS = 10.0
"""For one page. An article of 2 MB takes one, on an idle core; `extract` says what takes more."""
_MOST_WORKERS = 4


class PageExtractor:
    """Finds the text of pages, for any number of threads and event loops at once.

    Its processes start when they are needed, no more of them than there are cores, and serve one
    page after the other until `close`. A page that takes too long, or breaks its process, costs
    that process and no other page.

    Args:
        seconds: What one page may take, above 0.
    """

    def __init__(self, seconds: float = _SECONDS) -> None:
        self._seconds = seconds
        self._turn = threading.Semaphore(min(_MOST_WORKERS, usable_cores()))
        self._idle: list[_Worker] = []

    async def extract(self, page: FetchedPage) -> PageText:
        """What the page says, as text that any reader can take.

        Raises:
            PageError: It is not text, holds none, or none that can be had in time.
        """
        job = _Job(page)
        try:
            answer = await in_thread(lambda: self._answer(job))
        except BaseException:
            job.call_off()
            raise
        if "error" in answer:
            raise PageError(answer["error"])
        text = clean_text(answer["text"])
        if not text:
            raise PageError("has no text")
        title = " ".join(clean_text(answer["title"]).split())
        return PageText(text=text, title=title, date=answer["date"], cut=answer["cut"])

    def close(self) -> None:
        """End the processes that have nothing to do."""
        while self._idle:
            self._idle.pop().close()

    def _answer(self, job: "_Job") -> dict[str, Any]:
        with self._turn:
            worker = self._worker()
            try:
                answer = job.given_to(worker, self._seconds)
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


class _Job:
    """One page on its way through a process; another thread can call it off."""

    def __init__(self, page: FetchedPage) -> None:
        self._page = page
        self._lock = threading.Lock()
        self._worker: _Worker | None = None
        self._off = False

    def given_to(self, worker: "_Worker", seconds: float) -> dict[str, Any]:
        """Raises PageError where the process ends, or nobody waits for the page any more."""
        self._at(worker)
        answer = worker.ask(self._page, seconds)
        self._at(None)
        return answer

    def call_off(self) -> None:
        with self._lock:
            self._off = True
            if self._worker:
                self._worker.kill()

    def _at(self, worker: "_Worker | None") -> None:
        with self._lock:
            if self._off:
                raise PageError("is no longer waited for")
            self._worker = worker


class _Worker:
    def __init__(self) -> None:
        # It finds this package and its libraries wherever this process found them.
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "conflictscore.retrieval.pages.extract"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": path},
        )

    @property
    def alive(self) -> bool:
        return self._process.poll() is None

    def ask(self, page: FetchedPage, seconds: float) -> dict[str, Any]:
        """Blocks until the text is extracted.

        Raises:
            PageError: The process ended instead.
        """
        known = asdict(page)
        body = known.pop("body")
        request = {"seconds": seconds, "size": len(body), "page": known}
        assert self._process.stdin is not None  # noqa: S101 - a pipe: see __init__
        assert self._process.stdout is not None  # noqa: S101 - as above
        asked = time.monotonic()
        with suppress(OSError):  # it ended; so there is no answer either
            self._process.stdin.write(json.dumps(request).encode() + b"\n" + body)
            self._process.stdin.flush()
        line = self._process.stdout.readline()
        if line:
            answer: dict[str, Any] = json.loads(line)
            return answer
        if time.monotonic() - asked < seconds:
            raise PageError("crashes the extraction of its text")
        raise PageError(f"has no text that could be extracted within {seconds:g} s")

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


_shared: dict[int, PageExtractor] = {}
_sharing = threading.Lock()


def shared_extractor() -> PageExtractor:
    """The one extractor of this process; it ends with the interpreter.

    A forked child gets its own: the parent's processes answer the parent.
    """
    with _sharing:
        return _shared.setdefault(os.getpid(), PageExtractor())


@atexit.register
def _close_shared() -> None:
    if extractor := _shared.get(os.getpid()):
        extractor.close()
