"""The examples of docs/guide/extending.md run unchanged."""

import re
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from conflictscore.benchmarks import METHODS, Benchmark, Question, run_benchmark
from tests.benchmarks.harness.quiz import RIGHT, WRONG, Quiz, told
from tests.fakes.openai_server import OpenAIServer
from tests.fakes.search_server import Received, Reply, SearchServer, json_reply
from tests.world import World

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "extending.md"

Run = Callable[..., tuple[ModuleType, str]]


def example(title: str) -> str:
    """All code under this heading of the page."""
    section = PAGE.read_text("utf-8").partition(f"## {title}\n")[2].partition("\n## ")[0]
    return "\n".join(re.findall(r"```python\n(.*?)```", section, re.S))


@pytest.fixture
def asking(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> Run:
    """Run an example in an empty folder, with a server that plays the model."""

    def run(title: str, model: World, then: Any = None, **replaced: str) -> tuple[ModuleType, str]:
        code = example(title)
        for old, new in replaced.items():
            code = code.replace(old, new)
        module = ModuleType("extending_example")
        monkeypatch.setitem(sys.modules, module.__name__, module)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
        monkeypatch.setenv("CONFLICTSCORE_CACHE_DIR", str(tmp_path / "cache"))
        monkeypatch.chdir(tmp_path)
        with OpenAIServer(model) as server:
            monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
            exec(compile(code, str(PAGE), "exec"), module.__dict__)
            if then:
                then()
        return module, capsys.readouterr().out

    return run


def test_a_search_provider_finds_the_documents_of_an_answer(asking: Run) -> None:
    lamps = ["lit in <b>1871</b>", "lit in 1874"]
    found = [
        {"title": f"Lamp {n}", "snippet": f"It was {text}.", "timestamp": "2026-01-01T00:00:00Z"}
        for n, text in enumerate(lamps, 1)
    ]

    def wiki(request: Received) -> Reply:
        assert request.path == "/w/api.php"
        return json_reply({"query": {"search": found}})

    with SearchServer(wiki) as server:
        there = {"https://en.wikipedia.org": server.endpoint}
        module, printed = asking("A search provider", World(), **there)

    assert printed == "It was lit in 1874.\n"
    documents = module.state["documents"]
    texts = [document["text"] for document in documents]
    assert texts == ["It was lit in 1871.", "It was lit in 1874."]
    assert documents[0]["url"].endswith("/wiki/Lamp%201")


def test_a_labeler_of_your_own_decides_the_score(asking: Run) -> None:
    world = World()
    assert asking("A labeler", world)[1] == "1.0 0.5\n"
    assert world.asked.keys() == {"decompose"}


def test_a_template_of_your_own_takes_the_place_of_the_bundled_one(asking: Run) -> None:
    world = World()
    assert asking("A prompt set", world)[1] == "default+my-prompts\nIt was lit in 1874.\n"
    (prompt,) = world.prompts["generate"]
    assert "Say in one sentence, as to a child: In which year was the lamp lit?" in prompt


def test_a_benchmark_of_your_own_is_run_and_judged(asking: Run) -> None:
    module, printed = asking("A benchmark", Quiz())
    assert printed == f"rag {told(1, WRONG)}\nregenerated-rag {told(1, RIGHT)}\n"
    (result,) = module.run.results
    assert [answer.value("accuracy") for answer in result.methods.values()] == [False, True]


def test_a_method_of_your_own_is_run_with_the_others(asking: Run, tmp_path: Path) -> None:
    question = Question(
        id="lamp-1",
        question="When was lamp 1 lit?",
        options=(told(1, WRONG), told(1, RIGHT)),
        gold=1,
        documents=tuple({"text": told(1, year)} for year in (WRONG, WRONG, RIGHT)),
    )
    both = ("rag", "last-document")
    lamps = Benchmark(name="lamps", form="multiple-choice", questions=(question,), offered=both)
    runs: list[Any] = []

    def run() -> None:
        runs.append(run_benchmark(lamps, tmp_path / "run", model="openai:scripted", methods=both))

    known = dict(METHODS)
    try:
        asking("A benchmark method", Quiz(), run)
    finally:
        for name in METHODS.keys() - known.keys():
            del METHODS[name]

    (result,) = runs[0].results
    texts = {name: given.answer.text for name, given in result.methods.items() if given.answer}
    assert texts == {"rag": told(1, WRONG), "last-document": told(1, RIGHT)}
