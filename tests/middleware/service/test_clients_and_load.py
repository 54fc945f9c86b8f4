"""Clients that disconnect, and more requests than the service can handle."""

import pkgutil
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from typing import Any

import httpx2
import pytest

from conflictscore.middleware.service.admission import Uploads
from conflictscore.middleware.service.refusals import RefusedError
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    QUESTION,
    ChatWorld,
    Served,
    asking,
    serving,
    until,
    user,
)
from tests.middleware.service.sockets import Hanging, gone_away


@contextmanager
def busy(served: Served, asking: int) -> Iterator[list[httpx2.Response]]:
    """Keep a number of requests in flight during the block; afterwards, has their replies."""
    replies: list[httpx2.Response] = []
    threads = [threading.Thread(target=lambda: replies.append(served.ask())) for _ in range(asking)]
    for thread in threads:
        thread.start()
    until(lambda: served.metric("conflictscore_requests_in_flight") == asking)
    yield replies
    for thread in threads:
        thread.join(20)


class TestClientsThatGoAway:
    @pytest.mark.parametrize("stream", [False, True])
    def test_their_work_stops_and_nothing_is_left(self, stream: bool) -> None:
        settings = {"first_answer": "upstream", "max_concurrent": 1}

        with Hanging() as upstream, serving(upstream, settings=settings) as served:
            idle = served.tasks()
            with gone_away(served, asking(stream=stream)):
                until(lambda: upstream.accepted == 1)
            until(lambda: upstream.closed == 1)
            until(lambda: served.tasks() <= idle)
            gone = served.metric('conflictscore_failures_total{kind="client_gone"}')
            unfinished = served.metric('conflictscore_runs_total{status="unfinished"}')
            free = not served.service.gate._free.locked()

        assert (gone, unfinished, free) == (1, 1, True)
        assert upstream.accepted == 1

    @pytest.mark.parametrize("path", ["/v1/chat/completions", "/v1/runs"])
    def test_a_stream_stops_while_judged(self, world: ChatWorld, served: Served, path: str) -> None:
        world.broken["label"] = Fault.hang(60)
        body = {"question": QUESTION} if path == "/v1/runs" else asking(stream=True)

        idle = served.tasks()
        with gone_away(served, body, path) as heard:
            until(lambda: world.asked["label"] == 3)
            [run_id] = re.findall(r"x-conflictscore-run-id: (\w+)", heard())
        until(lambda: served.tasks() <= idle)
        run = served.http.get(f"/v1/runs/{run_id}").json()

        assert (run["status"], run["first_answer"]) == ("unfinished", "It was lit in 1871.")
        assert world.asked["regenerate"] == 0

    def test_a_client_that_leaves_its_upload_is_forgotten(self, upstream: OpenAIServer) -> None:
        with serving(upstream, settings={"max_concurrent": 1}) as served:
            idle = served.tasks()
            with gone_away(served, asking(), length=100_000):
                until(lambda: served.tasks() > idle)
            until(lambda: served.tasks() <= idle)
            again = served.ask()

        assert again.status_code == 200


class TestTooMuch:
    def test_too_many_requests_get_429(self, world: ChatWorld) -> None:
        gate = world.gates["Documents that were found"] = threading.Event()

        with serving(world, settings={"max_concurrent": 1}) as served:
            with busy(served, 2) as replies:
                third = served.ask()
                gate.set()
            after = served.ask()

        assert (third.status_code, third.json()["error"]["code"]) == (429, "too_many_requests")
        assert int(third.headers["retry-after"]) >= 1
        assert [reply.status_code for reply in (*replies, after)] == [200, 200, 200]

    def test_slow_uploads_hold_no_place_that_others_wait_for(self, upstream: OpenAIServer) -> None:
        with serving(upstream, settings={"max_concurrent": 1}) as served, ExitStack() as slow:
            for _ in range(4):
                slow.enter_context(gone_away(served, {}, length=1000))
            until(lambda: served.metric("conflictscore_requests_in_flight") == 4)
            assert served.ask().status_code == 200

    def test_one_key_leaves_room_for_others(self, world: ChatWorld) -> None:
        gate = world.gates["Documents that were found"] = threading.Event()
        keys = ("key-number-one-0123456789", "key-number-two-0123456789")

        settings = {"keys": keys, "max_concurrent": 2}
        with serving(world, settings=settings) as served, busy(served, 2):
            own = served.ask()
            world.gates.clear()
            served.key = keys[1]
            other = served.ask()
            gate.set()

        assert (own.status_code, other.status_code) == (429, 200)

    def test_bodies_on_their_way_in_are_bounded_in_bytes_for_all_and_for_each(self) -> None:
        uploads = Uploads(100)
        with uploads.of("me") as mine, uploads.of("you") as yours, uploads.of("them") as theirs:
            mine(50)
            with pytest.raises(RefusedError):
                mine(1)
            yours(40)
            with pytest.raises(RefusedError):
                theirs(11)
            theirs(10)
        with uploads.of("me") as mine:
            mine(50)

    def test_waits_beyond_the_time_get_429(self, world: ChatWorld) -> None:
        world.broken["generate"] = Fault.hang(60)

        settings = {"max_concurrent": 1, "timeout": 2}
        with serving(world, settings=settings) as served, busy(served, 1):
            served.service.settings.__dict__["timeout"] = 0.2
            second = served.ask()

        assert second.status_code == 429


@pytest.mark.parametrize(
    ("path", "reading"),
    [
        ("/v1/chat/completions", "conflictscore.middleware.messages.read_messages"),
        ("/v1/chat/completions", "conflictscore.middleware.service.checked_answer.witnesses"),
        ("/v1/chat/completions", "conflictscore.middleware.service.service.run_record"),
        ("/v1/correct", "conflictscore.middleware.service.service.run_record"),
        ("/v1/correct", "conflictscore.middleware.service.routes.read_json"),
        ("/v1/correct", "conflictscore.loop.inputs.as_documents"),
        ("/v1/correct", "conflictscore.retrieval.duplicates.mark_duplicates"),
        ("/v1/correct", "conflictscore.prompts.PromptSet.render"),
        ("/v1/correct", "conflictscore.answering.claim_asking.gaps_of"),
        ("/v1/correct", "conflictscore.answering.claim_asking.material"),
        ("/v1/correct", "conflictscore.labelers.table.passage_of"),
    ],
)
def test_no_request_waits_while_long_texts_are_read(
    upstream: OpenAIServer, monkeypatch: pytest.MonkeyPatch, path: str, reading: str
) -> None:
    begun, answered = threading.Event(), threading.Event()
    owner, _, name = reading.rpartition(".")
    real = getattr(pkgutil.resolve_name(owner), name)

    def slow(*args: Any, **named: Any) -> Any:
        begun.set()
        assert answered.wait(20)
        return real(*args, **named)

    documents = [f"Ledger {number}. {'The lamp was lit in 1874. ' * 300}" for number in range(4)]
    found = {"role": "tool", "name": "search", "tool_call_id": "1", "content": documents[0] * 4}
    bodies: dict[str, Any] = {
        "/v1/correct": {"answer": "It was lit in 1871.", "question": QUESTION},
        "/v1/chat/completions": asking(messages=[*user(), found]),
    }
    body = {**bodies[path], "documents": documents}
    settings = {"mode": "annotate" if path == "/v1/chat/completions" else "correct"}
    with serving(upstream, settings=settings) as served, ThreadPoolExecutor(1) as other:
        monkeypatch.setattr(reading, slow)
        large = other.submit(served.http.post, path, json=body)
        assert begun.wait(20)
        health = served.http.get("/healthz", timeout=10)
        waiting = not large.done()
        answered.set()
        run = large.result(60)

    assert (health.status_code, waiting, run.status_code) == (200, True, 200)
