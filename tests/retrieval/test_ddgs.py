"""ddgs: the real library, with loopback pages in the place of the public ones.

What is stood in for: the address of Mojeek's search page and the page itself, written by hand
after what the library looks for in it; Brave's page, likewise; and the library's list of engines,
so that no other page is ever asked. The library itself, its HTTP client (which is not Python, so
that pytest-socket does not see it), its reading of HTML and its ranking are real. Whether the
public pages still look like this, no offline test can tell.
"""

import html
import logging
import re
import sys
from typing import Any

import pytest
from ddgs.engines import ENGINES
from ddgs.engines.brave import Brave
from ddgs.engines.mojeek import Mojeek
from ddgs.exceptions import RatelimitException

from conflictscore.errors import ConfigurationError, ProviderError, install_hint
from conflictscore.retrieval.ddgs import DdgsRetriever
from tests.fakes.search_providers import CASES, mojeek_page
from tests.fakes.search_server import Received, Reply, SearchServer, html_reply

PAGES: dict[str, Any] = ENGINES

Found = list[dict[str, Any]]

RESULTS: Found = [CASES["ddgs"].found(n) for n in range(1, 13)]


def brave_page(results: Found) -> Reply:
    items = "".join(
        f'<div data-type="web"><a href="{html.escape(r["url"])}"><div class="title">{r["title"]}'
        f'</div></a><div class="snippet"><div class="content">{r["text"]}</div></div></div>'
        for r in results
    )
    return html_reply(f"<html><body>{items}</body></html>")


def pages(mojeek: Found, brave: Found = []) -> Any:  # noqa: B006 - it is only read
    def handle(request: Received) -> Reply:
        return mojeek_page(mojeek) if request.path == "/mojeek" else brave_page(brave)

    return handle


@pytest.fixture(autouse=True)
def _no_page_but_loopback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, "text", {"mojeek": Mojeek})
    monkeypatch.setattr(Mojeek, "search_url", "http://127.0.0.1:9/mojeek")
    monkeypatch.setattr(Brave, "search_url", "http://127.0.0.1:9/brave")
    for variable in ("DDGS_PROXY", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def two_engines(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(PAGES, "text", {"mojeek": Mojeek, "brave": Brave})


@pytest.fixture
def searching(monkeypatch: pytest.MonkeyPatch) -> Any:
    def open_search(server: SearchServer, **options: Any) -> DdgsRetriever:
        monkeypatch.setattr(Mojeek, "search_url", f"{server.endpoint}/mojeek")
        monkeypatch.setattr(Brave, "search_url", f"{server.endpoint}/brave")
        return DdgsRetriever(**{"backoff": 0.001, **options})

    return open_search


def test_questions_and_addresses_keep_their_signs(searching: Any) -> None:
    found = CASES["ddgs"].found(1, url="https://a.example/?a=1&b=2")
    with SearchServer(pages([found])) as server:
        (document,) = searching(server).invoke("sky & sea?")
    assert server.requests[0].parameters == {"q": "sky & sea?"}
    assert document.metadata["source"] == "https://a.example/?a=1&b=2"


@pytest.mark.usefixtures("two_engines")
def test_the_next_page_is_read_where_one_does_not_hold_enough(searching: Any) -> None:
    others = [CASES["ddgs"].found(n, url=f"https://other{n}.example/") for n in range(5)]
    with SearchServer(pages(RESULTS[:4], [*RESULTS[:2], *others])) as server:
        found = searching(server).invoke("sky")
    assert {request.path for request in server.requests} == {"/mojeek", "/brave"}
    assert len({doc.metadata["source"] for doc in found}) == len(found) == 9


@pytest.mark.usefixtures("two_engines")
def test_a_page_that_refuses_leaves_the_others_results(searching: Any) -> None:
    def handle(request: Received) -> Reply:
        return mojeek_page(RESULTS) if request.path == "/mojeek" else html_reply("no", 429)

    with SearchServer(handle) as server:
        assert len(searching(server).invoke("sky")) == 10


def test_a_models_encyclopedia_is_not_among_the_pages(
    searching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Grokipedia(Brave):
        name = "grokipedia"

    monkeypatch.setitem(PAGES, "text", {"grokipedia": Grokipedia, "mojeek": Mojeek})
    with SearchServer(pages(RESULTS[:1], RESULTS)) as server:
        assert len(searching(server).invoke("sky")) == 1
    assert {request.path for request in server.requests} == {"/mojeek"}


@pytest.mark.parametrize(
    "page",
    [
        mojeek_page([]),
        html_reply("<h1>Are you a robot?</h1>"),
        html_reply("<h1>Too many requests</h1>", 429),
        html_reply("<h1>Forbidden</h1>", 403),
        html_reply("", 503),
        html_reply(""),
    ],
    ids=["no result", "robot check", "429", "403", "503", "empty"],
)
def test_nothing_found_is_not_told_from_a_refusal_and_so_is_no_answer(
    page: Reply, searching: Any
) -> None:
    with (
        SearchServer(pages([]), always=page) as server,
        pytest.raises(ProviderError, match=r"found nothing: either .* refuse .* not say which"),
    ):
        searching(server).invoke("sky")
    assert len(server.requests) == 1


def test_a_rate_limit_that_the_library_names_is_tried_again(
    searching: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The library has this error, and no page of version 9.16 that raises it: it is raised here.
    def limited(*_options: Any, **_named: Any) -> Any:
        asked.append(1)
        raise RatelimitException("202 Ratelimit")

    asked: list[int] = []
    monkeypatch.setattr("ddgs.ddgs.DDGS.text", limited)
    with (
        SearchServer(pages([])) as server,
        pytest.raises(ProviderError, match="ask for fewer searches: 202 Ratelimit"),
    ):
        searching(server).invoke("sky")
    assert len(asked) == 3


@pytest.mark.parametrize(
    ("scheme", "kind", "words"),
    [
        ("ftp", ConfigurationError, r"cannot be set up: .*proxy"),
        ("http", ProviderError, "no search page answered"),
    ],
)
def test_a_proxy_that_cannot_be_used_or_does_not_answer_keeps_its_password(
    searching: Any,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    scheme: str,
    kind: type[Exception],
    words: str,
) -> None:
    caplog.set_level(logging.DEBUG)
    monkeypatch.setenv("DDGS_PROXY", f"{scheme}://user:secret@127.0.0.1:9")
    with SearchServer(pages(RESULTS)) as server, pytest.raises(kind, match=words) as caught:
        searching(server).invoke("sky")
    assert server.requests == []
    assert "secret" not in str(caught.value) + caplog.text


def test_the_notes_say_what_it_rests_on() -> None:
    (note,) = DdgsRetriever().notes
    for words in ("public search pages", "no guarantee", "terms of use"):
        assert words in note


def test_a_missing_package_is_told_with_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ddgs", None)
    with pytest.raises(ConfigurationError, match=re.escape(install_hint("ddgs"))):
        DdgsRetriever()
