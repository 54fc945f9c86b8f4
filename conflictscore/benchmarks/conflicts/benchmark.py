"""CONFLICTS as the harness runs it, from the official file or the shortened one of this project.

The official file (``conflicts.jsonl``) has a line a question: ``question``, ``conflict_type``,
``correct_answer`` and ``search_results``, each with ``title``, ``url``, ``snippet``, ``date`` and
``short_text``, the segment of the page that people and models were shown. The shortened one has
``query``, ``conflict_type``, ``gold_answer`` and ``docs``, each with ``url``, ``text`` and
``date``. Further fields are ignored.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from conflictscore.benchmarks.conflicts import ENTRY
from conflictscore.benchmarks.conflicts.judges import (
    BEHAVIOUR,
    GROUNDING,
    RECALL,
    REPLY_FORMS,
    TEMPLATES,
    judge_answer,
)
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.harness.records import Question
from conflictscore.benchmarks.json_lines import read_json_lines
from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text

_TYPES = {
    "no conflict": ConflictType.NO_CONFLICT,
    "complementary information": ConflictType.COMPLEMENTARY,
    "conflicting opinions and research outcomes": ConflictType.CONFLICTING_OPINIONS,
    "conflicting opinions or research outcomes": ConflictType.CONFLICTING_OPINIONS,
    "conflict due to outdated information": ConflictType.OUTDATED,
    "conflict due to misinformation": ConflictType.MISINFORMATION,
}
_ONE_ANSWER = frozenset(
    {ConflictType.NO_CONFLICT, ConflictType.OUTDATED, ConflictType.MISINFORMATION}
)
"""The types of which people were asked for the right answer (section 3); with the others an answer
stands there now and then, and is one of several."""
_NO_DATE = frozenset({"", "na", "n/a", "none", "unknown"})


class Conflicts(NamedTuple):
    """The questions of a file."""

    questions: tuple[Question, ...]
    """Unique ids, the same for the same question in every file; ``correct`` holds the right answer,
    if there is one that can be trusted. Dates of documents are as they are written there."""
    empty_documents: int
    """Search results without text, which were left out."""


class _Format(NamedTuple):
    """How one of the two files calls things."""

    question: str
    gold: str
    documents: str
    title: str | None
    texts: tuple[str, ...]
    """The fields that make up what is shown of a document, in this order."""


_OFFICIAL = _Format(
    "question", "correct_answer", "search_results", "title", ("snippet", "short_text")
)
_SHORTENED = _Format("query", "gold_answer", "docs", None, ("text",))


def read_conflicts(path: str | Path) -> Conflicts:
    """Read CONFLICTS, in file order.

    Args:
        path: The official file, or the shortened one; told apart by the name of the documents.
    """
    questions: list[Question] = []
    empty = 0
    seen: Counter[str] = Counter()
    for where, record in read_json_lines(Path(path)):
        form = _format(record, where)
        documents, without_text = _documents(record, form, where)
        empty += without_text
        text = _required(record, form.question, where)
        identity = question_id("conflicts", text)
        seen[identity] += 1
        kind = _type(_required(record, "conflict_type", where), where)
        gold = _optional(record, form.gold, where)
        questions.append(
            Question(
                # the same question may have been asked on another day, with other results
                id=identity if seen[identity] == 1 else f"{identity}-{seen[identity]}",
                question=text,
                correct=(gold,) if gold and kind in _ONE_ANSWER else (),
                category=kind.value,
                documents=documents,
                conflict_type=kind,
            )
        )
    if not questions:
        raise InputError(f"{path}: it has no questions")
    return Conflicts(tuple(questions), empty)


def _format(record: Any, where: str) -> _Format:
    if isinstance(record, Mapping):
        for form in (_OFFICIAL, _SHORTENED):
            if form.documents in record:
                return form
    raise InputError(
        f"{where}, field search_results: it is missing (in the shortened file it is called docs)"
    )


def _type(name: str, where: str) -> ConflictType:
    kind = _TYPES.get(" ".join(name.casefold().split()))
    if kind is None:
        known = ", ".join(map(repr, _TYPES))
        raise InputError(f"{where}, field conflict_type: {name!r} is none of {known}")
    return kind


def _documents(
    record: Mapping[str, Any], form: _Format, where: str
) -> tuple[tuple[dict[str, Any], ...], int]:
    """The documents with text, and how many have none."""
    given = record[form.documents]
    if not isinstance(given, list):
        raise InputError(f"{where}, field {form.documents}: a list of documents is needed")
    documents: list[dict[str, Any]] = []
    for number, item in enumerate(given, start=1):
        place = f"{where}, {form.documents} {number}"
        text = "\n".join(part for name in form.texts if (part := _optional(item, name, place)))
        title = _optional(item, form.title, place) if form.title else ""
        url, date = _optional(item, "url", place), _optional(item, "date", place)
        if text:
            known = {} if date.casefold() in _NO_DATE else {"date": date}
            documents.append({"text": text, "title": title, "url": url, "metadata": known})
    if not documents:
        raise InputError(f"{where}, field {form.documents}: no document in it has text")
    return tuple(documents), len(given) - len(documents)


def _required(record: Mapping[str, Any], field: str, where: str) -> str:
    text = _optional(record, field, where)
    if not text:
        raise InputError(f"{where}, field {field}: it is empty")
    return text


def _optional(record: Any, field: str, where: str) -> str:
    """The text of a field that must be there and may be empty or null."""
    if not isinstance(record, Mapping) or field not in record:
        raise InputError(f"{where}, field {field}: it is missing")
    value = record[field]
    if value is not None and not isinstance(value, str):
        raise InputError(f"{where}, field {field}: a text is needed, got {type(value).__name__}")
    return clean_text(value or "")


_CITED = {
    "free_form_rag": "cited_rag",
    "free_form_control_rag": "conflicts_control_rag",
    "free_form_regenerate": "conflicts_regenerate",
    "decompose": "conflicts_decompose",
}
"""All methods are asked for citations, and claims are told without them: otherwise grounding could
not be compared, and ``rag`` would not be the paper's *vanilla*."""


def conflicts(data: Path, form: Form, seed: int) -> Benchmark:
    """CONFLICTS in free form, judged by expected behaviour, answer recall and grounding."""
    read = read_conflicts(data)
    right = sum(bool(question.correct) for question in read.questions)
    notes = [
        f"answer recall is judged on questions with a right answer that people wrote: {right} of"
        f" {len(read.questions)} in the file",
        "grounding: sentences that cite nothing, or a document that does not exist, are not"
        " supported; all methods are asked for citations, in wordings of this benchmark",
    ]
    if read.empty_documents:
        notes.append(f"search results without text, left out: {read.empty_documents}")
    return Benchmark(
        name="conflicts",
        form=form,
        questions=read.questions,
        measures=(BEHAVIOUR, RECALL, GROUNDING),
        graded=frozenset({GROUNDING}),
        judge=judge_answer,
        reply_forms=REPLY_FORMS,
        templates=TEMPLATES,
        wording=_CITED,
        offered=ENTRY.methods,
        hashes={"data": sha256_of_file(data)},
        notes=tuple(notes),
    )
