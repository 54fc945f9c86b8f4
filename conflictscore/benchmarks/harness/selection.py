"""Ids, the order of two options, and samples: each follows from the text of a question.

None of them depends on the order of a file or on which other questions are in it, so a question
is the same, and is shown in the same way, in every run with the same seed.
"""

import hashlib
from collections.abc import Sequence

from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import InputError
from conflictscore.retrieval.recording.questions import question_key

__all__ = ["lot", "question_id", "refuse_repeated", "select", "shuffled_options"]

_ID_DIGITS = 12


def question_id(prefix: str, question: str) -> str:
    """The id of a question: a prefix, and a hash of its text in 12 hexadecimal digits.

    Two texts that a recording of search results takes for the same question have the same id.
    """
    digest = hashlib.sha256(question_key(question).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}-{digest[:_ID_DIGITS]}"


def refuse_repeated(
    identity: str, where: str, first: dict[str, str], field: str = "question"
) -> None:
    """Keep in ``first`` where a question stands, as file and row; one file has it once.

    Raises:
        InputError: It stands in an earlier row; names both.
    """
    if (earlier := first.setdefault(identity, where)) != where:
        row = earlier.rpartition(", ")[2]
        raise InputError(f"{where}, field {field}: the same question as in {row}")


def lot(purpose: str, seed: int, text: str) -> bytes:
    """The lot that a seed gives to a text: 32 bytes, unlike those for another purpose."""
    return hashlib.sha256(f"{purpose}:{seed}:{text}".encode("utf-8", "surrogatepass")).digest()


def shuffled_options(
    right: str, wrong: str, *, question: str, seed: int
) -> tuple[tuple[str, str], int]:
    """The two options in the order they are shown, and the index of the right one.

    The order depends on the seed and the text of the question alone.
    """
    gold = lot("options", seed, question_key(question))[0] % 2
    return ((wrong, right) if gold else (right, wrong)), gold


def select(
    questions: Sequence[Question], *, limit: int | None, sample: int | None, seed: int
) -> tuple[Question, ...]:
    """The questions that a run is made with, in the order of the file.

    Args:
        questions: All that there are.
        limit: The first so many.
        sample: So many, drawn by seed without replacement; every larger sample with the same seed
            holds the smaller one, wherever the questions stand in the file.
        seed: Of the sample.

    Raises:
        InputError: Both are given, or one that is below 1 or above what there is.
    """
    if limit is not None and sample is not None:
        raise InputError("limit and sample exclude each other; give one of them")
    there = len(questions)
    for name, count in (("limit", limit), ("sample", sample)):
        if count is not None and not 1 <= count <= there:
            raise InputError(f"{name} is {count}; there are {there} questions, give 1 to {there}")
    if limit is not None:
        return tuple(questions[:limit])
    if sample is None:
        return tuple(questions)
    drawn = sorted(questions, key=lambda question: lot("sample", seed, question.id))[:sample]
    ids = {question.id for question in drawn}
    return tuple(question for question in questions if question.id in ids)
