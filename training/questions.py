"""Reads questions with passages that answer them differently.

The hash of a question's words decides whether it is used for training or for measuring.
"""

import gzip
import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.json_lines import read_json_lines
from training.answers import states
from training.human import lot, measures_wikicontradict
from training.pairs import claim_key
from training.sentences import silent_runs

_HELD_OUT = 4
"""One question of RAMDocs in this many is used only for measuring."""
_TRUSTED = ("No conflict", "Conflict due to outdated information", "Conflict due to misinformation")
"""The kinds of rows of CONFLICTS whose gold answer is reliable."""
_SAID = re.compile(r"(?P<question>.+?\?) (?P<answer>[^?]+)")
_YES_OR_NO = ("yes", "no", "true", "false")


class Reply(NamedTuple):
    """A passage and its answer.

    Attributes:
        text: The passage.
        answer: The answer that the passage gives; None if it gives none.
        entity: The one of several namesakes that the passage is about; empty if unknown.
        sentence: The answer as a whole sentence; empty if the set has no such sentence.
    """

    text: str
    answer: str | None
    entity: str = ""
    sentence: str = ""


class Question(NamedTuple):
    """A question with its passages.

    Attributes:
        text: The question, with its question mark.
        source: The set.
        answers: All answers that are known or that a passage gives, correct or wrong.
        replies: The passages.
    """

    text: str
    source: str
    answers: tuple[str, ...]
    replies: tuple[Reply, ...]


def is_measured(question: Question) -> bool:
    """Return whether a question is used only for measuring."""
    if question.source == "wikicontradict":
        return measures_wikicontradict(claim_key(question.text))
    return question.source == "ramdocs" and lot(claim_key(question.text)) % _HELD_OUT == 0


def questions_in(files: list[Path]) -> Iterator[Question]:
    """Yield the questions of the files in a data folder that have questions.

    NatConfQA is left out: all its claims and passages are measured on.

    Raises:
        InputError: A file cannot be read.
    """
    for path in files:
        if path.stem == "ramdocs":
            yield from _ramdocs(path)
        elif path.parent.name == "wikicontradict" and path.stem == "questions":
            yield from _wikicontradict(path)
        elif path.stem == "conflicts":
            yield from _conflicts(path)
        elif path.name.startswith("conflict_nq") and path.suffix == ".gz":
            yield from _conflict_nq(path)


def _ramdocs(path: Path) -> Iterator[Question]:
    for _, record in read_json_lines(path):
        right = record["gold_answers"]
        entities = dict(zip(right, record.get("disambig_entity") or [""] * len(right), strict=True))
        replies = []
        for document in record["documents"]:
            answer = None if document["type"] == "noise" else document["answer"]
            entity = entities.get(answer, "") if document["type"] == "correct" else ""
            replies.append(Reply(document["text"].strip(), answer, entity))
        answers = tuple(dict.fromkeys([*right, *record["wrong_answers"]]))
        yield Question(_asked(record["question"]), "ramdocs", answers, tuple(replies))


def _wikicontradict(path: Path) -> Iterator[Question]:
    for _, record in read_json_lines(path):
        answers = tuple(record[f"answer{number}"].strip() for number in (1, 2))
        replies = tuple(
            Reply(
                record[f"context{number}_self_contained"].strip(),
                answers[number - 1],
                sentence=record[f"answer{number}_self_contained"].strip(),
            )
            for number in (1, 2)
        )
        yield Question(_asked(record["question"]), "wikicontradict", answers, replies)


def _conflicts(path: Path) -> Iterator[Question]:
    """Yield questions with pages that contain the gold answer, and with silent parts of pages.

    Silent parts say little about the question, and come from any page. Other parts of pages without
    the gold answer are not used, since they have no labels.
    """
    for _, record in read_json_lines(path):
        answer = (record.get("gold_answer") or "").strip().rstrip(".")
        if (
            record.get("conflict_type") not in _TRUSTED
            or record.get("gold_answer_ambiguous")
            or len(answer) < 2
            or claim_key(answer).split()[:1] in [[word] for word in _YES_OR_NO]
        ):
            continue
        replies = [
            Reply(document["text"].strip(), answer)
            for document in record["docs"]
            if states(document["text"], answer)
        ]
        if replies:
            pages = [document["text"] for document in record["docs"]]
            silent = [run for page in pages for run in silent_runs(page, record["query"])[:2]]
            replies += [Reply(run, None) for run in silent]
            yield Question(_asked(record["query"]), "conflicts", (answer,), tuple(replies))


def _conflict_nq(path: Path) -> Iterator[Question]:
    """Yield questions with passages; in this set, a claim has the form "question? answer"."""
    replies: dict[str, dict[str, str]] = defaultdict(dict)
    answers: dict[str, dict[str, None]] = defaultdict(dict)
    for record in _packed_lines(path):
        found = _SAID.fullmatch(record["claim"].strip())
        if found is None:
            continue
        answers[found["question"]][found["answer"]] = None
        if record["label"] == "SUPPORTS":
            replies[found["question"]].setdefault(record["document"].strip(), found["answer"])
    for question, passages in replies.items():
        yield Question(
            question,
            "conflict_nq",
            tuple(answers[question]),
            tuple(Reply(text, answer) for text, answer in passages.items()),
        )


def _packed_lines(path: Path) -> Iterator[Any]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            yield json.loads(line)


def _asked(question: str) -> str:
    question = " ".join(question.split())
    return question[0].upper() + question[1:].rstrip("?. ") + "?"
