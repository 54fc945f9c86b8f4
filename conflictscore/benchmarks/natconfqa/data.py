"""Reads NatConfQA's published questions: passages, the answers in them, and their conflicts.

The published ``evidence_ids`` are not read, since they do not lead to passages: several exceed the
list ``evidences``, and many others name evidence of the opposite stance.
"""

from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import Items, PublishedRow, Text, read_items
from conflictscore.errors import InputError
from conflictscore.records import Document, Record

AnswerPair = tuple[int, int]
"""Two answers by index from 0, the smaller index first."""

QuestionType = Literal["boolean", "wh-function", "wh-list"]

_SAID = {"true": "yes", "yes": "yes", "false": "no", "no": "no"}
_EDGES = " \"'\u2018\u2019\u201c\u201d*_`()[]"
"""The characters to strip from an answer; a sign before a number is part of the answer."""


class Subset(StrEnum):
    """The part of the benchmark to which a question belongs; the first three have conflicts."""

    YES_NO = "yes-no"
    """The passages contain both yes and no."""
    WH_ALL = "wh-all"
    """All answers conflict with each other."""
    WH_MIX = "wh-mix"
    """Some answers conflict, and some do not."""
    NO_CONFLICT = "no-conflict"
    """No answer conflicts with another."""
    NO_ANSWER = "no-answer"
    """The passages contain no answer; the paper has no figures for these."""


CONFLICTING = frozenset({Subset.YES_NO, Subset.WH_ALL, Subset.WH_MIX})
"""The conflict subset of the paper (Table 1)."""


class NatConfQuestion(Record):
    """A question, with all references for judging answers to it."""

    id: str
    question: str
    question_type: QuestionType
    answers: tuple[str, ...]
    """The answers that people found in the passages, without repetitions.

    They are ``Yes`` or ``No`` in a yes/no question; empty if there are none.
    """
    conflicts: tuple[AnswerPair, ...]
    """The pairs of ``answers`` that conflict according to people, ascending."""
    passages: tuple[str, ...]

    @property
    def subset(self) -> Subset:
        """The subset, by answers and conflicts.

        ``question_type`` only separates yes/no questions from others.
        """
        if not self.answers:
            return Subset.NO_ANSWER
        if not self.conflicts:
            return Subset.NO_CONFLICT
        if self.question_type == "boolean":
            return Subset.YES_NO
        pairs = len(self.answers) * (len(self.answers) - 1) // 2
        return Subset.WH_ALL if len(self.conflicts) == pairs else Subset.WH_MIX


_NO_PAIR = "said to have a conflict, but no two answers are named"


class _Answer(PublishedRow):
    """A reference answer: true or false of a yes/no question, otherwise a text."""

    answer: bool | Text


class _Published(PublishedRow):
    """A row of NatConfQA; its pairs are indices of ``answers``, counted from 0."""

    question_id: Text
    question: Text
    question_type: QuestionType
    answer_type: Literal["Conflict", "Support", "Neutral"]
    answers: list[_Answer]
    conflicting_answer_pairs: list[
        Annotated[list[Annotated[int, Field(ge=0)]], Field(min_length=2, max_length=2)]
    ]
    paragraphs: Annotated[list[Text], Field(min_length=1)]


def read_natconfqa(path: str | Path) -> Items[NatConfQuestion]:
    """Read the published questions, in file order.

    A question with a conflict but without a conflicting pair is left out.
    """
    return read_items(path, _Published, _question, id_field="question_id")


def answer_key(text: str) -> str:
    """A key that is equal for answers that differ only in spelling.

    Case and white space are ignored, and so are quotes, brackets and a full stop around an answer.
    ``True`` equals ``Yes``, and ``False`` equals ``No``.
    """
    key = " ".join(text.casefold().split()).lstrip(_EDGES).rstrip(f"{_EDGES}.,;:!")
    return _SAID.get(key, key)


def benchmark_question(question: NatConfQuestion) -> Question:
    """The question for the harness, with its passages as documents."""
    return Question(
        id=question.id,
        question=question.question,
        correct=question.answers,
        category=question.subset,
        documents=tuple({"text": passage} for passage in question.passages),
    )


def passages_of(question: NatConfQuestion) -> list[Document]:
    """The passages as documents, numbered from 1."""
    return [Document(number=n, text=text) for n, text in enumerate(question.passages, start=1)]


def _question(row: _Published, where: str) -> NatConfQuestion | str:
    """The question of a row, or the reason why it is left out.

    Raises:
        InputError: Its fields contradict each other; names the field.
    """
    answers = _answers(row, where)
    pairs = _conflicting_pairs(row, len(answers), where)
    if (row.answer_type == "Neutral") != (not answers):
        there = "there are answers" if answers else "there is no answer"
        raise InputError(f"{where}, field answers: {there}, and answer_type is {row.answer_type}")
    if row.answer_type == "Conflict" and not pairs:
        return _NO_PAIR
    return NatConfQuestion(
        id=row.question_id,
        question=row.question,
        question_type=row.question_type,
        answers=answers,
        conflicts=tuple(sorted(pairs)),
        passages=tuple(row.paragraphs),
    )


def _answers(row: _Published, where: str) -> tuple[str, ...]:
    """The reference answers as texts, which must differ in more than their spelling."""
    is_boolean = row.question_type == "boolean"
    answers: list[str] = []
    for reference in row.answers:
        if isinstance(reference.answer, bool) is not is_boolean:
            raise InputError(
                f"{where}, field answers: true or false is needed in a yes/no question"
            )
        if isinstance(reference.answer, bool):
            answers.append("Yes" if reference.answer else "No")
        else:
            answers.append(reference.answer)
    for (i, first), (j, second) in combinations(enumerate(answers, start=1), 2):
        if answer_key(first) == answer_key(second):
            raise InputError(f"{where}, field answers: items {i} and {j} are the same answer")
    return tuple(answers)


def _conflicting_pairs(row: _Published, answers: int, where: str) -> set[tuple[int, int]]:
    """Pairs of indices of the ``answers`` references, each pair in ascending order."""
    pairs = {(min(pair), max(pair)) for pair in row.conflicting_answer_pairs}
    for i, j in pairs:
        if i == j or j >= answers:
            raise InputError(
                f"{where}, field conflicting_answer_pairs: {i}, {j} are not two different indices"
                f" of the {answers} answers"
            )
    if row.answer_type != "Conflict" and pairs:
        raise InputError(
            f"{where}, field conflicting_answer_pairs: there are pairs, and answer_type is"
            f" {row.answer_type}"
        )
    return pairs
