"""Reads pages and files in child processes, which can be stopped if a library hangs.

Some pages keep a library busy inside a call that cannot be interrupted and that blocks all other
threads: 200 kB of one repeated phrase take 5 seconds, and 2 MB take a hundred times as long. Each
child process runs this module as a program. ``multiprocessing`` is not used, since it would run the
user's script again.

For each request, a child process reads one JSON line followed by the file's bytes, and answers with
one JSON line. A child process exits if a request takes too long or if its standard input closes, so
it outlives its parent by one request at most. The memory of a child process is limited as well.

Limits without a stated reason were chosen by hand.
"""

import atexit
import faulthandler
import json
import logging
import math
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from threading import Event, Lock, Semaphore
from typing import Any

from conflictscore.errors import InputError, install_hint
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.retrieval.html.article import extract
from conflictscore.retrieval.pages.page import FetchedPage, PageText, UnreadableError
from conflictscore.retrieval.reading.by_ending import read_file
from conflictscore.retrieval.reading.texts import FileDocument, Note, NoteKind, Notes
from conflictscore.threads import in_thread, usable_cores

_FIRST = FetchedPage("", "http://localhost/", "text/html", None, b"<p>The first takes longest.")
"""A page that is read first, so that the time for loading the libraries is not counted for any real
page.
"""
CLOCK = 6
"""The limit on wall-clock time, as a multiple of the limit on processor time.

The wall-clock limit ends a process that waits without using the processor. The limit is generous,
since a busy machine slows down a working process.
"""
_OUT_OF_TIME = getattr(signal, "SIGXCPU", 24)
"""The signal that ends a process that has used up its processor time; Windows has no such signal.
"""
_SECONDS_TO_END = 5  # time for the process to end after it has closed its output


class ReaderBox:
    """Extracts the text of pages and files, for any number of threads and event loops at once.

    Child processes are started when needed (at most one per core, and four in total) and serve
    requests until `close`. If a page or file takes too much time or memory, or crashes its process,
    no other process is affected.
    """

    def __init__(
        self,
        page_seconds: float = 10.0,  # Limit on processor time; an article of 2 MB takes 1 s.
        file_seconds: float = 60.0,  # A PDF of 137 pages takes 4 s.
        megabytes: int = 1000,  # A Word file with 20 MB of text needs 200 MB.
        clock: float = CLOCK,
    ) -> None:
        self._page_seconds, self._file_seconds = page_seconds, file_seconds
        self._megabytes, self._clock = megabytes, clock
        # at most four, a number chosen by hand, since each process may use a gigabyte
        self._turn = Semaphore(min(4, usable_cores()))
        self._idle: list[subprocess.Popen[bytes]] = []

    async def extract(self, page: FetchedPage) -> PageText:
        """Return the text of a page.

        Raises UnreadableError if the page has no text or takes too long. A cancelled caller returns
        immediately, and the caller's queued pages are skipped.
        """
        page_fields = asdict(page)
        request, body = (
            {"page": page_fields, "seconds": self._page_seconds},
            page_fields.pop("body"),
        )
        caller_gone = Event()
        try:
            answer = await in_thread(lambda: self._answer(request, body, caller_gone))
        finally:
            caller_gone.set()
        text = clean_text(answer["text"])
        if not text:
            raise UnreadableError("has no text")
        title = " ".join(clean_text(answer["title"]).split())
        return PageText(text=text, title=title, date=answer["date"], cut=answer["cut"])

    def read(self, data: bytes, ending: str, url: str) -> tuple[list[FileDocument], Notes]:
        """Read a file as ``read_file`` does, but in a child process.

        The method also raises UnreadableError if the file takes too much time or memory.
        """
        request = {"ending": ending, "url": url, "seconds": self._file_seconds}
        answer = self._answer(request, data, Event())
        notes = [Note(NoteKind(kind), sentence) for kind, sentence in answer["notes"]]
        return [FileDocument(*fields) for fields in answer["documents"]], notes

    def close(self) -> None:
        """Stop the idle child processes."""
        while self._idle:
            _end(self._idle.pop())

    def _answer(self, request: dict[str, Any], body: bytes, caller_gone: Event) -> dict[str, Any]:
        """Return a child process's answer to a request.

        Raises:
            InputError: The file cannot be used, for example because it has too many rows.
            UnreadableError: The page or file cannot be read, or the process ended without an
                answer.
        """
        clock_seconds = request["seconds"] * self._clock
        limits = {"megabytes": self._megabytes, "clock_seconds": clock_seconds}
        head = {**request, **limits, "size": len(body)}
        with self._turn:
            if caller_gone.is_set():
                raise UnreadableError("was cancelled by its caller")
            process, start = self._process(), time.monotonic()
            try:
                line = _ask(process, json.dumps(head).encode() + b"\n" + body)
            except BaseException:  # the process may still be answering this request
                _end(process)
                raise
            if not line:
                raise UnreadableError(self._why_ended(process, head, start))
            self._idle.append(process)
        answer: dict[str, Any] = json.loads(line)
        if "refused" in answer:
            raise InputError(answer["refused"])
        if "error" in answer:
            raise UnreadableError(answer["error"])
        return answer

    def _why_ended(
        self, process: "subprocess.Popen[bytes]", limits: dict[str, Any], start: float
    ) -> str:
        """Return the reason why a process ended without an answer, given its limits."""
        with suppress(subprocess.TimeoutExpired):  # a process that has not ended is killed below
            process.wait(_SECONDS_TO_END)
        code = process.returncode
        _end(process)
        if code == -_OUT_OF_TIME:
            return f"could not be read within {limits['seconds']:g} s of processor time"
        # on a busy machine, the clock may end a process before its processor time is used up
        if time.monotonic() - start >= limits["clock_seconds"]:
            return f"could not be read within {limits['clock_seconds']:g} s"
        return _broken(code, self._megabytes)

    def _process(self) -> "subprocess.Popen[bytes]":
        with suppress(IndexError):  # pop raises IndexError if no process is idle
            while (process := self._idle.pop()).poll() is not None:
                _end(process)
            return process
        # so that the child finds this package and its libraries where this process does
        path = os.pathsep.join(entry or str(Path.cwd()) for entry in sys.path)
        try:
            # -P: a module in the working folder replaces a library only if it does so here too
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "conflictscore.retrieval.reading.box"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                # numpy would otherwise reserve memory for each core, which the limit would count
                env={**os.environ, "PYTHONPATH": path, "OPENBLAS_NUM_THREADS": "1"},
            )
        except OSError as error:
            reason = f"cannot be read: no child process could be started ({error.strerror})"
            raise UnreadableError(reason) from None


def _broken(code: int | None, megabytes: int) -> str:
    """Return the reason why a process gave no answer, derived from its exit code."""
    if code is not None and code < 0:
        with suppress(ValueError):  # Python has no name for some signals
            name = signal.Signals(-code).name
            return (
                f"makes the text extraction fail ({name}), or needs more than {megabytes} MB"
                " of memory"
            )
    return f"makes the text extraction fail, or needs more than {megabytes} MB of memory"


def _ask(process: "subprocess.Popen[bytes]", request: bytes) -> bytes:
    """Return the process's answer; empty if the process ended without one."""
    assert process.stdin is not None  # noqa: S101 - a pipe: see above
    assert process.stdout is not None  # noqa: S101 - as above
    with suppress(OSError):  # if the process has ended, the read below returns nothing
        process.stdin.write(request)
        process.stdin.flush()
    return process.stdout.readline()


def _end(process: "subprocess.Popen[bytes]") -> None:
    process.kill()
    with suppress(OSError), process:  # closing the pipes drops data that was not written
        pass


_shared: dict[int, ReaderBox] = {}
_sharing = Lock()  # Keeps two threads from creating two boxes.


def shared_box() -> ReaderBox:
    """Return the box that all threads of this process share.

    The box is closed when the interpreter exits. A forked child gets its own box, since the
    parent's child processes answer only the parent.
    """
    with _sharing:
        return _shared.setdefault(os.getpid(), ReaderBox())


@atexit.register
def _close_shared() -> None:
    if box := _shared.get(os.getpid()):
        box.close()


def _serve() -> None:
    """Answer the requests on standard input with one JSON line each, until the input closes."""
    logging.disable()
    # what libraries print must not get into the answers
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    libraries_loaded = memory_limited = False
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        body = sys.stdin.buffer.read(request["size"])
        try:
            if "page" in request and not libraries_loaded:
                _read({"page": {**asdict(_FIRST), "body": None}}, _FIRST.body)
                libraries_loaded = True
            # memory is limited only now, so that loading the libraries does not count
            if not memory_limited:
                _limit_memory(request["megabytes"])
                memory_limited = True
            _limit_time(request["seconds"], request["clock_seconds"])
            answer = _read(request, body)
        except MemoryError:
            answer = {"error": f"needs more than {request['megabytes']} MB of memory to be read"}
        except ImportError as error:
            extra = install_hint("fetch" if "page" in request else "docs")
            answer = {"error": f"needs {_missing(error)} to be read: {extra}"}
        except Exception as error:  # noqa: BLE001 - a page makes a library raise anything
            # 200 characters, since a library may quote the page in its message
            reason = " ".join(f"{type(error).__name__}: {error}".split())[:200]
            answer = {"error": f"makes the text extraction fail ({reason})"}
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(answer), file=answers, flush=True)


def _missing(error: ImportError) -> str:
    """Return the name of the package that an import failed to find.

    For lxml, the error message names a part that is now a separate package.
    """
    return "lxml_html_clean" if "lxml_html_clean" in str(error) else error.name or str(error)


def _read(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    try:
        if page := request.get("page"):
            return asdict(extract(FetchedPage(**{**page, "body": body})))
        documents, notes = read_file(body, request["ending"], request["url"])
    except UnreadableError as error:
        return {"error": str(error)}
    except InputError as error:
        return {"refused": str(error)}
    # JSON keeps a note's sentence but not its kind
    return {"documents": documents, "notes": [(note.kind, note) for note in notes]}


def _limit_time(seconds: float, clock_seconds: float) -> None:
    """Limit the processor time and the wall-clock time of the next request.

    Unlike wall-clock time, processor time does not grow on a busy machine. Systems that cannot
    limit processor time still limit wall-clock time.
    """
    # this ends the process even while a library blocks all of Python's threads
    faulthandler.dump_traceback_later(clock_seconds, exit=True)
    with suppress(ImportError, OSError, ValueError):
        import resource

        most = math.ceil(time.process_time() + seconds)  # the system counts whole seconds
        resource.setrlimit(resource.RLIMIT_CPU, (most, resource.getrlimit(resource.RLIMIT_CPU)[1]))


def _limit_memory(megabytes: int) -> None:
    """Limit how much more memory this process may use, if the system supports this."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    _serve()
