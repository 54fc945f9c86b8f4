"""Reads pages and files of others in a process of its own, which `box` starts.

A process can be ended. There are pages that keep the libraries busy inside one call that nothing
can interrupt, and a thread in such a call stops every other thread too: one phrase repeated over
200 kB takes 5 seconds, over 2 MB a hundred times as long. The process is started as a program, not
through ``multiprocessing``, which would run the user's script again.

For each request it reads one JSON line and then the bytes, and answers with one JSON line. It ends
itself where a request takes too long, and when its standard input closes, so it never outlives the
process that started it for longer than that. Its memory is limited, too.
"""

import faulthandler
import json
import logging
import os
import sys
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

from conflictscore.errors import InputError
from conflictscore.retrieval.pages.extract import extract
from conflictscore.retrieval.pages.page import FetchedPage, PageError
from conflictscore.retrieval.reading.by_ending import UnusableFileError, read_file

_FIRST = FetchedPage(
    "", "http://localhost/", "text/html", None, b"<p>The first page takes longest."
)
"""Read before any other page, so that loading the libraries costs no page its time."""


def main() -> None:
    """Answer one request after another."""
    logging.disable()
    # Only answers go where answers are read, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    loaded = limited = False
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        body = sys.stdin.buffer.read(request["size"])
        if "page" in request and not loaded:
            _answer({"page": {**asdict(_FIRST), "body": None}}, _FIRST.body)
            loaded = True
        if not limited:
            _limit_memory(request["megabytes"])
            limited = True
        faulthandler.dump_traceback_later(request["seconds"], exit=True)
        try:
            answer = _answer(request, body)
        except MemoryError:
            answer = {"error": f"needs more than {request['megabytes']} MB of memory to be read"}
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(answer), file=answers, flush=True)


def _answer(request: dict[str, Any], body: bytes) -> dict[str, Any]:
    try:
        if page := request.get("page"):
            return asdict(extract(FetchedPage(**{**page, "body": body})))
        documents, notes = read_file(body, request["ending"], request["url"])
    except (PageError, UnusableFileError) as error:
        return {"error": str(error)}
    except InputError as error:
        return {"refused": str(error)}
    return {"documents": documents, "notes": notes}


def _limit_memory(megabytes: int) -> None:
    """Let this process take so much more than it has; not everywhere can this be done."""
    with suppress(ImportError, OSError, ValueError):
        import resource

        pages = int(Path("/proc/self/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + megabytes * 1_000_000
        resource.setrlimit(resource.RLIMIT_AS, (most, most))


if __name__ == "__main__":
    main()
