"""Reads NatConfQA's published questions, with their passages, answers and conflicts.

The published ``evidence_ids`` are not used, since they do not identify passages. Several ids exceed
the length of the list ``evidences``, and many others refer to evidence of the opposite stance.
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
"""The indices of two answers, counted from 0, with the smaller index first."""

QuestionType = Literal["boolean", "wh-function", "wh-list"]

# The published answers to boolean questions use both pairs of words.
_YES_OR_NO = {"true": "yes", "yes": "yes", "false": "no", "no": "no"}
_EDGES = " \"'\u2018\u2019\u201c\u201d*_`()[]"
"""The characters to strip from an answer.

A sign before a number is not stripped, since it is part of the answer.
"""


class Subset(StrEnum):
    """The possible subsets of questions. Questions of the first three subsets have conflicts."""

    YES_NO = "yes-no"
    """The passages support both "yes" and "no"."""
    WH_ALL = "wh-all"
    """All answers conflict with each other."""
    WH_MIX = "wh-mix"
    """Some of the question's answers conflict with each other, and some do not."""
    NO_CONFLICT = "no-conflict"
    """No answer conflicts with another."""
    NO_ANSWER = "no-answer"
    """The passages contain no answer. The paper has no figures for such questions."""


CONFLICTING = frozenset({Subset.YES_NO, Subset.WH_ALL, Subset.WH_MIX})
"""The paper's subsets with conflicts (Table 1)."""


class NatConfQuestion(Record):
    """A question, and the reference answers and conflicts by which its answers are judged."""

    id: str
    question: str
    question_type: QuestionType
    answers: tuple[str, ...]
    """The answers that annotators found in the passages, without duplicates.

    If the question is a yes/no question, each answer is ``Yes`` or ``No``. The tuple may be empty.
    """
    conflicts: tuple[AnswerPair, ...]
    """The pairs of ``answers`` that conflict according to annotators, in ascending order."""
    passages: tuple[str, ...]

    @property
    def subset(self) -> Subset:
        """The question's subset, which is derived from its answers and conflicts.

        ``question_type`` is used only to separate yes/no questions from other questions.
        """
        if not self.answers:
            return Subset.NO_ANSWER
        if not self.conflicts:
            return Subset.NO_CONFLICT
        if self.question_type == "boolean":
            return Subset.YES_NO
        pairs = len(self.answers) * (len(self.answers) - 1) // 2
        return Subset.WH_ALL if len(self.conflicts) == pairs else Subset.WH_MIX


# the end of a sentence that begins with "questions left out: 3, because"
_NO_PAIR = "they are marked as having a conflict, but no conflicting answers are given"


class _Answer(PublishedRow):
    """A reference answer, which is a boolean in a yes/no question and otherwise a string."""

    answer: bool | Text


class _Published(PublishedRow):
    """A row of NatConfQA. The row's pairs contain indices of ``answers``, counted from 0."""

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

    If a question is marked as having a conflict but has no conflicting pair, it is left out.
    """
    return read_items(path, _Published, _question, id_field="question_id")


def answer_key(text: str) -> str:
    """Return a key that is equal for answers that differ only in notation.

    Letter case and extra white space are ignored. Quotes, brackets and emphasis marks around an
    answer are ignored too, and so is punctuation at its end. ``True`` equals ``Yes``, and ``False``
    equals ``No``.
    """
    key = " ".join(text.casefold().split()).lstrip(_EDGES).rstrip(f"{_EDGES}.,;:!")
    return _YES_OR_NO.get(key, key)


def benchmark_question(question: NatConfQuestion) -> Question:
    """Convert a question to the harness's type, with its passages as documents."""
    return Question(
        id=question.id,
        question=question.question,
        correct=question.answers,
        category=question.subset,
        documents=tuple({"text": passage} for passage in question.passages),
    )


def passages_of(question: NatConfQuestion) -> list[Document]:
    """Return the question's passages as documents, numbered from 1."""
    return [Document(number=n, text=text) for n, text in enumerate(question.passages, start=1)]


def _question(row: _Published, where: str) -> NatConfQuestion | str:
    """Convert a row into a question, or return the reason why it is left out.

    Raises:
        InputError: The row's fields contradict each other; the message names the field.
    """
    answers = _answers(row, where)
    pairs = _conflicting_pairs(row, len(answers), where)
    if (row.answer_type == "Neutral") != (not answers):
        there = "there are answers" if answers else "there are no answers"
        raise InputError(f"{where}, field answers: {there}, but answer_type is {row.answer_type}")
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
    """Return the reference answers as strings; raise InputError if two are the same answer."""
    is_boolean = row.question_type == "boolean"
    answers: list[str] = []
    for reference in row.answers:
        if isinstance(reference.answer, bool) is not is_boolean:
            raise InputError(
                f"{where}, field answers: a yes/no question needs true or false, and any other"
                " question needs a string"
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
    """Return the conflicting pairs of reference answers, each with its smaller index first."""
    pairs = {(min(pair), max(pair)) for pair in row.conflicting_answer_pairs}
    for i, j in pairs:
        if i == j or j >= answers:
            raise InputError(
                f"{where}, field conflicting_answer_pairs: {i}, {j} are not two different indices"
                f" of the {answers} answers"
            )
    if row.answer_type != "Conflict" and pairs:
        raise InputError(
            f"{where}, field conflicting_answer_pairs: there are pairs, but answer_type is"
            f" {row.answer_type}"
        )
    return pairs
