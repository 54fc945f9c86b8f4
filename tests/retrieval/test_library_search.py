"""What the searches through a client library have in common: Tavily, Exa and Vertex AI."""

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
from conflictscore.retrieval.exa import ExaRetriever
from conflictscore.retrieval.tavily import TavilyRetriever
from conflictscore.retrieval.vertex import VertexRetriever
from conflictscore.retrieval.web_search import WebSearchRetriever
from tests.fakes.search_server import (
    DISCONNECT,
    HANG,
    Handler,
    Received,
    Reply,
    SearchServer,
    html_reply,
    json_reply,
)
from tests.fakes.search_services import (
    ENGINE,
    exa,
    exa_error,
    tavily,
    tavily_error,
    vertex,
    vertex_error,
)

KEY = 'sk+secret/"key"&<42>'
"""With characters that addresses, JSON and HTML each write in their own way."""


@dataclass(frozen=True)
class Case:
    """One provider: its search, its fake, and how it writes a result and an error."""

    search: type[WebSearchRetriever]
    speak: Callable[..., Handler]
    found: Callable[[int, str], dict[str, Any]]
    error: Callable[..., Reply]
    key_header: str

    def searching(self, server: SearchServer, **options: Any) -> WebSearchRetriever:
        own = {"serving_config": f"{ENGINE}/servingConfigs/default_search"}
        return self.search(
            **{
                "endpoint": server.endpoint,
                "api_key": SecretStr(KEY),
                "backoff": 0.001,
                **(own if self.search is VertexRetriever else {}),
                **options,
            }
        )


CASES = {
    "tavily": Case(
        TavilyRetriever,
        tavily,
        lambda n, text: {"title": f"Title {n}", "url": f"https://{n}.example/", "content": text},
        tavily_error,
        "authorization",
    ),
    "exa": Case(
        ExaRetriever,
        exa,
        lambda n, text: {
            "title": f"Title {n}",
            "url": f"https://{n}.example/",
            "highlights": [text],
        },
        lambda status, text, **headers: exa_error(status, "SOME_TAG", text, **headers),
        "x-api-key",
    ),
    "vertex": Case(
        VertexRetriever,
        vertex,
        lambda n, text: {
            "title": f"Title {n}",
            "link": f"https://{n}.example/",
            "snippets": [{"snippet": text, "snippet_status": "SUCCESS"}],
        },
        lambda status, text, **headers: vertex_error(status, "SOME_NAME", text, **headers),
        "x-goog-api-key",
    ),
}


@pytest.fixture(params=CASES)
def case(request: pytest.FixtureRequest) -> Case:
    return CASES[request.param]


def serving(case: Case, count: int = 150, **options: Any) -> SearchServer:
    found = [case.found(n, f"Text {n}.") for n in range(1, count + 1)]
    return SearchServer(case.speak(found, api_key=KEY), **options)


def test_results_keep_their_order_and_say_where_they_came_from(case: Case) -> None:
    with serving(case) as server:
        found = case.searching(server, k=3).invoke("sky")
    assert [doc.page_content for doc in found] == ["Text 1.", "Text 2.", "Text 3."]
    assert found[1].metadata == {
        "title": "Title 2",
        "source": "https://2.example/",
        "rank": 2,
        "provider": case.search.provider,
    }


def test_titles_and_texts_are_plain(case: Case) -> None:
    item = case.found(1, "The <b>sky</b>\n is&nbsp;blue, 3 < 4.")
    item["title"] = "Why <b>sky</b> &amp; sea"
    with SearchServer(case.speak([item])) as server:
        (found,) = case.searching(server).invoke("sky")
    assert found.metadata["title"] == "Why sky & sea"
    assert found.page_content == "The sky is blue, 3 < 4."


def test_the_most_results_come_and_no_more_are_promised(case: Case) -> None:
    most = case.search.k_limit or 0
    with serving(case) as server:
        found = case.searching(server, k=most).invoke("sky")
        with pytest.raises(InputError, match=f"at most {most} documents, and k is {most + 1}"):
            case.searching(server, k=most + 1)
    assert [doc.metadata["title"] for doc in found] == [f"Title {n}" for n in range(1, most + 1)]
    assert len(server.requests) == most / case.search.page_size


def test_nothing_found_is_an_empty_list(case: Case) -> None:
    with serving(case, count=0) as server:
        assert case.searching(server).invoke("sky") == []
    assert len(server.requests) == 1


def test_an_empty_question_is_refused_without_a_request(case: Case) -> None:
    with serving(case) as server, pytest.raises(InputError, match="question"):
        case.searching(server).invoke(" \n")
    assert server.requests == []


async def test_k_of_one_call_also_holds_when_awaited(case: Case) -> None:
    with serving(case) as server:
        assert len(await case.searching(server).ainvoke("sky", k=2)) == 2


def test_twenty_threads_share_one_search(case: Case) -> None:
    def echo(request: Received) -> Reply:
        return case.speak([case.found(1, request.json["query"])])(request)

    questions = [f"q{n}" for n in range(60)]
    with SearchServer(echo) as server, ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(case.searching(server).invoke, questions))
    assert [[doc.page_content for doc in found] for found in answers] == [[q] for q in questions]


def test_a_packed_reply_is_unpacked(case: Case) -> None:
    def packed(request: Received) -> Reply:
        assert "gzip" in request.headers["accept-encoding"]
        plain = case.speak([case.found(1, "Text.")])(request)
        headers = {**plain.headers, "Content-Encoding": "gzip"}
        return Reply(200, gzip.compress(plain.body), headers)

    with SearchServer(packed) as server:
        assert len(case.searching(server).invoke("sky")) == 1


JSON = {"Content-Type": "application/json"}


def faults(case: Case) -> dict[str, Reply]:
    return {
        "busy": case.error(429, "Too many requests, slow down. {quoted}"),
        "busy for a moment": case.error(429, "Quota exceeded: 60 per minute.", Retry_After="0"),
        "down": html_reply("<h1>Bad gateway {quoted}</h1>", 502),
        "lost": DISCONNECT,
        # Of two lengths the first counts here, or none does: either way the reply cannot be read.
        "cut short": Reply(200, b"{", {**JSON, "Content-Length": "9999"}),
    }


@pytest.mark.parametrize("name", faults(CASES["tavily"]))
def test_a_passing_fault_is_tried_again(case: Case, name: str) -> None:
    fault = faults(case)[name]
    with serving(case, faults=[fault, fault]) as server:
        assert len(case.searching(server).invoke("sky")) == 10
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("busy", 429, r"asks for fewer searches \(429: Too many requests, slow down\."),
        ("down", 502, r"search failed \(502: Bad Gateway\)"),
        ("lost", None, "cannot be reached: .*without"),
    ],
)
def test_a_lasting_fault_is_a_provider_error_after_the_retries(
    case: Case, name: str, status: int | None, words: str
) -> None:
    with (
        serving(case, always=faults(case)[name]) as server,
        pytest.raises(ProviderError, match=f"{case.search.title} {words}") as caught,
    ):
        case.searching(server).invoke("sky")
    assert (caught.value.provider, caught.value.status) == (case.search.provider, status)
    assert not isinstance(caught.value, QuotaError)
    # httplib2 by itself asks once more on a new connection where one was lost.
    twice = case.search is VertexRetriever and name == "lost"
    assert len(server.requests) == (6 if twice else 3)


def test_the_pause_the_server_asks_for_is_kept(case: Case) -> None:
    with serving(case, faults=[case.error(429, "Slow down.", Retry_After="1")]) as server:
        case.searching(server).invoke("sky")
    first, second = server.requests
    assert second.at - first.at >= 1


def test_a_long_pause_is_not_waited_out(case: Case) -> None:
    with (
        serving(case, always=case.error(503, "Later.", Retry_After="3600")) as server,
        pytest.raises(ProviderError, match=r"503: Later\."),
    ):
        case.searching(server).invoke("sky")
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("status", "words"), [(402, "Payment required."), (429, "You exceeded your daily quota.")]
)
def test_a_used_up_quota_is_not_tried_again(case: Case, status: int, words: str) -> None:
    with (
        serving(case, always=case.error(status, words)) as server,
        pytest.raises(
            QuotaError, match=rf"credit of {case.search.title} is used up \({status}: {words}"
        ) as caught,
    ):
        case.searching(server).invoke("sky")
    assert (caught.value.provider, caught.value.status) == (case.search.provider, status)
    assert len(server.requests) == 1


def test_a_question_that_cannot_be_used_is_told_why(case: Case) -> None:
    with (
        serving(case, always=case.error(400, "Query is too long.")) as server,
        pytest.raises(InputError, match=r"400: Query is too long\..*length") as caught,
    ):
        case.searching(server).invoke("sky")
    assert not isinstance(caught.value, ConfigurationError)
    assert len(server.requests) == 1


def test_a_refused_key_is_a_matter_of_configuration(case: Case) -> None:
    with (
        serving(case) as server,
        pytest.raises(
            ConfigurationError,
            match=f"{case.search.title} does not accept the key .*{case.search.key_variables[0]}",
        ),
    ):
        case.searching(server, api_key="another").invoke("sky")
    assert len(server.requests) == 1


def test_a_forbidden_search_is_a_matter_of_configuration(case: Case) -> None:
    with (
        serving(case, always=case.error(403, "Not in your plan.")) as server,
        pytest.raises(ConfigurationError, match=r"403: Not in your plan\."),
    ):
        case.searching(server).invoke("sky")
    assert len(server.requests) == 1


def test_a_server_that_does_not_answer_is_given_up(case: Case) -> None:
    started = time.monotonic()
    with (
        serving(case, always=HANG) as server,
        pytest.raises(ProviderError, match=f"{case.search.title} did not answer within 0.3 s"),
    ):
        case.searching(server, timeout=0.3).invoke("sky")
    assert time.monotonic() - started < 20  # the client libraries' own limit is a minute
    assert len(server.requests) == 1


def test_a_connection_that_stays_lost_is_a_provider_error(case: Case) -> None:
    with serving(case) as server:
        retriever = case.searching(server)
    with pytest.raises(ProviderError, match="cannot be reached") as caught:
        retriever.invoke("sky")
    assert (caught.value.provider, caught.value.status) == (case.search.provider, None)


@pytest.mark.parametrize(
    "body",
    [
        b"<h1>Log in to the hotel's network</h1>",
        b"[]",
        b"null",
        b'"text"',
        b'{"query": "sky", "results": {}}',
        b'{"query": "sky", "results": "none"}',
        b'{"query": "sky", "results": ["x"]}',
        b'{"query": "sky", "results": [[]]}',
        b'{"query": "sky", "results": [{"tit',
        b"[" * 200_000,
        b'{"results": ' + b"9" * 5000 + b"}",
        b"\xff\xfe",
        b"",
    ],
)
def test_a_reply_of_another_form_is_a_provider_error(case: Case, body: bytes) -> None:
    with (
        serving(case, always=Reply(200, body, JSON)) as server,
        pytest.raises(ProviderError, match=f"{case.search.title}'s reply .*form of search results"),
    ):
        case.searching(server).invoke("sky")
    assert len(server.requests) == 1


def test_results_of_another_form_are_a_provider_error(case: Case) -> None:
    for field, value in ((field, 5) for field in case.found(1, "Text.")):
        item = {**case.found(1, "Text."), field: value}
        with (
            SearchServer(case.speak([item])) as server,
            pytest.raises(ProviderError, match="form of search results"),
        ):
            case.searching(server).invoke("sky")


@pytest.mark.parametrize("status", [301, 303, 307, 308])
def test_a_redirect_is_not_followed(case: Case, status: int) -> None:
    with serving(case) as elsewhere:
        moved = Reply(status, headers={"Location": f"{elsewhere.endpoint}/search"})
        with (
            serving(case, always=moved) as server,
            pytest.raises(ConflictScoreError, match=str(status)),
        ):
            case.searching(server).invoke("sky")
    assert elsewhere.requests == []


FAULTS: dict[str, Callable[[Case], Reply]] = {
    "bad request": lambda case: case.error(400, "{quoted}"),
    "unauthorized": lambda case: case.error(401, "{quoted}"),
    "payment": lambda case: case.error(402, "{quoted}"),
    "forbidden": lambda case: case.error(403, "{quoted}"),
    "missing": lambda case: case.error(404, "{quoted}"),
    "other": lambda case: case.error(418, "{quoted}"),
    "rate limit": lambda case: case.error(429, "{quoted}"),
    "quota": lambda case: case.error(429, "Your quota is used up: {quoted}"),
    "plan": lambda case: case.error(432, "{quoted}"),
    "server error": lambda case: case.error(500, "{quoted}"),
    "a proxy's page": lambda _: html_reply("<p>{quoted}</p>", 502),
    "a page": lambda _: html_reply("{quoted}"),
    "another form": lambda _: json_reply({"query": "{quoted}", "results": "{quoted}"}),
    "disconnect": lambda _: DISCONNECT,
    "hang": lambda _: HANG,
}


@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_shows_the_key(case: Case, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(case, always=FAULTS[name](case)) as server:
        # a machine that is busy may take longer than that to send the request at all
        timeout = 0.3 if name == "hang" else 5.0
        retriever = case.searching(server, timeout=timeout, retries=1)
        with pytest.raises(ConflictScoreError) as caught:
            retriever.invoke("sky")
    assert KEY in server.requests[0].headers[case.key_header]
    seen = [str(caught.value), repr(caught.value), repr(retriever), str(retriever), caplog.text]
    seen += traceback.format_exception(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    for text in seen:
        for form in (KEY, quote(KEY), quote(KEY, safe=""), "secret"):
            assert form not in text
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 1000


def test_no_success_shows_the_key(case: Case, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(case) as server:
        found = case.searching(server).invoke("sky")
    assert "POST" in caplog.text  # the client libraries do log their requests
    assert "secret" not in caplog.text + repr(found)


def test_a_wrong_option_shows_neither_itself_nor_the_key(case: Case) -> None:
    wrong: dict[str, Any] = {"api_key": KEY, "api_kee": KEY}
    with pytest.raises(ValidationError) as caught:
        case.search(**wrong)
    assert "api_kee" in str(caught.value)
    assert "secret" not in str(caught.value)


def test_a_missing_key_is_named_with_where_to_get_one_and_what_to_do_without(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in case.search.key_variables:
        monkeypatch.setenv(variable, " ")
    with pytest.raises(ConfigurationError) as caught:
        case.search()
    words = [*case.search.key_variables, "come", "searxng:URL", "--docs"]
    for word in words:
        assert word in str(caught.value)


def test_a_given_key_comes_before_the_environment(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(case.search.key_variables[0], "of-the-environment")
    with SearchServer(case.speak()) as server:
        case.searching(server).invoke("sky")
        case.searching(server, api_key=None).invoke("sky")
    first, second = (request.headers[case.key_header] for request in server.requests)
    assert KEY in first
    assert "of-the-environment" in second


WITH_REQUESTS = [CASES["tavily"], CASES["exa"]]


@pytest.mark.parametrize("case", WITH_REQUESTS, ids=["tavily", "exa"])
def test_a_netrc_does_not_take_the_place_of_the_key(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login user password of-the-netrc\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(case) as server:
        assert len(case.searching(server).invoke("sky")) == 10
    assert not server.requests[0].headers.get("authorization", "").startswith("Basic")


@pytest.mark.parametrize("case", WITH_REQUESTS, ids=["tavily", "exa"])
@pytest.mark.parametrize("proxy", ["ftp://user:pass@proxy.example", "http://user:pass@:80"])
def test_a_proxy_that_cannot_be_used_is_a_matter_of_configuration(
    case: Case, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", proxy)
    with (
        serving(case) as server,
        pytest.raises(ConfigurationError, match=r"proxy .* cannot be used") as caught,
    ):
        case.searching(server).invoke("sky")
    assert "pass@" not in str(caught.value)
    assert server.requests == []


@pytest.mark.parametrize("case", WITH_REQUESTS, ids=["tavily", "exa"])
@pytest.mark.parametrize("endpoint", ["localhost:8080", "nowhere", "http://", "ftp://a.example"])
def test_an_address_that_cannot_be_asked_is_a_matter_of_configuration(
    case: Case, endpoint: str
) -> None:
    with pytest.raises(ConfigurationError, match=f"address for {case.search.title}"):
        case.search(api_key=SecretStr(KEY), endpoint=endpoint).invoke("sky")  # type: ignore[call-arg]


@pytest.mark.parametrize("case", WITH_REQUESTS, ids=["tavily", "exa"])
def test_a_reply_that_does_not_come_to_an_end_is_given_up(case: Case) -> None:
    started = time.monotonic()
    with (
        serving(case, always=Reply(200, b" " * 1000, JSON, drip=0.02)) as server,
        pytest.raises(ProviderError, match=r"did not answer within 0\.3 s"),
    ):
        case.searching(server, timeout=0.3).invoke("sky")
    assert time.monotonic() - started < 10  # the whole drip takes 20 s
    assert len(server.requests) == 1


@pytest.mark.parametrize("case", WITH_REQUESTS, ids=["tavily", "exa"])
@pytest.mark.parametrize(
    ("body", "encoding", "detail"),
    [
        (b" " * 5_000_001, {}, "it is longer than 5,000,000 bytes"),
        (
            gzip.compress(b" " * 5_000_001),
            {"Content-Encoding": "gzip"},
            "it is longer than 5,000,000 bytes",
        ),
        (b"not packed", {"Content-Encoding": "gzip"}, "it cannot be unpacked"),
        (b"not JSON", {}, "it is not a JSON object"),
    ],
)
def test_a_reply_that_cannot_be_read_is_told_why(
    case: Case, body: bytes, encoding: dict[str, str], detail: str
) -> None:
    with (
        serving(case, always=Reply(200, body, {**JSON, **encoding})) as server,
        pytest.raises(ProviderError, match=detail),
    ):
        case.searching(server, timeout=30).invoke("sky")
    assert len(server.requests) == 1


@pytest.mark.parametrize("case", WITH_REQUESTS, ids=["tavily", "exa"])
@pytest.mark.parametrize(
    "body",
    [
        b'{"detail": [{"msg": "field required"}], "error": 5}',
        b"[1]",
        b"[" * 200_000,
        b'{"error": ' + b"9" * 5000 + b"}",
        b"\xff\xfe",
        b"",
    ],
)
def test_an_error_of_another_form_is_told_by_its_status(case: Case, body: bytes) -> None:
    with (
        serving(case, always=Reply(500, body, JSON)) as server,
        pytest.raises(ProviderError, match=r"search failed \(500: Internal Server Error\)"),
    ):
        case.searching(server, retries=0).invoke("sky")
