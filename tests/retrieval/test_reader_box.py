"""Pages are parsed in separate processes, and a page can keep busy or break nothing else."""

import asyncio
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conflictscore.retrieval.pages.page import FetchedPage, PageText, UnreadableError
from conflictscore.retrieval.reading.box import ReaderBox, shared_box
from conflictscore.threads import usable_cores

ENDLESS = '<script type="application/ld+json">' + '"@type": [' * 50_000 + "</script>"
"""Half a minute for one search by a library that does not let go of the interpreter meanwhile."""


def html(text: str, heads: str = "") -> FetchedPage:
    body = f"<html><head>{heads}</head><body><p>{text}</p></body></html>".encode()
    return FetchedPage("https://a.example/", "https://a.example/", "text/html", None, body)


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[subprocess.Popen[bytes]]:
    processes: list[subprocess.Popen[bytes]] = []

    class Kept(subprocess.Popen[bytes]):
        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            processes.append(self)

    monkeypatch.setattr(subprocess, "Popen", Kept)
    return processes


@pytest.fixture
def extractor(started: list[subprocess.Popen[bytes]]) -> Iterator[ReaderBox]:
    """An extractor whose processes are ended; the test checks that at its end."""
    with closing(ReaderBox()) as extractor:
        yield extractor
    assert all(process.poll() is not None for process in started)


async def test_one_page_after_the_other_goes_through_the_same_process(
    extractor: ReaderBox, started: list[subprocess.Popen[bytes]]
) -> None:
    for n in range(5):
        assert await extractor.extract(html(f"It is {n}.")) == PageText(f"It is {n}.")
    assert [process.poll() for process in started] == [None]


async def test_pages_at_the_same_time_share_a_few_processes(
    extractor: ReaderBox, started: list[subprocess.Popen[bytes]]
) -> None:
    found = await asyncio.gather(*(extractor.extract(html(f"It is {n}.")) for n in range(30)))
    assert [one.text for one in found] == [f"It is {n}." for n in range(30)]
    assert len(started) <= min(4, usable_cores())


async def test_the_text_is_one_that_any_reader_can_take(extractor: ReaderBox) -> None:
    page = html("It is&#7; blue.&#xD800;\r\n", "<title>The\x1b[31m\n  sky</title>")
    found = await extractor.extract(page)
    assert found.text.startswith("It is blue.")
    assert found.title == "The[31m sky"
    (found.text + found.title).encode()


async def test_a_page_without_text_is_a_reason_and_not_a_broken_process(
    extractor: ReaderBox, started: list[subprocess.Popen[bytes]]
) -> None:
    for page in (html(""), html("&#7;")):
        with pytest.raises(UnreadableError, match="has no text"):
            await extractor.extract(page)
    assert (await extractor.extract(html("It is blue."))).text == "It is blue."
    assert len(started) == 1


async def test_a_page_that_takes_for_ever_costs_its_process_and_no_other_page(
    started: list[subprocess.Popen[bytes]],
) -> None:
    """The event loop runs on meanwhile; it would not if a thread did the work."""
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0.01)
            turns += 1

    counting = asyncio.create_task(count())
    with closing(ReaderBox(1, clock=300)) as extractor:
        with pytest.raises(UnreadableError, match="could not be read within 1 s of processor time"):
            await extractor.extract(html("x", ENDLESS))
        assert (await extractor.extract(html("It is blue."))).text == "It is blue."
    counting.cancel()
    assert turns > 20
    assert len(started) == 2


async def test_a_process_that_has_answered_is_not_ended_for_waiting(
    started: list[subprocess.Popen[bytes]],
) -> None:
    with closing(ReaderBox(2)) as extractor:
        await extractor.extract(html("It is blue."))
        with pytest.raises(subprocess.TimeoutExpired):
            await asyncio.to_thread(started[0].wait, 3)


async def test_a_process_that_breaks_costs_its_page(
    extractor: ReaderBox, started: list[subprocess.Popen[bytes]]
) -> None:
    extracting = asyncio.create_task(extractor.extract(html("x", ENDLESS)))
    while not started:  # noqa: ASYNC110 - it starts in a thread
        await asyncio.sleep(0.01)
    started[0].kill()
    with pytest.raises(UnreadableError, match="makes the text extraction fail"):
        await extracting
    assert (await extractor.extract(html("It is blue."))).text == "It is blue."
    assert len(started) == 2


async def test_a_cancelled_page_is_not_waited_for_and_lets_the_next_one_in(
    started: list[subprocess.Popen[bytes]],
) -> None:
    with closing(ReaderBox(1)) as extractor:
        everyone = [asyncio.create_task(extractor.extract(html("x", ENDLESS))) for _ in range(5)]
        while not started:  # noqa: ASYNC110 - it starts in a thread
            await asyncio.sleep(0.01)
        for task in everyone:
            task.cancel()
        results = await asyncio.gather(*everyone, return_exceptions=True)
        assert all(isinstance(result, asyncio.CancelledError) for result in results)
        assert (await extractor.extract(html("It is blue."))).text == "It is blue."
    assert len(started) <= min(4, usable_cores()) + 1  # the others had not begun


async def test_a_machine_that_starts_no_process_is_a_reason_each_time(
    extractor: ReaderBox, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/no/such/interpreter")
    for _ in range(9):
        with pytest.raises(UnreadableError, match="no child process could be started"):
            await extractor.extract(html("It is blue."))


def test_there_is_one_for_this_process_and_another_one_for_a_forked_child(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = shared_box()
    assert shared_box() is ours
    monkeypatch.setattr(os, "getpid", lambda: -1)
    assert shared_box() is not ours


@pytest.mark.parametrize(("end", "code"), [("", 0), ("os.kill(os.getpid(), 9)", -9)])
def test_a_process_ends_when_the_one_that_started_it_does(
    tmp_path: Path, end: str, code: int
) -> None:
    """However the parent ends, since a killed process cannot clean up."""
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio, os\n"
        "from conflictscore.retrieval.reading.box import shared_box\n"
        "from conflictscore.retrieval.pages.page import FetchedPage\n"
        "page = FetchedPage('u', 'u', 'text/plain', None, b'It is blue.')\n"
        "print(asyncio.run(shared_box().extract(page)).text, flush=True)\n"
        f"{end}\n"  # and without a main guard, like many scripts
    )
    # The grandchild shares this pipe: its end is seen only when both are gone.
    done = subprocess.run(
        [sys.executable, str(script)], stdout=subprocess.PIPE, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (code, b"It is blue.\n")


async def test_a_package_that_is_missing_is_named_with_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lxml_html_clean.py").write_text("raise ImportError('no lxml_html_clean here')")
    monkeypatch.syspath_prepend(tmp_path)  # the reader's process imports from the same folders
    with closing(ReaderBox()) as box:
        for _ in range(2):
            with pytest.raises(UnreadableError, match=r"needs lxml_html_clean .*\[fetch\]"):
                await box.extract(html("Lit in 1874."))
