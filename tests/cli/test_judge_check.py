"""``conflictscore judge-check`` as a user types it, against a loopback judge."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import OneLineErrors
from conflictscore.cli.judge_check import judge_check
from tests.benchmarks.truthfulqa.files import (
    REAL,
    labelled,
    needs_real_data,
    row,
    write_csv,
    write_jsonl,
)
from tests.benchmarks.truthfulqa.judging import judged_answer
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer

ASKED = "Is the lamp lit?"
LABELS = {f"Answer {number}": number < 6 for number in range(10)}
FILES = ["--answers", "judge_truth.jsonl", "--references", "TruthfulQA.csv"]


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    write_csv(Path("TruthfulQA.csv"), [row(ASKED)])
    rows = [labelled(ASKED, text, "yes" if yes else "no") for text, yes in LABELS.items()]
    write_jsonl(Path("judge_truth.jsonl"), [*rows, rows[0], labelled("Is it?", "It is.", "yes")])


def run(*args: str) -> Result:
    return CliRunner().invoke(OneLineErrors("conflictscore", [judge_check]), ["judge-check", *args])


def run_against(server: OpenAIServer, *args: str) -> Result:
    return run(*FILES, "--model", "judge", "--base-url", server.base_url, *args)


def reported(result: Result) -> dict[str, Any]:
    assert result.exit_code == 0, result.stderr
    found: dict[str, Any] = json.loads(result.stdout)
    return found


def line_of(result: Result) -> str:
    [line] = [line for line in result.stderr.splitlines() if line.startswith("conflictscore: ")]
    return line


def mostly_right(request: ChatRequest) -> str | Fault:
    """Right but for answer 0; answer 9 gets no verdict that can be read."""
    text = judged_answer(request)
    if text == "Answer 9":
        return "TRUTHFUL: perhaps"
    return f"TRUTHFUL: {LABELS[text] and text != 'Answer 0'}\nEXPLANATION: So it is."


@dataclass
class Switch:
    """A judge that a test exchanges while its server runs."""

    answer: Callable[[ChatRequest], str | Fault]

    def __call__(self, request: ChatRequest) -> str | Fault:
        return self.answer(request)


def test_a_check_shows_counts_and_figures_and_what_was_left_out() -> None:
    with OpenAIServer(mostly_right) as server:
        done = run_against(server)

    assert done.exit_code == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == f"judge of truthful: judge at {server.base_url}"
    assert lines[1] == "12 rows, 10 answers that can be judged; all of them judged"
    assert lines[2].startswith("  rows left out: 1, the same answer with the same label")
    assert lines[3].startswith("  rows left out: 1, there are no references")
    assert lines[4] == "  without references: Is it?"
    assert [line.split() for line in lines[6:9]] == [
        ["judge:", "yes", "judge:", "no", "unjudged"],
        ["labelled", "yes", "5", "1", "0"],
        ["labelled", "no", "0", "3", "1"],
    ]
    assert lines[10].startswith("accuracy           0.889 (8 of 9, 95 % interval 0.5")
    assert lines[11] == "balanced accuracy  0.917"
    assert lines[12] == "Cohen's kappa      0.769"
    assert lines[14].startswith("11 calls and 0 replies from the cache; ")


def test_without_a_terminal_progress_is_a_line_at_each_tenth() -> None:
    with OpenAIServer(mostly_right) as server:
        done = run_against(server)

    shown = done.stderr.splitlines()
    assert len(shown) == 11
    assert shown[0] == "judging: 0 of 10 answers"
    assert shown[-1] == "judging: 10 of 10 answers, 1 unjudged"


def test_json_holds_the_same_and_the_second_check_is_answered_from_the_cache() -> None:
    with OpenAIServer(mostly_right) as server:
        first, second = (reported(run_against(server, "--json")) for _ in range(2))

        # the unreadable verdict alone is asked for again: a failure is never stored
        assert len(server.requests) == 11 + 2
    assert second["usage"]["cached_calls"] == 9
    assert {**first, "usage": 0} == {**second, "usage": 0}
    assert (first["measure"], first["judge"], first["n"], first["unjudged"]) == (
        "truthful",
        "judge",
        10,
        1,
    )
    assert first["accuracy"]["count"] == 8
    assert first["labelled_no"] == {"yes": 0, "no": 3, "unjudged": 1}
    assert first["without_references"] == ["Is it?"]


def test_a_sample_draws_half_of_each_label_by_seed() -> None:
    with OpenAIServer(mostly_right) as server:
        found = [
            reported(run_against(server, "--json", "--sample", "4", "--seed", seed, "--no-cache"))
            for seed in "01"
        ]
        asked = [judged_answer(request) for request in server.requests]

    for one in found:
        assert sum(one["labelled_yes"].values()) == sum(one["labelled_no"].values()) == 2
    assert [one["sample_seed"] for one in found] == [0, 1]
    assert set(asked[:4]) != set(asked[4:])


def test_verdicts_are_written_as_they_come_and_not_asked_for_again() -> None:
    def down(request: ChatRequest) -> str | Fault:
        return Fault(400, message="down", should_retry=False)

    judge = Switch(mostly_right)
    with OpenAIServer(judge) as server:
        first = reported(run_against(server, "--json", "--no-cache", "--out", "v.jsonl"))
        judge.answer = down
        again = reported(run_against(server, "--json", "--no-cache", "--out", "v.jsonl"))

        assert [judged_answer(request) for request in server.requests[11:]] == ["Answer 9"]
    rows = [json.loads(line) for line in Path("v.jsonl").read_text("ascii").splitlines()]
    assert len(rows) == 11
    assert {item["answer"]: item["label"] for item in rows} == LABELS
    assert again["accuracy"] == first["accuracy"]


def test_where_nothing_could_be_judged_the_exit_code_says_so() -> None:
    with OpenAIServer(lambda request: Fault(400, message="too much")) as server:
        done = run_against(server)

    assert done.exit_code == 1
    assert "accuracy           no value (0 of 0)" in done.stdout
    assert "no answer could be judged: judge failed with HTTP 400: " in line_of(done)


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["--references", "TruthfulQA.csv"], "--answers"),
        (["--answers", "judge_truth.jsonl"], "--references"),
        ([*FILES, "--sample", "1"], "--sample"),
        ([*FILES, "--model", "openai:x", "--sample", "14"], "7 of it labelled yes; there are only"),
        (["--answers", "none", *FILES[2:]], "none: cannot be read"),
        ([*FILES[:2], "--references", "none"], "none: cannot be read"),
        (["--answers", "TruthfulQA.csv", *FILES[2:]], "TruthfulQA.csv, row 1: not JSON"),
        ([*FILES, "--base-url", "http://127.0.0.1:9"], "--base-url needs --model NAME"),
        ([*FILES, "--model", "openai:x"], "needs a key"),
        ([*FILES, "--prompts", "none"], "prompt folder none is not a folder"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(args: list[str], line: str) -> None:
    done = run(*args)

    assert done.exit_code == 2
    assert line in line_of(done)
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) == 1


def test_answers_that_no_reference_goes_with_are_refused() -> None:
    write_csv(Path("TruthfulQA.csv"), [row("Another question?")])

    done = run(*FILES, "--model", "openai:x")

    assert done.exit_code == 2
    assert "no answer in it can be judged with TruthfulQA.csv" in line_of(done)


def test_ctrl_c_keeps_the_verdicts_that_are_there_and_the_same_command_goes_on() -> None:
    asking = threading.Event()

    def handler(request: ChatRequest) -> str | Fault:
        if judged_answer(request) == "Answer 9":
            asking.set()
            return Fault(silence=60)
        return mostly_right(request)

    program = (
        "from conflictscore.cli import OneLineErrors\n"
        "from conflictscore.cli.judge_check import judge_check\n"
        "OneLineErrors('conflictscore', [judge_check])()\n"
    )
    command = [sys.executable, "-c", program, "judge-check", *FILES, "--out", "v.jsonl"]
    judge = Switch(handler)
    with OpenAIServer(judge) as server:
        process = subprocess.Popen(
            [*command, "--model", "judge", "--base-url", server.base_url],
            stderr=subprocess.PIPE,
            text=True,
            env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
        )
        assert process.stderr
        while not (line := process.stderr.readline()).startswith("judging: 9 of 10"):
            assert line
        assert asking.wait(60)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert process.returncode == 130
        assert errors.splitlines()[-1].endswith("the same command resumes")
        assert len(Path("v.jsonl").read_text("ascii").splitlines()) == 9

        judge.answer = mostly_right
        before = len(server.requests)
        assert reported(run_against(server, "--json", "--out", "v.jsonl"))["n"] == 10
        assert {judged_answer(r) for r in server.requests[before:]} == {"Answer 9"}


def test_help_loads_nothing_heavy_and_shows_examples() -> None:
    program = (
        "import sys\n"
        "from conflictscore.cli.judge_check import judge_check\n"
        "try: judge_check(['--help'])\n"
        "except SystemExit: pass\n"
        "heavy = ('langchain_core', 'pydantic', 'httpx2', 'rich', 'asyncio', 'scipy')\n"
        "print(sorted(name for name in heavy if name in sys.modules))\n"
    )

    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)

    assert done.stdout.splitlines()[-1] == "[]"
    assert len(re.findall(r"^ {4}conflictscore judge-check ", done.stdout, re.MULTILINE)) == 5
    assert done.stderr == ""


@needs_real_data
def test_a_judge_that_always_says_the_same_has_half_of_a_balanced_sample_and_no_kappa() -> None:
    folder = REAL / "truthfulqa"
    with OpenAIServer(lambda request: "HELPFUL: True") as server:
        done = run(
            *("--answers", str(folder / "judge_info.jsonl"), "--sample", "20", "--json"),
            *("--references", str(folder / "TruthfulQA.csv"), "--model", "judge"),
            *("--base-url", server.base_url),
        )

    found = reported(done)
    assert (found["measure"], found["n"]) == ("informative", 20)
    assert found["accuracy"]["value"] == found["balanced_accuracy"] == 0.5
    assert found["cohen_kappa"] == 0
