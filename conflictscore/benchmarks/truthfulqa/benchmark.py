"""TruthfulQA as the harness runs it."""

from pathlib import Path

from conflictscore.benchmarks.harness.definition import ACCURACY, Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.truthfulqa.data import read_truthfulqa
from conflictscore.benchmarks.truthfulqa.judges import REPLY_FORMS, judge_answer

__all__ = ["truthfulqa"]


def truthfulqa(data: Path, form: Form, seed: int) -> Benchmark:
    """Binary choice by accuracy, or free form by two judges (paper, section 6.1).

    Args:
        data: The official CSV.
        form: ``multiple-choice`` needs the version of January 2025.
        seed: Of the order of the two options.

    Raises:
        InputError: The file cannot be used.
    """
    free = form == "free-form"
    return Benchmark(
        name="truthfulqa",
        form=form,
        questions=read_truthfulqa(data, form=form, seed=seed),
        measures=("truthful", "informative") if free else (ACCURACY,),
        judge=judge_answer if free else None,
        templates=("judge_truthful", "judge_informative") if free else (),
        reply_forms=REPLY_FORMS if free else (),
        prompt_set="paper",
        hashes={"data": sha256_of_file(data)},
    )
