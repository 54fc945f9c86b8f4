"""Runs that can be fetched afterwards, and POST /v1/runs, which reports a run step by step."""

import os
import signal
import stat
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from conflictscore.errors import ConfigurationError
from conflictscore.middleware.service.kept_runs import RUNNING, KeptRuns
from tests.fakes.openai_server import Fault
from tests.full_disk import no_room
from tests.middleware.service.serving import QUESTION, ChatWorld, Served, events_in, serving
from tests.world import DISAGREEING


def kept(runs: KeptRuns, *names: str) -> list[str]:
    return [name for name in names if runs.get(name, "me") is not None]


def finish(runs: KeptRuns, name: str, **run: Any) -> None:
    runs.begin(name, "me")
    runs.finish(name, {"run": name, **run})


_BEGINS = """
import sys
from pathlib import Path
from conflictscore.middleware.service.kept_runs import KeptRuns
runs = KeptRuns(most=9, most_bytes=1000, path=Path(sys.argv[1]))
for name in "ab":
    runs.begin(name, "me")
runs.finish("b", {"run": "b"})
assert runs.get("b", "me"), "so both are written"
print("begun", flush=True)
sys.stdin.read()
"""


class TestKeeping:
    def test_a_run_of_a_killed_process_is_unfinished_at_once(self, tmp_path: Path) -> None:
        def opened() -> KeptRuns:
            record = {"status": "unfinished", "answer": None}
            unfinished = lambda run: {"run_id": run.run_id, **record}  # noqa: E731
            return KeptRuns(most=9, most_bytes=1000, path=path, unfinished=unfinished)

        path = tmp_path / "runs.sqlite"
        command = [sys.executable, "-c", _BEGINS, str(path)]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            assert process.stdout.readline() == "begun\n"
            with closing(opened()) as other:
                assert other.look_up("a", "me") is RUNNING
                assert other.look_up("b", "me") == {"run": "b"}
                process.send_signal(signal.SIGKILL)
                process.wait()
                told = {"run_id": "a", "status": "unfinished", "answer": None}
                assert other.look_up("a", "you") is None
                assert other.look_up("a", "me") == told, "another process notices too"
        with closing(opened()) as after:
            assert after.look_up("a", "me") == told
            assert after.look_up("b", "me") == {"run": "b"}
        assert [file.name for file in tmp_path.iterdir()] == ["runs.sqlite"], "no lock is left"

    def test_a_run_says_whether_it_was_stored(self) -> None:
        runs = KeptRuns(most=9, most_bytes=100)
        for name in ("small", "large"):
            runs.begin(name, "me")
            stored = runs.finish(name, {"text": "x" * (1 if name == "small" else 100)})
            assert stored.result(5) is (name == "small")

    @pytest.mark.parametrize(
        ("most", "each", "last", "left"),
        [(3, 60, 60, "acd"), (100, 60, 240, "d"), (100, 1, 300, "abc")],
        ids=["the least recently used goes first", "as many as it needs bytes", "too large"],
    )
    def test_a_new_run_drives_out_others(self, most: int, each: int, last: int, left: str) -> None:
        runs = KeptRuns(most=most, most_bytes=300)
        for name in "abc":
            finish(runs, name, text="x" * each)
        runs.get("a", "me")

        finish(runs, "d", text="x" * last)

        assert kept(runs, *"abcd") == [*left]
        assert not runs.is_running("d", "me")

    def test_a_run_in_progress_is_known_to_its_owner_only(self) -> None:
        runs = KeptRuns(most=1, most_bytes=300)
        runs.begin("a", "me")

        assert (runs.is_running("a", "me"), runs.is_running("a", "you")) == (True, False)
        assert runs.get("a", "me") is None

    def test_a_file_keeps_them_over_a_restart_within_the_same_bounds(self, tmp_path: Path) -> None:
        path = tmp_path / "runs.sqlite"
        before = KeptRuns(most=3, most_bytes=10_000, path=path)
        for name in "abc":
            finish(before, name)
        before.close()

        after = KeptRuns(most=3, most_bytes=10_000, path=path)
        finish(after, "d")

        assert kept(after, *"abcd") == ["b", "c", "d"]
        assert after.get("b", "you") is None
        assert stat.S_IMODE(path.stat().st_mode) == 0o600

    @pytest.mark.skipif(os.name == "nt", reason="Windows has no such limits")
    def test_a_full_disk_takes_no_new_run_and_loses_no_kept_one(self, tmp_path: Path) -> None:
        runs = KeptRuns(most=9, most_bytes=1000, path=tmp_path / "runs.sqlite")
        finish(runs, "a")
        assert kept(runs, "a") == ["a"], "it is written by now"
        lost: list[str] = []
        with no_room():
            for name in "bcdefgh":
                runs.begin(name, "me")
                runs.finish(name, {}, lambda name=name: lost.append(name))  # type: ignore[misc]
            assert kept(runs, *"ab") == ["a"]
        assert "".join(lost) == "bcdefgh"
        finish(runs, "i")
        assert kept(runs, *"abi") == ["a", "i"]

    @pytest.mark.parametrize("content", [b"no database at all, but text" * 100, None])
    def test_an_unusable_file_is_named(self, tmp_path: Path, content: bytes | None) -> None:
        path = tmp_path / "folder" / "runs.sqlite"
        if content is not None:
            path.parent.mkdir()
            path.write_bytes(content)

        with pytest.raises(ConfigurationError, match=r"runs\.sqlite cannot be used .*--runs-file"):
            KeptRuns(most=1, most_bytes=1, path=path)


@pytest.mark.parametrize("stream", [False, True])
def test_an_answer_whose_run_cannot_be_stored_says_so(world: ChatWorld, stream: bool) -> None:
    for most_bytes, stored in ((1, False), (1 << 20, None)):
        with serving(world, settings={"runs_bytes": most_bytes}) as served:
            reply = served.ask(stream=stream)
        bodies = [body for _, body in events_in(reply.text)] if stream else [reply.json()]
        [run] = [
            body["conflictscore"]
            for body in bodies
            if isinstance(body, dict) and "checked" in (body.get("conflictscore") or {})
        ]
        assert run.get("stored") is stored


class TestAsking:
    def test_a_run_is_streamed_step_by_step_and_kept(self, served: Served) -> None:
        reply = served.http.post("/v1/runs", json={"question": QUESTION})
        run = served.run(reply)

        events = events_in(reply.text)
        names = [name for name, _ in events]
        assert names[:4] == ["start", "documents", "answer", "claims"]
        assert names.count("label") == 6
        assert names[-2:] == ["flip", "run"]
        assert all(data["event"] == name for name, data in events[:-1])
        assert events[-1][1] == run
        assert events[0][1]["run_id"] == run["run_id"]
        assert (run["status"], run["answer"]) == ("corrected", "It was lit in 1874.")

    def test_documents_options_and_history_are_used(self, world: ChatWorld, served: Served) -> None:
        world.answer = "(A)"
        asked = {
            "question": "Which is it?",
            "options": ["It was lit in 1871.", "It was lit in 1874."],
            "documents": [{"text": "The lamp was lit in 1871."}, "The tower is white."],
            "history": [{"role": "user", "content": "Tell me of the lamp."}],
        }

        run = served.run(served.http.post("/v1/runs", json=asked))

        assert (run["status"], run["asked"]) == ("scored", "Which is it?")
        assert run["question"] == world.standalone
        assert run["answer"] == "It was lit in 1871."
        assert [one["text"] for one in run["documents"]][1:] == ["The tower is white."]

    @pytest.mark.parametrize(
        ("body", "complaint"),
        [
            ({}, "question: Field required"),
            ({"question": " "}, "the question is empty"),
            ({"question": "When?", "speed": 1}, "speed: "),
            ({"question": "When?", "options": ["one"]}, "two options"),
            ({"question": "When?", "documents": [{"title": "T"}]}, "document 1, field text"),
            ({"question": "When?", "documents": [" "]}, "document 1, field text"),
            ({"question": "When?", "documents": [1871]}, "documents[0]"),
            (
                {"question": "When?", "history": [{"role": "tool", "content": "x"}]},
                "history, turn 1: the field 'tool_call_id' is missing",
            ),
        ],
    )
    def test_a_bad_request_is_refused_at_once(
        self, served: Served, body: dict[str, Any], complaint: str
    ) -> None:
        reply = served.http.post("/v1/runs", json=body)

        assert reply.status_code == 400
        assert complaint in reply.json()["error"]["message"]
        assert served.upstream.requests == []

    @pytest.mark.parametrize(
        ("fault", "found", "code"),
        [
            (Fault(500, should_retry=False), DISAGREEING, "upstream_failed"),
            (Fault(401, should_retry=False), DISAGREEING, "upstream_authentication"),
            (Fault.hang(60), DISAGREEING, "timeout"),
            (None, [], "no_documents"),
        ],
        ids=["500", "401", "hang", "nothing"],
    )
    def test_a_run_that_fails_ends_with_an_error(
        self, world: ChatWorld, fault: Fault | None, found: list[dict[str, str]], code: str
    ) -> None:
        if fault is not None:
            world.broken["generate"] = fault

        limit = {"timeout": 1 if code == "timeout" else 30}
        with serving(world, found=found, settings=limit) as served:
            reply = served.http.post("/v1/runs", json={"question": QUESTION})
            run = served.run(reply)

        name, error = events_in(reply.text)[-1]
        assert (name, error["error"]["code"]) == ("error", code)
        assert (run["status"], run["notes"]) == ("failed", [error["error"]["message"]])
