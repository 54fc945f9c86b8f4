"""``conflictscore score-file`` as a user types it, against a loopback model server."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer
from tests.scoring_files.files import lines, outcomes, write_lines
from tests.world import DISAGREEING, World


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    rows = [
        {"id": n, "answer": f"The lamp {n} was lit in 1871.", "documents": DISAGREEING}
        for n in range(8)
    ]
    write_lines(tmp_path / "in.jsonl", rows)


def command(server: OpenAIServer, *more: str) -> list[str]:
    model = ["--model", "scripted", "--base-url", server.base_url]
    return ["score-file", "in.jsonl", "--out", "out.jsonl", "--labeler", "json", *model, *more]


def run(*args: str) -> Result:
    return CliRunner().invoke(main, args)


def last_line(result: Result) -> str:
    return result.stderr.splitlines()[-1]


def test_a_file_is_scored_row_by_row_and_its_fields_are_carried_through() -> None:
    with OpenAIServer(World()) as server:
        result = run(*command(server))

    assert result.exit_code == 0
    assert result.stdout == (
        "out.jsonl: 8 rows, 8 of them scored now; 0 failed, 0 lack a verdict for some pair;"
        f" 32 calls, 0 from the cache, {tokens(result)}\n"
    )
    assert [(row["id"], len(row["documents"])) for row in lines(Path("out.jsonl"))] == [
        (n, 3) for n in range(8)
    ]
    assert [row["report"]["cs_c"] for row in outcomes(Path("out.jsonl"))] == [1.0] * 8
    assert last_line(result) == "scoring: 8 of 8 rows"


def tokens(result: Result) -> str:
    return ", ".join(result.stdout.strip().rsplit(", ", 2)[1:])


def test_a_row_that_fails_is_counted_and_scored_again_where_that_is_asked_for() -> None:
    world, broken = World(), True

    def answer(request: ChatRequest) -> Any:
        down = broken and "The lamp 3 was" in request.prompt
        return Fault(500, message="engine trouble", should_retry=False) if down else world(request)

    with OpenAIServer(answer) as server:
        first = run(*command(server))
        broken = False
        second = run(*command(server, "--retry-failed", "--json", "--quiet"))

    assert first.exit_code == 1
    assert "row 4 failed: the answer could not be split into claims" in first.stderr
    assert last_line(first) == (
        "conflictscore: out.jsonl: 1 of 8 rows failed; the reason is in conflictscore.error, and"
        " --retry-failed scores them again"
    )
    assert (second.exit_code, second.stderr) == (0, "")
    summary = json.loads(second.stdout)
    assert summary["usage"]["calls"] == 4
    counts = [summary[name] for name in ("rows", "scored_now", "failed", "incomplete")]
    assert counts == [8, 1, 0, 0]


def test_how_fast_a_run_goes_may_change() -> None:
    with OpenAIServer(World()) as server:
        assert run(*command(server, "--concurrency", "1")).exit_code == 0
        assert server.in_flight_peak <= 3
        assert run(*command(server, "--concurrency", "7")).exit_code == 0


@pytest.mark.parametrize(
    ("args", "line"),
    [
        (["none.jsonl", "--out", "o.jsonl"], "none.jsonl: cannot be read (No such file"),
        (
            ["in.txt", "--out", "o.jsonl"],
            "in.txt: its extension is not supported; give .jsonl, .json, .csv, .parquet",
        ),
        (["in.jsonl", "--out", "o.jsonl", "--columns", "reply"], "--columns reply: write answer="),
        (
            ["in.jsonl", "--out", "o.jsonl", "--columns", "answer=a,answer=b"],
            "--columns answer=a,answer=b: write",
        ),
        (["in.jsonl", "--out", "o.jsonl", "--model", "openai:x"], "openai:x needs a key"),
        (["in.jsonl", "--out", "no/o.csv", "--model", "openai:x"], "no/o.csv: must end in"),
        (["no-rows.jsonl", "--out", "o.jsonl", "--fail-over", "0"], "no-rows.jsonl: no rows"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(args: list[str], line: str) -> None:
    Path("no-rows.jsonl").touch()
    result = run("score-file", *args)

    assert result.exit_code == 2
    assert last_line(result).startswith(f"conflictscore: {line}")


def test_a_gate_names_the_rows_that_exceed_it_with_their_claims_and_documents() -> None:
    rude = "The lamp was lit in 1874. <img src=x> [a](https://b.test) `c` | d ##[add-mask]e"
    rows = [
        {"answer": "The lamp was lit in 1871.", "documents": [*DISAGREEING, rude]},
        {"response": "The lamp was lit in 1874.", "contexts": [rude]},
        {"answer": "The lamp was lit in 1871."},
    ]
    write_lines(Path("in.jsonl"), rows)
    with OpenAIServer(World()) as server:
        failed = run(*command(server, "--fail-over", "0.5"))
        write_lines(Path("in.jsonl"), rows[:2])
        over = ["--out", "two.jsonl", "--json"]
        equal = run(*command(server, *over, "--fail-over", str(2 / 3)))

    assert (failed.exit_code, equal.exit_code) == (1, 0)
    assert last_line(failed) == (
        "conflictscore: out.jsonl: 2 of 3 rows fail (--fail-over 0.5): row 1 (CS-R 0.67, claim 1),"
        " row 3 (no score: has no field documents)"
    )
    _, row, claim, other = failed.stdout.splitlines()
    assert row == "row 1: CS-R 0.67, claim 1"
    assert claim.startswith("  claim 1 “The lamp was lit in 1871.” contradicted by documents 2, 4")
    assert claim.endswith("; supported by document 1")
    assert other == "row 3: no score: has no field documents"
    assert json.loads(equal.stdout)["failing"] == {}


def test_a_gate_lets_nothing_pass_that_was_not_checked() -> None:
    write_lines(Path("in.jsonl"), [{"answer": "It was lit in 1871.", "documents": DISAGREEING}])
    world = World()

    def answer(request: ChatRequest) -> Any:
        judging, prompt = '"document_snippet"' in request.prompt, request.prompt
        unread = judging and "The lamp was lit in 1871." not in prompt
        return Fault(400, message="unreadable") if unread else world(request)

    with OpenAIServer(answer) as server:
        first = run(*command(server, "--fail-over", "1"))

    assert first.exit_code == 1
    # two of three texts were refused; the rest is not a fair sample, so there is no score
    assert "1 of 1 rows fail (--fail-over 1): row 1 (no score: " in last_line(first)


def test_a_spent_budget_stops_the_command_and_the_same_one_goes_on() -> None:
    with OpenAIServer(World()) as server:
        stopped = run(*command(server, "--max-calls", "10"))
        calls, rows = len(server.requests), len(lines(Path("out.jsonl.run"))) - 1
        going_on = run(*command(server))
        asked = Counter(request.prompt for request in server.requests)

    assert (stopped.exit_code, going_on.exit_code) == (3, 0)
    assert last_line(stopped).startswith("conflictscore: the budget is used up (10 of 10 calls)")
    assert 0 < calls < 32
    assert rows < 8
    assert [row["id"] for row in lines(Path("out.jsonl"))] == list(range(8))
    assert set(asked.values()) == {1}  # calls in flight at the end of the budget were kept
