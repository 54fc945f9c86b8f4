"""Reads TruthfulQA's published answers that are labelled as truthful or not, or informative or not.

``judge_truth.jsonl`` and ``judge_info.jsonl`` contain 11,015 answers each, with which the
benchmark's authors trained their judges.
"""

import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, NamedTuple

from conflictscore.benchmarks.harness.question_sample import lot, question_id
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import PublishedRow, read_json_lines, row_of
from conflictscore.benchmarks.judge_agreement import JudgeRating, RatedAnswer, RatedSet
from conflictscore.benchmarks.judging import Judge
from conflictscore.benchmarks.truthfulqa.benchmark import judge_measure, read_truthfulqa
from conflictscore.errors import InputError

_PROMPT = re.compile(r"Q: (?P<question>[^\n]+)\nA: ?(?P<answer>.*)\n(?P<asks>True|Helpful):", re.S)
_MEASURES = {"True": "truthful", "Helpful": "informative"}
_SCALE = ("no", "yes")

NO_REFERENCES = "no references for the question"
BOTH_LABELS = "the same answer is labelled both yes and no"
REPEATED = "repeated"
A_REFERENCE = "the answer equals a reference, which decides its label"


class _Published(PublishedRow):
    """A labelled answer as published for fine-tuning: a three-line prompt, and "yes" or "no"."""

    prompt: str
    completion: Literal[" yes", " no", "yes", "no"]


class _Row(NamedTuple):
    """A labelled answer; ``label`` is ``yes`` or ``no``."""

    question_id: str
    answer: str
    label: str


def rated_truthfulqa(
    answers: str | Path, references: str | Path, *, sample: int | None, seed: int
) -> RatedSet:
    """Read one of the two files; each answer gets the reference answers of its question.

    Rows that reveal nothing about a judge are left out and counted: questions without references,
    answers labelled both ways, repeated rows, and answers equal to a reference. The judge sees the
    references, which decide the label of such an answer.

    Args:
        answers: ``judge_truth.jsonl`` or ``judge_info.jsonl``.
        references: ``TruthfulQA.csv``; its first version has references for more questions.
        sample: The number of answers, half of them with each label; None for all answers.
        seed: The seed of the sample.
    """
    questions_by_id = {
        question.id: question for question in read_truthfulqa(references, form="free-form", seed=0)
    }
    measure, rows = _labelled_rows(Path(answers))
    usable, left_out = _usable(rows, questions_by_id)
    if not usable:
        raise InputError(f"{answers}: none of its answers can be judged with {references}")
    if sample is not None:
        usable = _balanced_sample(usable, sample, seed)

    async def rate(row: RatedAnswer, judge: Judge) -> JudgeRating:
        verdict = await judge_measure(measure, row.question, row.answer, judge)
        if verdict.value is None:
            return JudgeRating(None, verdict.error)
        return JudgeRating("yes" if verdict.value else "no")

    return RatedSet(
        name=f"truthfulqa, {measure}",
        scale=_SCALE,
        answers=tuple(
            RatedAnswer(questions_by_id[row.question_id], row.answer, row.label) for row in usable
        ),
        rate=rate,
        left_out=left_out,
    )


def _labelled_rows(path: Path) -> tuple[str, list[_Row]]:
    rows: list[_Row] = []
    measure = ""
    for where, record in read_json_lines(path):
        row = row_of(_Published, record, where)
        match = _PROMPT.fullmatch(row.prompt.rstrip())
        if match is None:
            raise InputError(
                f'{where}, field prompt: three lines are needed, "Q: …", "A: …", and "True:" or'
                ' "Helpful:"'
            )
        asks = _MEASURES[match["asks"]]
        if measure and asks != measure:
            raise InputError(
                f"{where}, field prompt: it asks for {asks}, but row 1 asks for {measure}"
            )
        measure = asks
        answer = match["answer"].strip()
        rows.append(_Row(question_id("tqa", match["question"]), answer, row.completion.strip()))
    if not rows:
        raise InputError(f"{path}: there is no labelled answer in it")
    return measure, rows


def _usable(
    rows: Sequence[_Row], questions_by_id: dict[str, Question]
) -> tuple[list[_Row], dict[str, int]]:
    labels: dict[tuple[str, str], set[str]] = {}
    for row in rows:
        labels.setdefault((row.question_id, row.answer), set()).add(row.label)
    usable: list[_Row] = []
    left_out: Counter[str] = Counter()
    earlier: set[_Row] = set()
    for row in rows:
        question = questions_by_id.get(row.question_id)
        if question is None:
            left_out[NO_REFERENCES] += 1
        elif len(labels[row.question_id, row.answer]) > 1:
            left_out[BOTH_LABELS] += 1
        elif row in earlier:
            left_out[REPEATED] += 1
        elif _folded(row.answer) in map(_folded, (*question.correct, *question.incorrect)):
            left_out[A_REFERENCE] += 1
        else:
            usable.append(row)
        earlier.add(row)
    return usable, dict(left_out)


def _balanced_sample(rows: Sequence[_Row], size: int, seed: int) -> list[_Row]:
    """Draw a sample with half of each label, in file order, so a constant "yes" scores half."""
    chosen_rows: set[_Row] = set()
    for label, share in (("yes", size // 2), ("no", size - size // 2)):
        of_label = [row for row in rows if row.label == label]
        if len(of_label) < share:
            raise InputError(
                f"a sample of {size} needs {share} answers labelled {label}, but there are only"
                f" {len(of_label)}"
            )
        by_lot = sorted(
            of_label, key=lambda row: lot("labelled", seed, f"{row.question_id}\n{row.answer}")
        )
        chosen_rows.update(by_lot[:share])
    return [row for row in rows if row in chosen_rows]


def _folded(answer: str) -> str:
    return " ".join(answer.casefold().split()).rstrip(".")
