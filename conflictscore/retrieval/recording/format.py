"""A recording: JSON lines in UTF-8, one line per question.

```
{"format": 1,
 "question": "When was the lamp first lit?",       as it was asked
 "search": "serper,searxng",                       as --search names it, without passwords
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

What a search did not say is null. Unknown fields, as of an earlier version, mean nothing.

Of several lines with the same question, the last one counts.

A field that a result names itself, such as ``date``, is moved out of the document's metadata; on
the way back it returns there. What no JSON can hold is changed on the way: metadata that is no
single finite value is left out, and a lone surrogate becomes U+FFFD, as ``to_documents`` does.
"""

import json
from typing import Annotated, Any, Final, Literal

from langchain_core.documents import Document
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from conflictscore.errors import InputError
from conflictscore.records import encodable, first_fault
from conflictscore.retrieval.cleaning import Scalar, is_scalar
from conflictscore.storage.record_file import json_line

__all__ = [
    "Recording",
    "SearchSettings",
    "decoded",
    "encoded",
    "recorded_result",
    "result_document",
]

_FORMAT: Final = 1
"""The number of the format that is written, and the highest that is read."""

_TEXTS = (
    *("provider", "url", "title", "snippet", "date", "text_from", "page_error", "fetched_at"),
)
"""The fields of a result that hold a text; a document's metadata has the same, but for the url."""
_SOURCE = {"url": "source"}


class _Part(BaseModel):
    """Nothing coerced, nothing that JSON cannot hold."""

    model_config = ConfigDict(frozen=True, strict=True, allow_inf_nan=False)


class SearchSettings(_Part):
    """How questions were asked."""

    search: str
    parameters: dict[str, Scalar | list[str]]


class RecordedResult(_Part):
    """One result of a search, and the page behind it if that was read."""

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


class Recording(_Part):
    """Results of one question, and how it was asked."""

    format: Literal[1] = _FORMAT
    question: Annotated[str, Field(min_length=1)]
    search: str
    parameters: dict[str, Scalar | list[str]]
    recorded_at: str
    notes: tuple[str, ...]
    results: tuple[RecordedResult, ...]

    @property
    def settings(self) -> SearchSettings:
        """How the question was asked."""
        return SearchSettings(search=self.search, parameters=self.parameters)


def encoded(recording: Recording) -> bytes:
    """The recording as a line of the file, with its line end."""
    return json_line(recording.model_dump(), escape=False)


def decoded(line: bytes, where: str) -> Recording:
    """The recording in a line of the file, which errors call ``where``.

    Raises:
        InputError: It is not a recording, or has a newer format; names the field.
    """
    try:
        return Recording.model_validate_json(line)
    except ValidationError as error:
        raise InputError(f"{where}{_fault(line, error)}") from None


def _fault(line: bytes, error: ValidationError) -> str:
    """Fault of a line, in words that follow its place."""
    try:
        fields = json.loads(line)
    except (ValueError, RecursionError):
        return ": not JSON; each line holds one recorded question"
    if not isinstance(fields, dict) or "format" not in fields:
        return ": not a recorded question"
    number = fields["format"]
    if isinstance(number, int) and number > _FORMAT:
        return (
            f", field format: format {number} was written by a newer conflictscore; this one reads"
            f" up to {_FORMAT}; upgrade it"
        )
    field, why = first_fault(error)
    return f"{field and f', field {field}'}: {why}"


def recorded_result(document: Document) -> RecordedResult:
    """A document that a search returned, as it is recorded."""
    metadata: dict[str, Scalar] = {
        encodable(key): encodable(value) if isinstance(value, str) else value
        for key, value in document.metadata.items()
        if is_scalar(value)
    }
    named: dict[str, Any] = dict.fromkeys(_TEXTS)
    for field in _TEXTS:
        if isinstance(metadata.get(key := _SOURCE.get(field, field)), str):
            named[field] = metadata.pop(key)
    rank = metadata.get("rank")
    if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 1:
        del metadata["rank"]
    else:
        rank = None
    text = encodable(document.page_content)
    return RecordedResult(rank=rank, **named, text=text, metadata=metadata)


def result_document(result: RecordedResult) -> Document:
    """The document that was recorded."""
    named = {_SOURCE.get(field, field): getattr(result, field) for field in (*_TEXTS, "rank")}
    said = {key: value for key, value in named.items() if value is not None}
    return Document(page_content=result.text, metadata={**result.metadata, **said})
