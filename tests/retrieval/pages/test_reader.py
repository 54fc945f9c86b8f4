"""Search results with the text of their pages, or with their snippets if pages have no text."""

import asyncio
import gc
import logging
import re
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import ValidationError

from conflictscore.errors import ConfigurationError, InputError, install_hint
from conflictscore.retrieval.pages.page import FetchSettings
from conflictscore.retrieval.pages.reader import PageReadingRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.web_pages import HTML, WebServer, endless, hang, head, page, redirect, reset
from tests.retrieval.pages.finding import PATIENT, SETTINGS, SNIPPET, Found, Plain, reading, result
from tests.retrieval.pages.notices import NOTICES

STORY = "The lamp was first lit on 4 October 1871, and burned until 1899. Its keeper kept a log."
ARTICLE = page(
    "<html><head><title>The page's title</title>"
    "<meta property='article:published_time' content='2021-05-06T07:00Z'></head>"
    f"<body><article><p>{STORY}</p></article></body></html>"
)


@pytest.fixture
def web() -> Iterator[WebServer]:
    with WebServer({"/": ARTICLE}) as server:
        yield server


class TestPageReadingIsALangChainRetriever(RetrieversIntegrationTests):
    retriever_constructor = PageReadingRetriever
    retriever_query_example = "when was the lamp lit?"

    @pytest.fixture(autouse=True)
    def _pages(self, web: WebServer) -> None:
        self.found = Found(documents=[result(web.url()) for _ in range(5)])

    @property
    def retriever_constructor_params(self) -> dict[str, Any]:
        return {"retriever": self.found, "settings": SETTINGS}


def test_the_pages_text_replaces_the_snippet(web: WebServer) -> None:
    before = datetime.now(UTC).replace(microsecond=0)
    with collecting() as notes:
        (found,) = reading(result(web.url(), title="", provider="google")).invoke("when?")
    assert found.page_content == STORY
    fetched_at = datetime.fromisoformat(found.metadata.pop("fetched_at"))
    assert before <= fetched_at <= datetime.now(UTC)
    assert found.metadata == {
        "source": web.url(),
        "rank": 1,
        "provider": "google",
        "snippet": SNIPPET,
        "text_from": "page",
        "title": "The page's title",
        "date": "2021-05-06",
        "date_from": "page",
    }
    assert notes == []


def test_what_the_search_knows_takes_precedence_over_the_page(web: WebServer) -> None:
    (found,) = reading(result(web.url(), title="From the search", date="2020-01-01")).invoke("?")
    assert (found.metadata["title"], found.metadata["date"]) == ("From the search", "2020-01-01")


def test_every_page_that_fails_leaves_its_snippet_and_one_note_counts_them(web: WebServer) -> None:
    web.pages |= {
        "/hang": hang(),
        "/slow": hang(head(content_type=HTML)),
        "/pdf": page(b"%PDF", "application/pdf"),
        "/loop": redirect("/loop"),
        "/inside": redirect("http://169.254.169.254/latest/meta-data/"),
        "/reset": reset(),
        "/empty": page("<html></html>"),
        "/short": page("<html><body><p>Lit.</p></body></html>"),
        "/binary": page(bytes(range(256)) * 9),
        "/large": endless(head(content_type=HTML), b"<p>The lamp was first lit in 1871.</p>" * 999),
    }
    urls = [web.url(path) for path in ("/", *web.pages)]
    retriever = reading(
        *map(result, urls),
        settings=FetchSettings(timeout=1, allowed_networks=SETTINGS.allowed_networks),
        k=20,
    )
    with collecting() as notes:
        found = retriever.invoke("when?")
    assert [document.metadata["source"] for document in found] == urls
    errors = {
        document.metadata["source"].removeprefix(web.url()): document.metadata["page_error"]
        for document in found
        if document.metadata["text_from"] == "snippet"
    }
    assert errors == {
        "hang": "did not arrive within 1 s",
        "slow": "did not arrive within 1 s",
        "pdf": "is application/pdf",
        "loop": "redirects more than 3 times",
        "inside": "is at an address that is not public",
        "reset": "was cut off",
        "empty": "has no text",
        "short": "says less than its snippet",
        "binary": "is not text in an encoding that can be determined",
    }
    for document in found:
        assert document.metadata["snippet"] == SNIPPET
        if document.metadata["text_from"] == "snippet":
            assert document.page_content == SNIPPET
            assert "page_truncated" not in document.metadata
    assert found[-1].metadata["page_truncated"] is True
    assert notes[0].startswith(
        "9 of 12 pages could not be read, so their snippets were used"
        " (2: did not arrive within 1 s; "
    )
    assert "1: is application/pdf" in notes[0]
    assert len(notes) == 1


@pytest.mark.parametrize(
    "notice",
    [
        "We and our partners use cookies to personalise content and ads. Accept all, reject all, "
        "or manage your settings. You can change your choice at any time in the privacy centre.",
        "Checking your browser before you go on. This takes up to 5 seconds. Please enable "
        "JavaScript and complete the CAPTCHA to show that you are a human, and no robot.",
    ],
)
def test_a_notice_in_place_of_the_page_leaves_the_snippet(web: WebServer, notice: str) -> None:
    web.pages["/wall"] = page(f"<html><body><p>{notice}</p></body></html>")
    snippet = (
        "The lighthouse at Vennick Point first lit its lamp in October 1871, says the Gazette."
    )
    (found,) = reading(result(web.url("/wall"), snippet)).invoke("when?")
    assert found.page_content == snippet
    assert found.metadata["page_error"] == "is about something other than its snippet"


@pytest.mark.parametrize("language", NOTICES)
def test_a_notice_in_any_language_leaves_the_snippet(web: WebServer, language: str) -> None:
    notice, snippet = NOTICES[language]
    web.pages["/wall"] = page(f"<html><meta charset=utf-8><body><p>{notice}</p></body></html>")
    (found,) = reading(result(web.url("/wall"), snippet)).invoke("?")
    assert found.page_content == snippet
    assert found.metadata["text_from"] == "snippet"


@pytest.mark.parametrize("language", NOTICES)
def test_a_page_in_any_language_replaces_a_snippet_that_it_contains(
    web: WebServer, language: str
) -> None:
    notice, snippet = NOTICES[language]
    body = f"<p>{snippet}</p><p>{notice}</p>"
    web.pages["/log"] = page(f"<html><meta charset=utf-8><body>{body}</body></html>")
    (found,) = reading(result(web.url("/log"), snippet)).invoke("?")
    assert found.page_content == f"{snippet}\n{notice}"
    assert found.metadata["text_from"] == "page"


@pytest.mark.parametrize("key", ["url", "source", "link"])
def test_the_address_may_have_any_of_its_names(web: WebServer, key: str) -> None:
    document = Document(page_content=SNIPPET, metadata={key: f" {web.url()} ".replace("h", "H", 1)})
    (found,) = reading(document).invoke("when?")
    assert found.page_content == STORY


@pytest.mark.parametrize(
    "metadata",
    [
        {},
        {"source": "notes/lamp.txt"},
        {"source": "C:\\http\\lamp.html"},
        {"url": None},
        {"url": 7},
        {"link": ""},
        {"source": "file:///etc/hostname"},
        {"source": "ftp://a.example/"},
    ],
)
def test_a_document_without_a_web_address_is_passed_on_unchanged(metadata: dict[str, Any]) -> None:
    document = Document(page_content=SNIPPET, metadata=metadata, id="7")
    with collecting() as notes:
        (found,) = reading(document).invoke("when?")
    assert found == document
    assert notes == []


def test_a_page_that_is_found_twice_is_fetched_once(web: WebServer) -> None:
    found = reading(result(web.url()), result(web.url(), "The lamp: first burned")).invoke("?")
    assert [document.page_content for document in found] == [STORY, STORY]
    assert len(web.visits) == 1


async def test_it_can_be_invoked_synchronously_inside_a_running_loop(web: WebServer) -> None:
    with collecting() as notes:
        found = reading(result(web.url()), result(web.url("/gone"))).invoke("?")
    assert [document.metadata["text_from"] for document in found] == ["page", "snippet"]
    assert len(notes) == 1


def test_callbacks_and_notes_of_the_search_come_through() -> None:
    class Names(BaseCallbackHandler):
        def __init__(self) -> None:
            self.queries: list[str] = []

        def on_retriever_start(self, serialized: Any, query: str, **_: Any) -> None:
            self.queries.append(query)

    names = Names()
    retriever = reading(retriever=Found(documents=[], notes=("a file was left out",)))
    assert retriever.invoke("when?", {"callbacks": [names]}) == []
    assert names.queries == ["when?", "when?"]
    assert retriever.notes == ("a file was left out",)
    assert reading(retriever=Plain(documents=[])).notes == ()


def test_at_most_eight_pages_are_read_at_once() -> None:
    lock, at_once, most = threading.Lock(), 0, 0

    def reply(exchange: Any) -> None:
        nonlocal at_once, most
        with lock:
            at_once += 1
            most = max(most, at_once)
        exchange.closing.wait(0.1)
        with lock:
            at_once -= 1
        ARTICLE(exchange)

    with WebServer({f"/{n}": reply for n in range(30)}) as web:
        reading(*(result(web.url(path)) for path in web.pages), k=30).invoke("?")
    assert 2 <= most <= 8


def test_the_deadline_leaves_the_rest_to_their_snippets(web: WebServer) -> None:
    web.pages["/hang"] = hang()
    reading(result(web.url())).invoke("?")  # the very first page starts a process
    retriever = reading(result(web.url()), result(web.url("/hang")), settings=PATIENT, deadline=3)
    read, left = retriever.invoke("?")
    assert read.metadata["text_from"] == "page"
    assert left.metadata["page_error"] == "was not reached within the 3 s allowed for all pages"


def test_nothing_is_left_behind(web: WebServer, caplog: pytest.LogCaptureFixture) -> None:
    """No thread, no open connection, and no task that nobody waits for."""
    web.pages["/hang"] = hang()
    before = set(threading.enumerate())
    retriever = reading(result(web.url()), result(web.url("/hang")), deadline=2)
    with warnings.catch_warnings(), caplog.at_level(logging.WARNING):
        warnings.simplefilter("error")
        retriever.invoke("?")
        asyncio.run(retriever.ainvoke("?"))
        gc.collect()
    ours = [t for t in set(threading.enumerate()) - before if "process_request" not in t.name]
    for thread in ours:
        thread.join(60)
    assert [thread.name for thread in ours if thread.is_alive()] == []
    assert caplog.records == []


async def test_a_cancelled_run_cancels_its_fetches(web: WebServer) -> None:
    loop, come, gone = asyncio.get_running_loop(), asyncio.Event(), asyncio.Event()

    def reply(exchange: Any) -> None:
        loop.call_soon_threadsafe(come.set)
        exchange.connection.recv(1)  # no data comes any more, only the end
        loop.call_soon_threadsafe(gone.set)

    web.pages["/hang"] = reply
    async with asyncio.timeout(10):
        run = asyncio.create_task(reading(result(web.url("/hang"))).ainvoke("?"))
        await come.wait()
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run
        await gone.wait()


@pytest.mark.skipif(sys.platform == "win32", reason="there is no such signal to send")
@pytest.mark.parametrize("how", ["main(retriever)", "asyncio.run(awaited(retriever))"])
def test_ctrl_c_ends_a_run_at_once(tmp_path: Path, how: str) -> None:
    script = tmp_path / "script.py"
    script.write_text(
        "import asyncio, sys\n"
        "from tests.retrieval.pages.finding import PATIENT, reading, result\n"
        "retriever = reading(result(sys.argv[1]), result(sys.argv[1]), settings=PATIENT)\n"
        "def main(retriever): retriever.invoke('?')\n"
        "async def awaited(retriever): await retriever.ainvoke('?')\n"
        f"{how}\n"
    )
    come = threading.Event()

    def reply(exchange: Any) -> None:
        come.set()
        exchange.closing.wait()

    with WebServer({"/": reply}) as web:
        run = subprocess.Popen(
            [sys.executable, str(script), web.url()],
            stderr=subprocess.PIPE,
            cwd=Path(__file__).parents[3],
            env={"PYTHONPATH": str(Path(__file__).parents[3])},
        )
        assert come.wait(60)
        run.send_signal(signal.SIGINT)
        _, shown = run.communicate(timeout=60)
    assert shown.rstrip().endswith(b"KeyboardInterrupt")


def test_a_fault_of_our_own_leaves_the_snippet_too(
    web: WebServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    def break_down(*_args: object) -> None:
        raise RuntimeError("a fault")

    monkeypatch.setattr("conflictscore.retrieval.pages.fetch._Body", break_down)
    (found,) = reading(result(web.url())).invoke("?")
    assert found.metadata["page_error"] == "fails with RuntimeError"


@pytest.mark.parametrize("missing", ["trafilatura", "lxml_html_clean", "htmldate"])
def test_without_the_extra_it_cannot_be_built(
    missing: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    present = {"trafilatura", "lxml_html_clean", "htmldate"} - {missing}
    monkeypatch.setattr(
        "conflictscore.retrieval.pages.reader.find_spec", lambda name: name in present or None
    )
    hint = re.escape(install_hint("fetch"))
    with pytest.raises(ConfigurationError, match=rf"\({missing}\): {hint}"):
        reading()


@pytest.mark.parametrize("option", [{"deadline": 0}, {"k": 0}, {"timeout": 3}, {"retriever": 1}])
def test_a_wrong_option_is_refused(option: dict[str, Any]) -> None:
    with pytest.raises((ValidationError, InputError)):
        reading(**option)


def test_a_page_that_was_read_when_it_was_recorded_is_not_fetched_again(web: WebServer) -> None:
    recorded = result(web.url(), text_from="page", snippet="As the search gave it.")
    (found,) = reading(recorded).invoke("when?")
    assert found == recorded
    assert not web.visits


def test_a_page_that_lacks_a_fact_of_its_snippet_has_it_before_its_text(web: WebServer) -> None:
    snippet = "The lamp was first lit in October 1871, and its keeper was paid 40 pounds."
    (found,) = reading(result(web.url(), snippet)).invoke("?")
    assert found.page_content == f"{snippet}\n\n{STORY}"
    assert found.metadata["text_from"] == "page"
