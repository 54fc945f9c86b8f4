"""``conflictscore bench … --dry-run``: with each labeler."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import main
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, told
from tests.benchmarks.truthfulqa.files import row, write_csv
from tests.fakes.openai_server import OpenAIServer
from tests.nli_model import make_nli_model


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """Two questions over three documents each."""
    monkeypatch.chdir(tmp_path)
    questions = [
        row(
            f"When was lamp {n} lit?",
            **{
                "Best Answer": told(n, RIGHT),
                "Best Incorrect Answer": told(n, WRONG),
                "Correct Answers": told(n, RIGHT),
                "Incorrect Answers": told(n, WRONG),
            },
        )
        for n in range(2)
    ]
    write_csv(Path("TruthfulQA.csv"), questions)
    pages = [
        json.dumps({"text": f"Keeper {keeper} of lamp {n} says: {told(n, year)}"})
        for n in range(2)
        for keeper, year in enumerate([WRONG, RIGHT, RIGHT])
    ]
    Path("pages.jsonl").write_text("\n".join(pages))
    with OpenAIServer(Quiz()) as served:
        yield served


def bench(server: OpenAIServer, *args: str) -> Result:
    model = ["--model", "scripted", "--base-url", server.base_url, "--no-cache"]
    data = ["--data", "TruthfulQA.csv", "--docs", "pages.jsonl", "--top-k", "3"]
    said = CliRunner().invoke(
        main, ["bench", "truthfulqa", *data, *model, "--methods", "rag,placebo", *args]
    )
    assert "Traceback" not in said.output
    return said


def least_calls(server: OpenAIServer, *args: str) -> float:
    said = bench(server, "--dry-run", "--json", *args)
    assert said.exit_code == 0, said.stderr
    calls: float = json.loads(said.stdout)["low"][-1]["calls"]
    return calls


def test_labels_are_counted_as_the_labeler_makes_them(server: OpenAIServer, tmp_path: Path) -> None:
    assert least_calls(server, "--labeler", "choice") == 2 * (1 + 3)
    model = make_nli_model(tmp_path / "nli")
    assert least_calls(server, "--labeler", f"nli:model={model}") == 2
    cascade = f"cascade:model={model}"
    assert least_calls(server, "--labeler", cascade) == 2 * (1 + 3)
    assert "upper bound" in bench(server, "--dry-run", "--labeler", cascade).stderr
    told = " ".join(bench(server, "--dry-run", "--seeds", "3").stdout.split())
    assert "its gain of +1.0 takes 2,424 questions, and this run's 2 show it" in told
    assert "3 take at most 3 times as much" in told
    assert not server.requests


def test_documents_that_questions_bring_can_be_cut_and_a_run_tells_how_they_were(
    server: OpenAIServer,
) -> None:
    filler = "The harbour keeps long ledgers about rope, tar and weather. " * 40
    line = {
        "question": "What is Ada?",
        "documents": [{"text": f"{filler} Ada is a poet. {filler}", "type": "correct"}],
        "disambig_entity": ["Ada (writer)"],
        "gold_answers": ["poet"],
        "wrong_answers": [],
    }
    Path("r.jsonl").write_text(json.dumps(line))
    model = ["--model", "scripted", "--base-url", server.base_url, "--no-cache", "--methods", "rag"]

    def run(*args: str) -> Result:
        given = ["bench", "ramdocs", "--form", "free-form", "--data", "r.jsonl", *model, *args]
        return CliRunner().invoke(main, given)

    def tokens_in(*args: str) -> float:
        made = json.loads(run("--dry-run", "--json", *args).stdout)
        tokens: float = made["low"][-1]["input_tokens"]
        return tokens

    assert tokens_in("--passage-tokens", "64") < tokens_in() / 4
    run("--passage-tokens", "64", "--quiet")
    manifest = json.loads(Path("runs/ramdocs-free-form/manifest.json").read_text())
    assert manifest["configuration"]["retrieval"]["passage_tokens"] == 64
    other = run("--passage-tokens", "32", "--quiet")
    assert other.exit_code == 2
    assert "passage_tokens" in other.stderr
