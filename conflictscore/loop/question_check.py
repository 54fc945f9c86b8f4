"""Checks questions. Commands import this module first, so it imports no heavy module."""

from collections.abc import Sequence

from conflictscore.errors import InputError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
"""The letters that name the options of a question, in order."""


def check_question(question: str, options: Sequence[str]) -> None:
    """Raise InputError if the question is empty, or if its options leave no clear choice."""
    if not question.strip():
        raise InputError("the question is empty")
    if not options:
        return
    n_texts = sum(bool(option.strip()) for option in options)
    if n_texts < 2:
        raise InputError(f"multiple choice needs at least two options with text, got {n_texts}")
    for number, option in enumerate(options, start=1):
        if not option.strip():
            raise InputError(f"option {number} has no text")
    if n_texts > len(LETTERS):
        raise InputError(f"multiple choice allows at most {len(LETTERS)} options, got {n_texts}")
    if len({option.strip().casefold() for option in options}) < len(options):
        raise InputError("two options are equal")
