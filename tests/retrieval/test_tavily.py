"""Tavily: what goes over the wire through its client, and what is its own."""

from typing import Any

import pytest
from pydantic import SecretStr

from conflictscore.errors import QuotaError
from conflictscore.retrieval.http_searches import TavilyRetriever
from tests.fakes.search_server import SearchServer
from tests.fakes.search_services import tavily, tavily_error

KEY = "tvly-key"

RESULTS: list[dict[str, Any]] = [
    {"title": f"Title {n}", "url": f"https://site{n}.example/page", "content": f"Passage {n}."}
    for n in range(1, 31)
]


def searching(server: SearchServer, **options: Any) -> TavilyRetriever:
    return TavilyRetriever(
        **{"api_key": KEY, "endpoint": server.endpoint, "backoff": 0.001, **options}
    )


def test_without_an_endpoint_tavily_itself_is_asked() -> None:
    assert TavilyRetriever(api_key=SecretStr(KEY)).address("") == "https://api.tavily.com"


def test_the_request_asks_for_passages_and_for_no_answer() -> None:
    with SearchServer(tavily(RESULTS)) as server:
        searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/search")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.json == {
        "query": "sky & sea = blau?",
        "search_depth": "advanced",
        "max_results": 3,
    }


def test_passages_and_the_date_are_kept() -> None:
    results = [
        {
            **RESULTS[0],
            "content": "The sky is blue. [...] At noon.",
            "published_date": "2024-03-05",
        },
        {**RESULTS[1], "title": None, "content": None},
    ]
    with SearchServer(tavily(results)) as server:
        first, second = searching(server).invoke("sky")
    assert first.page_content == "The sky is blue. [...] At noon."
    assert first.metadata["date"] == "2024-03-05"
    assert (second.page_content, second.metadata["title"]) == ("", "")
    assert "date" not in second.metadata


@pytest.mark.parametrize("status", [432, 433])
def test_a_used_up_plan_has_a_status_of_its_own(status: int) -> None:
    used_up = tavily_error(status, "This request exceeds your plan's set usage limit.")
    with (
        SearchServer(tavily(), always=used_up) as server,
        pytest.raises(
            QuotaError, match=rf"Tavily is used up \({status}: This request exceeds"
        ) as caught,
    ):
        searching(server).invoke("sky")
    assert caught.value.status == status
    assert len(server.requests) == 1
