"""Replies for answers that could not be checked, and failures after an answer is final."""

import json
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.middleware.service import ServiceSettings
from conflictscore.records import GapKind
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.middleware.service.serving import (
    AGREEING,
    CALL,
    QUESTION,
    TOOL,
    ChatWorld,
    Served,
    completion_with,
    events_in,
    serving,
    until,
)
from tests.talking import Failing
from tests.world import DISAGREEING

POLICIES = ["pass_through", "annotate", "refuse"]


DOWN = Fault(500, should_retry=False)


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(
    ("broken", "kind", "note"),
    [
        ({}, "search", "no documents found"),
        ({"label": DOWN}, "judge", "no claim could be checked against"),
        ({"decompose": DOWN}, "judge", "could not be split into claims"),
        ({"label": Fault(401, should_retry=False)}, "judge", "a setting of this service is wrong"),
        ({"regenerate": DOWN}, "regeneration", "the sources disagree about 1 of 1"),
    ],
    ids=["nothing found", "judge down", "no claims", "judge's key refused", "no second answer"],
)
def test_on_failure_an_answer_is_passed_through_annotated_or_refused(
    world: ChatWorld, broken: dict[str, Fault], kind: str, note: str, policy: str
) -> None:
    world.broken.update(broken)
    found = DISAGREEING if broken else []

    with serving(world, found=found, settings={"on_failure": policy}) as served:
        for count, stream in ((1.0, False), (2.0, True)):
            outcome = Outcome(served, stream=stream)
            assert outcome.kinds == {kind: count}
            check(outcome, policy, "It was lit in 1871.", note)

    if broken.get("label") is DOWN:
        assert outcome.run["report"]["coverage"] == 0.0
        assert world.handed_on == []


def test_on_failure_covers_a_timeout_of_the_judge(world: ChatWorld) -> None:
    """Every case takes seconds, so all of them wait at the same time."""
    world.broken["label"] = Fault.hang(60)

    def one(policy: str, stream: bool) -> tuple[str, Outcome]:
        with serving(world, settings={"on_failure": policy, "timeout": 4}) as served:
            return policy, Outcome(served, stream=stream)

    with ThreadPoolExecutor() as pool:
        cases = [(policy, stream) for policy in POLICIES for stream in (False, True)]
        outcomes = list(pool.map(one, *zip(*cases, strict=True)))

    for policy, outcome in outcomes:
        assert outcome.kinds == {"timeout": 1.0}
        if policy == "refuse":
            assert outcome.error["code"] == "timeout"
        else:
            check(outcome, policy, "It was lit in 1871.", "timed out after 4 s")


def check(outcome: "Outcome", policy: str, answer: str, note: str) -> None:
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
    """A reply, streamed or not, its run, and the failures counted so far."""

    def __init__(self, served: Served, *, stream: bool) -> None:
        reply = served.ask(stream=stream)
        has_run = "x-conflictscore-run-id" in reply.headers
        self.run = served.run(reply) if has_run else {}
        kinds = ("search", "answer", "judge", "regeneration", "upstream", "timeout")
        counts = {k: served.metric(f'conflictscore_failures_total{{kind="{k}"}}') for k in kinds}
        self.kinds = {kind: count for kind, count in counts.items() if count}
        said = [d for _, d in events_in(reply.text)] if stream else [reply.json()]
        self.error: dict[str, Any] = next((d["error"] for d in said if "error" in d), {})
        choices = [c for d in said if isinstance(d, dict) for c in d.get("choices", ())]
        parts = [choice.get("delta") or choice.get("message") or {} for choice in choices]
        self.text = "".join(part.get("content") or "" for part in parts)


class TestCoverage:
    """Answers of which only some pairs have a label."""

    @pytest.mark.parametrize("policy", POLICIES)
    def test_one_below_the_least_share_is_not_checked(self, world: ChatWorld, policy: str) -> None:
        world.decomposition = "Claims:\n- Cats purr.\n- Dogs bark."

        given = {"on_failure": policy}
        with serving(world, settings=given, max_claims=1, min_coverage=0.75) as served:
            outcome = Outcome(served, stream=False)

        assert outcome.kinds == {"judge": 1.0}
        check(outcome, policy, "It was lit in 1871.", "only 50% of its pairs")

    def test_one_that_is_labelled_in_part_has_a_status_and_a_warning_that_names_the_run(
        self, world: ChatWorld, caplog: pytest.LogCaptureFixture
    ) -> None:
        world.decomposition = "Claims:\n- Cats purr.\n- Dogs bark."

        with serving(world, max_claims=1, min_coverage=0.3) as served:
            outcome = Outcome(served, stream=False)

        run = outcome.run
        assert (run["report"]["coverage"], outcome.kinds) == (0.5, {})
        assert run["status"] == "partly-scored"
        warned = f"run {run['run_id']}: the answer was only in part checked: 50% of its pairs"
        assert warned in caplog.text

    def test_a_request_with_more_pairs_than_the_service_allows_says_so(
        self, world: ChatWorld
    ) -> None:
        world.decomposition = "Claims:\n- Cats purr.\n- Dogs bark."

        with serving(world, settings={"max_pairs": 3}, min_coverage=0.3) as served:
            run = Outcome(served, stream=False).run

        assert run["checked"] == "partly"
        assert any("than max_pairs" in note for note in run["notes"])


class TestEdgeCases:
    def test_an_answer_without_claims_is_not_a_failure(self, world: ChatWorld) -> None:
        world.answer, world.decomposition = "Hello!", "Claims:"

        with serving(world, settings={"on_failure": "refuse"}) as served:
            reply = served.ask("Hi!")

        assert reply.headers["x-conflictscore-status"] == "scored"
        assert reply.json()["conflictscore"]["cs_c"] is None

    @pytest.mark.parametrize("stream", [False, True])
    def test_lone_surrogates_are_safe(self, world: ChatWorld, served: Served, stream: bool) -> None:
        world.regenerated = "It was lit in 1874 \ud83d."

        outcome = Outcome(served, stream=stream)

        assert outcome.text == "It was lit in 1874 \ufffd."

    def test_a_bug_is_a_plain_error(self, served: Served, caplog: pytest.LogCaptureFixture) -> None:
        served.service.metrics.run = None  # type: ignore[method-assign, assignment]
        whole = served.ask()
        streamed = served.ask(stream=True)

        assert (whole.status_code, whole.json()["error"]["code"]) == (500, "internal_error")
        assert events_in(streamed.text)[-1][1]["error"]["code"] == "internal_error"
        assert "in finish" in caplog.text
        assert QUESTION not in caplog.text

    def test_broken_runs_file_costs_no_answer(self, upstream: OpenAIServer, tmp_path: Path) -> None:
        with serving(upstream, settings={"runs_file": tmp_path / "runs.sqlite"}) as served:
            with sqlite3.connect(tmp_path / "runs.sqlite") as spoiler:
                spoiler.execute("DROP TABLE runs")
            reply = served.ask()
            failed = 'conflictscore_failures_total{kind="runs_file"}'
            failures = until(lambda: served.metric(failed))  # it is counted after the reply

        assert reply.json()["choices"][0]["message"]["content"] == "It was lit in 1874."
        assert failures == 1


@pytest.mark.parametrize("policy", POLICIES)
def test_a_wrong_setting_is_reported_in_the_log_and_not_to_clients(
    upstream: OpenAIServer, policy: str, caplog: pytest.LogCaptureFixture
) -> None:
    misplaced = Failing(error=ConfigurationError("cannot write in /srv/secret/models"))
    with serving(upstream, retriever=misplaced, settings={"on_failure": policy}) as served:
        reply = served.ask()
        run = served.run(reply)
        [*_, last] = events_in(served.http.post("/v1/runs", json={"question": QUESTION}).text)

    assert "a setting of this service is wrong" in reply.text
    for said in (reply.text, json.dumps(run), json.dumps(last)):
        assert "/srv/secret" not in said
    assert "cannot write in /srv/secret/models" in caplog.text


class TestRequire:
    """``require``: how far an answer must be checked before it is sent."""

    @pytest.mark.parametrize("stream", [False, True])
    def test_an_answer_below_it_is_refused_and_nothing_of_it_is_sent(
        self, world: ChatWorld, stream: bool
    ) -> None:
        world.answer = "It was lit in 1871. It cost 5000 francs."
        world.decomposition = "Claims:\n- The lamp was lit in 1871."

        with serving(world, found=AGREEING, settings={"require": "fully"}) as served:
            outcome = Outcome(served, stream=stream)
            refused = served.metric('conflictscore_failures_total{kind="refused"}')

        assert (outcome.error["code"], outcome.text, refused) == ("not_checked", "", 1)
        assert "5000" not in outcome.error["message"]
        assert outcome.run["checked"] == "partly"
        assert GapKind.UNCLAIMED in {gap["kind"] for gap in outcome.run["examined"]["gaps"]}

    @pytest.mark.parametrize("stream", [False, True])
    def test_the_builders_message_takes_its_place(self, world: ChatWorld, stream: bool) -> None:
        world.broken["label"] = DOWN
        policy = {"require": "partly", "refusal": "Please ask our staff."}

        with serving(world, settings=policy) as served:
            outcome = Outcome(served, stream=stream)
            whole = served.ask()

        assert outcome.text == "Please ask our staff."
        assert (outcome.run["status"], outcome.run["checked"]) == ("failed", "no")
        assert whole.headers["x-conflictscore-checked"] == "no"
        assert whole.headers["x-conflictscore-reason"] == GapKind.TOO_FEW_LABELS
        assert "1871" not in whole.text

    def test_one_that_is_checked_far_enough_is_sent_with_its_verdict(
        self, world: ChatWorld
    ) -> None:
        world.answer = "It was lit in 1871. It cost 5000 francs."
        world.decomposition = "Claims:\n- The lamp was lit in 1871."

        with serving(world, found=AGREEING, settings={"require": "partly"}) as served:
            reply = served.ask()

        assert reply.json()["choices"][0]["message"]["content"] == world.answer
        assert reply.headers["x-conflictscore-checked"] == "partly"
        assert reply.headers["x-conflictscore-reason"] == GapKind.UNCLAIMED
        assert reply.json()["conflictscore"]["kind"] == GapKind.UNCLAIMED

    def test_greetings_and_tool_calls_pass(self, world: ChatWorld) -> None:
        world.answer, world.decomposition = "Hello!", "Claims:"

        with serving(world, found=[], settings={"require": "fully"}) as served:
            world.plain = "Hello! How can I help you?"
            greeting = served.ask("Hi!")
            world.plain = completion_with({"content": None, "tool_calls": [CALL]}, "tool_calls")
            call = served.ask(tools=[TOOL])

        assert greeting.json()["choices"][0]["message"]["content"] == "Hello! How can I help you?"
        assert greeting.headers["x-conflictscore-reason"] == GapKind.STATES_NOTHING
        assert call.json()["choices"][0]["message"]["tool_calls"] == [CALL]

    def test_an_answer_that_was_cut_is_checked_in_part_at_most(self, world: ChatWorld) -> None:
        world.plain = completion_with({"content": "It was lit in 1871."}, "length")

        with serving(world, found=AGREEING, settings={"first_answer": "upstream"}) as served:
            reply = served.ask()

        assert reply.headers["x-conflictscore-checked"] == "partly"
        assert reply.headers["x-conflictscore-reason"] == GapKind.UNFINISHED_ANSWER

    def test_corrections_of_given_answers_are_held_to_it_too(self, world: ChatWorld) -> None:
        world.broken["label"] = DOWN
        body = {"answer": "It was lit in 1871.", "documents": [{"text": "It was lit in 1874."}]}

        with serving(world, settings={"require": "partly"}) as served:
            reply = served.http.post("/v1/correct", json=body)

        assert (reply.status_code, reply.json()["error"]["code"]) == (503, "not_checked")

    def test_refuse_is_its_older_name(self) -> None:
        assert ServiceSettings(on_failure="refuse").require == "partly"

    @pytest.mark.parametrize("wrong", [{"require": "wholly"}, {"refusal": "No."}])
    def test_wrong_ones_are_input_errors(self, wrong: dict[str, Any]) -> None:
        with pytest.raises(InputError, match="require"):
            ServiceSettings(**wrong)
