"""``conflictscore record`` as a user types it, against a loopback search server."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from conflictscore.retrieval.recording import RecordedRetriever
from tests.fakes.search_server import Received, Reply, SearchServer, json_reply
from tests.retrieval.recording.searching import answer, asked, lines, questions, refusing

QUOTA = json_reply({"error": "the daily quota is used up"}, 429)
TOO_LONG = json_reply({"error": "no \x1b]0;owned\x07such luck"}, 400)
BROKEN = json_reply({"error": "engine trouble"}, 409)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("q.txt").write_text("\n".join(questions(4)))
    Path("docs").mkdir()
    Path("docs/a.md").write_text("The lamp is lit.")
    Path("many.txt").write_text("\n".join(questions(40)))


def run(*args: str) -> Result:
    return CliRunner().invoke(main, ["record", *args])


def run_against(server: SearchServer, *args: str) -> Result:
    search = ["--search", f"searxng:{server.endpoint}", "--concurrency", "1"]
    return run("--questions", "q.txt", "--out", "r.jsonl", *search, *args)


def line_of(result: Result) -> str:
    [line] = [line for line in result.stderr.splitlines() if line.startswith("conflictscore: ")]
    return line


def test_a_recording_is_made_gone_on_with_and_replayed() -> None:
    with SearchServer(answer) as server:
        Path("three.txt").write_text("\n".join(questions(3)))
        first = run_against(server, "--top-k", "2", "--questions", "three.txt")
        second = run_against(server, "--top-k", "2")

        assert (first.exit_code, second.exit_code) == (0, 0)
        told = [f"recording: {number} of 3 questions" for number in range(4)]
        assert first.stderr.splitlines() == told
        assert asked(server) == questions(4)
    assert first.stdout == "r.jsonl: 3 of 3 questions recorded, 3 of them now, 0 left\n"
    assert second.stdout == "r.jsonl: 4 of 4 questions recorded, 1 of them now, 0 left\n"
    kept = [(line["parameters"], line["search"]) for line in lines(Path("r.jsonl"))]
    assert kept == [({"top_k": 2, "read_pages": False}, f"searxng:{server.endpoint}")] * 4
    assert len(RecordedRetriever.from_file("r.jsonl").invoke(questions(4)[3])) == 2


def test_ones_own_files_can_be_recorded_too() -> None:
    done = run("--questions", "q.txt", "--out", "r.jsonl", "--docs", "docs")

    assert done.exit_code == 0
    assert {line["search"] for line in lines(Path("r.jsonl"))} == {"corpus"}
    parameters = {"top_k": 10, "read_pages": False, "docs": ["docs"]}
    assert lines(Path("r.jsonl"))[0]["parameters"] == parameters


def test_the_search_that_the_default_stands_for_is_recorded(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with SearchServer(answer) as server:
        monkeypatch.setenv("SEARXNG_URL", server.endpoint)
        assert run("--questions", "q.txt", "--out", "r.jsonl").exit_code == 0

    assert {line["search"] for line in lines(Path("r.jsonl"))} == {"searxng"}


def test_a_used_up_quota_says_what_is_left_and_to_go_on_tomorrow() -> None:
    with SearchServer(refusing({questions(4)[1]: QUOTA})) as server:
        done = run_against(server)

    assert done.exit_code == 1
    assert done.stdout == "r.jsonl: 1 of 4 questions recorded, 1 of them now, 3 left\n"
    assert "the daily quota is used up" in line_of(done)
    assert line_of(done).endswith(
        "questions left: 3; run the same command to resume after the quota resets"
    )


def test_failed_questions_are_named_and_asked_by_the_same_command() -> None:
    nothing = json_reply({"results": []})
    refused = {questions(4)[0]: TOO_LONG, questions(4)[2]: nothing}
    with SearchServer(refusing(refused)) as server:
        done = run_against(server)
        before = len(server.requests)
        del refused[questions(4)[0]]
        again = run_against(server)
        assert (again.exit_code, asked(server)[before:]) == (0, questions(1))

    assert done.exit_code == 1
    assert done.stdout.splitlines() == [
        "r.jsonl: 3 of 4 questions recorded, 3 of them now, 1 left",
        "no results for 1 of the questions recorded now",
    ]
    assert "failed: Which lamp is number 0?: " in done.stderr
    assert "\x1b" not in done.stderr
    counts = "questions that failed: 1; questions left: 1"
    assert line_of(done) == f"conflictscore: {counts}; run the same command to resume"


def test_a_search_that_is_down_is_left_alone_and_said_so() -> None:
    with SearchServer(answer, always=BROKEN) as server:
        done = run_against(server, "--questions", "many.txt")

        assert len(set(asked(server))) == 5
    assert done.exit_code == 1
    assert "the search failed: " in line_of(done)
    assert "engine trouble" in line_of(done)
    assert line_of(done).endswith("run the same command to resume")


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["--out", "r.jsonl", "--search", "serper"], "--questions"),
        (["--questions", "q.txt", "--search", "serper"], "--out"),
        (["--questions", "gone.txt", "--out", "r.jsonl"], "gone.txt: cannot be read"),
        (["--questions", "q.txt", "--out", "r.jsonl"], "nothing to search"),
        (["--questions", "q.txt", "--out", "r.jsonl", "--search", "altavista"], "altavista"),
        (
            ["--questions", "q.txt", "--out", "q.txt", "--docs", "docs"],
            "line 1: not a recorded question",
        ),
        (["--questions", "q.txt", "--out", "no/r", "--docs", "docs"], "no/r: cannot be written"),
        (["--questions", "q.txt", "--out", "r", "--concurrency", "0"], "--concurrency"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(args: list[str], line: str) -> None:
    done = run(*args)

    assert done.exit_code == 2
    assert line in line_of(done)
    assert len(done.stderr.splitlines()) == 1
    assert Path("q.txt").read_text() == "\n".join(questions(4))


def test_other_settings_are_one_line_that_shows_the_difference() -> None:
    with SearchServer(answer) as server:
        assert run_against(server).exit_code == 0
        done = run_against(server, "--top-k", "5")

    assert done.exit_code == 2
    assert "top_k was 10 and is now 5" in line_of(done)


def test_ctrl_c_keeps_what_was_found_and_the_same_command_goes_on() -> None:
    asking, hanging = threading.Event(), threading.Event()

    def handler(request: Received) -> Reply:
        if request.parameters["q"] == questions(4)[2] and not asking.is_set():
            asking.set()
            assert hanging.wait(60)
        return answer(request)

    command = [sys.executable, "-m", "conflictscore", "record", "--questions", "q.txt"]
    command += ["--concurrency", "1", "--out", "r.jsonl", "--search"]
    with SearchServer(handler) as server:
        process = subprocess.Popen(
            [*command, f"searxng:{server.endpoint}"],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert asking.wait(60)
        process.send_signal(signal.SIGINT)
        hanging.set()
        _, errors = process.communicate(timeout=60)

        assert process.returncode == 130
        assert errors.splitlines()[-1].endswith("run the same command again to resume")
        assert [line["question"] for line in lines(Path("r.jsonl"))] == questions(2)
        before = len(server.requests)
        assert run_against(server).exit_code == 0
        assert asked(server)[before:] == questions(4)[2:]
