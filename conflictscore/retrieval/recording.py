"""Records the search results for each question in a file, so that they can be replayed offline.

A recording consists of JSON lines in UTF-8, one for each question. If several lines have the same
question, the last line counts.

```
{"format": 1,
 "question": "When was the lamp first lit?",       the question as it was asked
 "search": "serper",                               the --search option, without passwords
 "parameters": {"top_k": 10, "read_pages": true},  the settings of the search; never a key
 "recorded_at": "2026-11-21T09:30:00+00:00",
 "notes": [],                                      notes for the user about this search
 "results": [                                      best first; empty if nothing was found
  {"rank": 1, "provider": "serper", "url": "https://...", "title": "...",
   "snippet": "...",                               null if the search found only the text
   "date": "...",
   "text": "...",                                  the text that is used as evidence
   "text_from": "page",                            page or snippet; null if pages were not read
   "page_error": null, "fetched_at": "...",
   "metadata": {}}]}                               other single values from the search
```

Information that the search did not provide is null. Unknown fields, for example from another
version, are ignored. Values that JSON cannot represent are changed, as in ``to_documents``:
metadata other than single finite values is left out, and a lone surrogate becomes U+FFFD.
"""

import difflib
import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple, Self

from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import BaseModel, ConfigDict, Field, PrivateAttr, ValidationError, model_validator

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    NoDocumentsError,
    ProviderError,
    QuotaError,
)
from conflictscore.records import encodable, first_fault
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.cleaning import Scalar, clean_text, is_scalar
from conflictscore.retrieval.questions import question_key
from conflictscore.retrieval.search_notes import OperatorNote, collecting, note
from conflictscore.storage.record_file import (
    RecordFile,
    RecordLine,
    RecordLines,
    json_line,
    no_json,
)
from conflictscore.threads import each

FAILURES_IN_A_ROW = 5
"""Number of consecutive failures after which no further question is asked. Single failures may be
accidental, but after this many in a row, the other questions would fail too."""

# The user name and password in an address.
_LOGIN = re.compile(r"//[^/?#\s,]*@")
_BEGINNING = b'{"format"'
"""The beginning of every line of a recording."""
_TEXTS = (
    "provider",
    "url",
    "title",
    "snippet",
    "date",
    "text_from",
    "page_error",
    "fetched_at",
)
"""The text fields of a result. A document's metadata uses the same names, except for ``url``."""
_SOURCE = {"url": "source"}
"""Maps a result's field to the metadata field that retrievers use for it."""


class _Part(BaseModel):
    """Base class of the objects in a line. Values are not coerced, and must be valid JSON."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


class _Result(_Part):
    """A document that the search found; fields that the search did not provide are null."""

    rank: Annotated[int, Field(ge=1)] | None
    provider: str | None
    url: str | None
    title: str | None
    snippet: str | None
    date: str | None
    text: str
    text_from: str | None
    page_error: str | None
    fetched_at: str | None
    metadata: dict[str, Scalar]


class _Recording(_Part):
    """A line of the file: a question, the parameters of the search, and its results."""

    format: Literal[1] = 1
    question: Annotated[str, Field(min_length=1)]
    search: str
    parameters: dict[str, Scalar | list[str]]
    recorded_at: str
    notes: tuple[str, ...]
    results: tuple[_Result, ...]


def _read(lines: RecordLines) -> dict[str, _Recording]:
    """Return the recordings in a file by question; the last line for each question counts."""
    found: dict[str, _Recording] = {}
    shown = lines.path.as_posix()
    try:
        for line in lines:
            if line.text.strip():
                recording = _decoded(line.text, f"{shown}, line {line.number}")
                found[question_key(recording.question)] = recording
    except FileNotFoundError as error:
        raise InputError(f"{shown}: cannot be read ({error.strerror})") from None
    return found


def _decoded(line: bytes, where: str) -> _Recording:
    """Read a line of a recording; the message of an InputError names the field."""
    try:
        return _Recording.model_validate_json(line)
    except ValidationError as error:
        try:
            number = json.loads(line)["format"]
        except (LookupError, TypeError, ValueError, RecursionError):
            raise InputError(f"{where}: not a recorded question") from None
        if isinstance(number, int) and number > 1:
            raise InputError(
                f"{where}, field format: {number} was written by a newer conflictscore; upgrade it"
            ) from None
        field, why = first_fault(error)
        raise InputError(f"{where}{field and f', field {field}'}: {why}") from None


def _is_half(line: RecordLine) -> bool:
    """Return whether an incomplete last line is the start of a recording rather than other text."""
    return _BEGINNING.startswith(line.text[: len(_BEGINNING)]) and no_json(line)


def _as_result(document: Document) -> _Result:
    metadata: dict[str, Scalar] = {
        encodable(key): encodable(value) if isinstance(value, str) else value
        for key, value in document.metadata.items()
        if is_scalar(value)
    }
    named: dict[str, Any] = dict.fromkeys((*_TEXTS, "rank"))
    for field in _TEXTS:
        if isinstance(metadata.get(key := _SOURCE.get(field, field)), str):
            named[field] = metadata.pop(key)
    rank = metadata.get("rank")
    if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 1:
        named["rank"] = metadata.pop("rank")
    return _Result(**named, text=encodable(document.page_content), metadata=metadata)


def _as_document(result: _Result) -> Document:
    named = {_SOURCE.get(field, field): getattr(result, field) for field in (*_TEXTS, "rank")}
    said = {key: value for key, value in named.items() if value is not None}
    return Document(page_content=result.text, metadata={**result.metadata, **said})


class RecordedRetriever(TopKRetriever):
    """Returns the recorded results of a search, one document for each.

    A question matches its recording even if its white space or Unicode form differs. The file is
    read and checked when the retriever is created. Safe to use from many threads at once.

    Raises:
        NoDocumentsError: The question was not recorded.
        InputError: ``k`` is out of range, the question is empty, or the file at ``path`` cannot be
            read, is damaged or is empty.
    """

    provider: ClassVar[str] = "recorded"

    path: Path

    _recordings: dict[str, _Recording] = PrivateAttr()

    @classmethod
    def from_file(cls, path: str | Path, k: int = 10) -> Self:
        """Opens a recording."""
        return cls(path=Path(path), k=k)

    def missing(self, questions: Sequence[str]) -> tuple[str, ...]:
        """Return the questions that are not recorded yet, in order and without repetitions."""
        lacking = (text for text in questions if question_key(text) not in self._recordings)
        return tuple(dict.fromkeys(lacking))

    def search(self, query: str, k: int) -> list[Document]:
        """Return the recorded results for a question, and repeat the notes recorded with them."""
        recording = self._recordings.get(question_key(query))
        shown = self.path.as_posix()
        if recording is None:
            near = difflib.get_close_matches(question_key(query), self._recordings, n=1)
            nearest = f"; the most similar question is {near[0]!r}" if near else ""
            raise NoDocumentsError(
                f"{shown}: there is no recording for the question {query!r};"
                f" questions recorded: {len(self._recordings)}{nearest}"
            )
        for text in recording.notes:
            note(OperatorNote(text))
        asked_for = recording.parameters.get("top_k")
        if isinstance(asked_for, int) and k > asked_for:
            note(f"{asked_for} results were requested when recording, and {k} are requested now")
        return [_as_document(result) for result in recording.results[:k]]

    @model_validator(mode="after")
    def _open(self) -> Self:
        self._recordings = _read(RecordLines(self.path, _is_half))
        if not self._recordings:
            raise InputError(f"{self.path.as_posix()}: the recording is empty")
        return self


class FailedQuestion(NamedTuple):
    """A question that could not be recorded, and the reason."""

    question: str
    error: ConflictScoreError


@dataclass(frozen=True, slots=True)
class RecordingReport:
    """How many questions were ``wanted``, recorded ``before``, and ``recorded`` by this run.

    Attributes:
        empty: The number of questions that this run recorded without any result.
        failures: The questions that failed in this run.
        stopped: The error that ended the run early, if any: a ``QuotaError``, or the last of
            ``FAILURES_IN_A_ROW`` consecutive errors.
    """

    wanted: int
    before: int = 0
    recorded: int = 0
    empty: int = 0
    failures: tuple[FailedQuestion, ...] = ()
    stopped: ProviderError | None = None

    @property
    def left(self) -> int:
        """Return the number of questions that are still to be recorded."""
        return self.wanted - self.before - self.recorded


async def record_questions(
    questions: Sequence[str],
    retriever: BaseRetriever,
    out: str | Path,
    *,
    search: str,
    parameters: Mapping[str, Any],
    concurrency: int = 2,
    on_progress: Callable[[RecordingReport], None] = lambda report: None,
) -> RecordingReport:
    """Record the retriever's results for each question that is not in the file yet.

    The results of a question are on disk before the next question is asked. If the process is
    killed or interrupted (Ctrl-C), or the day's quota is used up, repeat the same call later to
    continue. A question that fails is not recorded and is not asked again in this run. If the quota
    is used up or the search keeps failing, the run ends early and the report gives the reason.

    Args:
        questions: The questions. Repeated questions are asked once.
        retriever: The retriever to record. The retriever's documents are recorded in full.
        out: The file to write, which is created if it is missing.
        search: The name of the search, as in ``--search``. Passwords in the name are removed.
        parameters: The settings of the search, as single values and lists of strings, without
            secrets. ``top_k`` is the number of documents per question.
        concurrency: Maximum number of questions asked at the same time, at least 1.
        on_progress: Called at the start and after each question.

    Raises:
        InputError: A question is empty, ``concurrency`` is out of range, or the file cannot be
            written or has other settings.
        ConfigurationError: The retriever's settings are wrong, for example its key.
    """
    if concurrency < 1:
        raise InputError(f"concurrency must be at least 1, but is {concurrency}")
    wanted: dict[str, str] = {}
    for question in questions:
        wanted.setdefault(question_key(question), clean_text(question))
    if "" in wanted:
        raise InputError("a question is empty")
    how: dict[str, Any] = {"search": _LOGIN.sub("//", search), "parameters": dict(parameters)}
    # the form in which the settings are read back from the file, for the comparison below
    how = json.loads(encodable(json.dumps(how, ensure_ascii=False)))
    path = Path(out)
    kept = "the questions recorded so far"
    with RecordFile(path, is_half=_is_half, resumed_from=kept) as file:
        known = _read(file.lines)
        _refuse_other_settings(path, known, how)
        file.resume()  # only now, since a refused file must stay unchanged
        todo = [question for key, question in wanted.items() if key not in known]
        report = RecordingReport(len(wanted), before=len(wanted) - len(todo))
        failed_in_a_row = 0

        async def ask(question: str) -> None:
            """Record a question's results, or the reason why it failed."""
            nonlocal report, failed_in_a_row
            if report.stopped:
                return
            try:
                with collecting() as notes:
                    found = await retriever.ainvoke(question)
            except ConfigurationError:  # every other question would fail too
                raise
            except ConflictScoreError as error:
                used_up = isinstance(error, QuotaError)
                if not used_up:
                    failures = (*report.failures, FailedQuestion(question, error))
                    report = replace(report, failures=failures)
                if isinstance(error, ProviderError):  # other errors affect only this question
                    failed_in_a_row += 1
                    if used_up or failed_in_a_row >= FAILURES_IN_A_ROW:
                        # of questions that failed at the same time, the first one counts
                        report = replace(report, stopped=report.stopped or error)
            else:
                recording = _Recording(
                    question=question,
                    **how,
                    recorded_at=datetime.now(UTC).isoformat(timespec="seconds"),
                    notes=tuple(map(encodable, (*getattr(retriever, "notes", ()), *notes))),
                    results=tuple(map(_as_result, found)),
                )
                file.append(json_line(recording.model_dump(), escape=False))
                failed_in_a_row = 0
                empty = report.empty + (not found)
                report = replace(report, recorded=report.recorded + 1, empty=empty)
            on_progress(report)

        on_progress(report)
        await each(todo, ask, concurrency)
    return report


def _refuse_other_settings(
    path: Path, known: Mapping[str, _Recording], how: Mapping[str, Any]
) -> None:
    here = {"search": how["search"], **how["parameters"]}
    for recording in known.values():
        there: dict[str, Any] = {"search": recording.search, **recording.parameters}
        change = ", ".join(
            f"{name} was {there.get(name)!r} and is now {here.get(name)!r}"
            for name in {**there, **here}
            if there.get(name) != here.get(name)
        )
        if change:
            raise InputError(
                f"{path.as_posix()} was recorded with different settings: {change}; use a different"
                " file"
            )
