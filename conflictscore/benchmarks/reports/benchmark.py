"""Reports as the harness runs them: written from documents in conflict, judged by their score."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from conflictscore.benchmarks.harness.benchmark import SCORES, Benchmark, Form
from conflictscore.benchmarks.harness.estimate import Assumptions, Range
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.reports.topics import Topic, file_of, read_topics
from conflictscore.errors import InputError
from conflictscore.records import Document

__all__ = ["REPLY_TOKENS", "reports"]

REPLY_TOKENS = 1024
"""The most that a report may have; three paragraphs need half of it."""

_ASSUMED = Assumptions(
    answer_tokens=Range(low=150, expected=350, high=700),
    claims=Range(low=6, expected=14, high=30),
)
"""Of three paragraphs; estimates of ours."""


def reports(
    data: Sequence[str | Path], form: Form, seed: int, *, any_topic: bool = False
) -> Benchmark:
    """A report on each topic whose documents disagree.

    ``rag`` asks for it with no word about conflicts (Table 8).

    Args:
        data: Sources of topics, as :func:`.topics.read_topics` takes them, each of another name.
        form: ``free-form``.
        seed: Decides what ConflictBench's construction leaves open.
        any_topic: Whether topics are taken whose documents do not disagree.

    Raises:
        InputError: A file cannot be used, two have the same name, or no topic is left.
    """
    topics: list[Topic] = []
    hashes, sources, agreeing = dict[str, str](), dict[str, str](), 0
    for source in map(str, data):
        read = read_topics(source, seed=seed)
        name = read[0].set
        if name in sources:
            raise InputError(f"{source}: it has the name of {sources[name]}; rename one of them")
        sources[name] = source
        hashes[f"data {name}"] = sha256_of_file(file_of(source))
        taken = [topic for topic in read if any_topic or topic.conflict]
        agreeing += len(read) - len(taken)
        topics += taken
    if not topics:
        raise InputError("no topic has documents in conflict; take all with --any-topic")
    left_out = f"topics left out: {agreeing}, whose documents do not disagree (--any-topic)"
    return Benchmark(
        name="reports",
        form=form,
        questions=tuple(map(_question, topics)),
        measures=SCORES,
        graded=frozenset(SCORES),
        falling=frozenset(SCORES),
        scored=True,
        wording={"free_form_rag": "report_rag"},
        reply_tokens=REPLY_TOKENS,
        assumptions=_ASSUMED,
        offered=(
            "rag",
            "resample",
            "balanced",
            "super-balanced",
        ),
        hashes=hashes,
        notes=(left_out,) if agreeing else (),
    )


def _question(topic: Topic) -> Question:
    return Question(
        id=f"{topic.set} {topic.id}",
        question=topic.text,
        category=topic.set,
        documents=tuple(map(_given, topic.documents)),
    )


def _given(document: Document) -> dict[str, Any]:
    """What is known of a document; its number follows from its place."""
    known = {"text": document.text, "title": document.title, "url": document.url}
    return {**known, "metadata": dict(document.metadata)} if document.metadata else known
