"""A benchmark's own words."""

import json
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.prompts import PromptSet
from tests.benchmarks.harness.quiz import Quiz, lamps, run_quiz
from tests.fakes.openai_server import OpenAIServer

PROMPTS = PromptSet.load()


def passages(**more: Any) -> Benchmark:
    """A quiz that asks for answers in the words of NatConfQA."""
    wording = {"free_form_rag": "natconfqa_default"}
    return replace(lamps(1, free_form=True), wording=wording, **more)


def prompts_of(folder: Path) -> dict[str, Any]:
    fields = json.loads((folder / "manifest.json").read_text())
    prompts: dict[str, Any] = fields["configuration"]["prompts"]
    return prompts


async def test_a_benchmark_asks_in_its_own_words_and_the_run_is_told_apart_by_them(
    tmp_path: Path,
) -> None:
    quiz = Quiz()
    with OpenAIServer(quiz) as server:
        await run_quiz(tmp_path / "run", server, passages(), methods=("rag", "control-rag"))
        await run_quiz(tmp_path / "plain", server, lamps(1, free_form=True), methods=("rag",))
        with pytest.raises(InputError, match=r"configuration\.prompts\.sha256"):
            await run_quiz(
                tmp_path / "run", server, lamps(1, free_form=True), methods=("rag", "control-rag")
            )
    worded, control, plain = [p for p in quiz.prompts["generate"] if "<document " in p]
    assert "Several answers may stand in the passages." in worded
    assert "Watch for places where the documents disagree" in control
    assert "Answer in one to three full sentences" in plain
    hashes = {prompts_of(tmp_path / name)["sha256"] for name in ("run", "plain")}
    assert len(hashes) == 2


async def test_a_users_folder_overrides_the_template_that_stands_in_and_not_the_one_it_is_for(
    tmp_path: Path,
) -> None:
    mine, words = tmp_path / "mine", "In my words: $question\n$documents"
    mine.mkdir()
    (mine / "free_form_rag.txt").write_text(words)
    quiz = Quiz()
    ask = partial(run_quiz, tmp_path / "run", quiz, passages(), methods=("rag",), prompts=mine)
    unread = r"free_form_rag\.txt in the prompt folder .* natconfqa_default"
    with pytest.raises(ConfigurationError, match=unread):
        await ask()
    assert not (tmp_path / "run").exists()

    (mine / "natconfqa_default.txt").write_text(words)
    await ask()
    assert quiz.prompts["generate"][0].startswith("In my words: When was lamp 0 lit?")
    assert prompts_of(tmp_path / "run")["set"] == "default+mine"


def test_two_templates_can_stand_in_for_each_other() -> None:
    swapped = PROMPTS.worded({"free_form_rag": "cited_rag", "cited_rag": "free_form_rag"})
    fields = {"question": "When?", "documents": "None."}
    assert swapped.render("free_form_rag", **fields) == PROMPTS.render("cited_rag", **fields)
    assert swapped.render("cited_rag", **fields) == PROMPTS.render("free_form_rag", **fields)
    assert swapped.sha256 != PROMPTS.sha256 == PROMPTS.worded({}).sha256


async def test_peoples_type_is_told_to_the_oracle_alone(tmp_path: Path) -> None:
    quiz = Quiz(kinds={0: "misinformation", 1: "misinformation"}, failing={("classify", 1): "?"})
    benchmark = lamps(2, free_form=True)
    await run_quiz(tmp_path / "run", quiz, benchmark, methods=benchmark.offered)
    told = [p for asked in quiz.prompts.values() for p in asked if "relate: outdated" in p]
    assert len(told) == 2
