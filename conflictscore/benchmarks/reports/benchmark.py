"""Defines the report benchmark, which scores reports on topics whose documents disagree.

The paper takes 100 questions of ConflictingQA, and the main entity of each question is the topic of
a report. In this benchmark, the topic is the question itself, or the claim if there is no question.
With ``--write-topics``, a model names the main entities, which are written to a file. The names can
be checked and corrected in the file before any report is paid for.

Suitable sets cover controversial topics. Examples are ConflictingQA as published (the set that the
paper uses), Perspectrum, and the opinions in CONFLICTS. HealthVer, Climate-FEVER and NatConfQA
contain studies that disagree, so these sets are suitable too. WikiContradict is less suitable,
since two passages on one fact are not enough for three paragraphs. In SciFact there are no claims
with a conflict, and in Factcheck-GPT there are almost none.

Limits without a stated reason were chosen by hand.
"""

import hashlib
import json
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple

from pydantic import Field

from conflictscore.answering.answer_replies import read_text
from conflictscore.benchmarks.conflict_detection.conflictbench import CONTRAQA_FILES
from conflictscore.benchmarks.conflict_detection.data import FORMATS, named_format
from conflictscore.benchmarks.conflict_detection.groups import GroupDocument
from conflictscore.benchmarks.conflicts.benchmark import SearchResult, conflict_type_of, known_date
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.definition import SCORES, Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import Cleaned, PublishedRow, Text, read_items
from conflictscore.benchmarks.judging import Judge
from conflictscore.benchmarks.reports import ENTRY
from conflictscore.errors import InputError
from conflictscore.graph.binding import run_for_sync_caller
from conflictscore.models.language_model import LanguageModel
from conflictscore.models.usage import UsageMeter
from conflictscore.prompts import PromptSet, material_line
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.storage.private_files import write_whole
from conflictscore.threads import at_once

_DISAGREEING = frozenset(
    {ConflictType.CONFLICTING_OPINIONS, ConflictType.OUTDATED, ConflictType.MISINFORMATION}
)
"""The types in CONFLICTS whose documents disagree.

Complementary information is not among these types, since its answers can all be true.
"""


class Topic(NamedTuple):
    """The topic of a report, which is a question, a claim or the name of an entity."""

    question: Question
    """The topic as a question; its category is the name of the topic's file."""
    conflict: bool
    """Whether the documents disagree, according to annotators."""

    @property
    def id(self) -> str:
        """The id of the topic's question."""
        return self.question.id


def read_topics(source: str, *, seed: int = 0) -> tuple[Topic, ...]:
    """Read the topics from a file, in file order.

    The topic of a row is its field ``topic``. If this field is missing, the topic is the row's
    question, and if there is no question either, it is the claim. If several topics have the same
    documents, and the same verdict on whether these disagree, only the first topic is used. For
    example, WikiContradict has two claims for each question, and they share their documents.

    The file contains JSON lines in one of two formats. A line of a file of groups has the fields
    ``id``, ``claim``, ``docs`` and ``has_conflict``, and it can have ``topic`` or ``question``. A
    line of CONFLICTS has the fields that :mod:`conflictscore.benchmarks.conflicts.benchmark` lists;
    its conflict type says whether the documents disagree. ``source`` may also be the name and path
    of one of ConflictBench's published sources, such as ``conflictingqa:FILE``. ``seed`` controls
    the random choices in ConflictBench's construction.

    Raises:
        InputError: The file has no topic, or a row cannot be used.
    """
    kind, path = named_format(source)
    if kind != "groups":
        topics = [
            # a claim states the answer of one side, so it is used only if there is no question
            _made(
                group.set,
                group.id,
                group.question or group.claim,
                [_document(document) for document in group.documents],
                group.has_conflict,
            )
            for group in FORMATS[kind](path, seed)
        ]
    else:
        topics = [*read_items(path, _Row, partial(_topic, name=path.stem), id_field="id").items]
    if not topics:
        raise InputError(f"{source}: contains no claims")
    by_documents: dict[tuple[str, ...], Topic] = {}
    for topic in topics:
        texts = sorted(document["text"] for document in topic.question.documents)
        # with the verdict, so that an undisputed topic does not replace a disputed one
        by_documents.setdefault((str(topic.conflict), *texts), topic)
    return tuple(by_documents.values())


class _Document(PublishedRow):
    """A document for a report. The model does not see empty fields."""

    text: Text
    title: Cleaned | None = None
    url: Cleaned | None = None
    date: Cleaned | None = None


class _Row(PublishedRow):
    """A row of a file of groups, or of CONFLICTS; see :func:`read_topics`.

    The official file of CONFLICTS has ``question`` and ``search_results``, and no ``id``. The
    shortened file has ``query`` and ``docs``.
    """

    id: int | Text | None = None
    topic: Text | None = None
    query: Text | None = None
    question: Text | None = None
    claim: Text | None = None
    docs: Annotated[list[_Document], Field(min_length=1)] | None = None
    search_results: list[SearchResult] | None = None
    conflict_type: Text | None = None
    has_conflict: bool | None = None


def _topic(row: _Row, where: str, *, name: str) -> Topic:
    text = row.topic or row.query or row.question or row.claim
    if text is None:
        raise InputError(f"{where}, field claim: a non-empty string is needed")
    if row.conflict_type is None and row.has_conflict is None:
        raise InputError(f"{where}, field has_conflict: true or false is needed")
    conflict = bool(row.has_conflict)
    if row.conflict_type is not None:
        conflict = conflict_type_of(row.conflict_type, where) in _DISAGREEING
    documents = _documents_of(row)
    if not documents:
        raise InputError(f"{where}, field docs: no document in it has text")
    if row.id is None and row.search_results is None:
        raise InputError(f"{where}, field id: Field required")
    identity = question_id("conflicts", text) if row.id is None else str(row.id)
    return _made(name, identity, text, documents, conflict)


def _documents_of(row: _Row) -> list[dict[str, Any]]:
    if row.docs is not None:
        return [_document(document) for document in row.docs]
    documents = [search_result.as_document() for search_result in row.search_results or ()]
    return [document for document in documents if document["text"]]


def _document(document: _Document | GroupDocument) -> dict[str, Any]:
    fields = {"text": document.text, "title": document.title or "", "url": ""}
    if isinstance(document, GroupDocument):
        return fields
    date = known_date(document.date)
    return {**fields, "url": document.url or ""} | ({"metadata": {"date": date}} if date else {})


def _made(
    name: str, identity: str, text: str, documents: Sequence[dict[str, Any]], conflict: bool
) -> Topic:
    # the id contains the name, since two sources may use the same ids
    question = Question(
        id=f"{name} {identity}", question=text, category=name, documents=tuple(documents)
    )
    return Topic(question, conflict)


REPLY_TOKENS = 1024
"""The maximum number of tokens in a report.

Three paragraphs need about half as many. A report that is cut off here is requested again. If the
second report is cut off too, the method has failed on this question.
"""


def reports(data: Sequence[str | Path], form: Form, seed: int) -> Benchmark:
    """Define the benchmark, with one report for each topic whose documents disagree.

    The prompt of ``rag`` asks for a report and does not mention conflicts (Table 8). No two sources
    may have the same name.
    """
    topics: list[Topic] = []
    hashes, sources, agreeing = dict[str, str](), dict[str, str](), 0
    for source in map(str, data):
        source_topics = read_topics(source, seed=seed)
        name = source_topics[0].question.category
        if name in sources:
            raise InputError(f"{source}: has the same name as {sources[name]}; rename one of them")
        sources[name] = source
        hashes[f"data {name}"] = _sha256_of(named_format(source)[1])
        disputed_topics = [topic for topic in source_topics if topic.conflict]
        agreeing += len(source_topics) - len(disputed_topics)
        topics += disputed_topics
    if not topics:
        raise InputError("there is no topic whose documents disagree")
    left_out = f"topics left out because their documents do not disagree: {agreeing}"
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
        usual_claims=14,  # three paragraphs of about five sentences; estimated, not measured
        offered=ENTRY.methods,
        hashes=hashes,
        notes=(left_out,) if agreeing else (),
    )


def _sha256_of(path: Path) -> str:
    """Return the hash of a source, which is a file or ContraQA's folder."""
    if not path.is_dir():
        return sha256_of_file(path)
    hashes = "".join(sha256_of_file(path / name) for name in CONTRAQA_FILES)
    return hashlib.sha256(hashes.encode()).hexdigest()


async def _write(template: str, asker: Asker, request: Asked) -> dict[str, Any]:
    return await asker.write(template, request.question, request.documents)


def _report(name: str, template: str) -> BenchmarkMethod:
    return BenchmarkMethod(name=name, ask=partial(_write, template), forms=("free-form",))


BALANCED = _report("balanced", "report_balanced")
"""The method whose prompt asks for a careful report that covers all sides (Table 9)."""

SUPER_BALANCED = _report("super-balanced", "report_super_balanced")
"""The method whose prompt gives explicit rules for the report (Table 10).

The report must hedge its statements, attribute them to their sources, and name every view.
"""


_TOPIC_TOKENS = 60
"""The maximum number of tokens in the name of a topic, which has a few words.

The limit stops a model that explains its choice. A name that is too long is shown, and can be
corrected in the file.
"""


def write_topics(
    benchmark: Benchmark,
    out: Path,
    model: LanguageModel,
    prompts: PromptSet,
    tell: Callable[[str, str], None],
) -> None:
    """Have a model name the main entity of each question, and write a data file for reports.

    The file contains each question with its documents and its ``topic``. Each question costs one
    call. If the model's replies are cached, a second run costs nothing. ``tell`` is called with
    each question and its topic, in order.

    Raises:
        ProviderError: The model could not name a topic. No file is written.
    """
    judge = Judge(model, prompts, UsageMeter())  # the meter is required, but not read
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
