"""Search results kept in a file: what was found for each question, to be found again offline.

A recording is JSON lines in UTF-8, a line a question; of several with the same one the last counts.

```
{"format": 1,
 "question": "When was the lamp first lit?",       as it was asked
 "search": "serper",                               as --search names it, without passwords
 "parameters": {"top_k": 10, "read_pages": true},  how it was asked; never a key
 "recorded_at": "2026-11-21T09:30:00+00:00",
 "notes": [],                                      what the user should know about this search
 "results": [                                      best first; none if nothing was found
  {"rank": 1, "provider": "serper", "url": "https://...", "title": "...",
   "snippet": "...",                               null if the text is all that was found
   "date": "...",
   "text": "...",                                  what evidence is looked for in
   "text_from": "page",                            page or snippet, where pages were read
   "page_error": null, "fetched_at": "...",
   "metadata": {}}]}                               what else the search knew, single values
```

What a search did not say is null. Unknown fields, as of an earlier version, mean nothing. What no
JSON can hold is changed on the way: metadata that is no single finite value is left out, and a lone
surrogate becomes U+FFFD, as ``to_documents`` does.
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
from conflictscore.retrieval.search_notes import collecting, note
from conflictscore.storage.record_file import (
    RecordFile,
    RecordLine,
    RecordLines,
    json_line,
    no_json,
)
from conflictscore.threads import each

FAILURES_IN_A_ROW = 5
"""How many questions a search may fail, one after the other, until no further one is asked."""

_LOGIN = re.compile(r"//[^/?#\s,]*@")
_BEGINNING = b'{"format"'
"""How every line of a recording begins."""
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
"""The fields of a result that hold a text; a document's metadata has the same, but for the url."""
_SOURCE = {"url": "source"}


class _Part(BaseModel):
    """Nothing coerced, nothing that JSON cannot hold."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


class _Result(_Part):
    """A document that was found; null is what the search did not say."""

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
    """A line of the file: a question, how it was asked, and what was found."""

    format: Literal[1] = 1
    question: Annotated[str, Field(min_length=1)]
    search: str
    parameters: dict[str, Scalar | list[str]]
    recorded_at: str
    notes: tuple[str, ...]
    results: tuple[_Result, ...]


def _read(lines: RecordLines) -> dict[str, _Recording]:
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
    """Whether a last line without its end is the beginning of one of ours; other text is not."""
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
    """Results of a search when it was recorded, document by document.

    Questions are found again if they differ by no more than white space or the Unicode form.
    The file is read and checked when it is opened. Safe to use from many threads at once.

    Raises:
        NoDocumentsError: The question was not recorded.
        InputError: As the base, or the file at ``path`` cannot be read, is damaged or empty.
    """

    provider: ClassVar[str] = "recorded"

    path: Path

    _recordings: dict[str, _Recording] = PrivateAttr()

    @classmethod
    def from_file(cls, path: str | Path, k: int = 10) -> Self:
        """Opens a recording."""
        return cls(path=Path(path), k=k)

    def missing(self, questions: Sequence[str]) -> tuple[str, ...]:
        """Those of the questions that were not recorded, in order, each once."""
        lacking = (text for text in questions if question_key(text) not in self._recordings)
        return tuple(dict.fromkeys(lacking))

    def search(self, query: str, k: int) -> list[Document]:
        """See the class."""
        recording = self._recordings.get(question_key(query))
        shown = self.path.as_posix()
        if recording is None:
            near = difflib.get_close_matches(question_key(query), self._recordings, n=1)
            nearest = f"; the nearest one is {near[0]!r}" if near else ""
            raise NoDocumentsError(
                f"{shown}: there is no recording for the question {query!r};"
                f" questions recorded: {len(self._recordings)}{nearest}"
            )
        for text in recording.notes:
            note(text)
        asked_for = recording.parameters.get("top_k")
        if isinstance(asked_for, int) and k > asked_for:
            note(f"{asked_for} results were asked for in the recording, and {k} are now")
        return [_as_document(result) for result in recording.results[:k]]

    @model_validator(mode="after")
    def _open(self) -> Self:
        self._recordings = _read(RecordLines(self.path, _is_half))
        if not self._recordings:
            raise InputError(f"{self.path.as_posix()}: nothing is recorded in it")
        return self


class FailedQuestion(NamedTuple):
    """One that was not recorded, and why."""

    question: str
    error: ConflictScoreError


@dataclass(frozen=True, slots=True)
class RecordingReport:
    """How many of the questions ``wanted`` were recorded ``before``, and by this run.

    Attributes:
        empty: For how many of those recorded now nothing was found.
        failures: The questions that failed in this run.
        stopped: Why no further question is asked although some are left: a
            ``QuotaError``, or the last one of ``FAILURES_IN_A_ROW`` errors.
    """

    wanted: int
    before: int = 0
    recorded: int = 0
    empty: int = 0
    failures: tuple[FailedQuestion, ...] = ()
    stopped: ProviderError | None = None

    @property
    def left(self) -> int:
        """The questions that are not recorded."""
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
    """Record the retriever's results for each question that the file does not hold yet.

    Each answer is on the disk before the next question is asked, so the same call resumes after a
    kill, after Ctrl-C, or the next day, when the search has quota again. A question that fails is
    not recorded and not asked again in this run. If the quota is used up or the search keeps
    failing, the run ends early; the report says so.

    Args:
        questions: A repeated question is asked once.
        retriever: Its documents are recorded whole.
        out: The file; it is created if there is none.
        search: The retriever's name, as in ``--search``; passwords in it are left out.
        parameters: How the questions are asked, as single values and lists of texts, without a
            secret; ``top_k`` is the number of documents asked for.
        concurrency: The most questions in flight, at least 1.
        on_progress: Called at the start, and after each question.

    Raises:
        InputError: A question is empty, ``concurrency`` is out of range, or the file cannot be
            recorded to.
        ConfigurationError: The retriever is set up wrongly, as with a wrong key.
    """
    if concurrency < 1:
        raise InputError(f"concurrency must be at least 1, and is {concurrency}")
    wanted: dict[str, str] = {}
    for question in questions:
        wanted.setdefault(question_key(question), clean_text(question))
    if "" in wanted:
        raise InputError("a question is empty")
    how: dict[str, Any] = {"search": _LOGIN.sub("//", search), "parameters": dict(parameters)}
    how = json.loads(encodable(json.dumps(how, ensure_ascii=False)))
    path = Path(out)
    kept = "the questions recorded so far"
    with RecordFile(path, is_half=_is_half, resumed_from=kept) as file:
        known = _read(file.lines)
        _refuse_other_settings(path, known, how)
        file.resume()
        todo = [question for key, question in wanted.items() if key not in known]
        report = RecordingReport(len(wanted), before=len(wanted) - len(todo))
        failed_in_a_row = 0

        async def ask(question: str) -> None:
            """Record what is found for a question, or why it is not recorded."""
            nonlocal report, failed_in_a_row
            if report.stopped:
                return
            try:
                with collecting() as notes:
                    found = await retriever.ainvoke(question)
            except ConfigurationError:
                raise
            except ConflictScoreError as error:
                used_up = isinstance(error, QuotaError)
                if not used_up:
                    failures = (*report.failures, FailedQuestion(question, error))
                    report = replace(report, failures=failures)
                if isinstance(error, ProviderError):  # all else is a matter of this one question
                    failed_in_a_row += 1
                    if used_up or failed_in_a_row >= FAILURES_IN_A_ROW:
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
            f"{name} {there.get(name)!r} there and {here.get(name)!r} now"
            for name in {**there, **here}
            if there.get(name) != here.get(name)
        )
        if change:
            raise InputError(
                f"{path.as_posix()} was recorded with other settings: {change}; record to another"
                " file"
            )
