"""Reports as the harness runs them: on topics whose documents disagree, judged by their score.

The paper takes 100 questions of ConflictingQA and names the main entity of each; here the topic is
the question itself, or the claim where there is none; ``--write-topics`` has a model name entities,
into a file that can be read and corrected before a report is paid for.

Sets that fit are on matters with several sides: ConflictingQA as it is published (the paper's
own), Perspectrum, the opinions among CONFLICTS, and HealthVer, Climate-FEVER and NatConfQA, where
studies disagree. WikiContradict fits less, as two passages on one fact make no three paragraphs.
SciFact has no claim with conflict, and Factcheck-GPT next to none.
"""

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.conflict_detection.data import FORMATS
from conflictscore.benchmarks.conflict_detection.groups import GroupDocument
from conflictscore.benchmarks.harness.definition import SCORES, Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.methods.asker import Asker
from conflictscore.benchmarks.harness.methods.method import Asked, BenchmarkMethod
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import documents_of, read_items, text_of
from conflictscore.benchmarks.reports import ENTRY
from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text

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

    Args:
        source: JSON lines of groups (``id``, ``claim``, ``docs``, ``has_conflict``, and where known
            ``topic`` or ``question``), or of CONFLICTS (``id``, ``query``, ``docs``,
            ``conflict_type``); or one of ConflictBench's sources as published, after its name:
            ``conflictingqa:FILE``.
        seed: Decides what ConflictBench's construction leaves open.
    """
    kind, path = _named(source)
    if kind is not None:
        groups = FORMATS[kind](path, seed)
        topics = [
            # a claim is one side's answer
            _made(g.set, g.id, g.question or g.claim, map(_shown, g.documents), g.has_conflict)
            for g in groups
        ]
    else:
        topics = [*read_items(path, partial(_topic, name=path.stem), id_field="id").items]
    if not topics:
        raise InputError(f"{source}: there is no topic in it")
    by_documents: dict[tuple[str, ...], Topic] = {}
    for topic in topics:
        texts = sorted(document["text"] for document in topic.question.documents)
        by_documents.setdefault((str(topic.conflict), *texts), topic)
    return tuple(by_documents.values())


def _made(
    name: str, identity: str, text: str, documents: Iterable[dict[str, Any]], conflict: bool
) -> Topic:
    question = Question(
        id=f"{name} {identity}", question=text, category=name, documents=tuple(documents)
    )
    return Topic(question, conflict)


def _shown(document: GroupDocument) -> dict[str, Any]:
    return {"text": document.text, "title": document.title, "url": ""}


def file_of(source: str) -> Path:
    """The file that a source of topics names."""
    return _named(source)[1]


def _named(source: str) -> tuple[str | None, Path]:
    """The name of a published format, where the source begins with one, and the file."""
    kind, separator, rest = source.partition(":")
    published = separator and kind in FORMATS and kind != "groups"
    return (kind, Path(rest)) if published else (None, Path(source))


def _topic(row: Any, where: str, *, name: str) -> Topic:
    if not isinstance(row, Mapping):
        raise InputError(f"{where}: a JSON object is needed")
    documents = [_document(one, place) for place, one in documents_of(row, "docs", where)]
    field = next((field for field in ("topic", "query", "question") if field in row), "claim")
    return _made(
        name, _id(row, where), text_of(row, field, where), documents, _conflict(row, where)
    )


def _document(document: Any, where: str) -> dict[str, Any]:
    text = text_of(document, "text", where)
    title, url, date = (
        clean_text(value) if isinstance(value := document.get(field), str) else ""
        for field in ("title", "url", "date")
    )
    known = {"text": text, "title": title, "url": url}
    return {**known, "metadata": {"date": date}} if date else known


def _id(row: Mapping[str, Any], where: str) -> str:
    value = row.get("id")
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    return text_of(row, "id", where)


def _conflict(row: Mapping[str, Any], where: str) -> bool:
    if "conflict_type" in row:
        return text_of(row, "conflict_type", where) in _CONFLICT_TYPES
    conflict = row.get("has_conflict")
    if not isinstance(conflict, bool):
        raise InputError(f"{where}, field has_conflict: true or false is needed")
    return conflict


REPLY_TOKENS = 1024
"""The most that a report may have; three paragraphs need half of it."""


def reports(data: Sequence[str | Path], form: Form, seed: int) -> Benchmark:
    """A report on each topic whose documents disagree.

    ``rag`` asks for it with no word about conflicts (Table 8).

    Args:
        data: Sources of topics, as :func:`read_topics` takes them, each of another name.
        form: ``free-form``.
        seed: Decides what ConflictBench's construction leaves open.
    """
    topics: list[Topic] = []
    hashes, sources, agreeing = dict[str, str](), dict[str, str](), 0
    for source in map(str, data):
        read = read_topics(source, seed=seed)
        name = read[0].question.category
        if name in sources:
            raise InputError(f"{source}: it has the name of {sources[name]}; rename one of them")
        sources[name] = source
        hashes[f"data {name}"] = sha256_of_file(file_of(source))
        taken = [topic for topic in read if topic.conflict]
        agreeing += len(read) - len(taken)
        topics += taken
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


async def _write(template: str, asker: Asker, asked: Asked) -> dict[str, Any]:
    return await asker.write(template, asked.question, asked.documents)


def _report(name: str, template: str) -> BenchmarkMethod:
    return BenchmarkMethod(
        name=name, ask=partial(_write, template), forms=("free-form",), templates=(template,)
    )


BALANCED = _report("balanced", "report_balanced")
"""With care and all sides (Table 9)."""

SUPER_BALANCED = _report("super-balanced", "report_super_balanced")
"""By rules: hedge, attribute, name every view (Table 10)."""
