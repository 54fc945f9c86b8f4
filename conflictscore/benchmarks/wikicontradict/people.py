"""Reads WikiContradict's published ratings of answers that five models gave to five prompts."""

from collections.abc import Iterator
from pathlib import Path
from typing import Literal

from pydantic import Field

from conflictscore.benchmarks.harness.question_sample import lot, question_id
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import PublishedRow, Text, read_json_lines, row_of
from conflictscore.benchmarks.judge_agreement import JudgeRating, RatedAnswer, RatedSet
from conflictscore.benchmarks.judging import Judge
from conflictscore.benchmarks.wikicontradict.benchmark import ModelRating, Rating
from conflictscore.errors import ContextWindowError, InputError, ProviderError

_PROMPTS = 5
"""The number of prompts, which is also the number of answers in each row."""
_Label = Literal["Correct", "Partially correct", "Incorrect"]


class HumanEvalRow(PublishedRow):
    """A line of ``human_eval.jsonl``, with a question and one model's answers to five prompts."""

    question: Text
    context1: Text = Field(alias="context1_self_contained")
    context2: Text = Field(alias="context2_self_contained")
    right1: Text = Field(alias="gt_answer_1")
    right2: Text = Field(alias="gt_answer_2")
    model: Text
    answer0: Text
    answer1: Text
    answer2: Text
    answer3: Text
    answer4: Text
    label0: _Label
    label1: _Label
    label2: _Label
    label3: _Label
    label4: _Label

    def rated(self) -> Iterator[tuple[int, str, str]]:
        """For each prompt, yield its number (1 to 5), the answer, and the annotators' rating."""
        answers = (self.answer0, self.answer1, self.answer2, self.answer3, self.answer4)
        labels = (self.label0, self.label1, self.label2, self.label3, self.label4)
        for number, (answer, label) in enumerate(zip(answers, labels, strict=True), start=1):
            yield number, answer, label.casefold()


def read_human_eval(path: str | Path) -> list[HumanEvalRow]:
    """Read the rows of ``human_eval.jsonl``, in file order."""
    rows = [row_of(HumanEvalRow, record, where) for where, record in read_json_lines(Path(path))]
    if not rows:
        raise InputError(f"{path}: there are no rated answers in it")
    return rows


def rated_wikicontradict(answers: str | Path, *, sample: int | None, seed: int) -> RatedSet:
    """Read the rated answers; the method of each answer is its prompt template, from 1 to 5.

    Prompts 2 and 3 show a single passage, so annotators compared the answers to these prompts with
    this passage. The answers to prompts 1, 4 and 5 were compared with both passages.

    Args:
        answers: The path of ``human_eval.jsonl``.
        sample: The number of answers to draw, or None for all answers. Only whole rows are drawn,
            each with a model's five answers to a question.
        seed: The seed of the sample.
    """
    rows = read_human_eval(answers)
    if sample is not None:
        if not _PROMPTS <= sample <= _PROMPTS * len(rows):
            raise InputError(
                f"sample is {sample}; give {_PROMPTS} to {_PROMPTS * len(rows)}: a row has"
                f" {_PROMPTS} answers, and there are {len(rows)} rows"
            )
        by_lot = sorted(rows, key=lambda row: lot("rated", seed, f"{row.model}\n{row.question}"))
        rows = by_lot[: sample // _PROMPTS]
    rated_answers = []
    for row in rows:
        for number, answer, rating in row.rated():
            # the prompt's number is also the number of its template; see the docstring
            right = {2: (row.right1,), 3: (row.right2,)}.get(number, (row.right1, row.right2))
            question = Question(
                id=question_id("wc", row.question), question=row.question, correct=right
            )
            rated_answers.append(RatedAnswer(question, answer, rating, method=f"template {number}"))
    return RatedSet(
        name="wikicontradict",
        scale=tuple(map(str, Rating)),
        answers=tuple(rated_answers),
        rate=_rate,
    )


async def _rate(row: RatedAnswer, judge: Judge) -> JudgeRating:
    try:
        rating, _ = await ModelRating().rate(row.question, row.answer, judge)
    except (ProviderError, ContextWindowError) as error:
        return JudgeRating(None, str(error))
    return JudgeRating(str(rating))
