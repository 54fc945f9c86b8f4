"""Defines CONFLICTS for the harness, from the official file or from a shortened file.

The official and the shortened file have one line per question. In the official file
(``conflicts.jsonl``), the fields of a line are ``question``, ``conflict_type``, ``correct_answer``
and ``search_results``. The fields of a search result are ``title``, ``url``, ``snippet``, ``date``
and ``short_text``. The field ``short_text`` contains the part of the page that annotators and
models saw. In this project's shortened file, the fields of a line are ``query``, ``conflict_type``,
``gold_answer`` and ``docs``, and the fields of a document are ``url``, ``text`` and ``date``. Other
fields are ignored.
"""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from pydantic import AliasChoices, Field

from conflictscore.benchmarks.conflicts import ENTRY
from conflictscore.benchmarks.conflicts.judges import (
    BEHAVIOUR,
    GROUNDING,
    RECALL,
    REPLY_FORMS,
    judge_answer,
)
from conflictscore.benchmarks.harness.conflict_types import ConflictType
from conflictscore.benchmarks.harness.definition import Benchmark, Form
from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.benchmarks.harness.question_sample import question_id
from conflictscore.benchmarks.harness.records import Question, QuestionResult
from conflictscore.benchmarks.harness.statistics import proportion
from conflictscore.benchmarks.json_lines import Cleaned, PublishedRow, Text, read_json_lines, row_of
from conflictscore.errors import InputError
from conflictscore.reporting.figure_text import percent, span
from conflictscore.reporting.plain_table import Card

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
"""The conflict types of questions for which annotators gave a single correct answer (section 3).

Questions of other types sometimes come with an answer too, but it is one of several correct
answers.
"""
_NO_DATE = frozenset({"", "na", "n/a", "none", "unknown"})
"""Lowercase values of a document's date field that stand for an unknown date."""


def known_date(date: str | None) -> str:
    """Return the date of a document; empty if the field says that the date is unknown."""
    return "" if date is None or date.casefold() in _NO_DATE else date


def conflict_type_of(name: str, where: str) -> ConflictType:
    """Return the conflict type whose published name is ``name``; raise InputError if unknown."""
    kind = _TYPES.get(" ".join(name.casefold().split()))
    if kind is None:
        types = ", ".join(map(repr, _TYPES))
        raise InputError(f"{where}, field conflict_type: {name!r} is not one of {types}")
    return kind


class Conflicts(NamedTuple):
    """The contents of a file of CONFLICTS."""

    questions: tuple[Question, ...]
    """The questions. Ids are unique within a file, and a question has the same id in every file.

    If the conflict type has a single correct answer, ``correct`` contains this answer. Otherwise
    ``correct`` is empty. Dates of documents are copied from the file without changes.
    """
    empty_documents: int
    """The number of search results that were left out because they have no text."""


class SearchResult(PublishedRow):
    """A search result. The official and the shortened file contain different parts of the text."""

    title: Cleaned | None = None
    url: Cleaned | None = None
    date: Cleaned | None = None
    snippet: Cleaned | None = None
    short_text: Cleaned | None = None
    text: Cleaned | None = None

    def as_document(self) -> dict[str, Any]:
        """Return the result as a document of a question; its text is empty if there is no text."""
        parts = (self.snippet, self.short_text, self.text)
        date = known_date(self.date)
        return {
            "text": "\n".join(part for part in parts if part),
            "title": self.title or "",
            "url": self.url or "",
            "metadata": {"date": date} if date else {},
        }


class _Published(PublishedRow):
    """A row of CONFLICTS, with the field names of the official or the shortened file."""

    question: Text = Field(validation_alias=AliasChoices("question", "query"))
    conflict_type: Text
    gold: Cleaned | None = Field(validation_alias=AliasChoices("correct_answer", "gold_answer"))
    results: list[SearchResult] = Field(validation_alias=AliasChoices("search_results", "docs"))


def read_conflicts(path: str | Path) -> Conflicts:
    """Read CONFLICTS from the official or the shortened file, in file order."""
    questions: list[Question] = []
    empty = 0
    times: Counter[str] = Counter()
    for where, record in read_json_lines(Path(path)):
        row = row_of(_Published, record, where)
        kind = conflict_type_of(row.conflict_type, where)
        documents = [
            document
            for document in (search_result.as_document() for search_result in row.results)
            if document["text"]
        ]
        if not documents:
            raise InputError(f"{where}, field search_results: no document in it has text")
        empty += len(row.results) - len(documents)
        identity = question_id("conflicts", row.question)
        times[identity] += 1
        questions.append(
            Question(
                # a question may occur twice in a file, searched on different days with different
                # results
                id=identity if times[identity] == 1 else f"{identity}-{times[identity]}",
                question=row.question,
                correct=(row.gold,) if row.gold and kind in _ONE_ANSWER else (),
                category=kind.value,
                documents=tuple(documents),
                conflict_type=kind,
            )
        )
    if not questions:
        raise InputError(f"{path}: contains no questions")
    return Conflicts(tuple(questions), empty)


_CITED = {
    "free_form_rag": "cited_rag",
    "free_form_control_rag": "conflicts_control_rag",
    "free_form_regenerate": "conflicts_regenerate",
    "decompose": "conflicts_decompose",
}
"""Prompts that make every method cite documents in its answers, but not in its claims.

Without citations, methods could not be compared by grounding, and ``rag`` would differ from the
paper's method *vanilla*.
"""


def conflicts(data: Path, form: Form, seed: int) -> Benchmark:
    """Define CONFLICTS in free form; its three measures judge the answers."""
    file = read_conflicts(data)
    right = sum(bool(question.correct) for question in file.questions)
    notes = [
        f"answer recall is judged only on questions with a single correct answer: {right}"
        f" of {len(file.questions)} in the file",
        "grounding: a sentence counts as not supported if it cites nothing or a document that does"
        " not exist; this benchmark's prompts ask all methods for citations",
    ]
    if file.empty_documents:
        notes.append(f"search results left out because they have no text: {file.empty_documents}")
    return Benchmark(
        name="conflicts",
        form=form,
        questions=file.questions,
        measures=(BEHAVIOUR, RECALL, GROUNDING),
        graded=frozenset({GROUNDING}),
        judge=judge_answer,
        reply_forms=REPLY_FORMS,
        wording=_CITED,
        offered=ENTRY.methods,
        hashes={"data": sha256_of_file(data)},
        notes=tuple(notes),
    )


_MERGED = (ConflictType.OUTDATED, ConflictType.MISINFORMATION)
"""The types that the paper merges in Table 6."""


def merged_tables(question_results: Sequence[QuestionResult]) -> list[Card]:
    """Tabulate each method's expected behaviour on outdated information and misinformation.

    If no answer to a question of these types was judged, there is no table.
    """
    verdicts_by_method: dict[str, list[bool]] = {}
    for question_result in question_results:
        if question_result.question.conflict_type in _MERGED:
            for name, method_result in question_result.methods.items():
                if (verdict := method_result.value(BEHAVIOUR)) is not None:
                    verdicts_by_method.setdefault(name, []).append(bool(verdict))
    rows = []
    for name, verdicts in verdicts_by_method.items():
        share = proportion(sum(verdicts), len(verdicts))
        bounds = span(percent(share.low), percent(share.high))
        rows.append((name, percent(share.value), bounds, f"{share.count:,}", f"{share.n:,}"))
    if not rows:
        return []
    return [
        Card(
            title="Expected behaviour on outdated information and misinformation, as in Table 6",
            columns=("method", "%", "95 % interval", "right", "n"),
            rows=tuple(rows),
        )
    ]
