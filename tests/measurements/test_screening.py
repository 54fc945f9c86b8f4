"""A screen beside single pairs with a model that judges: what it saves; nothing is paid twice."""

import json
import re
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from measurements.screening import main
from tests.fakes.openai_server import OpenAIServer
from tests.world import World


@pytest.fixture
def data(tmp_path: Path) -> Path:
    labels = {"1871": "SUPPORTS", "1874": "CONTRADICTS"}
    rows = []
    for name, years in {"Ayr": ("1871", "1874") * 4, "Bute": ("1871",) * 8}.items():
        docs = [
            {"text": f"Page {number} on the lamp of {name}. Lit in {y}.", "label": labels[y]}
            for number, y in enumerate(years)
        ]
        claim = f"The lamp of {name} was lit in 1871."
        both = len(set(years)) == 2
        rows.append({"id": name, "claim": claim, "docs": docs, "has_conflict": both})
    file = tmp_path / "lamps_groups.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def screen(data: Path, *more: str) -> Result:
    return CliRunner().invoke(main, ["--data", str(data), "--groups", "2", "--most", "2", *more])


def test_a_model_judges_pair_by_pair_and_screened_and_the_same_command_pays_for_nothing_again(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret-of-the-user")
    calls = tmp_path / "calls.jsonl"
    with OpenAIServer(World()) as server:
        model = ["--model", "scripted", "--base-url", server.base_url, "--out", str(calls)]
        first = screen(data, *model)
        asked = len(server.requests)
        again = screen(data, *model)

        assert len(server.requests) == asked
    assert first.exit_code == 0, first.output
    assert "2 answers, 16 pairs" in first.stdout
    assert "json(scripted): 16 calls" in first.stdout
    assert "labels right 100.0 %" in first.stdout
    assert "json(scripted): 2 of 2 answers, 16 calls made" in first.stderr
    assert _without_seconds(again.stdout) == _without_seconds(first.stdout)
    assert "screen(scripted)" in first.stdout.splitlines()[-2]
    assert "found 100.0" in first.stdout.splitlines()[-1]


def test_a_model_needs_a_file_for_its_calls(data: Path) -> None:
    result = screen(data, "--model", "scripted")

    assert result.exit_code == 2
    assert "--model needs --out" in result.stderr


def _without_seconds(shown: str) -> str:
    return re.sub(r"\d+ s;", "", shown)
