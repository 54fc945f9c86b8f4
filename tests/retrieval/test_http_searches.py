"""Serper: its requests, and its peculiarities."""

import pytest
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError
from conflictscore.retrieval.http_searches import SerperRetriever
from tests.fakes.search_providers import CASES, KEY
from tests.fakes.search_server import SearchServer, json_reply, serper, serper_error

SERPER = CASES["serper"]
BY_SERPER = [SERPER.found(n) for n in range(1, 41)]


def test_without_an_endpoint_the_provider_itself_is_asked() -> None:
    address = SerperRetriever(api_key=SecretStr("key")).address("/search")
    assert address == "https://google.serper.dev/search"


def test_the_request_is_one_that_serper_takes() -> None:
    with SearchServer(serper(BY_SERPER)) as server:
        SERPER.searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    assert (request.method, request.target) == ("POST", "/search")
    assert request.headers["x-api-key"] == KEY
    assert request.headers["content-type"] == "application/json"
    assert request.json == {"q": "sky & sea = blau?", "num": 3, "page": 1}


def test_each_page_asks_for_ten_and_a_short_one_is_not_the_last() -> None:
    with SearchServer(serper(BY_SERPER, page=8)) as server:
        found = SERPER.searching(server, k=25).invoke("sky")
    assert [request.json["page"] for request in server.requests] == [1, 2, 3]
    assert {request.json["num"] for request in server.requests} == {10}
    assert len(found) == 24


def test_ten_results_cost_one_credit_even_where_a_page_holds_fewer() -> None:
    with SearchServer(serper(BY_SERPER, page=8)) as server:
        assert len(SERPER.searching(server, k=10).invoke("sky")) == 8
    assert len(server.requests) == 1


def test_a_server_error_that_mentions_credit_is_retried() -> None:
    broken = serper_error(500, "The credits cannot be counted")
    with SearchServer(serper(BY_SERPER), faults=[broken]) as server:
        assert len(SERPER.searching(server).invoke("sky")) == 10


def test_an_endpoint_other_than_serper_is_a_configuration_error() -> None:
    with (
        SearchServer(serper()) as server,
        pytest.raises(ConfigurationError, match=r"Serper refuses .*404.*check the address"),
    ):
        SERPER.searching(server, endpoint=f"{server.endpoint}/elsewhere").invoke("sky")


@pytest.mark.parametrize("beside", [{}, {"answerBox": {"title": "Opened", "answer": "1932"}}])
def test_a_reply_without_results_is_nothing_found(beside: dict[str, object]) -> None:
    nothing = {"searchParameters": {"q": "x", "type": "search"}, **beside, "credits": 1}
    with SearchServer(serper([]), always=json_reply(nothing)) as server:
        assert SERPER.searching(server, k=10).invoke("sky") == []
