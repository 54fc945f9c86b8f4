"""``conflictscore explain`` as a user types it, against a loopback model server."""

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from conflictscore.cli import OneLineErrors
from conflictscore.cli.ask import ask
from conflictscore.cli.explain import explain
from tests.fakes.openai_server import ChatRequest, OpenAIServer
from tests.world import World

DOCUMENTS = ["Lit in 1871.", "The log: lit in 1874.", "Lit in 1874, says a guide."]


class Swayed(World):
    """A model that changes its answer as long as it is shown the log."""

    said = ("It was lit in 1874.", "It was lit in 1871.")

    def __call__(self, request: ChatRequest) -> Any:
        prompt = request.messages[-1]["content"]
        self.regenerated = self.said["The log" not in prompt]
        return super().__call__(request)


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
    for number, text in enumerate(DOCUMENTS):
        Path(f"{number}.txt").write_text(text)


def run(server: OpenAIServer, *args: str) -> Result:
    model = ["--model", "m", "--base-url", server.base_url]
    return CliRunner().invoke(OneLineErrors("conflictscore", [ask, explain]), [*args, *model])


def flipped(server: OpenAIServer, *args: str) -> str:
    asked = run(server, "ask", "When?", *args, "--docs", ".", "--log", "flips.jsonl")
    assert asked.exit_code == 0, asked.stderr
    logged: dict[str, Any] = json.loads(Path("flips.jsonl").read_text())
    assert logged["flipped"]
    return str(logged["run_id"])


def test_the_document_that_swayed_the_answer_is_found_and_the_cost_told_first() -> None:
    with OpenAIServer(Swayed()) as server:
        run_id = flipped(server)
        before = len(server.requests)
        planned = run(server, "explain", "flips.jsonl", run_id[:6], "--dry-run")
        assert (planned.stdout, len(server.requests)) == ("", before)
        found = run(server, "explain", "flips.jsonl", run_id[:6])

    assert "5 questions to m, about" in planned.stderr
    assert "at most 10 calls" in planned.stderr
    assert found.exit_code == 0
    assert "  with all of them: flips again\n" in found.stdout
    assert "  without document 2: it is back\n" in found.stdout
    assert found.stdout.endswith("The flip hangs on document 2: without that, the claim is back.\n")


def test_a_choice_is_tested_as_a_choice_and_comes_as_json() -> None:
    options = ["--option", "It was lit in 1871.", "--option", "It was lit in 1874."]
    world = Swayed(answer="(A)")
    reason = "Justification: The log says so (Doc 2)."
    world.said = (f"B – It was lit in 1874.\n{reason}", f"A – It was lit in 1871.\n{reason}")
    with OpenAIServer(world) as server:
        run_id = flipped(server, *options)
        found = json.loads(run(server, "explain", "flips.jsonl", run_id, "--json").stdout)

    assert found["hangs_on"] == [[2]]
    assert found["run_id"] == run_id


def test_a_model_that_does_not_flip_again_tells_nothing() -> None:
    with OpenAIServer(World()) as server:
        run_id = flipped(server)
    with OpenAIServer(World(regenerated="Still, it was lit in 1871.")) as server:
        found = run(server, "explain", "flips.jsonl", run_id, "--no-cache")

    assert "What swayed it cannot be told." in found.stdout


def test_what_is_no_flip_is_named_with_those_there_are() -> None:
    with OpenAIServer(World()) as server:
        run_id = flipped(server)
        found = run(server, "explain", "flips.jsonl", "nothing")

    assert found.exit_code == 2
    assert f"flips.jsonl: there is no flip 'nothing'; such as {run_id}" in found.stderr
