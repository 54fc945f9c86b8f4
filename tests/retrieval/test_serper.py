"""Serper: what goes over the wire, and what is its own."""

from typing import Any

import pytest
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, InputError, QuotaError
from conflictscore.retrieval.http_searches import SerperRetriever
from tests.fakes.search_server import SearchServer, serper, serper_error

KEY = "serper-key"

RESULTS = [
    {
        "title": f"Title {n}",
        "link": f"https://site{n}.example/page",
        "snippet": f"Snippet {n}.",
        "position": n,
    }
    for n in range(1, 41)
]


def searching(server: SearchServer, **options: Any) -> SerperRetriever:
    return SerperRetriever(
        **{"api_key": KEY, "endpoint": server.endpoint, "backoff": 0.001, **options}
    )


def test_without_an_endpoint_serper_itself_is_asked() -> None:
    assert (
        SerperRetriever(api_key=SecretStr(KEY)).address("/search")
        == "https://google.serper.dev/search"
    )


def test_the_request_is_one_that_serper_takes() -> None:
    with SearchServer(serper(RESULTS)) as server:
        searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    assert (request.method, request.target) == ("POST", "/search")
    assert request.headers["x-api-key"] == KEY
    assert request.headers["content-type"] == "application/json"
    assert request.json == {"q": "sky & sea = blau?", "num": 3, "page": 1}


def test_each_page_asks_for_ten_and_a_short_one_is_not_the_last() -> None:
    with SearchServer(serper(RESULTS, page=8)) as server:
        found = searching(server, k=25).invoke("sky")
    assert [request.json["page"] for request in server.requests] == [1, 2, 3]
    assert {request.json["num"] for request in server.requests} == {10}
    assert len(found) == 24


def test_ten_results_cost_one_credit_even_where_a_page_holds_fewer() -> None:
    with SearchServer(serper(RESULTS, page=8)) as server:
        assert len(searching(server, k=10).invoke("sky")) == 8
    assert len(server.requests) == 1


def test_out_of_credit_is_a_400_here_and_a_used_up_quota() -> None:
    with (
        SearchServer(serper(), always=serper_error(400, "Not enough credits")) as server,
        pytest.raises(QuotaError, match=r"Serper is used up \(400: Not enough credits\)") as caught,
    ):
        searching(server).invoke("sky")
    assert caught.value.status == 400
    assert len(server.requests) == 1


def test_a_server_error_that_speaks_of_credit_is_tried_again() -> None:
    broken = serper_error(500, "The credits cannot be counted")
    with SearchServer(serper(RESULTS), faults=[broken]) as server:
        assert len(searching(server).invoke("sky")) == 10


@pytest.mark.parametrize("status", [400, 422])
def test_any_other_fault_of_the_request_is_about_the_question(status: int) -> None:
    with (
        SearchServer(serper(), always=serper_error(status, "Query too long")) as server,
        pytest.raises(
            InputError, match=r": Query too long\): check the question's length"
        ) as caught,
    ):
        searching(server).invoke("sky")
    assert not isinstance(caught.value, ConfigurationError)
    assert len(server.requests) == 1


def test_an_endpoint_that_is_no_serper_is_a_matter_of_configuration() -> None:
    with (
        SearchServer(serper()) as server,
        pytest.raises(ConfigurationError, match="no Serper search at the address"),
    ):
        searching(server, endpoint=f"{server.endpoint}/elsewhere").invoke("sky")
