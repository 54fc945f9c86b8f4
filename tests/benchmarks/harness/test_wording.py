"""A benchmark's own words, and which templates decide what a run comes to."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.benchmarks.harness.setup import templates_read
from conflictscore.errors import ConfigurationError, InputError
from conflictscore.prompts import PromptSet
from tests.benchmarks.harness.quiz import Quiz, lamps, run_quiz
from tests.fakes.openai_server import OpenAIServer

PROMPTS = PromptSet.load()
SIX = COMMON_METHODS[:6]
COMMON = ("document", "cut", "evidence", "evidence_line", "justify", "retry")
ANSWERING = ("rag", "control_rag", "regenerate")


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


async def test_a_users_folder_overrides_the_template_that_stands_in(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    (mine / "natconfqa_default.txt").write_text("In my words: $question\n$documents")
    quiz = Quiz()
    await run_quiz(tmp_path / "run", quiz, passages(), methods=("rag",), prompts=mine)
    assert quiz.prompts["generate"][0].startswith("In my words: When was lamp 0 lit?")
    assert prompts_of(tmp_path / "run")["set"] == "default+mine"


async def test_an_override_that_nobody_would_read_is_refused(tmp_path: Path) -> None:
    mine = tmp_path / "mine"
    mine.mkdir()
    words = "In my words: $question\n$documents"
    (mine / "free_form_rag.txt").write_text(words)
    refused = pytest.raises(
        ConfigurationError, match=r"free_form_rag\.txt of the prompt folder .* natconfqa_default"
    )
    with OpenAIServer(Quiz()) as server, refused:
        await run_quiz(tmp_path / "run", server, passages(), methods=("rag",), prompts=mine)
    assert not (tmp_path / "run").exists()
    (mine / "natconfqa_default.txt").write_text(words)
    assert PromptSet.load(folder=mine).worded(passages().wording).overridden


def test_only_a_template_of_the_same_placeholders_stands_in_for_another() -> None:
    with pytest.raises(ConfigurationError, match="natconfqa_decompose cannot stand in for"):
        PROMPTS.worded({"free_form_rag": "natconfqa_decompose"})
    with pytest.raises(ConfigurationError, match="no template is named 'natconf'"):
        PROMPTS.worded({"free_form_rag": "natconf"})


def test_two_templates_can_stand_in_for_each_other() -> None:
    swapped = PROMPTS.worded({"free_form_rag": "cited_rag", "cited_rag": "free_form_rag"})
    fields = {"question": "When?", "documents": "None."}
    assert swapped.render("free_form_rag", **fields) == PROMPTS.render("cited_rag", **fields)
    assert swapped.render("cited_rag", **fields) == PROMPTS.render("free_form_rag", **fields)
    assert swapped.sha256 != PROMPTS.sha256 == PROMPTS.worded({}).sha256


def test_runs_of_the_earlier_methods_are_hashed_over_the_templates_they_always_were() -> None:
    choice = {*COMMON, *(f"multiple_choice_{kind}" for kind in ANSWERING)}
    assert templates_read(lamps(1), SIX) == templates_read(lamps(1), SIX[:1]) == choice
    free = {*COMMON, "decompose", *(f"free_form_{kind}" for kind in ANSWERING)}
    judged = replace(lamps(1, free_form=True), templates=("judge_truthful",))
    assert templates_read(judged, SIX) == {*free, "judge_truthful"}


@pytest.mark.parametrize("free_form", [True, False])
async def test_a_run_reads_no_template_but_those_that_it_is_told_apart_by(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, free_form: bool
) -> None:
    read, render = set[str](), PromptSet.render

    def noting(prompts: PromptSet, name: str, **fields: str | int) -> str:
        read.add(name)
        return render(prompts, name, **fields)

    judges = ("judge_truthful", "judge_informative") if free_form else ()
    benchmark = replace(lamps(2, free_form=free_form), templates=judges)
    quiz = Quiz(kinds={0: "misinformation", 1: "misinformation"}, failing={("classify", 1): "?"})
    with OpenAIServer(quiz) as server, monkeypatch.context() as patch:
        patch.setattr(PromptSet, "render", noting)
        await run_quiz(tmp_path / "run", server, benchmark, methods=benchmark.offered)
    labels = {"label_rules", "label_choice"}  # of the labeler's identity
    assert read - labels <= templates_read(benchmark, benchmark.offered)
    told = [p for asked in quiz.prompts.values() for p in asked if "relate: outdated" in p]
    assert len(told) == (2 if free_form else 0), "people's type is told to the oracle alone"


@pytest.mark.parametrize(
    ("method", "read", "unread"),
    [
        ("pipeline", "classify_conflict", "cited_taxonomy_aware"),
        ("taxonomy-aware", "cited_taxonomy_aware", "classify_conflict"),
        ("oracle", "behaviour_outdated", "conflict_types"),
        ("no-documents", "wikicontradict_no_passage", "cited_rag"),
    ],
)
def test_a_method_adds_the_templates_that_it_reads(method: str, read: str, unread: str) -> None:
    names = templates_read(lamps(1, free_form=True), (method,))
    assert read in names
    assert unread not in names
