"""The examples run as they stand."""

import runpy
from pathlib import Path

import pytest

from tests.fakes.openai_server import OpenAIServer
from tests.revising import RevisingAgentWorld, revision

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
        revised=lambda passage: revision("REPLACE", "It was lit in 1871.", "So it says (Doc 1)."),
    )
    with OpenAIServer(world, api_key="sk-test") as server:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path))

        runpy.run_path(str(EXAMPLES / f"{name}.py"), run_name="__main__")

    assert capsys.readouterr().out.splitlines() == [
        "It was lit in 1871.",
        "At first: It was lit in 1874.",
        "Why: So it says (Doc 1).",
    ]
    assert {request.model for request in server.requests} == {"gpt-4.1-mini"}
