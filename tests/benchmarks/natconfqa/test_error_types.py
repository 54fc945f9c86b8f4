"""How an answer that omits a conflict is wrong: by rule if that is enough."""

from pathlib import Path
from typing import Any

import pytest

from conflictscore.benchmarks.judging import Judge as Asking
from conflictscore.benchmarks.natconfqa.benchmark import natconfqa, natconfqa_without_conflict
from conflictscore.benchmarks.natconfqa.error_types import TOLD, error_tables, told_in_full
from conflictscore.benchmarks.natconfqa.judges import Decomposition, Judgement
from conflictscore.errors import InputError
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet
from tests.benchmarks.harness.dry import judge_prompts
from tests.benchmarks.harness.quiz import run_quiz
from tests.benchmarks.natconfqa.lamps import SUPPORT, WH, Lamp, decided, opened, row
from tests.benchmarks.truthfulqa.files import write_jsonl
from tests.fakes.openai_server import OpenAIServer


def judgement(
    references: list[bool | None], told: list[bool | None], parts: int | None = 1
) -> Judgement:
    answers = tuple(f"in {n}" for n in range(parts or 0))
    return Judgement(
        decomposition=None if parts is None else Decomposition(answers=answers, conflicts=()),
        error="unreadable" if parts is None else None,
        references=decided(references),
        reference_conflicts=decided(told),
    )


@pytest.mark.parametrize(
    ("references", "told", "parts", "said"),
    [
        ([True, True, True], [True, True], 3, None),
        ([True, False, False], [False, False], 1, "chooses: by rule"),
        ([False, True, True], [False, False], 2, "chooses: by rule"),
        ([False, False, False], [False, False], 0, "refrains: by rule"),
        ([False, False, False], [False, False], 1, "generalizes: A range."),
        ([True, True, False], [False, False], 2, "generalizes: A range."),
        ([True, True, True], [True, False], 3, "generalizes: A range."),
    ],
)
async def test_a_rule_tells_what_the_decisions_settle_and_the_judge_the_rest(
    references: list[bool | None], told: list[bool | None], parts: int, said: str | None
) -> None:
    with OpenAIServer(lambda request: "WHY: A range.\n**ERROR:** [Generalizes]") as server:
        judge = Asking(opened(server), PromptSet.load(), UsageMeter())
        verdict = await told_in_full(WH, "An answer.", judgement(references, told, parts), judge)
        calls = len(server.requests)
    assert (verdict.value, verdict.explanation) == (said is None, said)
    assert calls == (said is not None and "rule" not in said)


async def test_without_a_decision_or_a_readable_type_there_is_none() -> None:
    with OpenAIServer(lambda request: "ERROR: lies") as server:
        judge = Asking(opened(server), PromptSet.load(), UsageMeter())
        for made, why in (
            (judgement([True, None, False], [False, False]), "ill"),
            (judgement([True, False, False], [False, None]), "ill"),
            (judgement([True, False, False], [False, False], None), "unreadable"),
            (judgement([True, True, False], [False, False]), 'the line "ERROR:" named none of'),
        ):
            verdict = await told_in_full(WH, "An answer.", made, judge)
            assert verdict.value is None
            assert why in (verdict.error or "")
    assert error_tables(()) == ()


async def run_of(benchmark: Any, folder: Path, answer: str) -> Any:
    world = Lamp(answer=answer, careful="It was lit in 1871.")
    return await run_quiz(folder, world, benchmark, methods=("rag", "control-rag"))


async def test_a_run_counts_types_beside_the_papers_and_a_dry_run_plans_the_call(
    tmp_path: Path,
) -> None:
    benchmark = natconfqa(
        write_jsonl(tmp_path / "q.jsonl", [row(), SUPPORT]), "free-form", 0, error_types=True
    )
    run = await run_of(benchmark, tmp_path / "run", "At first in 1871, and then in 1874.")
    [card] = error_tables(run.results)
    assert [cells[:3] for cells in card.rows] == [
        ("rag", "1 of 1", "0.0 (0)"),
        ("control-rag", "1 of 1", "100.0 (1)"),
        ("in the paper", "80 of 160", "42.0"),
    ]
    assert run.results[0].methods["rag"].verdicts[TOLD].explanation == "resolves: Two fires."
    planned = await judge_prompts(benchmark, benchmark.questions[0], "x")
    assert sum("ERROR: [" in prompt for prompt in planned) == 1


async def test_questions_without_conflict_are_a_benchmark_of_their_own(tmp_path: Path) -> None:
    file = write_jsonl(tmp_path / "q.jsonl", [row(), SUPPORT])
    benchmark = natconfqa_without_conflict(file, "free-form", 0)
    assert [question.id for question in benchmark.questions] == ["b"]
    assert "questions left out: 1, because their answers are in conflict" in benchmark.notes
    run = await run_of(benchmark, tmp_path / "run", "In 1871, or, which is at odds, in 1874.")
    rag, control = (run.results[0].methods[name] for name in ("rag", "control-rag"))
    assert {m: rag.value(m) for m in benchmark.measures} == {
        "answers recall": pytest.approx(2 / 3),
        "answers precision": 1,
        "answers f1": pytest.approx(0.8),
        "answers f1 with zeros": pytest.approx(0.8),
    }
    assert control.value("answers recall") == pytest.approx(1 / 3)
    with pytest.raises(
        InputError, match="the file has no question with answers that do not conflict"
    ):
        natconfqa_without_conflict(write_jsonl(tmp_path / "c.jsonl", [row()]), "free-form", 0)
