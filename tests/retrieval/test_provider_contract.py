"""The contract that every search keeps; each provider's peculiarities are in its own tests."""

import asyncio
import base64
import gzip
import logging
import socket
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import product
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from langchain_core.documents import Document
from langchain_tests.integration_tests import RetrieversIntegrationTests
from pydantic import SecretStr, ValidationError

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
)
from conflictscore.retrieval import PROVIDERS
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.corpus import CorpusRetriever
from conflictscore.retrieval.documents import to_documents
from conflictscore.retrieval.recording import RecordedRetriever, record_questions
from tests.fakes.search_providers import CASES, KEY, Case
from tests.fakes.search_server import (
    DISCONNECT,
    HANG,
    Received,
    Reply,
    SearchServer,
    html_reply,
    json_reply,
)
from tests.retrieval.pages.finding import Plain

JSON = {"Content-Type": "application/json"}


Opened = tuple[str, TopKRetriever]


def serving(case: Case, count: int = 150, **options: Any) -> SearchServer:
    found = [case.found(n) for n in range(1, count + 1)]
    keyed = {"api_key": KEY} if case.search.key_variables else {}
    return SearchServer(case.speak(found, **keyed), **options)


def failing(
    case: Case, kind: type[ConflictScoreError], words: str, always: Reply | None, **options: Any
) -> tuple[Any, list[Received]]:
    """The error of a search that always gets this reply, and the requests that it took."""
    with serving(case, always=always) as server, pytest.raises(kind, match=words) as caught:
        case.searching(server, **options).invoke("sky")
    return caught.value, server.requests


@pytest.fixture(params=PROVIDERS)
def opened(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opened]:
    """Each search in the list with five things to find for "sky", and its name."""
    name = request.param
    documents = [
        Document(
            f"The sky, {n}.",
            metadata={"title": f"Title {n}", "source": f"https://site{n}.example/page"}
            | {"rank": n, "provider": "recorded"},
        )
        for n in range(1, 6)
    ]
    if name == "corpus":
        yield name, CorpusRetriever.from_documents(to_documents(documents))
    elif name == "recorded":
        out, asked = tmp_path / "found.jsonl", ["sky", "空 ☁ über?"]
        asyncio.run(
            record_questions(
                asked, Plain(documents=documents), out, search="static", parameters={"top_k": 10}
            )
        )
        yield name, RecordedRetriever.from_file(out)
    else:
        with serving(CASES[name], count=5) as server:
            yield name, CASES[name].searching(server)


def test_the_first_k_are_numbered_and_say_where_they_came_from(opened: Opened) -> None:
    name, search = opened
    found = search.invoke("sky", k=3)
    assert [doc.page_content for doc in found] == ["The sky, 1.", "The sky, 2.", "The sky, 3."]
    for n, document in enumerate(found, start=1):
        at = {"title": f"Title {n}", "source": f"https://site{n}.example/page"}
        assert document.metadata | {"score": None} == at | {
            "rank": n,
            "provider": name,
            "score": None,
        }


async def test_awaited_it_finds_the_same(opened: Opened) -> None:
    _, search = opened
    assert await search.ainvoke("sky", k=2) == await asyncio.to_thread(search.invoke, "sky", k=2)


def test_an_empty_question_and_a_number_of_documents_below_one_are_refused(opened: Opened) -> None:
    _, search = opened
    with pytest.raises(InputError, match="the question to search for is empty"):
        search.invoke(" \n")
    with pytest.raises(InputError, match="at least 1, but k is 0"):
        search.invoke("sky", k=0)


def test_a_question_in_any_script_is_searched(opened: Opened) -> None:
    _, search = opened
    assert len(search.invoke("空 ☁ über?")) == 5


@pytest.mark.parametrize("name", CASES)
class TestEachIsALangChainRetriever(RetrieversIntegrationTests):
    @pytest.fixture(autouse=True)
    def _served(self, name: str) -> Iterator[None]:
        self.case = CASES[name]
        with serving(self.case) as self.server:
            yield

    @property
    def retriever_constructor(self) -> Any:
        return lambda **options: self.case.searching(self.server, **options)

    @property
    def retriever_query_example(self) -> str:
        return "why is the sky blue?"


def those(holds: Callable[[Case], object]) -> pytest.MarkDecorator:
    """A parameter ``case``: the web searches for which this holds."""
    names = [name for name in CASES if holds(CASES[name])]
    return pytest.mark.parametrize("case", [CASES[name] for name in names], ids=names)


every_web_search = those(lambda case: True)
# The same code reads the replies of all searches except Google's client, so two are enough.
by_each_reader_of_statuses = those(lambda case: case.search.provider in ("google", "serper"))
by_the_reader_that_they_share = those(lambda case: case.search.provider == "serper")
where_a_key_is_needed = those(lambda case: case.search.key_variables)


@every_web_search
def test_titles_and_texts_are_plain(case: Case) -> None:
    item = case.found(1, "The <strong>sky</strong>\n is&nbsp;blue, 3 &lt; 4 &#x27;and&#x27; more.")
    item["title"] = "Why <b>sky</b> &amp; sea"
    with SearchServer(case.speak([item])) as server:
        (found,) = case.searching(server).invoke("sky")
    assert found.metadata["title"] == "Why sky & sea"
    assert found.page_content == "The sky is blue, 3 < 4 'and' more."


@every_web_search
def test_what_no_address_can_hold_of_a_question_is_replaced(case: Case) -> None:
    with serving(case) as server:
        assert case.searching(server).invoke(" Is \ud800 the sky\x00 blüe? 空\n")
    assert case.question(server.requests[0]) == "Is \ufffd the sky blüe? 空"


@every_web_search
def test_the_most_results_come_in_pages_and_no_more_are_promised(case: Case) -> None:
    most = case.search.k_limit or 0
    with serving(case) as server:
        found = case.searching(server, k=most).invoke("sky")
        with pytest.raises(InputError, match=f"at most {most} documents, but k is {most + 1}"):
            case.searching(server, k=most + 1)
    assert [doc.metadata["title"] for doc in found] == [f"Title {n}" for n in range(1, most + 1)]
    assert [doc.metadata["rank"] for doc in found] == list(range(1, most + 1))
    assert len(server.requests) == most / case.search.page_size


@every_web_search
def test_twenty_threads_share_one_search(case: Case) -> None:
    def echo(request: Received) -> Reply:
        return case.speak([case.found(1, case.question(request))])(request)

    questions = [f"q{n}" for n in range(60)]
    with SearchServer(echo) as server, ThreadPoolExecutor(20) as threads:
        answers = list(threads.map(case.searching(server).invoke, questions))
    assert [[doc.page_content for doc in found] for found in answers] == [[q] for q in questions]


@every_web_search
def test_a_lost_connection_is_tried_again(case: Case) -> None:
    with serving(case, faults=[DISCONNECT, DISCONNECT]) as server:
        assert len(case.searching(server).invoke("sky")) == 10
    assert len(server.requests) == 3


@every_web_search
def test_connections_that_stay_lost_are_a_provider_error(case: Case) -> None:
    error, requests = failing(case, ProviderError, r"cannot be reached: .*without", DISCONNECT)
    assert (error.provider, error.status) == (case.search.provider, None)
    assert error.__context__ is None
    assert error.__cause__ is None
    assert len(requests) == 3 * case.requests_of_a_lost_connection


@every_web_search
def test_a_server_that_does_not_answer_is_given_up(case: Case) -> None:
    said = f"{case.search.title} did not answer within 1 s"
    _, requests = failing(case, ProviderError, said, HANG, timeout=1)
    assert len(requests) == 1


@every_web_search
def test_a_wrong_option_shows_neither_itself_nor_the_key(case: Case) -> None:
    wrong: dict[str, Any] = {"api_key": KEY, "api_kee": KEY, **case.options}
    with pytest.raises(ValidationError) as caught:
        case.search(**wrong)
    assert "api_kee" in str(caught.value)
    assert "secret" not in str(caught.value)


@every_web_search
def test_a_result_without_title_and_text_is_not_a_fault(case: Case) -> None:
    title, _, text, _ = case.fields
    bare = {**case.found(1), title: None}
    del bare[text]
    with SearchServer(case.speak([bare, case.found(2)])) as server:
        first, _ = case.searching(server).invoke("sky")
    assert (first.page_content, first.metadata["title"]) == ("", "")


@every_web_search
def test_a_date_is_kept_as_the_provider_says_it(case: Case) -> None:
    with SearchServer(case.speak([case.dated(1, "2024-03-05T10:00:00"), case.found(2)])) as server:
        dated, undated = case.searching(server).invoke("sky")
    assert dated.metadata["date"] == "2024-03-05T10:00:00"
    assert "date" not in undated.metadata


@every_web_search
def test_an_address_that_comes_again_on_a_later_page_is_listed_once(case: Case) -> None:
    size = case.search.page_size
    items = [*map(case.found, range(1, size + 1)), case.found(size), case.found(size + 1)]
    with SearchServer(case.speak(items)) as server:
        found = case.searching(server, k=2 * size).invoke("sky")
    assert [doc.metadata["title"] for doc in found] == [f"Title {n}" for n in range(1, size + 2)]


@every_web_search
def test_a_page_with_nothing_new_ends_the_search(case: Case) -> None:
    count = min(case.search.page_size, 20)
    with serving(case, count=count) as server:
        assert len(case.searching(server, k=case.search.k_limit).invoke("sky")) == count
    assert len(server.requests) <= 2


@every_web_search
def test_nothing_found_is_an_empty_list(case: Case) -> None:
    with serving(case, count=0) as server:
        assert case.searching(server).invoke("sky") == []
    assert len(server.requests) == 1


@by_each_reader_of_statuses
def test_a_packed_reply_is_unpacked(case: Case) -> None:
    def packed(request: Received) -> Reply:
        offered = request.headers["accept-encoding"]
        assert offered == "gzip" if case.speaks_json else "gzip" in offered
        plain = case.speak([case.found(1)])(request)
        headers = {**plain.headers, "Content-Encoding": "gzip"}
        return Reply(200, gzip.compress(plain.body), headers)

    with SearchServer(packed) as server:
        assert len(case.searching(server).invoke("sky")) == 1


def passing(case: Case) -> dict[str, Reply]:
    return {
        "busy": case.error(429, "Too many requests, slow down. {quoted}"),
        "busy for a moment": case.error(429, "Quota exceeded: 60 per minute.", Retry_After="0"),
        "busy for a second": case.error(429, "Quota per second exceeded."),
        "down": html_reply("<h1>Bad gateway {quoted}</h1>", 502),
        "broken": case.error(500, "{quoted}"),
        # With two lengths the first counts, or neither; either way the reply cannot be read.
        "cut short": Reply(200, b"{", {**JSON, "Content-Length": "9999"}),
    }


@by_each_reader_of_statuses
@pytest.mark.parametrize("name", passing(CASES["serper"]))
def test_a_passing_fault_is_tried_again(case: Case, name: str) -> None:
    fault = passing(case)[name]
    with serving(case, faults=[fault, fault]) as server:
        assert len(case.searching(server).invoke("sky")) == 10
    assert len(server.requests) == 3


@by_each_reader_of_statuses
@pytest.mark.parametrize(
    ("name", "status", "words"),
    [
        ("busy", 429, r"is rate-limiting searches \(429: .*Too many requests, slow down\."),
        ("down", 502, r"search failed \(502"),
        ("broken", 500, r"search failed \(500"),
    ],
)
def test_a_lasting_fault_is_a_provider_error_after_the_retries(
    case: Case, name: str, status: int, words: str
) -> None:
    said = f"{case.search.title} {words}"
    error, requests = failing(case, ProviderError, said, passing(case)[name])
    assert (error.provider, error.status) == (case.search.provider, status)
    assert not isinstance(error, QuotaError)
    assert len(requests) == 3


@by_each_reader_of_statuses
def test_the_pause_the_server_asks_for_is_kept(case: Case) -> None:
    with serving(case, faults=[case.error(429, "Slow down.", Retry_After="1")]) as server:
        case.searching(server).invoke("sky")
    first, second = server.requests
    assert second.at - first.at >= 1


@by_each_reader_of_statuses
def test_a_long_pause_is_not_waited_out(case: Case) -> None:
    later = case.error(429, "Later.", Retry_After="61")
    _, requests = failing(case, ProviderError, r"429: .*Later\.", later)
    assert len(requests) == 1


@by_each_reader_of_statuses
def test_a_pause_that_is_not_in_the_future_does_not_delay(case: Case) -> None:
    headers = ["soon", "-1", "Wed, 21 Oct 2015 07:28:00 GMT"]
    faults = [case.error(429, "Slow down.", Retry_After=header) for header in headers]
    with serving(case, faults=faults) as server:
        assert len(case.searching(server, retries=3).invoke("sky")) == 10


@every_web_search
@pytest.mark.parametrize(
    ("status", "words"), [(402, "Payment required."), (429, "You exceeded your quota per day.")]
)
def test_a_used_up_quota_is_not_tried_again(case: Case, status: int, words: str) -> None:
    said = rf"quota or credit of {case.search.title} is used up \({status}: .*{words}"
    error, requests = failing(case, QuotaError, said, case.error(status, words))
    assert (error.provider, error.status) == (case.search.provider, status)
    assert len(requests) == 1


NO_OBJECTS = (
    b"<h1>Log in to the hotel's network</h1>",
    b"[]",
    b"null",
    b'"text"',
    b'{"query": "sky", "results": [{"tit',
    b"[" * 200_000,
    b'{"results": ' + b"9" * 5000 + b"}",
    b"\xff\xfe",
    b"",
)


@by_each_reader_of_statuses
def test_a_reply_that_is_not_a_json_object_is_a_provider_error(case: Case) -> None:
    with serving(case, faults=[Reply(200, body, JSON) for body in NO_OBJECTS]) as server:
        search = case.searching(server)
        for _ in NO_OBJECTS:
            with pytest.raises(
                ProviderError, match=f"{case.search.title}'s reply .*look like search"
            ):
                search.invoke("sky")
    assert len(server.requests) == len(NO_OBJECTS)


@every_web_search
def test_a_list_of_results_of_another_form_is_a_provider_error(case: Case) -> None:
    forms: list[Any] = [{}, "none", [1], ["x"], [[]], [["x"]], [{"title": []}]]
    with serving(case, faults=[json_reply(case.listed(form)) for form in forms]) as server:
        search = case.searching(server)
        for _ in forms:
            with pytest.raises(ProviderError, match="look like search results"):
                search.invoke("sky")
    assert len(server.requests) == len(forms)


@by_each_reader_of_statuses
def test_a_result_whose_fields_are_not_texts_costs_no_other(case: Case) -> None:
    for place, odd in product(range(3), (5, ["x"], {"x": 1}, True)):
        found = [case.found(1) | {case.fields[place]: odd}, case.found(2)]
        with SearchServer(case.speak(found)) as server:
            documents = case.searching(server).invoke("sky")
        assert documents[-1].page_content, (place, odd)
        assert all(isinstance(document.metadata["title"], str) for document in documents)


ODD_ERRORS = (
    b'{"detail": [{"msg": "field required"}], "error": 5}',
    b'{"error":' * 900 + b'"boom"' + b"}" * 900,
    b"[1]",
    b"[" * 200_000,
    b'{"error": ' + b"9" * 5000 + b"}",
    b"\xff\xfe",
    b"",
)


@by_each_reader_of_statuses
def test_an_error_of_another_form_is_a_provider_error_too(case: Case) -> None:
    with serving(case, faults=[Reply(500, body, JSON) for body in ODD_ERRORS]) as server:
        search = case.searching(server, retries=0)
        for body in ODD_ERRORS:
            with pytest.raises(ProviderError) as caught:
                search.invoke("sky")
            if case.speaks_json:
                assert "search failed (500: " in str(caught.value), body


@by_each_reader_of_statuses
def test_a_redirect_is_not_followed(case: Case) -> None:
    statuses = (301, 302, 303, 307, 308)
    with serving(case) as elsewhere:
        where = {"Location": f"{elsewhere.endpoint}/search"}
        with serving(case, faults=[Reply(status, headers=where) for status in statuses]) as server:
            search = case.searching(server)
            for status in statuses:
                with pytest.raises(ConflictScoreError, match=str(status)):
                    search.invoke("sky")
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
    "another form": lambda case: json_reply(case.listed("{quoted}")),
    "disconnect": lambda _: DISCONNECT,
    "hang": lambda _: HANG,
}


@every_web_search
@pytest.mark.parametrize("name", FAULTS)
def test_no_fault_shows_the_key(case: Case, name: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with serving(case, always=FAULTS[name](case)) as server:
        # a busy machine may take longer than that to send the request
        timeout = 0.3 if name == "hang" else 5.0
        search = case.searching(server, timeout=timeout, retries=1)
        with pytest.raises(ConflictScoreError) as caught:
            search.invoke("sky")
    sent = server.requests[0].headers
    login = sent.get("authorization", KEY)
    assert any(KEY in value for value in sent.values()) or login.startswith("Basic ")
    seen = [str(caught.value), repr(caught.value), repr(search), str(search), caplog.text]
    seen += traceback.format_exception(caught.value)
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None
    hidden = [KEY, quote(KEY), quote(KEY, safe=""), KEY.replace('"', '\\"'), "secret", login]
    for text in seen:
        for form in hidden:
            assert form not in text.replace("[secret]", "")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < (700 if case.speaks_json else 1000)


@where_a_key_is_needed
def test_a_missing_key_is_named_with_where_to_get_one_and_what_to_do_without(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in case.search.key_variables:
        monkeypatch.setenv(variable, " ")
    with pytest.raises(ConfigurationError) as caught:
        case.search()
    assert "come" in str(caught.value)
    source = case.search.key_source or "console.cloud.google.com"
    for word in (*case.search.key_variables, source, "searxng:URL", "--docs"):
        assert word in str(caught.value)


@where_a_key_is_needed
@pytest.mark.parametrize("key", ["two words", "schlüssel", "line\nend"])
def test_a_key_that_no_header_can_hold_is_refused_unseen(case: Case, key: str) -> None:
    with pytest.raises(ConfigurationError, match="space or a special character") as caught:
        case.search(api_key=SecretStr(key))
    assert key not in str(caught.value)


@where_a_key_is_needed
def test_any_of_its_variables_holds_the_key_and_a_given_one_comes_first(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in case.search.key_variables:
        with monkeypatch.context() as environment, SearchServer(case.speak()) as server:
            environment.setenv(variable, "of-the-environment")
            case.searching(server, api_key=None).invoke("sky")
            case.searching(server).invoke("sky")
        first, second = (str(request.headers) for request in server.requests)
        assert "of-the-environment" in first
        assert "of-the-environment" not in second


@where_a_key_is_needed
def test_a_refused_key_is_a_matter_of_configuration(case: Case) -> None:
    said = f"{case.search.title} refuses the request .*(?:key|KEY)"
    error, requests = failing(case, ConfigurationError, said, None, api_key="another-secret")
    assert error.exit_code == 2
    assert "another-secret" not in str(error)
    assert len(requests) == 1


@by_the_reader_that_they_share
@pytest.mark.parametrize(
    ("reply", "detail"),
    [
        (json_reply({"results": None}), ""),
        (json_reply({"text": " " * 5_000_001}), ": it is longer than 5,000,000 bytes"),
        (
            Reply(200, gzip.compress(b" " * 5_000_001), {**JSON, "Content-Encoding": "gzip"}),
            ": it is longer than 5,000,000 bytes",
        ),
    ],
)
def test_a_reply_in_another_form_gets_a_reason(case: Case, reply: Reply, detail: str) -> None:
    said = f"{case.search.title}'s reply .*results{detail}"
    _, requests = failing(case, ProviderError, said, reply, timeout=30)
    assert len(requests) == 1


@by_the_reader_that_they_share
def test_a_reply_that_does_not_come_to_an_end_is_given_up(case: Case) -> None:
    drip = Reply(200, b" " * 1000, JSON, drip=0.02)
    _, requests = failing(case, ProviderError, "did not answer within 1 s", drip, timeout=1)
    # a client that reads on finds a reply of another form
    assert len(requests) == 1


@every_web_search
def test_a_proxy_that_connects_and_then_says_nothing_is_named(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=8) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        monkeypatch.setenv("HTTP_PROXY", f"http://me:sesame@{address}")
        error, requests = failing(case, ProviderError, f"proxy http://{address}", None, timeout=0.2)
    assert "NO_PROXY" in str(error)
    assert "sesame" not in str(error)
    assert requests == []


@by_the_reader_that_they_share
def test_a_proxy_that_cannot_be_used_is_a_matter_of_configuration(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HTTP_PROXY", "ftp://user:pass@proxy.example")
    error, requests = failing(case, ConfigurationError, r"proxy .* cannot be used", None)
    assert "pass@" not in str(error)
    assert requests == []


@by_the_reader_that_they_share
def test_certificates_that_cannot_be_used_are_a_matter_of_configuration(
    case: Case, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "/there/is/none")
    failing(case, ConfigurationError, "SSL_CERT_FILE", None)


@by_the_reader_that_they_share
def test_a_netrc_does_not_take_the_place_of_the_key(
    case: Case, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    netrc = tmp_path / "netrc"
    netrc.write_text("default login user password of-the-netrc\n")
    netrc.chmod(0o600)
    monkeypatch.setenv("NETRC", str(netrc))
    with serving(case) as server:
        assert len(case.searching(server).invoke("sky")) == 10
    login = base64.b64encode(b"user:of-the-netrc").decode()
    assert login not in server.requests[0].headers.get("authorization", "")


@by_the_reader_that_they_share
def test_user_and_password_of_an_endpoint_are_sent_and_not_kept(case: Case) -> None:
    with SearchServer(case.speak([case.found(1)])) as server:
        endpoint = server.endpoint.replace("//", "//me:p%40ss%3Aword@")
        search = case.searching(server, endpoint=f" {endpoint}/ ")
        search.invoke("sky")
    login = base64.b64encode(b"me:p@ss:word").decode()
    assert server.requests[0].headers["authorization"] == f"Basic {login}"
    assert f"'{server.endpoint}'" in repr(search)
    assert "ss" not in repr(search).partition("endpoint")[2].partition(",")[0]


@by_the_reader_that_they_share
def test_an_invalid_endpoint_is_refused_without_showing_it(case: Case) -> None:
    hosts = [
        *("", "me:secret@a\x7fb", "me:secret@a..example", "a.example/?q=secret"),
        *("a.example/#secret", "127.0.0.1:99999", "127.0.0.1:0"),
    ]
    others = ("localhost:8080", "nowhere", "ftp://me:secret@a.example", "a b")
    for endpoint in (*others, *(f"http://{host}" for host in hosts)):
        options: dict[str, Any] = {"api_key": KEY, "endpoint": endpoint}
        with pytest.raises(
            ConfigurationError,
            match=f"the address for {case.search.title} is not a plain http or https address",
        ) as caught:
            case.search(**options)
        assert "secret" not in "".join(traceback.format_exception(caught.value))


def test_each_search_in_the_list_is_tried_here() -> None:
    assert set(PROVIDERS) == {*CASES, "corpus", "recorded"}
