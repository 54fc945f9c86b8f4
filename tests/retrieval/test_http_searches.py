"""Brave, Serper and Tavily: what goes over the wire, and what is each one's own."""

from typing import Any

import pytest
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, InputError, QuotaError
from conflictscore.retrieval.http_searches import BraveRetriever, SerperRetriever, TavilyRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_providers import CASES, KEY
from tests.fakes.search_server import (
    Received,
    SearchServer,
    brave,
    brave_error,
    serper,
    serper_error,
)

BRAVE, SERPER, TAVILY = CASES["brave"], CASES["serper"], CASES["tavily"]
MOST_WORDS, BRAVE_KEYS = "400 characters and 50 words", "check BRAVE_API_KEY or BRAVE_SEAR"
BY_BRAVE = [BRAVE.found(n) for n in range(1, 101)]
BY_SERPER = [SERPER.found(n) for n in range(1, 41)]


@pytest.mark.parametrize(
    ("search", "path", "address"),
    [
        (BraveRetriever, "/x", "https://api.search.brave.com/x"),
        (SerperRetriever, "/search", "https://google.serper.dev/search"),
        (TavilyRetriever, "", "https://api.tavily.com"),
    ],
)
def test_without_an_endpoint_the_provider_itself_is_asked(
    search: Any, path: str, address: str
) -> None:
    assert search(api_key=SecretStr("key")).address(path) == address


def asked(name: str) -> Received:
    case = CASES[name]
    with SearchServer(case.speak([case.found(n) for n in range(1, 5)])) as server:
        case.searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    return request


def test_the_request_is_one_that_brave_takes() -> None:
    request = asked("brave")
    assert (request.method, request.path) == ("GET", "/res/v1/web/search")
    assert request.headers["x-subscription-token"] == KEY
    assert request.headers["accept"] == "application/json"
    assert request.parameters == {
        "q": "sky & sea = blau?",
        "count": "3",
        "offset": "0",
        "result_filter": "web",
        "text_decorations": "false",
    }


def test_the_request_is_one_that_serper_takes() -> None:
    request = asked("serper")
    assert (request.method, request.target) == ("POST", "/search")
    assert request.headers["x-api-key"] == KEY
    assert request.headers["content-type"] == "application/json"
    assert request.json == {"q": "sky & sea = blau?", "num": 3, "page": 1}


def test_the_request_to_tavily_asks_for_passages_and_for_no_answer() -> None:
    request = asked("tavily")
    assert (request.method, request.path) == ("POST", "/search")
    assert request.headers["authorization"] == f"Bearer {KEY}"
    wanted = {"query": "sky & sea = blau?", "search_depth": "advanced", "max_results": 3}
    assert request.json == wanted


class TestBrave:
    def test_pages_hold_twenty_and_the_offset_counts_pages(self) -> None:
        with SearchServer(brave(BY_BRAVE)) as server:
            assert len(BRAVE.searching(server, k=45).invoke("sky")) == 45
        asked = [(page.parameters["count"], page.parameters["offset"]) for page in server.requests]
        assert asked == [("20", "0"), ("20", "1"), ("20", "2")]

    def test_the_page_that_says_there_are_no_more_is_the_last(self) -> None:
        with SearchServer(brave(BY_BRAVE[:20])) as server:
            assert len(BRAVE.searching(server, k=60).invoke("sky")) == 20
        assert len(server.requests) == 1

    def test_the_date_is_the_pages_or_else_the_one_that_is_shown(self) -> None:
        results = [
            BY_BRAVE[0] | {"age": "March 5, 2024"},
            BY_BRAVE[1] | {"age": "2 days ago", "page_age": "2026-11-19T10:00:00"},
        ]
        with SearchServer(brave(results)) as server:
            found = BRAVE.searching(server).invoke("sky")
        assert [doc.metadata["date"] for doc in found] == ["March 5, 2024", "2026-11-19T10:00:00"]

    @pytest.mark.parametrize(
        ("snippets", "more"),
        [
            *((["And more."], " And more."), ([5, "And more."], " And more.")),
            *(([5], ""), ([None], ""), ("and more", "")),
        ],
    )
    def test_further_snippets_are_kept_where_they_are_texts_and_all_results_stay(
        self, snippets: Any, more: str
    ) -> None:
        results = [BY_BRAVE[0] | {"extra_snippets": snippets}, BY_BRAVE[1]]
        with SearchServer(brave(results)) as server, collecting() as notes:
            found = BRAVE.searching(server).invoke("sky")
        assert [doc.page_content for doc in found] == [f"The sky, 1.{more}", "The sky, 2."]
        assert [doc.metadata["source"] for doc in found] == [one["url"] for one in BY_BRAVE[:2]]
        assert notes == []

    def test_a_question_that_is_too_long_is_told_the_limit(self) -> None:
        with (
            SearchServer(brave(BY_BRAVE)) as server,
            pytest.raises(InputError, match=f"422: VALIDATION.*{MOST_WORDS}") as caught,
        ):
            BRAVE.searching(server).invoke("sky " * 101)
        assert not isinstance(caught.value, ConfigurationError)
        assert len(server.requests) == 1

    def test_a_wrong_key_is_a_422_here(self) -> None:
        with (
            SearchServer(brave(BY_BRAVE, api_key="another")) as server,
            pytest.raises(ConfigurationError, match=f"SUBSCRIPTION_TOKEN_INVALID.*{BRAVE_KEYS}"),
        ):
            BRAVE.searching(server).invoke("sky")

    def test_the_months_quota_is_told_from_the_seconds_limit(self) -> None:
        second = brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan.")
        month = brave_error(429, "QUOTA_LIMITED", "Request quota limit exceeded for plan.")
        with (
            SearchServer(brave(), faults=[second], always=month) as server,
            pytest.raises(QuotaError, match="429: QUOTA_LIMITED"),
        ):
            BRAVE.searching(server).invoke("sky")
        assert len(server.requests) == 2

    def test_the_wait_that_brave_names_is_kept(self) -> None:
        limited = brave_error(429, "RATE_LIMITED", "Slow down.", X_RateLimit_Reset="1, 1419704")
        with SearchServer(brave(BY_BRAVE), faults=[limited]) as server:
            BRAVE.searching(server).invoke("sky")
        first, second = server.requests
        assert second.at - first.at >= 1


class TestSerper:
    def test_each_page_asks_for_ten_and_a_short_one_is_not_the_last(self) -> None:
        with SearchServer(serper(BY_SERPER, page=8)) as server:
            found = SERPER.searching(server, k=25).invoke("sky")
        assert [request.json["page"] for request in server.requests] == [1, 2, 3]
        assert {request.json["num"] for request in server.requests} == {10}
        assert len(found) == 24

    def test_ten_results_cost_one_credit_even_where_a_page_holds_fewer(self) -> None:
        with SearchServer(serper(BY_SERPER, page=8)) as server:
            assert len(SERPER.searching(server, k=10).invoke("sky")) == 8
        assert len(server.requests) == 1

    def test_a_server_error_that_speaks_of_credit_is_tried_again(self) -> None:
        broken = serper_error(500, "The credits cannot be counted")
        with SearchServer(serper(BY_SERPER), faults=[broken]) as server:
            assert len(SERPER.searching(server).invoke("sky")) == 10

    def test_an_endpoint_that_is_no_serper_is_a_matter_of_configuration(self) -> None:
        with (
            SearchServer(serper()) as server,
            pytest.raises(ConfigurationError, match="no Serper search at the address"),
        ):
            SERPER.searching(server, endpoint=f"{server.endpoint}/elsewhere").invoke("sky")
