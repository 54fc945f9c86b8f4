import asyncio
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import pytest

from conflictscore.benchmarks.conflicts.benchmark import conflicts, merged_tables
from conflictscore.benchmarks.conflicts.judges import BEHAVIOUR, GROUNDING, RECALL
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.figures import Figures
from conflictscore.benchmarks.harness.methods.registry import COMMON_METHODS
from conflictscore.benchmarks.harness.records import MethodResult, Question, QuestionResult, Verdict
from conflictscore.prompts import PromptSet
from conflictscore.records import Answer
from tests.benchmarks.conflicts.judging import between, first_prompt, scripted, word_asked
from tests.benchmarks.conflicts.lines import TYPES, official, result
from tests.benchmarks.harness.quiz import run_quiz
from tests.benchmarks.truthfulqa.files import write_jsonl
from tests.fakes.openai_server import ChatRequest, Fault, Reply
from tests.typed_world import TypedWorld
from tests.world import World

OLD = "The lamp was lit in 1871 [1]. It is red."
NEW = "The lamp was lit in 1874 [2]."
OPINIONS = ConflictType.CONFLICTING_OPINIONS
METHODS = ("rag", "regenerated-rag", "pipeline", "taxonomy-aware", "oracle")


@dataclass
class Reader(TypedWorld):
    """Answers from the older page, and from the newer if told how they relate; judges likewise."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = first_prompt(request)
        if "EXPLANATION: [your reason" in prompt:
            return self._judge(request, prompt)
        if "on which the documents disagree" in prompt:
            return World.__call__(self, request)
        if "How the documents relate: " in prompt:
            return NEW
        return super().__call__(request)

    def _judge(self, request: ChatRequest, prompt: str) -> str | Fault:
        if word_asked(prompt) == "GROUNDING":
            return scripted()(request)
        right = "1874" in between(prompt, "answer")
        return f"{word_asked(prompt)}: {right}\nEXPLANATION: The years were compared."


class Ran(NamedTuple):
    """A run of all methods, and the prompts of its models."""

    figures: Figures
    world: Reader


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Ran:
    folder = tmp_path_factory.mktemp("conflicts")
    pages = (
        result(snippet="", short_text="The lamp was lit in 1871."),
        result(snippet="", short_text="The log says the lamp was lit in 1874."),
    )
    opinions = {"conflict_type": TYPES[OPINIONS], "correct_answer": None}
    asked = official(*pages, question="Is 1871 or 1874 the lamp's year?", **opinions)
    file = write_jsonl(folder / "c.jsonl", [official(*pages), asked])
    world = Reader(
        cited=OLD,
        regenerated=NEW,
        typed_answer=f"TYPE: no-conflict\nREASON: Both speak of it.\nANSWER: {NEW}",
    )
    benchmark = conflicts(file, "free-form", 0)
    run = asyncio.run(run_quiz(folder / "run", world, benchmark, methods=METHODS))
    return Ran(run.figures, world)


def test_strategies_and_loop_are_judged_side_by_side(ran: Ran) -> None:
    figures = ran.figures

    assert figures.failed == 0
    by_method = {of.method: of for of in figures.methods}
    assert list(by_method) == list(METHODS)
    means = {
        method: [of.measures[name].value for name in (BEHAVIOUR, RECALL, GROUNDING)]
        for method, of in by_method.items()
    }
    assert means == {"rag": [0.0, 0.0, 0.5]} | {method: [1.0, 1.0, 1.0] for method in METHODS[1:]}


def test_recall_counts_only_questions_with_a_right_answer(ran: Ran) -> None:
    figures = ran.figures

    assert figures.ended == figures.questions == 2
    for of in figures.methods:
        assert {name: measure.n for name, measure in of.measures.items()} == {
            BEHAVIOUR: 2,
            RECALL: 1,
            GROUNDING: 2,
        }
        assert set(of.unjudged.values()) == {0}
    [opinions] = [c for c in figures.categories if c.category == OPINIONS]
    assert all(of[RECALL].value is None for of in opinions.measures.values())


def test_told_types_are_held_against_peoples(ran: Ran) -> None:
    types = {of.method: of for of in ran.figures.types}

    assert {method: of.accuracy.count for method, of in types.items()} == {
        "pipeline": 1,
        "taxonomy-aware": 0,
    }


def test_every_answer_is_asked_for_with_citations_and_taken_apart_without(ran: Ran) -> None:
    assert "generate" not in ran.world.asked, "nothing is asked for in the plain wording"
    for step in ("cite", "regenerate"):
        assert all("such as [2] or [1][4]." in prompt for prompt in ran.world.prompts[step])
    for prompt in ran.world.prompts["decompose"]:
        assert "Leave out the numbers of documents that stand in square brackets" in prompt


PROMPTS = PromptSet.load()


def test_it_has_three_measures_and_every_method_is_asked_for_citations_in_its_own_fields(
    tmp_path: Path,
) -> None:
    made = conflicts(write_jsonl(tmp_path / "c.jsonl", [official()]), "free-form", 0)
    assert made.measures == (BEHAVIOUR, RECALL, GROUNDING)
    assert made.graded == {GROUNDING}
    assert made.offered == (*COMMON_METHODS, "pipeline", "taxonomy-aware", "oracle")
    wording = made.wording

    answering = {name: other for name, other in wording.items() if name != "decompose"}
    assert {name for name in PROMPTS.names if name.startswith("free_form_")} == set(answering)
    for name, other in wording.items():
        assert PROMPTS.placeholders(name) == PROMPTS.placeholders(other)
    for other in answering.values():
        said = PROMPTS.render(other, **dict.fromkeys(PROMPTS.placeholders(other), "x"))
        assert "End each sentence with the numbers of the documents that it rests on" in said


def test_what_the_reader_should_know_is_noted(tmp_path: Path) -> None:
    lines = [official(result(), result(snippet="", short_text="")), official(correct_answer=None)]
    notes = conflicts(write_jsonl(tmp_path / "c.jsonl", lines), "free-form", 0).notes

    assert any(
        "questions with a single correct answer: 1 of 2 in the file" in note for note in notes
    )
    assert "search results left out because they have no text: 1" in notes


def answered(kind: ConflictType, *, expected: bool | None) -> QuestionResult:
    verdict = Verdict(value=expected, error="no reply" if expected is None else None)
    method = MethodResult(answer=Answer(text="In 1874."), verdicts={BEHAVIOUR: verdict})
    question = Question(id=f"{kind}-{expected}", question="When?", conflict_type=kind)
    return QuestionResult(question=question, methods={"rag": method})


def test_two_types_are_one_row_and_the_others_are_not_in_it() -> None:
    outdated, wrong = ConflictType.OUTDATED, ConflictType.MISINFORMATION
    results = [
        answered(outdated, expected=True),
        answered(wrong, expected=True),
        answered(wrong, expected=False),
        answered(wrong, expected=None),
        answered(ConflictType.NO_CONFLICT, expected=False),
    ]
    [card] = merged_tables(results)
    assert card.rows == (("rag", "66.7", "20.8 to 93.9", "2", "3"),)
    assert merged_tables(results[-1:]) == []
