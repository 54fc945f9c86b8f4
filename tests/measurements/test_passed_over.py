"""The study of what a model passes over, on a few claims and scripted models."""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from click.testing import CliRunner
from langchain_openai import ChatOpenAI

from conflictscore.markdown import passages
from measurements.long_answers import long_answers
from measurements.passed_over import main, taken_apart
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer
from tests.world import scripted_model


@dataclass
class Forgetful:
    """Claims the first ``first`` passages of an answer, and the first ``again`` of the rest."""

    first: int = 3
    again: int = 99

    def __call__(self, request: ChatRequest) -> str | Fault:
        prompt = request.messages[-1]["content"]
        most = self.again if "Take a passage of an answer apart" in prompt else self.first
        answer = prompt.rpartition("<answer>")[2].partition("</answer>")[0].strip()
        said = [answer[p.start : p.end] for p in passages(answer) if p.kind == "text"]
        return "\n".join(["Claims:", *(f"- {text}" for text in said[:most])])


@pytest.fixture
def world() -> Forgetful:
    return Forgetful()


@pytest.fixture
def model(world: Forgetful) -> Iterator[ChatOpenAI]:
    with OpenAIServer(world) as server:
        yield scripted_model(server)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("groups") / "groups.jsonl"
    labels = ["SUPPORTS"] * 14 + ["CONTRADICTS"] * 4
    claims = [
        f"{name} harbour was opened in {1800 + n} by a {name}born pilot called {name[::-1]}."
        for n, name in enumerate(map("Q{:c}zi{:c}o".format, range(97, 115), range(98, 116)))
    ]
    groups = [
        {"id": claim, "claim": claim, "docs": [{"text": f"A log: {claim}", "label": label}]}
        for claim, label in zip(claims, labels, strict=True)
    ]
    path.write_text("\n".join(map(json.dumps, groups)), "utf-8")
    return path


def test_sentences_that_only_the_second_reply_claims_are_counted(
    model: ChatOpenAI, world: Forgetful, file: Path
) -> None:
    (answer,) = long_answers([file], 1, seed=0)

    one = taken_apart(answer, model)

    assert one.claimed == one.sentences == len(answer.labels)
    assert 0 < one.first < 1
    assert (one.left, one.error) == (0, None)


def test_what_is_passed_over_twice_is_told(model: ChatOpenAI, world: Forgetful, file: Path) -> None:
    world.again = 1
    (answer,) = long_answers([file], 1, seed=0)

    one = taken_apart(answer, model)

    assert one.claimed == 4
    assert 0 < one.left < one.first


def test_a_run_with_replies_kept_asks_nobody_again(
    world: Forgetful, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with OpenAIServer(world) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "key")
        asked = [str(file), "--answers", "2", "--model", "openai:scripted", "--out", str(tmp_path)]
        said = [CliRunner().invoke(main, asked, catch_exceptions=False).stdout for _ in range(2)]
        assert len(server.requests) == 4

    assert said[0].splitlines()[:3] == [
        "2 of 2 answers taken apart",
        "asked for the rest of: 2",
        "told of as taken apart in part: 0",
    ]
    assert said[1] == said[0]
