from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.harness.definition import Benchmark
from conflictscore.benchmarks.harness.store import RunStore
from conflictscore.benchmarks.wikicontradict.benchmark import (
    MEASURES,
    rating_tables,
    wikicontradict,
)
from conflictscore.benchmarks.wikicontradict.data import read_questions
from conflictscore.errors import InputError
from tests.benchmarks.conflicts.judging import first_prompt
from tests.benchmarks.harness.dry import judge_prompts
from tests.benchmarks.harness.quiz import run_quiz
from tests.benchmarks.truthfulqa.files import REAL, needs_real_data, write_jsonl
from tests.benchmarks.truthfulqa.judging import judged_answer
from tests.fakes.openai_server import ChatRequest, Fault, OpenAIServer, Reply
from tests.world import World

FLAT: dict[str, Any] = {
    "question": "When was the lamp lit?",
    "context1": "The lamp was lit in 1871.",
    "context2": "Lit: 1874",
    "context1_info": "It was lit in 1871.",
    "context2_info": "Lit: 1874",
    "answer1": "1871",
    "answer2": "1874",
    "contradiction_type": "Explicit",
    "context1_self_contained": "The lamp at Lamp Head was lit in 1871.",
    "answer1_self_contained": "It was lit in 1871.",
    "context2_self_contained": "Lamp Head, lit: 1874",
    "answer2_self_contained": "It was lit in 1874.",
}
TEMPLATES = {
    "no-documents": "In 1850.",
    "first-document": "In 1871.",
    "second-document": "In 1874.",
    "rag": "In 1871, surely.",
    "control-rag": "In 1871 or in 1874.",
}


class Lamp(World):
    """Answers by what its prompt shows, and rates answers by the years in them."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        prompt = first_prompt(request)
        if "RATING: [" in prompt:
            return self._rated(judged_answer(request), prompt)
        if "Is there anything in these passages that conflicts" in prompt:
            return "Yes: in 1871, or in 1874." if "Lit: 1874" in prompt else "No. Lit in 1871."
        if "do justice to all of them" in prompt and "Lit: 1874" not in prompt:
            return TEMPLATES["first-document"]
        if "from what you know yourself" in prompt:
            return TEMPLATES["no-documents"]
        if "do justice to all of them" in prompt:
            return TEMPLATES["control-rag"]
        if "from what you find between the document marks" in prompt:
            first, second = "in 1871" in prompt, "Lit: 1874" in prompt
            if first and second:
                return TEMPLATES["rag"]
            return TEMPLATES["first-document" if first else "second-document"]
        return super().__call__(request)

    def _rated(self, answer: str, prompt: str) -> str | Fault:
        if "1850" in answer and "judge" in self.broken:
            return self.broken["judge"]
        if "whether the passages conflict" in prompt:
            right = answer.startswith("Yes") == ("They do conflict." in prompt)
            return f"COMMENT: So.\nRATING: {'correct' if right else 'incorrect'}"
        if "- 1874" not in prompt:
            return f"COMMENT: So.\nRATING: {'correct' if '1871' in answer else 'incorrect'}"
        rating = ("incorrect", "partially correct", "correct")
        return f"COMMENT: So.\nRATING: {rating[('1871' in answer) + ('1874' in answer)]}"


def opened(folder: Path, **fields: str) -> Benchmark:
    return wikicontradict(write_jsonl(folder / "w.jsonl", [FLAT | fields]), "free-form", 0)


@pytest.fixture
def lamps(tmp_path: Path) -> Benchmark:
    return opened(tmp_path)


async def test_the_five_prompts_are_methods_and_one_rating_is_two_measures(
    lamps: Benchmark, tmp_path: Path
) -> None:
    run = await run_quiz(tmp_path / "run", Lamp(), lamps, methods=tuple(TEMPLATES))
    [result] = run.results
    assert result.question.category == "Explicit"
    said = {method: ended.answer for method, ended in result.methods.items()}
    assert {method: answer and answer.text for method, answer in said.items()} == TEMPLATES
    values = {
        method: tuple(ended.value(measure) for measure in MEASURES)
        for method, ended in result.methods.items()
    }
    assert values == {
        "no-documents": (False, False),
        "first-document": (False, True),
        "second-document": (False, True),
        "rag": (False, True),
        "control-rag": (True, True),
    }
    verdict = result.methods["rag"].verdicts["correct"]
    assert verdict.explanation == "partially correct: So."


class Unfinished(Lamp):
    """Does not say how its answer without documents ended."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        said = super().__call__(request)
        if isinstance(said, str) and said == TEMPLATES["no-documents"]:
            return Reply(said, finish_reason="")
        return said


async def test_an_answer_without_documents_that_may_be_incomplete_gets_a_note(
    lamps: Benchmark, tmp_path: Path
) -> None:
    await run_quiz(tmp_path / "run", Unfinished(), lamps, methods=("rag", "no-documents"))
    values = {each.step: each.value or {} for each in RunStore.read(tmp_path / "run").records()}
    [note] = values["no-documents"]["notes"]
    assert "may be incomplete: it ended without a finish reason" in note


FURTHER = ("swapped-order", "asked-conflict", "agreeing-pair", "asked-agreeing")


async def test_the_supplements_prompts_are_methods_each_judged_by_what_is_right_there(
    lamps: Benchmark, tmp_path: Path
) -> None:
    with OpenAIServer(Lamp()) as server:
        run = await run_quiz(tmp_path / "run", server, lamps, methods=("first-document", *FURTHER))
        prompts = [request.prompt for request in server.requests]
    asked = [p for p in prompts if "between the document marks" in p and "lit in 1871" in p]
    [result] = run.results
    assert {name: ended.value("correct") for name, ended in result.methods.items()} == {
        "rag": False,
        "first-document": False,
        "swapped-order": True,
        "asked-conflict": True,
        "agreeing-pair": True,  # the answer of first-document, which is half right here
        "asked-agreeing": True,
    }
    [swapped] = [p for p in asked if "Lit: 1874" in p.partition("lamp was lit in 1871")[0]]
    assert "do justice to all of them" in swapped
    agreeing = [prompt for prompt in asked if "The lamp at Lamp Head was lit in 1871." in prompt]
    assert len(agreeing) == 2
    assert not any("Lit: 1874" in prompt for prompt in agreeing)
    assert {pair.method for pair in run.figures.paired} == {"first-document", "swapped-order"}
    [card] = rating_tables(run.figures)
    assert [row[1] for row in card.rows] == ["2", "4", "5.1", "5.2", "5.3", "5.4"]


async def test_a_passage_that_contradicts_itself_is_shown_with_no_other(tmp_path: Path) -> None:
    lamps = opened(tmp_path, context2=FLAT["context1"])
    run = await run_quiz(tmp_path / "run", Lamp(), lamps, methods=("asked-agreeing",))
    error = run.results[0].methods["asked-agreeing"].error
    assert error is not None
    assert "the same text, which contradicts itself" in error


async def test_without_a_rating_neither_measure_has_a_value(
    lamps: Benchmark, tmp_path: Path
) -> None:
    run = await run_quiz(
        tmp_path / "run",
        Lamp(broken={"judge": Fault(400, message="no")}),
        lamps,
        methods=("rag", "no-documents"),
    )
    method = next(m for m in run.figures.methods if m.method == "no-documents")
    assert method.unjudged == dict.fromkeys(MEASURES, 1)
    assert {figure.n for figure in method.measures.values()} == {0}


async def test_a_dry_run_plans_the_very_prompt_of_the_judge(
    lamps: Benchmark, tmp_path: Path
) -> None:
    with OpenAIServer(Lamp()) as server:
        await run_quiz(tmp_path / "run", server, lamps, methods=("rag",))
        prompts = [request.prompt for request in server.requests]
    answer = TEMPLATES["rag"]
    planned = await judge_prompts(lamps, lamps.questions[0], answer)
    assert list(planned) == [prompt for prompt in prompts if "RATING: [" in prompt]


def test_a_question_has_its_passages_and_the_answer_of_each(file: Path) -> None:
    [question] = read_questions(write_jsonl(file, [FLAT]))
    assert question.question == "When was the lamp lit?"
    assert question.contexts == ("The lamp was lit in 1871.", "Lit: 1874")
    assert question.answers == ("1871", "1874")
    assert question.contradiction_type == "Explicit"
    assert question.contexts_self_contained[1] == "Lamp Head, lit: 1874"


def test_an_unknown_contradiction_type_and_a_question_twice_are_named(file: Path) -> None:
    with pytest.raises(InputError, match="row 1, field contradiction_type: Input should be 'Expl"):
        read_questions(write_jsonl(file, [FLAT | {"contradiction_type": "Odd"}]))


@needs_real_data
def test_the_real_questions_are_read() -> None:
    questions = read_questions(REAL / "wikicontradict" / "questions.jsonl")
    assert len(questions) == 129
    assert {len(question.contexts) for question in questions} == {2}
    assert {len(question.answers) for question in questions} == {2}
    assert {question.contradiction_type for question in questions} == {
        "Explicit",
        "Implicit (reasoning required)",
    }
