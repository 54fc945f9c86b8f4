from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, ProviderError
from conflictscore.retrieval.http_searches import SearxngRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_providers import CASES
from tests.fakes.search_server import SearchServer, json_reply, searxng

MORE: dict[str, Any] = {"engine": "duckduckgo", "score": 1.0, "publishedDate": None}
RESULTS = [CASES["searxng"].found(n, **MORE) for n in range(1, 41)]


def searching(server: SearchServer, **options: Any) -> SearxngRetriever:
    return SearxngRetriever(**{"endpoint": server.endpoint, "backoff": 0.001, **options})


def test_the_request_is_one_that_searxng_takes() -> None:
    with SearchServer(searxng(RESULTS)) as server:
        searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    assert (request.method, request.path) == ("GET", "/search")
    assert request.parameters == {"q": "sky & sea = blau?", "format": "json", "pageno": "1"}
    assert "authorization" not in request.headers


def test_the_server_may_be_below_a_path() -> None:
    with (
        SearchServer(searxng(RESULTS)) as server,
        pytest.raises(ConfigurationError, match=r"refuses the request .*404.*check the address"),
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


async def test_what_the_other_engines_found_comes_with_a_note() -> None:
    said = "did not answer: google: Suspended: CAPTCHA; brave: timeout"
    for silent, noted in ((SILENT, [f"searxng: some search engines behind it {said}"]), ((), [])):
        with SearchServer(searxng(RESULTS, silent=silent)) as server:
            with collecting() as notes:
                assert len(searching(server, k=20).invoke("sky")) == 20
            assert notes == noted
            with collecting() as notes:
                await searching(server).ainvoke("sky")
            assert notes == noted


def test_what_is_said_of_the_engines_does_not_show_the_password() -> None:
    quoting = json_reply({"results": [], "unresponsive_engines": [["google", "{quoted}"]]})
    with SearchServer(searxng(), always=quoting) as server:
        endpoint = server.endpoint.replace("//", "//user:secret%2B@")
        with pytest.raises(ProviderError, match="google: GET /search") as caught:
            searching(server, endpoint=endpoint).invoke("sky")
    login = server.requests[0].headers["authorization"]
    for hidden in ("secret", login, login.removeprefix("Basic ")):
        assert hidden not in str(caught.value).replace("[secret]", "")


def test_an_empty_later_page_does_not_undo_the_first() -> None:
    with SearchServer(searxng(RESULTS[:10], silent=SILENT)) as server:
        assert len(searching(server, k=20).invoke("sky")) == 10


def test_a_server_without_json_gets_an_error_that_names_the_setting() -> None:
    with (
        SearchServer(searxng(RESULTS, formats=["html"])) as server,
        pytest.raises(ConfigurationError, match=r"SearXNG refuses .*search\.formats"),
    ):
        searching(server).invoke("sky")
    assert len(server.requests) == 1


def test_without_an_address_both_ways_to_give_it_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARXNG_URL", " ")
    with pytest.raises(ConfigurationError, match=r"searxng:URL.*SEARXNG_URL"):
        SearxngRetriever()
