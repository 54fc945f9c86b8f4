"""Every function that reads a reply, or makes text safe, takes time in proportion to its length."""

import re
import time
from collections.abc import Callable
from contextlib import suppress
from itertools import product

import pytest
from langchain_core.messages import AIMessage

from conflictscore.benchmarks.harness.conflict_types import inline_citations
from conflictscore.benchmarks.harness.methods.conflict_aware import read_type, read_typed_answer
from conflictscore.benchmarks.judging import read_verdict
from conflictscore.labelers.label_words import read_label
from conflictscore.models.json_replies import json_reply, json_texts
from conflictscore.models.replies import reply_text, unfenced, without_reasoning
from conflictscore.nodes.answer_replies import (
    cited_documents,
    of_the_task,
    read_choice,
    read_queries,
    read_reconsidered_choice,
    unframed,
)
from conflictscore.nodes.claim_replies import read_claims
from conflictscore.nodes.second_look.statements import answers_nothing, opposite, same_answer
from conflictscore.nodes.second_look.vote import read_ruling
from conflictscore.prompts import material, neutral
from conflictscore.records import Ground

_ANSWER = "The gate opens at nine."
READERS: dict[Callable[[str], object], tuple[str, ...]] = {
    neutral: ("", "<", "</"),
    material: ("<\u200b",),
    (lambda text: reply_text(AIMessage(text))): ("",),
    without_reasoning: ("", "<think>", "<|channel|>"),
    unfenced: ("```\n",),
    (lambda text: json_reply(AIMessage(text), frozenset({"answer"}), listed="verdicts")): (
        "",
        '{"answer": "',
    ),
    json_texts: ("[", "Claims:\n["),
    read_label: ("", "SUPPORTS"),
    (lambda text: read_claims(text, _ANSWER)): ("", "Claims:\n", "- ", "```\n"),
    (lambda text: read_choice(text, ("yes", "no"))): ("", "(A"),
    (lambda text: read_reconsidered_choice(text, ("yes", "no"), [1])): ("A\nJustification:",),
    read_queries: ("", "FOR:"),
    (lambda text: unframed(text, "It was.")): ("", "<answer>"),
    (lambda text: read_ruling(text, Ground)): ("", "SIDE: A\nREASON:"),
    (lambda text: answers_nothing(text, "When?")): ("", "the document "),
    (lambda text: same_answer(text, "It was.", "When?")): ("", "not "),
    (lambda text: opposite(text)): ("", "it is "),
    (lambda text: of_the_task(text, "It was.")): ("the ",),
    (lambda text: cited_documents(text, [1])): ("(docs 1",),
    (lambda text: inline_citations(text, [1])): ("", "[1"),
    read_type: ("TYPE:", ""),
    read_typed_answer: ("ANSWER:", ""),
    (lambda text: read_verdict(text, "TRUTHFUL")): ("", "TRUTHFUL:"),
}
"""Each with what a reply may begin with before it goes on and on."""
_REPEATED = (
    *(" ", "\n", "\t ", "*", "_", "-", "#", ">", "<", "{", "[", '"', "\\", "`", "```\n", "- - "),
    *("<answer>", "</answer>", "<claim ", "<think>\n", "</think>", "{}", "[]", '{"answer": "'),
    *("Claims:\n", "- a.\n", "a:\n", "1. ", ", 1", " and 1", "(docs ", "[1", "the passage ", "||"),
    *("<|channel|>", "SUPPORTS ", "answer: ", "\u200b", "\u200b<", "A ", "TYPE: \n", "  - a\n"),
)
_SHORT, _LONG = 1_000, 8_000
_MOST_TIMES = 8 * 4
"""A reply of eight times the length may take four times eight as long: a quadratic reader takes 64
times as long, and a cubic one 512."""
_NO_TIME_S = 0.02


def _seconds(read: Callable[[str], object], text: str) -> float:
    began = time.process_time()
    with suppress(ValueError):
        read(text)
    return time.process_time() - began


@pytest.mark.parametrize(("read", "starts"), READERS.items())
def test_no_reply_makes_a_reader_slow(
    read: Callable[[str], object], starts: tuple[str, ...]
) -> None:
    for start, piece in product(starts, _REPEATED):
        short, long = (start + piece * (size // len(piece)) for size in (_SHORT, _LONG))
        taken = _seconds(read, long)
        if taken > _NO_TIME_S:
            before = min(_seconds(read, short) for _ in range(3))
            taken = min(taken, _seconds(read, long))
            assert taken < _MOST_TIMES * max(before, 1e-4), (start, piece, before, taken)


def test_the_test_sees_a_quadratic_reader() -> None:
    slow = re.compile(r"<\s*/?\s*x")
    taken = [_seconds(slow.search, "<" + " " * size) for size in (_SHORT, _LONG)]
    assert taken[1] > _MOST_TIMES * max(taken[0], 1e-4)
