"""What is sent when an answer could not be checked, and what fails once it is final."""

import sqlite3
from pathlib import Path
from typing import Any

import httpx2
import pytest
from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever

from conflictscore.retrieval.opening import open_search
from tests.fakes.openai_server import Fault, OpenAIServer, Reply
from tests.middleware.service.serving import QUESTION, ChatWorld, Served, events_in, serving
from tests.middleware.service.sockets import closed_port

POLICIES = ["pass_through", "annotate", "refuse"]


class Nothing(BaseRetriever):
    """Finds nothing."""

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return []


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
        self.check(outcome, policy, "It was lit in 1871.", "no claim could be checked against")
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

    def test_there_is_no_second_answer(
        self, world: ChatWorld, upstream: OpenAIServer, policy: str, stream: bool
    ) -> None:
        world.broken["regenerate"] = Fault(500, should_retry=False)

        with serving(upstream, settings={"on_failure": policy}) as served:
            outcome = self.outcome(served, stream=stream)

        assert outcome.kinds == {"regeneration": 1.0}
        self.check(outcome, policy, "It was lit in 1871.", "the sources disagree about 1 of 1")

    def test_the_time_is_up_while_the_judge_is_working(
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


class TestEdgeCases:
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

    def test_a_failure_after_the_answer_is_final_costs_only_a_note(
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

    def test_a_timeout_after_the_answer_is_final_costs_only_a_note(
        self, world: ChatWorld, upstream: OpenAIServer
    ) -> None:
        world.broken["justify"] = Fault.hang(60)

        with serving(upstream, settings={"timeout": 4}) as served:
            reply = served.ask()

        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
        assert "4 s for a request are up" in reply.json()["conflictscore"]["notes"][0]

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_lone_surrogate_in_an_answer_does_not_stop_it(
        self, world: ChatWorld, upstream: OpenAIServer, stream: bool
    ) -> None:
        world.regenerated = "It was lit in 1874 \ud83d."

        with serving(upstream) as served:
            outcome = Outcome(served.ask(stream=stream), stream=stream)

        assert outcome.text == "It was lit in 1874 ?."

    def test_a_bug_in_the_service_is_a_plain_error(
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
