"""Answers that make the same claims in other words."""

from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from conflictscore.benchmarks import Benchmark, Question, Verdict
from conflictscore.benchmarks.harness.report.tables import print_figures
from conflictscore.errors import InputError
from tests.benchmarks.harness.quiz import Quiz, lamps, run_quiz
from tests.fakes.openai_server import ChatRequest, Fault, Reply

METHODS = ("rag", "control-rag", "regenerated-rag")


class Reworded(Quiz):
    """Says the same in other words if told to watch for conflicts."""

    def __call__(self, request: ChatRequest) -> Reply | str | Fault:
        said = super().__call__(request)
        if "Watch for places" in request.prompt and isinstance(said, str):
            return f"It is in 1871 that {said.partition(' was')[0]} was lit."
        return said


async def test_a_flip_is_a_changed_claim_and_not_a_changed_word(tmp_path: Path) -> None:
    run = await run_quiz(tmp_path / "run", Reworded(), lamps(3, free_form=True), methods=METHODS)
    control, again = run.figures.transitions
    assert control.by_wording
    assert again.by_wording
    assert (control.retained.count, control.by_wording.retained.count) == (3, 0)
    assert (again.revised.count, again.by_wording.revised.count) == (3, 3)
    assert not any(result.flipped("control-rag") for result in run.results)
    assert all(result.reworded("control-rag") for result in run.results)
    assert all(result.flipped("control-rag", "regenerated-rag") for result in run.results)
    console = Console(record=True, width=100)
    print_figures(run.figures, console, title="lamps", paper=None)
    assert "by wording" in console.export_text()


async def test_what_no_label_tells_counts_as_changed_and_is_told(tmp_path: Path) -> None:
    class Mute(Reworded):
        def __call__(self, request: ChatRequest) -> Reply | str | Fault:
            said = super().__call__(request)
            return Fault(500) if "It is in 1871" in request.prompt else said

    run = await run_quiz(
        tmp_path / "run", Mute(), lamps(1, free_form=True), methods=("rag", "control-rag")
    )
    [result] = run.results
    assert result.flipped("control-rag") is True
    assert result.alike("control-rag") is None
    assert result.alike("regenerated-rag") is None  # it did not run


async def _right(question: Question, answer: str, **_: object) -> dict[str, Verdict]:
    return {}


class _Judge:
    async def __call__(self, question: Question, answer: str, **_: object) -> dict[str, Verdict]:
        return {}


async def _short(question: Question) -> dict[str, Verdict]:
    return {}


def _waits_for_nobody(question: Question, answer: str, **_: object) -> dict[str, Verdict]:
    return {}


@pytest.mark.parametrize(
    ("judge", "why"),
    [
        (_right, None),
        (_Judge(), None),
        (_short, "cannot be called"),
        (_waits_for_nobody, "not async"),
        (None, "need a judge"),
    ],
)
def test_a_judge_that_cannot_be_called_is_refused_before_anything_is_bought(
    judge: Any, why: str | None
) -> None:
    with pytest.raises(InputError, match=why) if why else nullcontext():
        Benchmark("own", "free-form", (), measures=("truthful",), judge=judge)
