from typing import Any

import pytest
from pydantic import SecretStr

from conflictscore.retrieval.google import GoogleRetriever
from tests.fakes.google_search import GoogleSearchServer, google_error
from tests.fakes.search_providers import CASES, KEY

searching = CASES["google"].searching
PAGES = [CASES["google"].found(n) for n in range(1, 151)]


def test_the_date_is_the_first_that_the_page_says_it_was_published_on() -> None:
    told = [{"viewport": "x", "article:published_time": "2024-03-05T10:00:00Z"}]
    maps: list[dict[str, Any]] = [
        {"newsarticle": [{"datepublished": "2020-01-01"}], "metatags": told},
        {"metatags": [{"date": ""}, {"datepublished": "2019-05-06"}]},
        {"cse_image": [{"src": "x"}]},
    ]
    found = [CASES["google"].found(n, pagemap=one) for n, one in enumerate(maps, start=1)]
    with GoogleSearchServer(found) as server:
        dates = [doc.metadata.get("date") for doc in searching(server).invoke("sky")]
    assert dates == ["2024-03-05T10:00:00Z", "2019-05-06", None]


def test_the_request_carries_question_engine_and_key() -> None:
    with GoogleSearchServer(PAGES) as server:
        searching(server, k=3).invoke("sky & sea = blue?")
    (request,) = server.requests
    asked = {name: request.parameters[name] for name in ("q", "cx", "num", "start")}
    assert request.headers["x-goog-api-key"] == KEY
    assert KEY not in request.target
    assert asked == {"q": "sky & sea = blue?", "cx": "engine", "num": "3", "start": "1"}


def test_a_question_too_long_for_an_address_is_searched_too() -> None:
    question = "空はなぜ青いのですか。" * 60
    with GoogleSearchServer(PAGES, api_key=KEY) as server:
        assert len(searching(server).invoke(question)) == 10
    assert server.requests[0].parameters["q"] == question


def test_a_rate_limit_named_by_a_403_is_tried_again() -> None:
    limited = google_error(403, "Rate Limit Exceeded", "userRateLimitExceeded")
    with GoogleSearchServer(PAGES, faults=[limited]) as server:
        assert len(searching(server).invoke("sky")) == 10


def test_a_note_says_when_google_ends_and_what_to_use_instead() -> None:
    (note,) = GoogleRetriever(api_key=SecretStr(KEY), engine_id="engine").notes
    assert "2027-01-01" in note
    assert "--search serper" in note


def test_settings_for_certificates_do_not_concern_a_search_by_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GOOGLE_API_USE_MTLS_ENDPOINT", "unknown to the client library")
    assert GoogleRetriever(api_key=SecretStr(KEY), engine_id="engine").k == 10
