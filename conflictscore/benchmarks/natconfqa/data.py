"""NatConfQA's published questions: passages, the answers that stand in them, and their conflicts.

The published ``evidence_ids`` do not lead to a passage: several lie beyond the list ``evidences``,
and many of the rest name evidence of the opposite stance. They are not read.
"""

from collections.abc import Mapping
from enum import StrEnum
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, get_args

from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import Items, list_of, one_of, read_items, text_of
from conflictscore.errors import InputError
from conflictscore.records import Document, Record
from conflictscore.retrieval.cleaning import clean_text

AnswerPair = tuple[int, int]
"""Two answers by their indices from 0, the smaller first."""

QuestionType = Literal["boolean", "wh-function", "wh-list"]

_TYPES: Mapping[str, QuestionType] = {kind: kind for kind in get_args(QuestionType)}
_CONFLICT, _NEUTRAL = "Conflict", "Neutral"
_STANCES = {stance: stance for stance in (_CONFLICT, "Support", _NEUTRAL)}
_SAID = {"true": "yes", "yes": "yes", "false": "no", "no": "no"}
_EDGES = " \"'\u2018\u2019\u201c\u201d*_`()[]"
"""A sign before a number is part of the answer, so nothing else goes."""


class Subset(StrEnum):
    """The part of the benchmark that a question is of; the first three have conflicts."""

    YES_NO = "yes-no"
    """Both yes and no stand in the passages."""
    WH_ALL = "wh-all"
    """Every two answers are in conflict."""
    WH_MIX = "wh-mix"
    """Some answers are in conflict, and some are not."""
    NO_CONFLICT = "no-conflict"
    """No answer is in conflict with another."""
    NO_ANSWER = "no-answer"
    """No answer stands in the passages; the paper has no figures for these."""


CONFLICTING = frozenset({Subset.YES_NO, Subset.WH_ALL, Subset.WH_MIX})
"""The conflict subset of the paper (Table 1)."""


class NatConfQuestion(Record):
    """One question, with all that answers to it are judged by."""

    id: str
    question: str
    question_type: QuestionType
    answers: tuple[str, ...]
    """Those that people found in the passages, each once, ``Yes`` or ``No`` in a yes/no question;
    empty where there is none."""
    conflicts: tuple[AnswerPair, ...]
    """The pairs of ``answers`` that people found to be in conflict, ascending."""
    passages: tuple[str, ...]

    @property
    def subset(self) -> Subset:
        """By answers and conflicts; ``question_type`` only tells yes/no questions from others."""
        if not self.answers:
            return Subset.NO_ANSWER
        if not self.conflicts:
            return Subset.NO_CONFLICT
        if self.question_type == "boolean":
            return Subset.YES_NO
        pairs = len(self.answers) * (len(self.answers) - 1) // 2
        return Subset.WH_ALL if len(self.conflicts) == pairs else Subset.WH_MIX


_NO_PAIR = "said to have a conflict, and no two answers are named"


def read_natconfqa(path: str | Path) -> Items[NatConfQuestion]:
    """Read the published questions, in the order of the file.

    Args:
        path: JSON lines with ``question_id``, ``question``, ``question_type``, ``answer_type``,
            ``answers`` (``answer``), ``conflicting_answer_pairs`` and ``paragraphs``; other fields
            are not read. A conflict that names no pair of answers is left out.
    """
    return read_items(path, _question, id_field="question_id")


def answer_key(text: str) -> str:
    """A key that is the same for two answers that differ only in spelling.

    Case, white space, and quotes, brackets and a full stop around an answer make no difference;
    ``True`` and ``Yes`` are the same, and so are ``False`` and ``No``.
    """
    folded = " ".join(text.casefold().split()).lstrip(_EDGES).rstrip(f"{_EDGES}.,;:!")
    return _SAID.get(folded, folded)


def benchmark_question(question: NatConfQuestion) -> Question:
    """The question as the harness asks it: its passages are its documents."""
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


def _question(record: Any, where: str) -> NatConfQuestion | str:
    kind = one_of(record, "question_type", _TYPES, where)
    stance = one_of(record, "answer_type", _STANCES, where)
    answers = tuple(_answer(item, kind, at) for at, item in list_of(record, "answers", where))
    for (i, one), (j, other) in combinations(enumerate(answers, start=1), 2):
        if answer_key(one) == answer_key(other):
            raise InputError(f"{where}, field answers: items {i} and {j} are the same answer")
    passages = [_text(item, at) for at, item in list_of(record, "paragraphs", where)]
    if not passages:
        raise InputError(f"{where}, field paragraphs: there is no passage")
    question = NatConfQuestion(
        id=text_of(record, "question_id", where),
        question=text_of(record, "question", where),
        question_type=kind,
        answers=answers,
        conflicts=_conflicts(record, len(answers), where),
        passages=tuple(passages),
    )
    _check_stance(question, stance, where)
    return _NO_PAIR if stance == _CONFLICT and not question.conflicts else question


def _check_stance(question: NatConfQuestion, stance: str, where: str) -> None:
    if stance != _CONFLICT and question.conflicts:
        raise InputError(
            f"{where}, field conflicting_answer_pairs: there are pairs, and answer_type is {stance}"
        )
    if (stance == _NEUTRAL) != (not question.answers):
        there = "there are answers" if question.answers else "there is no answer"
        raise InputError(f"{where}, field answers: {there}, and answer_type is {stance}")


def _answer(item: Any, kind: str, where: str) -> str:
    if not isinstance(item, Mapping):
        raise InputError(f"{where}: an object with answer is needed")
    if kind != "boolean":
        return text_of(item, "answer", where)
    if not isinstance(said := item.get("answer"), bool):
        raise InputError(f"{where}, field answer: true or false is needed in a yes/no question")
    return "Yes" if said else "No"


def _conflicts(record: Mapping[str, Any], answers: int, where: str) -> tuple[AnswerPair, ...]:
    pairs = set[AnswerPair]()
    for place, item in list_of(record, "conflicting_answer_pairs", where):
        if not (
            isinstance(item, list)
            and len(item) == 2
            and item[0] != item[1]
            and all(_is_index(index) and index < answers for index in item)
        ):
            raise InputError(
                f"{place}: {item!r} are not two different indices of the {answers} answers"
            )
        pairs.add((min(item), max(item)))
    return tuple(sorted(pairs))


def _text(value: Any, where: str) -> str:
    if not isinstance(value, str) or not (text := clean_text(value)):
        raise InputError(f"{where}: a text is needed that is not empty")
    return text


def _is_index(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0
