"""The examples run unchanged."""

import runpy
from pathlib import Path

import pytest

from tests.fakes.openai_server import OpenAIServer
from tests.revising import RevisingAgentWorld

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize(("name", "tools"), [("agent", ("search",)), ("plain_function", ())])
def test_an_example_prints_the_answer_and_how_it_came_about(
    name: str,
    tools: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    world = RevisingAgentWorld(
        tools=tools,
        answer="It was lit in 1874.",
        read=lambda topic, document: f"It was lit in {'1871' if '1871' in document else '1874'}.",
    )
    with OpenAIServer(world, api_key="sk-test") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))

        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")

    answer, first, why = capsys.readouterr().out.splitlines()
    assert (answer, first) == ("It was lit in 1871.", "At first: It was lit in 1874.")
    assert why.startswith("Why: By the documents' vote: “It was lit in 1871” (Docs ")
    assert {request.model for request in server.requests} == {"gpt-4.1-mini"}
