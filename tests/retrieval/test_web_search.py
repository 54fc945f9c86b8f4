"""What every web search has in common, through each provider that speaks JSON over HTTP."""

import base64
import gzip
import logging
import time
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest
from pydantic import SecretStr, ValidationError

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
)
from conflictscore.retrieval.brave import BraveRetriever
from conflictscore.retrieval.searxng import SearxngRetriever
from conflictscore.retrieval.serper import SerperRetriever
from conflictscore.retrieval.web_search import WebSearchRetriever, scrubbed
from tests.fakes.search_server import (
    DISCONNECT,
    HANG,
    Handler,
    Received,
    Reply,
    SearchServer,
    brave,
    brave_error,
    html_reply,
    json_reply,
    searxng,
    serper,
    serper_error,
)

KEY = 'sk+secret/"key"&<42>'
"""With characters that addresses, JSON and HTML each write in their own way."""


@dataclass(frozen=True)
class Case:
    """One provider: its search, its fake, and the names that its results have."""

    search: type[WebSearchRetriever]
    speak: Callable[..., Handler]
    title: str
    link: str = "url"
    text: str = "description"

    def found(self, number: int) -> dict[str, Any]:
        address = f"https://site{number}.example/page"
        return {"title": f"Title {number}", self.link: address, self.text: f"Text {number}."}

    def searching(self, server: SearchServer, **options: Any) -> WebSearchRetriever:
        endpoint = server.endpoint
        if self.search is SearxngRetriever:
            endpoint = endpoint.replace("//", f"//user:{quote(KEY, safe='')}@")
        return self.search(
            **{"endpoint": endpoint, "api_key": SecretStr(KEY), "backoff": 0.001, **options}
        )


CASES = {
    "serper": Case(SerperRetriever, serper, "Serper", "link", "snippet"),
    "brave": Case(BraveRetriever, brave, "Brave"),
    "searxng": Case(SearxngRetriever, searxng, "SearXNG", "url", "content"),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def serving(case: Case, count: int = 150, **options: Any) -> SearchServer:
    return SearchServer(case.speak([case.found(n) for n in range(1, count + 1)]), **options)


def test_results_keep_their_order_and_say_where_they_came_from(case: Case) -> None:
    with serving(case) as server:
        found = case.searching(server, k=3).invoke("sky")
    assert [doc.page_content for doc in found] == ["Text 1.", "Text 2.", "Text 3."]
    assert found[1].metadata == {
        "title": "Title 2",
        "source": "https://site2.example/page",
        "rank": 2,
        "provider": case.search.provider,
    }


def test_titles_and_texts_are_plain(case: Case) -> None:
    item = {
        **case.found(1),
        "title": "Why <b>sky</b> &amp; sea",
        case.text: "The <strong>sky</strong>\n is&nbsp;blue, 3 < 4 &#x27;and&#x27; more.",
    }
    with SearchServer(case.speak([item])) as server:
        (found,) = case.searching(server).invoke("sky")
    assert found.metadata["title"] == "Why sky & sea"
    assert found.page_content == "The sky is blue, 3 < 4 'and' more."


def test_a_result_without_title_and_text_is_no_fault(case: Case) -> None:
    items = [{case.link: "https://a.example/", "title": None}, case.found(2)]
    with SearchServer(case.speak(items)) as server:
        first, _ = case.searching(server).invoke("sky")
    assert (first.page_content, first.metadata["title"]) == ("", "")


def test_a_hundred_results_come_in_pages_and_are_the_most(case: Case) -> None:
    with serving(case) as server:
        found = case.searching(server, k=100).invoke("sky")
        with pytest.raises(InputError, match="at most 100 documents, and k is 101"):
            case.searching(server, k=101)
    assert [doc.metadata["title"] for doc in found] == [f"Title {n}" for n in range(1, 101)]
    assert [doc.metadata["rank"] for doc in found] == list(range(1, 101))
    assert len(server.requests) == 100 / case.search.page_size


def test_an_address_that_comes_again_on_a_later_page_is_listed_once(case: Case) -> None:
    size = case.search.page_size
    items = [case.found(n) for n in range(1, size + 1)]
    items += [case.found(size), case.found(size + 1)]
    with SearchServer(case.speak(items)) as server:
        found = case.searching(server, k=2 * size).invoke("sky")
    assert [doc.metadata["title"] for doc in found] == [f"Title {n}" for n in range(1, size + 2)]


def test_a_page_with_nothing_new_ends_the_search(case: Case) -> None:
    with serving(case, count=case.search.page_size) as server:
        found = case.searching(server, k=100).invoke("sky")
    assert len(found) == case.search.page_size
    assert len(server.requests) <= 2


def test_nothing_found_is_an_empty_list(case: Case) -> None:
    with serving(case, count=0) as server:
        assert case.searching(server).invoke("sky") == []
    assert len(server.requests) == 1


def test_an_empty_question_is_refused_without_a_request(case: Case) -> None:
    with serving(case) as server, pytest.raises(InputError, match="question"):
        case.searching(server).invoke(" \n")
    assert server.requests == []


def test_what_no_address_can_hold_of_a_question_is_replaced(case: Case) -> None:
    with serving(case) as server:
        assert case.searching(server).invoke(" Is \ud800 the sky\x00 blue?\n")
    [request] = server.requests
    sent = request.json if request.method == "POST" else request.parameters
    assert sent["q"] == "Is \ufffd the sky blue?"


async def test_k_of_one_call_also_holds_when_awaited(case: Case) -> None:
    with serving(case) as server:
        assert len(await case.searching(server).ainvoke("sky", k=2)) == 2


def test_twenty_threads_share_one_search(case: Case) -> None:
    def echo(request: Received) -> Reply:
        question = request.json["q"] if request.body else request.parameters["q"]
        item = {**case.found(1), case.text: question}
        return case.speak([item])(request)

    questions = [f"q{n}" for n in range(60)]
    with SearchServer(echo) as server, ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(case.searching(server).invoke, questions))
    assert [[doc.page_content for doc in found] for found in answers] == [[q] for q in questions]


def test_a_packed_reply_is_unpacked(case: Case) -> None:
    def packed(request: Received) -> Reply:
        assert request.headers["accept-encoding"] == "gzip"
        plain = case.speak([case.found(1)])(request)
        headers = {**plain.headers, "Content-Encoding": "gzip"}
        return Reply(200, gzip.compress(plain.body), headers)

    with SearchServer(packed) as server:
        assert len(case.searching(server).invoke("sky")) == 1


BUSY = json_reply({"error": {"code": "RATE_LIMITED", "detail": "Too many, slow down."}}, 429)
DOWN = html_reply("<h1>Bad gateway {quoted}</h1>", 502)


@pytest.mark.parametrize("fault", [BUSY, DOWN, DISCONNECT], ids=["busy", "down", "lost"])
def test_a_passing_fault_is_tried_again(case: Case, fault: Reply) -> None:
    with serving(case, faults=[fault, fault]) as server:
        assert len(case.searching(server).invoke("sky")) == 10
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("fault", "status", "words"),
    [
        (BUSY, 429, r"asks for fewer searches \(429: RATE_LIMITED: Too many, slow down\.\)"),
        (DOWN, 502, r"search failed \(502: Bad Gateway\)"),
        (DISCONNECT, None, "cannot be reached: .*without sending a response"),
    ],
    ids=["busy", "down", "lost"],
)
def test_a_lasting_fault_is_a_provider_error_after_the_retries(
    case: Case, fault: Reply, status: int | None, words: str
) -> None:
    with (
        serving(case, always=fault) as server,
        pytest.raises(ProviderError, match=f"{case.title} {words}") as caught,
    ):
        case.searching(server).invoke("sky")
    assert (caught.value.provider, caught.value.status) == (case.search.provider, status)
    assert not isinstance(caught.value, QuotaError)
    assert len(server.requests) == 3


def test_the_pause_the_server_asks_for_is_kept(case: Case) -> None:
    busy = json_reply({}, 429, Retry_After="1")
    with serving(case, faults=[busy]) as server:
        case.searching(server).invoke("sky")
    first, second = server.requests
    assert second.at - first.at >= 1


@pytest.mark.parametrize("header", ["61", "Fri, 01 Jan 2100 00:00:00 GMT"])
def test_a_long_pause_is_not_waited_out(case: Case, header: str) -> None:
    with (
        serving(case, always=json_reply({}, 429, Retry_After=header)) as server,
        pytest.raises(ProviderError, match="fewer searches"),
    ):
        case.searching(server).invoke("sky")
    assert len(server.requests) == 1


@pytest.mark.parametrize("header", ["soon", "-1", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_pause_that_is_no_time_to_come_does_not_hold_up(case: Case, header: str) -> None:
    with serving(case, faults=[json_reply({}, 429, Retry_After=header)]) as server:
        assert len(case.searching(server).invoke("sky")) == 10


@pytest.mark.parametrize(
    "fault",
    [
        json_reply({"error": "Payment required."}, 402),
        json_reply({"detail": "You exceeded your monthly quota."}, 429),
        json_reply({"message": "No credits are left."}, 429),
    ],
)
def test_a_used_up_quota_is_not_tried_again(case: Case, fault: Reply) -> None:
    with (
        serving(case, always=fault) as server,
        pytest.raises(QuotaError, match=f"quota or credit of {case.title} is used up") as caught,
    ):
        case.searching(server).invoke("sky")
    assert (caught.value.provider, caught.value.status) == (case.search.provider, fault.status)
    assert len(server.requests) == 1


@pytest.mark.parametrize("words", ["Quota exceeded: 60 per minute.", "Quota per second exceeded."])
def test_a_quota_of_the_moment_is_tried_again(case: Case, words: str) -> None:
    with serving(case, faults=[json_reply({"message": words}, 429)]) as server:
        assert len(case.searching(server).invoke("sky")) == 10


@pytest.mark.parametrize("reply", [HANG, Reply(200, b" " * 500, drip=0.05)], ids=["hang", "drip"])
def test_a_server_that_does_not_come_to_an_end_is_given_up(case: Case, reply: Reply) -> None:
    started = time.monotonic()
    with (
        serving(case, always=reply) as server,
        pytest.raises(ProviderError, match=f"{case.title} did not answer within 0.3 s"),
    ):
        case.searching(server, timeout=0.3).invoke("sky")
    assert time.monotonic() - started < 10  # the whole drip takes 25 s
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (html_reply("<h1>Log in to the hotel's network</h1>"), ": it is text/html"),
        (Reply(200, b"{}"), ": it is of no type, not JSON"),
        (json_reply([]), ": it is not a JSON object"),
        (json_reply(None), ": it is not a JSON object"),
        (
            Reply(200, b'{"results": [{"tit', {"Content-Type": "application/json"}),
            "not a JSON object",
        ),
        (Reply(200, b"[" * 200_000, {"Content-Type": "application/json"}), "not a JSON object"),
        (Reply(200, b"\xff\xfe", {"Content-Type": "application/json"}), "not a JSON object"),
        (json_reply({"answer": 42}), "form of search results"),
        (json_reply({"text": " " * 5_000_001}), ": it is longer than 5,000,000 bytes"),
        (
            Reply(
                200,
                gzip.compress(b" " * 5_000_001),
                {"Content-Type": "application/json", "Content-Encoding": "gzip"},
            ),
            ": it is longer than 5,000,000 bytes",
        ),
        (
            Reply(
                200, b"not packed", {"Content-Type": "application/json", "Content-Encoding": "gzip"}
            ),
            ": it cannot be unpacked",
        ),
    ],
)
def test_a_reply_of_another_form_is_a_provider_error(case: Case, reply: Reply, detail: str) -> None:
    with (
        serving(case, always=reply) as server,
        pytest.raises(ProviderError, match=f"{case.title}'s reply .*{detail}"),
    ):
        case.searching(server).invoke("sky")
    assert len(server.requests) == 1


def test_an_error_of_any_depth_is_a_provider_error(case: Case) -> None:
    deep = b'{"error":' * 900 + b'"boom"' + b"}" * 900
    with (
        serving(case, always=Reply(500, deep)) as server,
        pytest.raises(ProviderError, match=r"search failed \(500"),
    ):
        case.searching(server, retries=0).invoke("sky")


@pytest.mark.parametrize("results", [{}, "none", [1], [["x"]], [{"title": 5}]])
def test_results_of_another_form_are_a_provider_error(case: Case, results: Any) -> None:
    listing = {"results": results}
    # Each provider finds its own names in it, and its results under one of them.
    reply = {"type": "search", "query": {}, "web": listing, "organic": results, **listing}
    with (
        serving(case, always=json_reply(reply)) as server,
        pytest.raises(ProviderError, match="form of search results"),
    ):
        case.searching(server).invoke("sky")


def test_a_redirect_is_not_followed(case: Case) -> None:
    with serving(case) as elsewhere:
        moved = Reply(301, headers={"Location": f"{elsewhere.endpoint}/search"})
        with serving(case, always=moved) as server, pytest.raises(ConflictScoreError, match="301"):
            case.searching(server).invoke("sky")
    assert elsewhere.requests == []


def test_a_proxy_that_cannot_be_used_is_a_matter_of_configuration(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "ftp://user:pass@proxy.example")
    with (
        serving(case) as server,
        pytest.raises(ConfigurationError, match=r"proxy .* cannot be used") as caught,
    ):
        case.searching(server).invoke("sky")
    assert "pass@" not in str(caught.value)


FAULTS = {
    "bad request": serper_error(400, "{quoted}"),
    "unauthorized": serper_error(401, "{quoted}"),
    "payment": serper_error(402, "{quoted}"),
    "forbidden": serper_error(403, "{quoted}"),
    "missing": serper_error(404, "{quoted}"),
    "other": serper_error(418, "{quoted}"),
    "validation": brave_error(422, "VALIDATION", "{quoted}"),
    "token": brave_error(422, "SUBSCRIPTION_TOKEN_INVALID", "{quoted}"),
    "rate limit": serper_error(429, "{quoted}"),
    "quota": serper_error(429, "Your quota is used up: {quoted}"),
    "server error": serper_error(500, "{quoted}"),
    "a proxy's page": html_reply("<p>{quoted}</p>", 502),
    "a page": html_reply("{quoted}"),
    "engines": json_reply({"results": [], "unresponsive_engines": [["google", "{quoted}"]]}),
    "disconnect": DISCONNECT,
    "hang": HANG,
}


def test_certificates_that_cannot_be_used_are_a_matter_of_configuration(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/there/is/none")
    with serving(case) as server, pytest.raises(ConfigurationError, match="SSL_CERT_FILE"):
        case.searching(server).invoke("sky")


def test_user_and_password_of_an_endpoint_are_sent_and_not_kept(case: Case) -> None:
    with serving(case) as server:
        endpoint = server.endpoint.replace("//", "//me:p%40ss%3Aword@")
        retriever = case.searching(server, endpoint=f" {endpoint}/ ")
        retriever.invoke("sky")
    login = base64.b64encode(b"me:p@ss:word").decode()
    assert server.requests[0].headers["authorization"] == f"Basic {login}"
    assert f"'{server.endpoint}'" in repr(retriever)
    assert "ss" not in repr(retriever).partition("endpoint")[2].partition(",")[0]


@pytest.mark.parametrize(
    "endpoint",
    [
        "localhost:8080",
        "ftp://me:secret@a.example",
        "http://",
        "http://me:secret@a\x7fb",
        "http://me:secret@a..example",
        "http://a.example/?q=secret",
        "http://a.example/#secret",
        "http://127.0.0.1:99999",
        "http://127.0.0.1:0",
        "a b",
    ],
)
def test_an_endpoint_that_is_none_is_refused_unseen(case: Case, endpoint: str) -> None:
    options: dict[str, Any] = {"api_key": KEY, "endpoint": endpoint}
    with pytest.raises(ConfigurationError, match="not a plain http or https address") as caught:
        case.search(**options)
    assert "secret" not in "".join(traceback.format_exception(caught.value))


@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_shows_the_key(case: Case, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(case, always=FAULTS[name]) as server:
        retriever = case.searching(server, timeout=0.3, retries=1)
        with pytest.raises(ConflictScoreError) as caught:
            retriever.invoke("sky")
    sent = server.requests[0].headers
    assert KEY in sent.values() or sent["authorization"].startswith("Basic ")
    seen = [str(caught.value), repr(caught.value), repr(retriever), str(retriever), caplog.text]
    seen += traceback.format_exception(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    hidden = [KEY, quote(KEY), quote(KEY, safe=""), KEY.replace('"', '\\"'), "secret"]
    for text in seen:
        for form in (*hidden, sent.get("authorization", KEY)):
            assert form not in text
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_no_content_type_shows_the_key(case: Case) -> None:
    with serving(case, always=Reply(200, b"{}", {"Content-Type": KEY})) as server:
        retriever = case.searching(server)
        with pytest.raises(ProviderError, match=r"it is \*\*\*, not JSON"):
            retriever.invoke("sky")


def test_no_success_shows_the_key(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(case) as server:
        found = case.searching(server).invoke("sky")
    assert "HTTP Request" in caplog.text  # the client library does log addresses
    assert "secret" not in caplog.text + repr(found)


def test_a_wrong_option_shows_neither_itself_nor_the_key(case: Case) -> None:
    wrong: dict[str, Any] = {"api_key": KEY, "endpoint": "http://a.example", "api_kee": KEY}
    with pytest.raises(ValidationError) as caught:
        case.search(**wrong)
    assert "api_kee" in str(caught.value)
    assert "secret" not in str(caught.value)


KEYED = [case for case in CASES.values() if case.search.key_variables]


@pytest.mark.parametrize("case", KEYED, ids=[case.title for case in KEYED])
def test_a_missing_key_is_named_with_where_to_get_one_and_what_to_do_without(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in case.search.key_variables:
        monkeypatch.setenv(variable, " ")
    with pytest.raises(ConfigurationError) as caught:
        case.search()
    words = [*case.search.key_variables, case.search.key_source, "searxng:URL", "ddgs", "--docs"]
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize("case", KEYED, ids=[case.title for case in KEYED])
@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nend"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(case: Case, key: str) -> None:
    with pytest.raises(ConfigurationError, match="space or a special character") as caught:
        case.search(api_key=SecretStr(key))
    assert key not in str(caught.value)


@pytest.mark.parametrize("case", KEYED, ids=[case.title for case in KEYED])
def test_a_given_key_comes_before_the_environment(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(case.search.key_variables[0], "of-the-environment")
    with serving(case) as server:
        case.searching(server).invoke("sky")
        case.searching(server, api_key=None).invoke("sky")
    first, second = (request.headers.values() for request in server.requests)
    assert KEY in first
    assert "of-the-environment" in second


def test_scrubbing_finds_each_form_of_a_secret_and_keeps_the_rest() -> None:
    secret = 'k+/"&é'
    forms = ['k+/"&é', "k%2B%2F%22%26%C3%A9", "k%2b%2f%22%26%c3%a9", 'k+/\\"&\\u00e9']
    forms += ["k+/&quot;&amp;é", "aysvIibDqQ=="]
    assert scrubbed("; ".join(forms), secret) == "; ".join(["***"] * len(forms))
    password = 'it\'s "a b"/\\'
    forms = ["it%27s%20%22a%20b%22%2F%5C", "it%27s+%22a+b%22%2F%5C", 'it\\\'s "a b"/\\\\']
    assert scrubbed("; ".join(forms), password) == "***; ***; ***"
    assert scrubbed("nothing\n to  hide", secret, "") == "nothing to hide"
    assert len(scrubbed("x" * 1000, secret)) == 300
