"""WikiContradict's published files: the questions, and the answers to them that people rated."""

from collections.abc import Iterable
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.harness.question_sample import question_id, refuse_repeated
from conflictscore.benchmarks.json_lines import read_json_lines, text_of
from conflictscore.benchmarks.wikicontradict.judge import Rating
from conflictscore.errors import InputError
from conflictscore.records import Record

AGREEING = "agreeing"
"""In the metadata of a question's first document, a text that says the same in other words."""


class ContradictionType(StrEnum):
    """Whether it takes reasoning to see the contradiction (its type IV)."""

    EXPLICIT = "Explicit"
    IMPLICIT = "Implicit (reasoning required)"


class ContradictingQuestion(Record):
    """A question with two passages and the answer that each of them gives."""

    id: str
    """Follows from the text of the question."""
    question: str
    contexts: tuple[str, str]
    """The passages as models were shown them: ``context1`` and ``context2``."""
    answers: tuple[str, str]
    """By passage."""
    contradiction_type: ContradictionType
    contexts_self_contained: tuple[str, str]
    """Longer, with names in place of what refers to them."""
    answers_self_contained: tuple[str, str]
    """As full sentences."""


def read_questions(path: str | Path) -> tuple[ContradictingQuestion, ...]:
    """Read the flat file, in file order.

    Args:
        path: JSON lines with ``question``, ``context1``, ``context2``, ``answer1``, ``answer2``,
            each of the four also with ``_self_contained``, and ``contradiction_type``.
    """
    questions: list[ContradictingQuestion] = []
    first: dict[str, str] = {}
    for where, record in read_json_lines(Path(path)):
        text = text_of(record, "question", where)
        key = question_id("wc", text)
        refuse_repeated(key, where, first)
        questions.append(
            ContradictingQuestion(
                id=key,
                question=text,
                contexts=_pair(record, "context{}", where),
                answers=_pair(record, "answer{}", where),
                contradiction_type=_type(record, where),
                contexts_self_contained=_pair(record, "context{}_self_contained", where),
                answers_self_contained=_pair(record, "answer{}_self_contained", where),
            )
        )
    if not questions:
        raise InputError(f"{path}: there is no question in it")
    return tuple(questions)


def _pair(record: Any, field: str, where: str) -> tuple[str, str]:
    return text_of(record, field.format(1), where), text_of(record, field.format(2), where)


def _type(record: Any, where: str) -> ContradictionType:
    said = text_of(record, "contradiction_type", where)
    try:
        return ContradictionType(said)
    except ValueError:
        known = ", ".join(ContradictionType)
        raise InputError(
            f"{where}, field contradiction_type: {said[:80]!r} is none of {known}"
        ) from None


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
"""The passage whose answer counts as right where one is shown; else that of either."""


class RatedAnswer(NamedTuple):
    """An answer to a prompt, and how people rated it."""

    id: str
    """Follows from the question, the model and the prompt."""
    question: str
    right: tuple[str, ...]
    """The right answers: for a prompt with one passage that passage's, otherwise both."""
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
            if label.lower() not in set(Rating):
                known = ", ".join(Rating)
                raise InputError(f"{where}, field label{index}: {label[:40]!r} is none of {known}")
            answers.append(
                RatedAnswer(
                    id=name,
                    question=question,
                    right=tuple(both[side] for side in _RIGHT.get(prompt, (0, 1))),
                    prompt=prompt,
                    model=model,
                    answer=text_of(record, f"answer{index}", where),
                    rating=Rating(label.lower()),
                    contradiction_type=types.get(key),
                )
            )
    if not answers:
        raise InputError(f"{path}: there is no rated answer in it")
    return tuple(answers)
