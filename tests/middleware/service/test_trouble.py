"""What goes wrong: bad requests, failing upstreams and searches, and clients that go away."""

import json
import re
import socket
import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Self

import httpx2
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from conflictscore.retrieval.opening import open_search
from tests.fakes.openai_server import Fault, OpenAIServer, Reply
from tests.middleware.service.serving import (
    QUESTION,
    UPSTREAM_KEY,
    ChatWorld,
    HasAddress,
    Served,
    events_in,
    serving,
    until,
)

MODES = ["correct", "annotate", "observe"]
POLICIES = ["pass_through", "annotate", "refuse"]


def asking(**more: Any) -> dict[str, Any]:
    return {"model": "conflictscore", "messages": [{"role": "user", "content": QUESTION}], **more}


def closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@contextmanager
def broken_stream() -> Iterator[HasAddress]:
    """An upstream that hangs up after the first chunk of its first reply."""
    chunk = {"choices": [{"index": 0, "delta": {"content": "It was"}}]}
    event = f"data: {json.dumps(chunk)}\n\n".encode()

    def answer(listener: socket.socket) -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(65536)
            connection.sendall(STREAM_HEAD + chunked(event))

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=answer, args=(listener,), daemon=True).start()
        yield SimpleNamespace(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}/v1")


class Nothing(BaseRetriever):
    """Finds nothing."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return []


class TestBadRequests:
    @pytest.mark.parametrize(
        ("change", "param"),
        [
            ({"model": None}, "model"),
            ({"model": ""}, "model"),
            ({"messages": []}, "messages"),
            ({"messages": "When?"}, "messages"),
            ({"messages": [{"role": "pirate", "content": "When?"}]}, "messages[0].role"),
            ({"messages": [{"role": "user", "content": 7}]}, "messages[0].content"),
            ({"messages": [{"role": "user", "content": ["a"]}]}, "messages[0].content"),
            (
                {"messages": [{"role": "user", "content": [{"type": "text"}]}]},
                "messages[0].content",
            ),
            ({"temperature": 3}, "temperature"),
            ({"temperature": "hot"}, "temperature"),
            ({"max_tokens": 0}, "max_tokens"),
            ({"n": 0}, "n"),
            ({"stream": "yes"}, "stream"),
            ({"stream_options": {"include_usage": 1}}, "stream_options.include_usage"),
            ({"tools": ["hammer"]}, "tools[0]"),
        ],
    )
    def test_a_wrong_field_is_named(
        self, upstream: OpenAIServer, change: dict[str, Any], param: str
    ) -> None:
        with serving(upstream) as served:
            reply = served.http.post("/v1/chat/completions", json=asking(**change))

        error = reply.json()["error"]
        assert (reply.status_code, error["param"], error["type"]) == (
            400,
            param,
            "invalid_request_error",
        )
        assert error["message"].startswith(f"{param}: ")
        assert upstream.requests == []

    @pytest.mark.parametrize(
        "body",
        [
            b"{",
            b"[]",
            b"\xff\xfe",
            b"[" * 100_000,
            b'{"n": NaN}',
            b'{"model": "\\ud800"}',
            b'{"n": ' + b"1" * 5000 + b"}",
        ],
        ids=["cut", "list", "bytes", "deep", "nan", "surrogate", "digits"],
    )
    def test_a_body_that_is_no_json_object_is_refused(
        self, upstream: OpenAIServer, body: bytes
    ) -> None:
        with serving(upstream) as served:
            reply = served.http.post(
                "/v1/chat/completions", content=body, headers={"content-type": "application/json"}
            )

        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "invalid_json")

    def test_a_page_of_another_site_cannot_send_a_request(self, upstream: OpenAIServer) -> None:
        with serving(upstream) as served:
            body = json.dumps(asking())
            simple = served.http.post(
                "/v1/chat/completions", content=body, headers={"content-type": "text/plain"}
            )
            asked_leave = served.http.options("/v1/chat/completions")

        assert (simple.status_code, simple.json()["error"]["code"]) == (415, "not_json")
        assert asked_leave.status_code == 405
        assert "access-control-allow-origin" not in asked_leave.headers

    @pytest.mark.parametrize("chunked", [False, True])
    def test_a_body_that_is_too_large_is_not_read_to_its_end(
        self, upstream: OpenAIServer, chunked: bool
    ) -> None:
        body = json.dumps(asking(padding="x" * 10_000)).encode()
        pieces = (body[i : i + 1000] for i in range(0, len(body), 1000))

        with serving(upstream, settings={"max_body": 5000}) as served:
            reply = served.http.post(
                "/v1/chat/completions",
                content=pieces if chunked else body,
                headers={"content-type": "application/json"},
            )
            again = served.ask()

        assert (reply.status_code, reply.json()["error"]["code"]) == (413, "body_too_large")
        assert "5000 bytes" in reply.json()["error"]["message"]
        assert again.status_code == 200

    def test_a_body_of_just_that_size_is_taken(self, upstream: OpenAIServer) -> None:
        size = len(json.dumps(asking(padding=""), separators=(",", ":")))

        with serving(upstream, settings={"max_body": size + 10}) as served:
            assert served.http.post(
                "/v1/chat/completions", json=asking(padding="x" * 10)
            ).is_success
            larger = served.http.post("/v1/chat/completions", json=asking(padding="x" * 11))

        assert larger.status_code == 413

    def test_another_route_or_method_is_told_in_the_same_form(self, upstream: OpenAIServer) -> None:
        with serving(upstream) as served:
            lost = served.http.get("/v1/embeddings")
            wrong = served.http.get("/v1/chat/completions")

        assert (lost.status_code, lost.json()["error"]["code"]) == (404, "no_such_route")
        assert (wrong.status_code, wrong.headers["allow"]) == (405, "POST")


class TestUpstream:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(
        ("fault", "status", "code"),
        [
            (Fault(429, retry_after="17", should_retry=False), 429, "upstream_rate_limit"),
            (Fault(429, retry_after="sp\xe4ter", should_retry=False), 429, "upstream_rate_limit"),
            (Fault(429, code="insufficient_quota", should_retry=False), 429, "insufficient_quota"),
            (Fault(500, should_retry=False), 502, "upstream_failed"),
            (Fault(503, should_retry=False), 502, "upstream_failed"),
            (Fault(404, should_retry=False), 502, "upstream_model_not_found"),
        ],
        ids=["429", "429-odd", "quota", "500", "503", "404"],
    )
    def test_its_faults_are_told_as_what_they_are_to_the_caller(
        self,
        world: ChatWorld,
        upstream: OpenAIServer,
        mode: str,
        fault: Fault,
        status: int,
        code: str,
    ) -> None:
        world.broken["generate"] = world.plain = fault

        with serving(upstream, settings={"mode": mode}) as served:
            reply = served.ask()
            run = served.run(served.ask(stream=True)) if mode != "observe" else None
            failures = served.metric('conflictscore_failures_total{kind="upstream"}')

        error = reply.json()["error"]
        assert (reply.status_code, error["code"]) == (status, code)
        usable = fault.retry_after if fault.retry_after == "17" else None
        assert reply.headers.get("retry-after") == usable
        assert failures == (1 if run is None else 2)
        if run is not None:
            assert run["status"] == "failed"
            assert world.handed_on == []  # it would not answer the request as it is either

    @pytest.mark.parametrize("mode", ["correct", "annotate"])
    def test_one_that_fails_at_the_callers_own_request_is_counted_too(
        self, world: ChatWorld, upstream: OpenAIServer, mode: str
    ) -> None:
        world.plain = Fault(500, should_retry=False)
        settings = {"mode": mode, "first_answer": "upstream"}

        with serving(upstream, settings=settings) as served:
            reply = served.ask()
            failures = served.metric('conflictscore_failures_total{kind="upstream"}')

        assert (reply.status_code, reply.json()["error"]["code"]) == (502, "upstream_failed")
        assert failures == 1

    @pytest.mark.parametrize("mode", MODES)
    def test_a_key_that_it_refuses_is_ours_and_not_the_callers(
        self, world: ChatWorld, mode: str
    ) -> None:
        with (
            OpenAIServer(world, api_key="another key") as upstream,
            serving(upstream, settings={"mode": mode}) as served,
        ):
            reply = served.ask()

        assert reply.status_code == 502
        assert reply.json()["error"]["code"] == "upstream_authentication"
        assert UPSTREAM_KEY not in reply.text

    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("mode", MODES)
    def test_one_that_hangs_is_waited_for_so_long_and_no_longer(
        self, world: ChatWorld, upstream: OpenAIServer, mode: str, stream: bool
    ) -> None:
        world.broken["generate"] = world.plain = Fault.hang(60)

        with serving(upstream, settings={"mode": mode, "timeout": 0.3}) as served:
            reply = served.ask(stream=stream)
            until(lambda: served.tasks() <= 3)

        if stream and mode != "observe":
            assert events_in(reply.text)[-1][1]["error"]["code"] == "timeout"
        else:
            assert (reply.status_code, reply.json()["error"]["code"]) == (504, "timeout")

    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(
        "body", [b"<html>", b"{}", b'{"choices": []}', b'{"choices": [{"message": 1}]}']
    )
    def test_what_is_no_completion_is_never_an_answer(
        self, world: ChatWorld, upstream: OpenAIServer, mode: str, body: bytes
    ) -> None:
        world.plain = Fault.raw(body)

        with serving(upstream, settings={"mode": mode, "first_answer": "upstream"}) as served:
            reply = served.ask()
            run = served.run(reply) if mode == "observe" else None

        if run is not None:
            assert reply.content == body
            assert run["status"] == "passed-through"
        else:
            assert (reply.status_code, reply.json()["error"]["code"]) == (
                502,
                "upstream_unreadable",
            )

    def test_a_fault_in_the_callers_own_request_stays_the_callers(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.plain = Fault(400, message="top_k: too small", code="bad_top_k")

        with serving(upstream, settings={"mode": "observe"}) as served:
            reply = served.ask(top_k=-1)

        assert (reply.status_code, reply.json()["error"]["code"]) == (400, "bad_top_k")
        assert "top_k: too small" in reply.json()["error"]["message"]

    def test_one_that_breaks_off_in_mid_stream_ends_with_an_error(self) -> None:
        with (
            broken_stream() as upstream,
            serving(upstream, settings={"mode": "observe"}) as served,
        ):
            reply = served.ask(stream=True)
            run = served.run(reply)

        assert "It was" in reply.text
        assert events_in(reply.text)[-1][1]["error"]["code"] == "upstream_failed"
        assert run["status"] == "failed"


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("policy", POLICIES)
class TestPolicy:
    """``on_failure``, for each thing that can fail."""

    def test_the_search_is_down(self, upstream: OpenAIServer, policy: str, stream: bool) -> None:
        retriever = open_search(f"searxng:http://127.0.0.1:{closed_port()}")

        with serving(upstream, retriever=retriever, settings={"on_failure": policy}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"search": 1.0}
        self.check(
            outcome,
            policy,
            "It was lit in 1871.",
            "(SearXNG cannot be reached",
        )

    def test_the_search_finds_nothing(
        self, upstream: OpenAIServer, policy: str, stream: bool
    ) -> None:
        with serving(upstream, retriever=Nothing(), settings={"on_failure": policy}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"search": 1.0}
        self.check(outcome, policy, "It was lit in 1871.", "no documents found")

    def test_the_judge_is_down(
        self, world: ChatWorld, upstream: OpenAIServer, policy: str, stream: bool
    ) -> None:
        world.broken["label"] = Fault(500, should_retry=False)

        with serving(upstream, settings={"on_failure": policy}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"judge": 1.0}
        self.check(outcome, policy, "It was lit in 1871.", "no claim could be held against")
        assert outcome.run["report"]["coverage"] == 0.0
        assert world.handed_on == []

    def test_the_judge_cannot_take_the_answer_apart(
        self, world: ChatWorld, upstream: OpenAIServer, policy: str, stream: bool
    ) -> None:
        world.broken["decompose"] = Fault(500, should_retry=False)

        with serving(upstream, settings={"on_failure": policy}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"judge": 1.0}
        self.check(outcome, policy, "It was lit in 1871.", "could not be taken apart")

    def test_the_judges_key_is_refused(
        self, world: ChatWorld, upstream: OpenAIServer, policy: str, stream: bool
    ) -> None:
        world.broken["label"] = Fault(401, should_retry=False)

        with serving(upstream, settings={"on_failure": policy}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"judge": 1.0}
        self.check(outcome, policy, "It was lit in 1871.", "refused the key")

    def test_no_second_answer_can_be_had(
        self, world: ChatWorld, upstream: OpenAIServer, policy: str, stream: bool
    ) -> None:
        world.broken["regenerate"] = Fault(500, should_retry=False)

        with serving(upstream, settings={"on_failure": policy}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"regeneration": 1.0}
        self.check(outcome, policy, "It was lit in 1871.", "the sources disagree about 1 of 1")

    def test_the_time_is_up_while_the_judge_is_at_work(
        self, world: ChatWorld, upstream: OpenAIServer, policy: str, stream: bool
    ) -> None:
        world.broken["label"] = Fault.hang(60)

        with serving(upstream, settings={"on_failure": policy, "timeout": 4}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"timeout": 1.0}
        if policy == "refuse":
            assert outcome.error["code"] == "timeout"
        else:
            self.check(outcome, policy, "It was lit in 1871.", "4 s for a request are up")

    def outcome(self, served: Served, *, stream: bool) -> "Outcome":
        outcome = Outcome(served.ask(stream=stream), stream=stream)
        if outcome.run_id:
            outcome.run = served.run(outcome.reply)
        kinds = ("search", "answer", "judge", "regeneration", "upstream", "timeout")
        named = {k: served.metric(f'conflictscore_failures_total{{kind="{k}"}}') for k in kinds}
        outcome.kinds = {kind: count for kind, count in named.items() if count}
        return outcome

    def check(self, outcome: "Outcome", policy: str, answer: str, note: str) -> None:
        if policy == "refuse":
            assert outcome.error["code"] == "not_checked"
            assert outcome.text == ""
        elif policy == "annotate":
            assert outcome.text.startswith(f"{answer}\n\nNote: ")
            assert note in outcome.text
            assert outcome.run["status"] == "failed"
        else:
            assert outcome.text == answer
            assert outcome.run["status"] == "passed-through"


class Outcome:
    """A reply, streamed or not."""

    def __init__(self, reply: httpx2.Response, *, stream: bool) -> None:
        self.reply = reply
        self.run_id = reply.headers.get("x-conflictscore-run-id")
        self.run: dict[str, Any] = {}
        self.kinds: dict[str, float] = {}
        said = [d for _, d in events_in(reply.text)] if stream else [reply.json()]
        self.error: dict[str, Any] = next((d["error"] for d in said if "error" in d), {})
        choices = [c for d in said if isinstance(d, dict) for c in d.get("choices", ())]
        parts = [choice.get("delta") or choice.get("message") or {} for choice in choices]
        self.text = "".join(part.get("content") or "" for part in parts)


class TestSmallPrint:
    def test_an_answer_cut_off_by_the_callers_own_limit_comes_from_the_upstream(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.answer = Reply("It was", finish_reason="length")  # type: ignore[assignment]
        world.plain = Reply("It was", finish_reason="length")

        with serving(upstream) as served:
            reply = served.ask(max_tokens=2)
            run = served.run(reply)

        choice = reply.json()["choices"][0]
        assert (choice["message"]["content"], choice["finish_reason"]) == ("It was", "length")
        assert run["status"] == "passed-through"
        assert "cut off after 2 tokens" in run["notes"][0]

    def test_an_answer_that_claims_nothing_is_no_failure(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.answer, world.decomposition = "Hello!", "Claims:"

        with serving(upstream, settings={"on_failure": "refuse"}) as served:
            reply = served.ask("Hi!")

        assert reply.headers["x-conflictscore-status"] == "scored"
        assert reply.json()["conflictscore"]["cs_c"] is None

    def test_what_fails_after_the_answer_stands_costs_a_note_and_no_answer(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.broken["justify"] = Fault(401, should_retry=False)

        with serving(upstream, settings={"on_failure": "refuse"}) as served:
            reply = served.ask()
            streamed = served.ask(stream=True)

        short = reply.json()["conflictscore"]
        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
        assert (short["status"], short["flipped"]) == ("corrected", True)
        assert "the check was not finished" in short["notes"][0]
        assert events_in(streamed.text)[-1][1] == "[DONE]"

    def test_the_time_may_be_up_after_the_answer_stands(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.broken["justify"] = Fault.hang(60)

        with serving(upstream, settings={"timeout": 4}) as served:
            reply = served.ask()

        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
        assert "4 s for a request are up" in reply.json()["conflictscore"]["notes"][0]

    @pytest.mark.parametrize("stream", [False, True])
    def test_half_a_character_in_an_answer_does_not_stop_it(
        self, world: ChatWorld, upstream: OpenAIServer, stream: bool
    ) -> None:
        world.regenerated = "It was lit in 1874 \ud83d."

        with serving(upstream) as served:
            outcome = Outcome(served.ask(stream=stream), stream=stream)

        assert outcome.text == "It was lit in 1874 ?."

    def test_a_fault_of_our_own_is_a_plain_error(
        self, upstream: OpenAIServer, caplog: pytest.LogCaptureFixture
    ) -> None:
        with serving(upstream) as served:
            served.service.metrics.run = None  # type: ignore[method-assign, assignment]
            whole = served.ask()
            streamed = served.ask(stream=True)

        assert (whole.status_code, whole.json()["error"]["code"]) == (500, "internal_error")
        assert events_in(streamed.text)[-1][1]["error"]["code"] == "internal_error"
        assert "in finish" in caplog.text
        assert QUESTION not in caplog.text

    def test_a_file_of_runs_that_fails_costs_nobody_an_answer(
        self, upstream: OpenAIServer, tmp_path: Path
    ) -> None:
        with serving(upstream, settings={"runs_file": tmp_path / "runs.sqlite"}) as served:
            with sqlite3.connect(tmp_path / "runs.sqlite") as spoiler:
                spoiler.execute("DROP TABLE runs")
            reply = served.ask()
            failures = served.metric('conflictscore_failures_total{kind="runs_file"}')

        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
        assert failures == 1


class TestClientsThatGoAway:
    @pytest.mark.parametrize("stream", [False, True])
    @pytest.mark.parametrize("mode", MODES)
    def test_their_work_stops_and_nothing_is_left(self, mode: str, stream: bool) -> None:
        settings = {"mode": mode, "first_answer": "upstream", "max_concurrent": 1}

        with Hanging() as upstream, serving(upstream, settings=settings) as served:
            idle = served.tasks()
            with gone_away(served, asking(stream=stream)):
                until(lambda: upstream.accepted == 1)
            until(lambda: upstream.closed == 1)
            until(lambda: served.tasks() <= idle)
            gone = served.metric('conflictscore_failures_total{kind="client_gone"}')
            unfinished = served.metric('conflictscore_runs_total{status="unfinished"}')
            free = not served.service.slots._free.locked()

        assert (gone, unfinished, free) == (1, 1, True)
        assert upstream.accepted == 1

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/runs"])
    def test_a_stream_that_was_begun_stops_while_the_judge_is_at_work(
        self, world: ChatWorld, upstream: OpenAIServer, path: str
    ) -> None:
        world.broken["label"] = Fault.hang(60)
        body = {"question": QUESTION} if path == "/v1/runs" else asking(stream=True)

        with serving(upstream) as served:
            idle = served.tasks()
            with gone_away(served, body, path) as heard:
                until(lambda: world.asked["label"] == 3)
                [run_id] = re.findall(r"x-conflictscore-run-id: (\w+)", heard())
            until(lambda: served.tasks() <= idle)
            run = served.http.get(f"/v1/runs/{run_id}").json()

        assert (run["status"], run["first_answer"]) == ("unfinished", "It was lit in 1871.")
        assert world.asked["regenerate"] == 0

    def test_one_that_leaves_in_mid_upload_is_forgotten(self, upstream: OpenAIServer) -> None:
        with serving(upstream, settings={"max_concurrent": 1}) as served:
            idle = served.tasks()
            with gone_away(served, asking(), length=100_000):
                until(lambda: served.tasks() > idle)
            until(lambda: served.tasks() <= idle)
            again = served.ask()

        assert again.status_code == 200

    def test_one_that_leaves_an_observed_stream_early_is_not_scored(self, world: ChatWorld) -> None:
        with (
            Hanging(b'data: {"choices": [{"delta": {"content": "It was"}}]}\n\n') as upstream,
            serving(upstream, settings={"mode": "observe"}) as served,
        ):
            with gone_away(served, asking(stream=True)) as heard:
                until(lambda: "It was" in heard())
            until(lambda: upstream.closed == 1)
            unfinished = until(
                lambda: served.metric('conflictscore_runs_total{status="unfinished"}')
            )

        assert unfinished == 1

    def test_one_that_stays_and_does_not_read_holds_nothing_beyond_its_time(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.plain = Fault.raw(b"data: {}\n\n" * 2_000_000)
        settings = {"mode": "observe", "timeout": 1, "max_concurrent": 1}
        with serving(upstream, settings=settings) as served:
            idle = served.tasks()
            with gone_away(served, asking(stream=True)):
                until(lambda: served.tasks() > idle)
                until(lambda: served.tasks() <= idle, 10)
                world.plain = "In 1871."
                assert served.ask().status_code == 200


class TestTooMuch:
    def test_more_than_run_and_wait_are_told_to_come_back(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        gate = world.gates["Answer the question with"] = threading.Event()

        with serving(upstream, settings={"max_concurrent": 1}) as served:
            replies: list[httpx2.Response] = []
            threads = [
                threading.Thread(target=lambda: replies.append(served.ask())) for _ in range(2)
            ]
            for thread in threads:
                thread.start()
            until(lambda: served.metric("conflictscore_requests_in_flight") == 3)  # and /metrics
            third = served.ask()
            gate.set()
            for thread in threads:
                thread.join(20)
            after = served.ask()

        assert (third.status_code, third.json()["error"]["code"]) == (429, "too_many_requests")
        assert int(third.headers["retry-after"]) >= 1
        assert [reply.status_code for reply in (*replies, after)] == [200, 200, 200]

    def test_one_that_waits_until_its_time_is_up_is_told_so(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.broken["generate"] = Fault.hang(60)

        with serving(upstream, settings={"max_concurrent": 1, "timeout": 2}) as served:
            first = threading.Thread(target=served.ask)
            first.start()
            until(lambda: upstream.requests)
            served.service.settings.__dict__["timeout"] = 0.2
            second = served.ask()
            first.join(20)

        assert second.status_code == 429

    def test_more_observed_answers_than_can_wait_are_dropped_and_counted(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        gate = world.gates["Take the answer below apart"] = threading.Event()

        with serving(upstream, settings={"mode": "observe", "observed_waiting": 1}) as served:
            replies = [served.ask() for _ in range(11)]  # eight at work, one waits
            dropped = served.metric("conflictscore_observed_dropped_total")
            waiting = served.metric("conflictscore_observed_waiting")
            gate.set()
            runs = [served.run(reply) for reply in replies]

        assert {reply.status_code for reply in replies} == {200}
        assert (dropped, waiting) == (2, 1)
        assert [run["status"] for run in runs] == ["observed"] * 9 + ["dropped"] * 2


class Hanging:
    """An upstream that takes requests, says no more than this, and waits to be left."""

    def __init__(self, said: bytes | None = None) -> None:
        self.accepted = self.closed = 0
        self._said = said
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.base_url = f"http://127.0.0.1:{self._listener.getsockname()[1]}/v1"

    def __enter__(self) -> Self:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *raised: object) -> None:
        self._listener.close()

    def _serve(self) -> None:
        with suppress(OSError):
            while True:
                connection, _ = self._listener.accept()
                threading.Thread(target=self._hang, args=(connection,), daemon=True).start()

    def _hang(self, connection: socket.socket) -> None:
        with connection:
            connection.recv(65536)
            self.accepted += 1
            if self._said is not None:
                connection.sendall(STREAM_HEAD + chunked(self._said))
            while connection.recv(65536):
                pass
        self.closed += 1


STREAM_HEAD = (
    b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
)


def chunked(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


@contextmanager
def gone_away(
    served: Served, body: Any, path: str = "/v1/chat/completions", *, length: int | None = None
) -> Iterator[Callable[[], str]]:
    """A client that hangs up where the block ends; gives what it has heard until then."""
    data = json.dumps(body).encode()
    host, _, port = served.address.removeprefix("http://").partition(":")
    head = (
        f"POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-type: application/json\r\n"
        f"content-length: {length or len(data)}\r\n\r\n"
    )
    heard = bytearray()

    def hear() -> str:
        with suppress(TimeoutError):
            heard.extend(connection.recv(65536))
        return heard.decode()

    with socket.create_connection((host, int(port)), timeout=0.5) as connection:
        connection.sendall(head.encode() + data)
        yield hear
