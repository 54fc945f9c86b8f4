"""Google search against a loopback server, through Google's own client library."""

import warnings
from datetime import date
from typing import Any

import pytest
from pydantic import SecretStr

from conflictscore.errors import (
    ConfigurationError,
    InputError,
    ProviderError,
    QuotaError,
)
from conflictscore.retrieval import google
from conflictscore.retrieval.google import GoogleRetriever
from tests.fakes.google_search import (
    ACCESS_DENIED,
    DAILY_QUOTA,
    SERVER_ERROR,
    GoogleSearchServer,
    google_error,
    result,
)
from tests.fakes.search_server import DISCONNECT, Reply

pytestmark = pytest.mark.filterwarnings("ignore:Google's Custom Search API ends")

KEY = "AIza+secret/key=42"
"""With characters that a URL escapes, so that both forms of it have to stay hidden."""

PAGES = [
    result(f"https://site{n}.example/page", f"Title {n}", f"Snippet {n}.") for n in range(1, 151)
]


def searching(server: GoogleSearchServer, **options: Any) -> GoogleRetriever:
    common = {"api_key": KEY, "engine_id": "engine", "backoff": 0.001}
    return GoogleRetriever(endpoint=server.endpoint, **{**common, **options})


def test_results_keep_googles_order_and_say_where_they_came_from() -> None:
    found = [
        result(
            "https://a.example/sky",
            "Why <b>sky</b> &amp; sea",
            "Jan 2, 2024 ...\nThe <b>sky</b> is&nbsp;blue, 3 < 4.",
            pagemap={
                "newsarticle": [{"datepublished": "2020-01-01"}],
                "metatags": [{"viewport": "x", "article:published_time": "2024-03-05T10:00:00Z"}],
            },
        ),
        result(
            "https://b.example/",
            "B",
            "Green.",
            pagemap={"metatags": [{"date": ""}], "article": [{"datePublished": "2019-05-06"}]},
        ),
        result("https://c.example/", "C", "Grey.", pagemap={"cse_image": [{"src": "x"}]}),
    ]
    with GoogleSearchServer(found) as server:
        first, second, third = searching(server).invoke("sky")
    assert first.page_content == "Jan 2, 2024 ... The sky is blue, 3 < 4."
    assert first.metadata == {
        "title": "Why sky & sea",
        "source": "https://a.example/sky",
        "rank": 1,
        "provider": "google",
        "date": "2024-03-05T10:00:00Z",
    }
    assert (second.metadata["rank"], second.metadata["date"]) == (2, "2019-05-06")
    assert "date" not in third.metadata


def test_the_request_carries_question_engine_and_key() -> None:
    with GoogleSearchServer(PAGES) as server:
        searching(server, k=3).invoke("sky & sea = blue?")
    (request,) = server.requests
    asked = {name: request.parameters[name] for name in ("q", "cx", "num", "start")}
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.target
    assert asked == {
        "q": "sky & sea = blue?",
        "cx": "engine",
        "num": "3",
        "start": "1",
    }


def test_more_than_ten_results_come_in_pages() -> None:
    with GoogleSearchServer(PAGES) as server:
        found = searching(server, k=25).invoke("sky")
    assert [doc.metadata["rank"] for doc in found] == list(range(1, 26))
    assert [doc.metadata["title"] for doc in found] == [f"Title {n}" for n in range(1, 26)]
    asked = [(page.parameters["start"], page.parameters["num"]) for page in server.requests]
    assert asked == [("1", "10"), ("11", "10"), ("21", "10")]


def test_the_last_page_ends_the_search() -> None:
    with GoogleSearchServer(PAGES[:12]) as server:
        assert len(searching(server, k=40).invoke("sky")) == 12
    assert len(server.requests) == 2


def test_a_question_too_long_for_an_address_is_searched_too() -> None:
    question = "空はなぜ青いのですか。" * 60
    with GoogleSearchServer(PAGES, api_key=KEY) as server:
        assert len(searching(server).invoke(question)) == 10
    assert server.requests[0].parameters["q"] == question


def test_a_rate_limit_named_by_a_403_is_tried_again() -> None:
    limited = google_error(403, "Rate Limit Exceeded", "userRateLimitExceeded")
    with GoogleSearchServer(PAGES, faults=[limited]) as server:
        assert len(searching(server).invoke("sky")) == 10


@pytest.mark.parametrize(
    "fault", [DAILY_QUOTA, google_error(403, "Daily Limit Exceeded", "dailyLimitExceeded")]
)
def test_a_used_up_daily_quota_is_not_tried_again(fault: Reply) -> None:
    with (
        GoogleSearchServer(always=fault) as server,
        pytest.raises(QuotaError, match="quota or credit of Google is used up") as caught,
    ):
        searching(server).invoke("sky")
    assert caught.value.status == fault.status
    assert len(server.requests) == 1


def test_a_project_without_access_is_told_that_the_api_is_closed_and_what_else_there_is() -> None:
    with (
        GoogleSearchServer(always=ACCESS_DENIED) as server,
        pytest.raises(ConfigurationError, match="closed to new customers") as caught,
    ):
        searching(server).invoke("sky")
    for way in ("serper", "searxng", "vertex", "ddgs", "--docs"):
        assert way in str(caught.value)
    assert len(server.requests) == 1


def test_any_other_refusal_is_told_what_to_check() -> None:
    refused = google_error(403, "Requests from this IP address are blocked.", "forbidden")
    with (
        GoogleSearchServer(always=refused) as server,
        pytest.raises(
            ConfigurationError, match=r"IP address are blocked.*GOOGLE_API_KEY"
        ) as caught,
    ):
        searching(server).invoke("sky")
    assert "closed" not in str(caught.value)


def built_today(day: date, monkeypatch: pytest.MonkeyPatch) -> GoogleRetriever:
    monkeypatch.setattr(google, "_today", lambda: day)
    return GoogleRetriever(
        api_key=SecretStr(KEY), engine_id="engine", endpoint="http://127.0.0.1:9"
    )


def test_building_one_warns_at_the_line_that_did() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        GoogleRetriever(api_key=SecretStr(KEY), engine_id="engine")
    (warning,) = caught
    assert warning.category is DeprecationWarning
    assert warning.filename == __file__
    for word in ("2027-01-01", "SerperRetriever", "BraveRetriever", "SearxngRetriever"):
        assert word in str(warning.message)


@pytest.mark.parametrize(
    ("day", "words"),
    [
        (date(2026, 11, 21), "ends on 2027-01-01, in 41 days"),
        (date(2026, 12, 31), "ends on 2027-01-01, in 1 day;"),
        (date(2027, 1, 1), "ended on 2027-01-01"),
    ],
)
def test_the_notes_say_how_long_google_still_works(
    day: date, words: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (note,) = built_today(day, monkeypatch).notes
    assert words in note
    assert "--search serper" in note


@pytest.mark.parametrize("fault", [google_error(410, "Gone."), SERVER_ERROR, DISCONNECT])
def test_a_failure_after_the_end_names_the_end(
    fault: Reply, monkeypatch: pytest.MonkeyPatch
) -> None:
    with GoogleSearchServer(always=fault) as server:
        retriever = searching(server, retries=0)
        with pytest.raises(ProviderError) as before:
            retriever.invoke("sky")
        monkeypatch.setattr(google, "_today", lambda: date(2027, 1, 2))
        with pytest.raises(ProviderError) as after:
            retriever.invoke("sky")
    assert "2027" not in str(before.value)
    assert "ended on 2027-01-01" in str(after.value)


def test_a_request_that_google_cannot_use_names_the_engine_id() -> None:
    invalid = google_error(400, "Request contains an invalid argument.", "badRequest")
    with (
        GoogleSearchServer(always=invalid) as server,
        pytest.raises(InputError, match=r"invalid argument.*GOOGLE_CSE_ID"),
    ):
        searching(server).invoke("sky")


@pytest.mark.parametrize(
    ("environment", "lacking"),
    [
        ({}, "not set: GOOGLE_API_KEY and GOOGLE_CSE_ID;"),
        ({"GOOGLE_API_KEY": KEY}, "not set: GOOGLE_CSE_ID;"),
        ({"GOOGLE_API_KEY": " ", "GOOGLE_CSE_ID": "engine"}, "not set: GOOGLE_API_KEY;"),
    ],
)
def test_missing_keys_are_named_with_where_to_get_them(
    environment: dict[str, str], lacking: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("GOOGLE_API_KEY", "GOOGLE_CSE_ID"):
        monkeypatch.delenv(variable, raising=False)
    for variable, value in environment.items():
        monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=lacking) as caught:
        GoogleRetriever()
    message = str(caught.value)
    for word in ("GOOGLE_API_KEY", "GOOGLE_CSE_ID", "programmablesearchengine", "--docs"):
        assert word in message
    assert "2027-01-01" in message
    assert KEY not in message


def test_settings_for_certificates_do_not_concern_a_search_by_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_USE_MTLS_ENDPOINT", "unknown to the client library")
    assert GoogleRetriever(api_key=SecretStr(KEY), engine_id="engine").k == 10
