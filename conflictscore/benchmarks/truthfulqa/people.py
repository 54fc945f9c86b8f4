"""Reads TruthfulQA's published answers, which are labelled for truthfulness or informativeness.

``judge_truth.jsonl`` and ``judge_info.jsonl`` each contain 11,015 answers. The authors of the
benchmark trained their judges on these answers.
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

# The prompts of the published training data for judges.
_PROMPT = re.compile(r"Q: (?P<question>[^\n]+)\nA: ?(?P<answer>.*)\n(?P<asks>True|Helpful):", re.S)
_MEASURES = {"True": "truthful", "Helpful": "informative"}
_SCALE = ("no", "yes")

# The reasons why rows are left out.
NO_REFERENCES = "no references for the question"
BOTH_LABELS = "the same answer is labelled both yes and no"
REPEATED = "repeated"
A_REFERENCE = "the answer equals a reference, so its label is already known"


class _Published(PublishedRow):
    """A labelled answer in the published format for fine-tuning.

    The prompt has three lines, and the completion is "yes" or "no". In the published files, every
    completion begins with a space.
    """

    prompt: str
    completion: Literal[" yes", " no", "yes", "no"]


class _Row(NamedTuple):
    """A labelled answer, whose ``label`` is ``yes`` or ``no``."""

    question_id: str
    answer: str
    label: str


def rated_truthfulqa(
    answers: str | Path, references: str | Path, *, sample: int | None, seed: int
) -> RatedSet:
    """Read one of the two files, and attach to each answer the reference answers of its question.

    Rows that reveal nothing about a judge are left out and counted. A row is left out if its
    question has no references, if its answer has both labels, if it repeats an earlier row, or if
    its answer equals a reference. If the answer equals a reference, the judge could read the label
    from the references, since it sees them.

    Args:
        answers: The path of ``judge_truth.jsonl`` or ``judge_info.jsonl``.
        references: The path of ``TruthfulQA.csv``. The first version of this file has references
            for more questions.
        sample: The number of answers to draw, or None for all answers. Half of the answers drawn
            have the label ``yes``, and half have the label ``no``.
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
        raise InputError(f"{path}: the file has no labelled answers")
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
    """Draw a sample in which each label has half of the answers, in file order.

    On such a sample, a judge that always says "yes" agrees with half of the labels. If the size is
    odd, there is one more "no".
    """
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
    """Return an answer in lower case, without extra white space or full stops at its end."""
    return " ".join(answer.casefold().split()).rstrip(".")
