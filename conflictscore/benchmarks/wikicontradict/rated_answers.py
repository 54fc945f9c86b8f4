"""Model answers that people rated: what a judge is held against."""

from collections.abc import Iterable, Sequence
from enum import IntEnum
from pathlib import Path
from typing import NamedTuple

from conflictscore.benchmarks.conflict_detection.groups import text_of
from conflictscore.benchmarks.harness.selection import lot, question_id
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.benchmarks.wikicontradict.data import ContradictingQuestion
from conflictscore.benchmarks.wikicontradict.judge import Rating
from conflictscore.errors import InputError

__all__ = ["Prompt", "RatedAnswer", "draw", "read_rated"]

_RATINGS = {rating.value: rating for rating in Rating}


class Prompt(IntEnum):
    """The prompt templates by their number.

    Where an answer stands in ``human_eval.jsonl`` says which is which: ``answer0`` is of the first.
    """

    NO_PASSAGE = 1
    """The question alone: what the model knows."""
    FIRST_PASSAGE = 2
    SECOND_PASSAGE = 3
    BOTH_PASSAGES = 4
    """Both, with no word about contradictions."""
    BOTH_VIEWS = 5
    """Both, and the answer is to show where they disagree."""


_RIGHT = {Prompt.FIRST_PASSAGE: (0,), Prompt.SECOND_PASSAGE: (1,)}
"""Whose answer counts as right where one passage is shown; else that of either."""


class RatedAnswer(NamedTuple):
    """An answer to a prompt, and how people rated it."""

    id: str
    """Follows from the question, the model and the prompt."""
    question: str
    right: tuple[str, ...]
    """What counts as right: of a prompt with one passage that passage's answer, otherwise both."""
    prompt: Prompt
    model: str
    answer: str
    rating: Rating
    contradiction_type: str | None
    """None where the question is in no file that says it."""


def read_rated(
    path: str | Path, questions: Iterable[ContradictingQuestion] = ()
) -> tuple[RatedAnswer, ...]:
    """Read the human evaluation: five answers a row, one to each prompt.

    Args:
        path: JSON lines with ``question``, ``gt_answer_1``, ``gt_answer_2``, ``model``, and
            ``answer0`` to ``answer4`` with ``label0`` to ``label4``, of the prompts 1 to 5.
        questions: Where the contradiction types are found, by the text of the question.

    Raises:
        InputError: The file cannot be used; the line names file, row and field.
    """
    types = {question.id: question.contradiction_type.value for question in questions}
    answers: list[RatedAnswer] = []
    first: dict[str, str] = {}
    for where, record in read_json_lines(Path(path)):
        question, model = (text_of(record, name, where) for name in ("question", "model"))
        both = (text_of(record, "gt_answer_1", where), text_of(record, "gt_answer_2", where))
        key = question_id("wc", question)
        for index, prompt in enumerate(Prompt):
            name = f"{key} {model} {prompt.value}"
            if (earlier := first.setdefault(name, where)) != where:
                row = earlier.removeprefix(f"{path}, ")
                raise InputError(f"{where}, field question: {model} answered it in {row} too")
            label = text_of(record, f"label{index}", where)
            if label.lower() not in _RATINGS:
                known = ", ".join(_RATINGS)
                raise InputError(f"{where}, field label{index}: {label[:40]!r} is none of {known}")
            answers.append(
                RatedAnswer(
                    id=name,
                    question=question,
                    right=tuple(both[side] for side in _RIGHT.get(prompt, (0, 1))),
                    prompt=prompt,
                    model=model,
                    answer=text_of(record, f"answer{index}", where),
                    rating=_RATINGS[label.lower()],
                    contradiction_type=types.get(key),
                )
            )
    if not answers:
        raise InputError(f"{path}: there is no rated answer in it")
    return tuple(answers)


def draw(answers: Sequence[RatedAnswer], size: int, seed: int) -> tuple[RatedAnswer, ...]:
    """Draw answers by seed, in the mix that they are rated in, and keep their order.

    A larger sample with the same seed holds the smaller one.

    Raises:
        InputError: ``size`` is below 1, or above what there is.
    """
    if not 1 <= size <= len(answers):
        raise InputError(f"--sample is {size}; there are {len(answers)} rated answers")
    drawn = sorted(answers, key=lambda answer: lot("rated", seed, answer.id))[:size]
    ids = {answer.id for answer in drawn}
    return tuple(answer for answer in answers if answer.id in ids)
