"""The process in which pages are taken apart; started by `extractor`, never imported.

A process of its own, because there are pages that keep the libraries busy inside one call that
nothing can interrupt, and a thread in such a call stops every other thread as well: one phrase
repeated over 200 kB takes 5 seconds, over 2 MB a hundred times that. A process can be ended. It is
started as a program, and not through ``multiprocessing``, which would run the user's script again.

For each page it reads one JSON line of what is known of it and then its bytes, and answers with one
JSON line. It ends itself where a page takes too long, and when its standard input closes, so it
never outlives the process that started it for longer than that.
"""

import faulthandler
import json
import logging
import os
import sys
from dataclasses import asdict
from typing import Any

from conflictscore.retrieval.pages.extract import extract
from conflictscore.retrieval.pages.page import FetchedPage, PageError

_FIRST = FetchedPage(
    "", "http://localhost/", "text/html", None, b"<p>The first page takes longest."
)
"""Read before any other, so that loading the libraries is no page's time."""


def main() -> None:
    """Answer for one page after the other."""
    logging.disable()
    # Only answers go where answers are read, whatever a library prints.
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    _answer(_FIRST)
    while line := sys.stdin.buffer.readline():
        request = json.loads(line)
        page = FetchedPage(body=sys.stdin.buffer.read(request["size"]), **request["page"])
        faulthandler.dump_traceback_later(request["seconds"], exit=True)
        answer = _answer(page)
        faulthandler.cancel_dump_traceback_later()
        print(json.dumps(answer), file=answers, flush=True)


def _answer(page: FetchedPage) -> dict[str, Any]:
    try:
        return asdict(extract(page))
    except PageError as error:
        return {"error": str(error)}


if __name__ == "__main__":
    main()
