"""Exa: what goes over the wire through its client, and what is its own."""

from typing import Any

import pytest
from pydantic import SecretStr

from conflictscore.errors import ProviderError, QuotaError
from conflictscore.retrieval.exa import ExaRetriever
from conflictscore.retrieval.search_notes import collecting
from tests.fakes.search_server import SearchServer, json_reply
from tests.fakes.search_services import exa, exa_error

KEY = "exa-key"

RESULTS: list[dict[str, Any]] = [
    {"title": f"Title {n}", "url": f"https://site{n}.example/page", "highlights": [f"Passage {n}."]}
    for n in range(1, 31)
]


def searching(server: SearchServer, **options: Any) -> ExaRetriever:
    return ExaRetriever(
        **{"api_key": KEY, "endpoint": server.endpoint, "backoff": 0.001, **options}
    )


def test_without_an_endpoint_exa_itself_is_asked() -> None:
    assert ExaRetriever(api_key=SecretStr(KEY)).address("") == "https://api.exa.ai"


def test_the_request_asks_for_highlights_and_for_no_summary() -> None:
    with SearchServer(exa(RESULTS)) as server:
        searching(server, k=3).invoke("sky & sea = blau?")
    (request,) = server.requests
    assert (request.method, request.path) == ("POST", "/search")
    assert request.headers["x-api-key"] == KEY
    assert request.json == {
        "query": "sky & sea = blau?",
        "numResults": 3,
        "contents": {"highlights": True},
    }


def test_highlights_and_the_date_are_kept() -> None:
    results = [
        {
            **RESULTS[0],
            "highlights": ["The sky is blue.", "At noon."],
            "publishedDate": "2024-03-05T10:00:00.000Z",
            "summary": "A model's words.",
            "text": "The whole page.",
        },
        {**RESULTS[1], "title": None, "highlights": None},
        {**RESULTS[2], "highlights": []},
    ]
    with SearchServer(exa(results)) as server:
        first, second, third = searching(server).invoke("sky")
    assert first.page_content == "The sky is blue. [...] At noon."
    assert first.metadata["date"] == "2024-03-05T10:00:00.000Z"
    assert (second.page_content, second.metadata["title"]) == ("", "")
    assert "date" not in second.metadata
    assert third.page_content == ""


@pytest.mark.parametrize(
    ("highlights", "text"),
    [
        ("a text", ""),
        ([5], ""),
        ([None], ""),
        ({"a": "b"}, ""),
        ([5, "At noon."], "At noon."),
    ],
)
def test_highlights_of_another_form_are_left_out_and_all_results_stay(
    highlights: Any, text: str
) -> None:
    results = [
        {**RESULTS[0], "highlights": highlights},
        {**RESULTS[1], "highlights": ["The sky is blue."]},
    ]
    with SearchServer(exa(results)) as server, collecting() as notes:
        found = searching(server).invoke("sky")
    assert [doc.page_content for doc in found] == [text, "The sky is blue."]
    assert [doc.metadata["source"] for doc in found] == [one["url"] for one in RESULTS[:2]]
    assert notes == []


def test_used_up_credit_is_told_in_exas_words() -> None:
    used_up = exa_error(402, "NO_MORE_CREDITS", "You have run out of credits.")
    with (
        SearchServer(exa(), always=used_up) as server,
        pytest.raises(QuotaError, match=r"Exa is used up \(402: You have run out of credits\."),
    ):
        searching(server).invoke("sky")
    assert len(server.requests) == 1


@pytest.mark.parametrize("reply", [{}, {"answer": "It is blue."}, {"results": None}])
def test_another_kind_of_reply_is_no_empty_search(reply: Any) -> None:
    with (
        SearchServer(exa(), always=json_reply(reply)) as server,
        pytest.raises(ProviderError, match="form of search results"),
    ):
        searching(server).invoke("sky")
