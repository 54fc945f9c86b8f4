"""Reports as the harness runs them: on topics whose documents disagree, judged by their score.

The paper takes 100 questions of ConflictingQA and names the main entity of each; here the topic is
the question itself, or the claim if there is no question; ``--write-topics`` has a model name
entities, into a file that can be read and corrected before a report is paid for.

Sets that fit are on matters with several sides: ConflictingQA as it is published (the paper's
own), Perspectrum, the opinions among CONFLICTS, and HealthVer, Climate-FEVER and NatConfQA, where
studies disagree. WikiContradict fits less, as two passages on one fact make no three paragraphs.
SciFact has no claim with conflict, and Factcheck-GPT next to none.
"""

import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from conflictscore.answering.answer_replies import read_text
from conflictscore.benchmarks.conflict_detection.data import FORMATS, named_format
from conflictscore.benchmarks.conflict_detection.groups import GroupDocument
from conflictscore.benchmarks.harness.definition import SCORES, Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import Cleaned, PublishedRow, Text, read_items
from conflictscore.benchmarks.judging import Judge, at_once
from conflictscore.benchmarks.reports import ENTRY
from conflictscore.errors import InputError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material_line
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.storage.private_files import write_whole

_CONFLICT_TYPES = (
    "Conflicting opinions or research outcomes",
    "Conflict due to outdated information",
    "Conflict due to misinformation",
)
"""Types that CONFLICTS calls a conflict; complementary information is none."""


class Topic(NamedTuple):
    """The topic of a report: a question, or a claim that may be true or false."""

    question: Question
    """Its category is the name of its file."""
    conflict: bool
    """People's answer: the documents disagree."""

    @property
    def id(self) -> str:
        """The question's."""
        return self.question.id


def read_topics(source: str, *, seed: int = 0) -> tuple[Topic, ...]:
    """Read the topics of one file, in its order.

    A row's ``topic`` is the topic, otherwise its question, and its claim where it has none. Topics
    with the same documents count once, such as the two claims that WikiContradict has a question.

    The file holds JSON lines of groups (``id``, ``claim``, ``docs``, ``has_conflict``, and where
    known ``topic`` or ``question``), or of CONFLICTS (``id``, ``query``, ``docs``,
    ``conflict_type``); or it is one of ConflictBench's sources as published, after its name:
    ``conflictingqa:FILE``. ``seed`` decides what ConflictBench's construction leaves open.
    """
    kind, path = named_format(source)
    if kind != "groups":
        topics = [
            # a claim is one side's answer
            _made(
                group.set,
                group.id,
                group.question or group.claim,
                group.documents,
                group.has_conflict,
            )
            for group in FORMATS[kind](path, seed)
        ]
    else:
        topics = [*read_items(path, _Row, partial(_topic, name=path.stem), id_field="id").items]
    by_documents: dict[tuple[str, ...], Topic] = {}
    for topic in topics:
        texts = sorted(document["text"] for document in topic.question.documents)
        by_documents.setdefault((str(topic.conflict), *texts), topic)
    return tuple(by_documents.values())


class _Document(PublishedRow):
    """A document that a report is written from; empty fields are not shown to the model."""

    text: Text
    title: Cleaned | None = None
    url: Cleaned | None = None
    date: Cleaned | None = None


class _Row(PublishedRow):
    """A row of groups, or of CONFLICTS with its ``query``; see :func:`read_topics`."""

    id: int | Text
    topic: Text | None = None
    query: Text | None = None
    question: Text | None = None
    claim: Text | None = None
    docs: Annotated[list[_Document], Field(min_length=1)]
    conflict_type: Text | None = None
    has_conflict: bool | None = None


def _topic(row: _Row, where: str, *, name: str) -> Topic:
    text = row.topic or row.query or row.question or row.claim
    if text is None:
        raise InputError(f"{where}, field claim: a text is needed that is not empty")
    if row.conflict_type is None and row.has_conflict is None:
        raise InputError(f"{where}, field has_conflict: true or false is needed")
    conflict = bool(row.has_conflict)
    if row.conflict_type is not None:
        conflict = row.conflict_type in _CONFLICT_TYPES
    return _made(name, str(row.id), text, row.docs, conflict)


def _made(
    name: str,
    identity: str,
    text: str,
    documents: Sequence[_Document | GroupDocument],
    conflict: bool,
) -> Topic:
    question_documents = [
        {
            "text": document.text,
            "title": document.title or "",
            "url": getattr(document, "url", None) or "",
        }
        | (
            {"metadata": {"date": document.date}}
            if isinstance(document, _Document) and document.date
            else {}
        )
        for document in documents
    ]
    question = Question(
        id=f"{name} {identity}", question=text, category=name, documents=tuple(question_documents)
    )
    return Topic(question, conflict)


REPLY_TOKENS = 1024
"""The most that a report may have; three paragraphs need half of it."""


def reports(data: Sequence[str | Path], form: Form, seed: int) -> Benchmark:
    """A report on each topic whose documents disagree.

    ``rag`` asks for it with no word about conflicts (Table 8). Each source has another name.
    """
    topics: list[Topic] = []
    hashes, sources, agreeing = dict[str, str](), dict[str, str](), 0
    for source in map(str, data):
        source_topics = read_topics(source, seed=seed)
        name = source_topics[0].question.category
        if name in sources:
            raise InputError(f"{source}: it has the name of {sources[name]}; rename one of them")
        sources[name] = source
        hashes[f"data {name}"] = sha256_of_file(named_format(source)[1])
        disputed_topics = [topic for topic in source_topics if topic.conflict]
        agreeing += len(source_topics) - len(disputed_topics)
        topics += disputed_topics
    if not topics:
        raise InputError("no topic has documents in conflict")
    left_out = f"topics left out: {agreeing}, whose documents do not disagree"
    return Benchmark(
        name="reports",
        form=form,
        questions=tuple(topic.question for topic in topics),
        measures=SCORES,
        graded=frozenset(SCORES),
        falling=frozenset(SCORES),
        scored=True,
        prompt_set="paper",
        wording={"free_form_rag": "report_rag"},
        reply_tokens=REPLY_TOKENS,
        usual_claims=14,
        offered=ENTRY.methods,
        hashes=hashes,
        notes=(left_out,) if agreeing else (),
    )


async def _write(template: str, asker: Asker, request: Asked) -> dict[str, Any]:
    return await asker.write(template, request.question, request.documents)


def _report(name: str, template: str) -> BenchmarkMethod:
    return BenchmarkMethod(name=name, ask=partial(_write, template), forms=("free-form",))


BALANCED = _report("balanced", "report_balanced")
"""With care and all sides (Table 9)."""

SUPER_BALANCED = _report("super-balanced", "report_super_balanced")
"""By rules: hedge, attribute, name every view (Table 10)."""


_TOPIC_TOKENS = 60


def write_topics(
    benchmark: Benchmark,
    out: Path,
    model: LanguageModel,
    prompts: PromptSet,
    tell: Callable[[str, str], None],
) -> None:
    """Have a model name the main entity of each question, and write a file to run reports from.

    The file has the questions' documents and their ``topic``. A question is a call, and the model's
    cache makes a second time free. ``tell`` is called with each question and its topic, in order.

    Raises:
        ProviderError: A topic could not be had; nothing is written.
    """
    judge = Judge(model, prompts, UsageMeter())
    calls = [partial(_main_entity, judge, question.question) for question in benchmark.questions]
    topics = run_for_sync_caller(at_once(calls))
    rows = []
    for question, topic in zip(benchmark.questions, topics, strict=True):
        tell(question.question, topic)
        rows.append(json.dumps(_row(question, topic), ensure_ascii=False))
    write_whole(out, "".join(f"{row}\n" for row in rows).encode())


async def _main_entity(judge: Judge, question: str) -> str:
    prompt = judge.prompts.render("report_topic", question=material_line(question))
    return " ".join(clean_text(await judge.ask(prompt, read_text, _TOPIC_TOKENS)).split())


def _row(question: Question, topic: str) -> dict[str, Any]:
    documents = [
        {**document, "date": document.get("metadata", {}).get("date", "")}
        for document in question.documents
    ]
    fields = {"id": question.id, "topic": topic, "question": question.question}
    return {**fields, "docs": documents, "has_conflict": True}
