"""SearXNG: what goes over the wire, and what is its own."""

from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, InputError, ProviderError
from conflictscore.retrieval.http_searches import SearxngRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_server import SearchServer, html_reply, json_reply, searxng

RESULTS = [
    {
        "title": f"Title {n}",
        "url": f"https://site{n}.example/page",
        "content": f"Snippet {n}.",
        "engine": "duckduckgo",
        "score": 1.0,
        "publishedDate": None,
    }
    for n in range(1, 41)
]


def searching(server: SearchServer, **options: Any) -> SearxngRetriever:
    return SearxngRetriever(**{"endpoint": server.endpoint, "backoff": 0.001, **options})


def test_the_request_is_one_that_searxng_takes() -> None:
    with SearchServer(searxng(RESULTS)) as server:
        searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/search")
    assert request.parameters == {"q": "sky & sea = blau?", "format": "json", "pageno": "1"}
    assert "authorization" not in request.headers


def test_the_server_may_stand_below_a_path() -> None:
    with (
        SearchServer(searxng(RESULTS)) as server,
        pytest.raises(ConfigurationError, match="/searx has no /search there"),
    ):
        searching(server, endpoint=f"{server.endpoint}/searx/").invoke("sky")
    assert server.requests[0].path == "/searx/search"


def test_a_server_that_asks_for_a_login_is_a_matter_of_configuration() -> None:
    with (
        SearchServer(searxng(RESULTS, login="Basic x")) as server,
        pytest.raises(ConfigurationError, match="USER:PASSWORD@"),
    ):
        searching(server).invoke("sky")


def test_pages_are_asked_for_until_there_are_enough_results() -> None:
    with SearchServer(searxng(RESULTS, page=8)) as server:
        found = searching(server, k=25).invoke("sky")
    assert [request.parameters["pageno"] for request in server.requests] == ["1", "2", "3"]
    assert len(found) == 24
    with SearchServer(searxng(RESULTS, page=30)) as server:
        assert len(searching(server, k=25).invoke("sky")) == 25
    assert len(server.requests) == 1


def test_a_server_that_repeats_its_page_is_not_asked_on_and_on() -> None:
    same = json_reply({"results": RESULTS[:10], "unresponsive_engines": []})
    with SearchServer(searxng(), always=same) as server:
        assert len(searching(server, k=100).invoke("sky")) == 10
    assert len(server.requests) == 2


SILENT = [("google", "Suspended: CAPTCHA"), ("brave", "timeout")]


def test_nothing_found_by_engines_that_did_not_answer_is_a_failure() -> None:
    with (
        SearchServer(searxng(silent=SILENT)) as server,
        pytest.raises(ProviderError, match="google: Suspended: CAPTCHA; brave: timeout") as caught,
    ):
        searching(server).invoke("sky")
    assert caught.value.provider == "searxng"
    assert len(server.requests) == 1


def test_what_the_other_engines_found_comes_with_a_note() -> None:
    with SearchServer(searxng(RESULTS, silent=SILENT)) as server, collecting() as notes:
        assert len(searching(server, k=20).invoke("sky")) == 20
    (note,) = notes
    assert note == (
        "searxng: some search engines behind it did not answer: "
        "google: Suspended: CAPTCHA; brave: timeout"
    )


def test_what_is_said_of_the_engines_does_not_show_the_password() -> None:
    quoting = json_reply({"results": [], "unresponsive_engines": [["google", "{quoted}"]]})
    with SearchServer(searxng(), always=quoting) as server:
        endpoint = server.endpoint.replace("//", "//user:secret%2B@")
        with pytest.raises(ProviderError, match="google: GET /search") as caught:
            searching(server, endpoint=endpoint).invoke("sky")
    login = server.requests[0].headers["authorization"]
    for hidden in ("secret", login, login.removeprefix("Basic ")):
        assert hidden not in str(caught.value)


async def test_the_note_arrives_when_awaited_too() -> None:
    with SearchServer(searxng(RESULTS, silent=SILENT)) as server, collecting() as notes:
        await searching(server).ainvoke("sky")
    assert len(notes) == 1


def test_an_empty_later_page_does_not_undo_the_first() -> None:
    with SearchServer(searxng(RESULTS[:10], silent=SILENT)) as server:
        assert len(searching(server, k=20).invoke("sky")) == 10


def test_no_note_where_every_engine_answered() -> None:
    with SearchServer(searxng(RESULTS)) as server, collecting() as notes:
        searching(server).invoke("sky")
    assert notes == []


@pytest.mark.parametrize("engines", [["google"], [5], [["a", "b", "c"]], 5])
def test_engines_of_another_form_are_a_provider_error(engines: Any) -> None:
    reply = json_reply({"results": [], "unresponsive_engines": engines})
    with (
        SearchServer(searxng(), always=reply) as server,
        pytest.raises(ProviderError, match="form of search results"),
    ):
        searching(server).invoke("sky")


def test_a_server_without_json_is_told_the_setting() -> None:
    with (
        SearchServer(searxng(RESULTS, formats=["html"])) as server,
        pytest.raises(
            ConfigurationError, match=rf"{server.endpoint} refuses JSON: .*search\.formats"
        ),
    ):
        searching(server).invoke("sky")
    assert len(server.requests) == 1


def test_an_address_that_points_elsewhere_is_to_be_checked() -> None:
    with (
        SearchServer(searxng(), always=html_reply("moved", 308)) as server,
        pytest.raises(ConfigurationError, match="points to another address: check http or https"),
    ):
        searching(server).invoke("sky")


def test_what_the_server_says_of_the_question_is_repeated() -> None:
    wrong = json_reply({"error": 'Invalid value "xx" for parameter language'}, 400)
    with (
        SearchServer(searxng(), always=wrong) as server,
        pytest.raises(InputError, match="for parameter language"),
    ):
        searching(server).invoke("sky")


def test_without_an_address_both_ways_to_give_it_are_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SEARXNG_URL", " ")
    with pytest.raises(ConfigurationError, match=r"searxng:URL.*SEARXNG_URL"):
        SearxngRetriever()
