"""Determines the ids of questions, samples of questions, and the order of options.

The results depend only on the seed and the question's text, and neither on the order of the file
nor on other questions. So each draw is a hash of a text. The numbers of a random generator would
depend on how many numbers had been drawn before.
"""

import hashlib
from collections.abc import Sequence

from conflictscore.benchmarks.harness.records import Question
from conflictscore.errors import InputError
from conflictscore.retrieval.questions import question_key


def question_id(prefix: str, question: str) -> str:
    """Return a question's id: a prefix, and a hash of its text in 12 hexadecimal digits.

    With 48 bits, two of ten thousand questions have the same hash once in five million benchmarks.
    Texts that count as the same question in a recording have the same id.
    """
    # "surrogatepass", since a published text may contain a lone surrogate, which UTF-8 lacks
    digest = hashlib.sha256(question_key(question).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{prefix}-{digest[:12]}"


def lot(purpose: str, seed: int, text: str) -> bytes:
    """Return 32 pseudo-random bytes that depend only on a text, the purpose and the seed.

    The purpose keeps draws independent: whether a question is in a sample says nothing about the
    order of its options.
    """
    return hashlib.sha256(f"{purpose}:{seed}:{text}".encode("utf-8", "surrogatepass")).digest()


def shuffled_options(
    right: str, wrong: str, *, question: str, seed: int
) -> tuple[tuple[str, str], int]:
    """Return two options in the order in which they are shown, and the index of the right one.

    The order depends only on the seed and the text of the question.
    """
    gold = lot("options", seed, question_key(question))[0] % 2
    return ((wrong, right) if gold else (right, wrong)), gold


def drawn_order(options: Sequence[str], *, question: str, seed: int) -> tuple[str, ...]:
    """Return options in an order that depends only on the seed and the texts."""
    key = question_key(question)
    return tuple(sorted(options, key=lambda option: lot("options", seed, f"{key}\n{option}")))


def drawn(questions: Sequence[Question], sample: int, seed: int) -> tuple[Question, ...]:
    """Draw the sample of questions that the seed determines, and return it in file order."""
    if not 1 <= sample <= len(questions):
        raise InputError(f"sample is {sample}; give 1 to {len(questions)}, the number of questions")
    lots = sorted(questions, key=lambda question: lot("sample", seed, question.id))
    ids = {question.id for question in lots[:sample]}
    return tuple(question for question in questions if question.id in ids)
