"""Brave: what goes over the wire, and what is its own."""

from typing import Any

import pytest
from pydantic import SecretStr

from conflictscore.errors import ConfigurationError, InputError, QuotaError
from conflictscore.retrieval.http_searches import BraveRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_server import Reply, SearchServer, brave, brave_error

KEY = "brave-key"

RESULTS = [
    {
        "title": f"Title {n}",
        "url": f"https://site{n}.example/page",
        "description": f"Snippet {n}.",
    }
    for n in range(1, 101)
]


def searching(server: SearchServer, **options: Any) -> BraveRetriever:
    return BraveRetriever(
        **{"api_key": KEY, "endpoint": server.endpoint, "backoff": 0.001, **options}
    )


def test_without_an_endpoint_brave_itself_is_asked() -> None:
    assert BraveRetriever(api_key=SecretStr(KEY)).address("/x") == "https://api.search.brave.com/x"


def test_the_request_is_one_that_brave_takes() -> None:
    with SearchServer(brave(RESULTS)) as server:
        searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
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


def test_pages_hold_twenty_and_the_offset_counts_pages() -> None:
    with SearchServer(brave(RESULTS)) as server:
        assert len(searching(server, k=45).invoke("sky")) == 45
    asked = [(page.parameters["count"], page.parameters["offset"]) for page in server.requests]
    assert asked == [("20", "0"), ("20", "1"), ("20", "2")]


def test_the_page_that_says_there_are_no_more_is_the_last() -> None:
    with SearchServer(brave(RESULTS[:20])) as server:
        assert len(searching(server, k=60).invoke("sky")) == 20
    assert len(server.requests) == 1


def test_further_snippets_and_the_date_are_kept() -> None:
    results: list[dict[str, Any]] = [
        {**RESULTS[0], "extra_snippets": ["And more."], "page_age": "2024-03-05T10:00:00"},
        {**RESULTS[1], "age": "March 5, 2024"},
        {**RESULTS[2], "age": "2 days ago", "page_age": "2026-11-19T10:00:00"},
    ]
    with SearchServer(brave(results)) as server:
        first, second, third = searching(server).invoke("sky")
    assert first.page_content == "Snippet 1. And more."
    dates = [doc.metadata["date"] for doc in (first, second, third)]
    assert dates == ["2024-03-05T10:00:00", "March 5, 2024", "2026-11-19T10:00:00"]


@pytest.mark.parametrize(
    ("snippets", "text"),
    [
        ([5], "Snippet 1."),
        ([None], "Snippet 1."),
        ("and more", "Snippet 1."),
        ([5, "And more."], "Snippet 1. And more."),
    ],
)
def test_further_snippets_of_another_form_are_left_out_and_all_results_stay(
    snippets: Any, text: str
) -> None:
    results = [{**RESULTS[0], "extra_snippets": snippets}, RESULTS[1]]
    with SearchServer(brave(results)) as server, collecting() as notes:
        found = searching(server).invoke("sky")
    assert [doc.page_content for doc in found] == [text, "Snippet 2."]
    assert [doc.metadata["source"] for doc in found] == [one["url"] for one in RESULTS[:2]]
    assert notes == []


def test_a_wrong_key_is_a_422_here() -> None:
    with (
        SearchServer(brave(RESULTS, api_key="another")) as server,
        pytest.raises(
            ConfigurationError,
            match=r"SUBSCRIPTION_TOKEN_INVALID.*check BRAVE_API_KEY or BRAVE_SEAR",
        ),
    ):
        searching(server).invoke("sky")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    "fault",
    [
        brave_error(400, "OPTION_NOT_IN_PLAN", "The option is not subscribed in the plan."),
        brave_error(404, "SUBSCRIPTION_NOT_FOUND", "No subscription found."),
    ],
)
def test_a_key_of_another_plan_is_a_matter_of_configuration(fault: Reply) -> None:
    with (
        SearchServer(brave(), always=fault) as server,
        pytest.raises(
            ConfigurationError, match="plan of this Brave key does not include web search"
        ),
    ):
        searching(server).invoke("sky")


def test_a_question_that_is_too_long_is_told_the_limit() -> None:
    with (
        SearchServer(brave(RESULTS)) as server,
        pytest.raises(InputError, match=r"422: VALIDATION.*400 characters and 50 words") as caught,
    ):
        searching(server).invoke("sky " * 101)
    assert not isinstance(caught.value, ConfigurationError)
    assert len(server.requests) == 1


def test_the_months_quota_is_told_from_the_seconds_limit() -> None:
    second = brave_error(429, "RATE_LIMITED", "Request rate limit exceeded for plan.")
    month = brave_error(429, "QUOTA_LIMITED", "Request quota limit exceeded for plan.")
    with (
        SearchServer(brave(), faults=[second], always=month) as server,
        pytest.raises(QuotaError, match="429: QUOTA_LIMITED"),
    ):
        searching(server).invoke("sky")
    assert len(server.requests) == 2


def test_the_wait_that_brave_names_is_kept() -> None:
    limited = brave_error(429, "RATE_LIMITED", "Slow down.", X_RateLimit_Reset="1, 1419704")
    with SearchServer(brave(RESULTS), faults=[limited]) as server:
        searching(server).invoke("sky")
    first, second = server.requests
    assert second.at - first.at >= 1
