"""Replies of the judge are collected once each, and a run that was stopped resumes."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from measurements import judge_replies
from tests.fakes.openai_server import Fault, OpenAIServer
from tests.world import World

YEARS = {"1871": "SUPPORTS", "1874": "CONTRADICTS", "": "IRRELEVANT"}


def record(number: int, split: str, *years: str, question: str = "") -> dict[str, Any]:
    docs = [{"text": f"Lamp {number} is white. Lit in {y}.", "label": YEARS[y]} for y in years]
    asked = {"question": question} if question else {}
    claim = f"Lamp {number} was lit in 1871, as the books of harbour {number} tell."
    return {"id": str(number), "split": split, "claim": claim, "docs": docs, **asked}


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    folder = tmp_path / "labels"
    folder.mkdir()
    asked = "When was lamp 1 lit?"
    sets = {
        "lamps": [record(1, "test", "1871", "1874", question=asked), record(2, "test", "1871")],
        "piers": [record(3, "test", "1874", "1871"), record(4, "test", "1874")],
    }
    for place, (name, rows) in enumerate(sets.items(), start=1):
        rows += [record(90 + 10 * place + n, "train", "1871", "1874", "") for n in range(3)]
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}_groups.jsonl").write_text(lines)
    return folder


def ask(data: Path, server: OpenAIServer, *more: str) -> Result:
    out = str(data.with_name("out"))
    command = ["--data", str(data), "--model", "m", "--base-url", server.base_url, "--out", out]
    return CliRunner().invoke(judge_replies.main, [*command, *more])


def rows_of(data: Path) -> list[dict[str, Any]]:
    lines = (data.with_name("out") / "choice.jsonl").read_text().splitlines()
    return [json.loads(line) for line in lines[1:]]


def test_every_pair_is_asked_once(data: Path) -> None:
    with OpenAIServer(World()) as server:
        first = ask(data, server)
        calls = len(server.requests)
        again = ask(data, server)
        assert len(server.requests) == calls
    assert first.exit_code == again.exit_code == 0, first.output
    right = [row["logprobs"][row["gold"]] for row in rows_of(data)]
    assert right == [pytest.approx(-0.1)] * 6


def test_a_run_that_was_stopped_or_failed_asks_for_what_is_missing(data: Path) -> None:
    broken = World(broken={"choice": Fault(status=400)})
    with OpenAIServer(broken) as server:
        failed = ask(data, server)
    assert failed.exit_code == 1
    assert "6 pairs could not be judged" in failed.stderr
    assert rows_of(data) == []
    with OpenAIServer(World()) as server:
        ask(data, server, "--pairs", "2")
        file = data.with_name("out") / "choice.jsonl"
        file.write_bytes(file.read_bytes() + b'{"half": ')
        before = len(server.requests)
        assert ask(data, server).exit_code == 0
        assert len(server.requests) - before == 4
    assert len(rows_of(data)) == 6


def test_data_without_labels_is_refused(data: Path, tmp_path: Path) -> None:
    with OpenAIServer(World()) as server:
        assert ask(tmp_path / "out", server).exit_code == 2
