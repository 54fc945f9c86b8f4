"""A small run for the tests of its store."""

from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.manifest import Manifest
from conflictscore.benchmarks.harness.methods.registry import LOOP
from conflictscore.benchmarks.harness.records import Question, StepRecord
from conflictscore.benchmarks.harness.store import RunStore

QUESTIONS = tuple(
    Question(id=f"q{number}", question=f"Où est le phare {number} ?", category="phares")
    for number in range(3)
)


def manifest(benchmark: str = "lighthouses", **configuration: Any) -> Manifest:
    return Manifest(
        benchmark=benchmark,
        created="2026-11-21T09:30:00+00:00",
        configuration={
            "methods": ["rag", "regenerated-rag"],
            "model": {"name": "fake", "parameters": {"temperature": 0.0}},
            "seed": 7,
            **configuration,
        },
        hashes={"data": "0" * 64},
        versions={"python": "3.11.2", "conflictscore": "0.1.0"},
    )


def record(question: str = "q0", step: str = LOOP, key: str = "", **value: Any) -> StepRecord:
    return StepRecord(question=question, step=step, key=key, value=value)


def opened(folder: Path) -> AbstractContextManager[RunStore]:
    return RunStore.open(folder, manifest(), QUESTIONS)


def begin(
    folder: Path, now: Manifest | None = None, questions: Sequence[Question] = QUESTIONS
) -> None:
    with RunStore.open(folder, now or manifest(), questions):
        pass


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}
