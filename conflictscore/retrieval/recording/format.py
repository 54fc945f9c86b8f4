"""A recording: JSON lines in UTF-8, one line per question.

```
{"format": 1,
 "question": "When was the lamp first lit?",       as it was asked
 "search": "serper,searxng",                       as --search names it, without passwords
 "parameters": {"top_k": 10, "read_pages": true},  how it was asked; never a key
 "recorded_at": "2026-11-21T09:30:00+00:00",
 "notes": [],                                      what the user should know about this search
 "results": [                                      best first; none where nothing was found
  {"rank": 1, "provider": "serper", "url": "https://...", "title": "...",
   "snippet": "...",                               null where the text is all that was found
   "date": "...",
   "text": "...",                                  what evidence is looked for in
   "text_from": "page",                            page or snippet, where pages were read
   "page_error": null, "fetched_at": "...",
   "metadata": {},                                 what else the search knew, single values
   "sha256": "..."}],                              of the text in UTF-8
 "adopted": "...",                                 of a changed line, by earlier versions
 "sha256": "..."}                                  of the line
```

What a search did not say is null. The line's ``sha256`` is that of the line without it, as JSON
with sorted keys, no white space and no escapes but those that JSON demands, in UTF-8. A line or a
text that does not match its hash was damaged or changed, and is refused. Earlier versions let users
adopt a line that they had changed on purpose: it has new hashes, and says so.

Of several lines with the same question, the last one counts.

A field that a result names itself, such as ``date``, is moved out of the document's metadata; on
the way back it returns there. What no JSON can hold is changed on the way: metadata that is no
single finite value is left out, and a lone surrogate becomes U+FFFD, as ``to_documents`` does.
"""

import hashlib
import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Final, Literal

from langchain_core.documents import Document
from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from conflictscore.errors import InputError
from conflictscore.records import encodable, first_fault
from conflictscore.retrieval.cleaning import Scalar, is_scalar

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

_LINE_ENDS = {"\x85": "\\u0085", "\u2028": "\\u2028", "\u2029": "\\u2029"}
"""Characters that JSON leaves as they are, and other readers take for the end of a line."""
_TEXTS: Mapping[str, str] = {
    "provider": "provider",
    "url": "source",
    "title": "title",
    "snippet": "snippet",
    "date": "date",
    "text_from": "text_from",
    "page_error": "page_error",
    "fetched_at": "fetched_at",
}
"""The fields of a result that hold a text, and what a document's metadata calls them."""


class _Part(BaseModel):
    """Nothing unknown, nothing coerced, nothing that JSON cannot hold."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


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
    sha256: str

    @field_validator("sha256")
    @classmethod
    def _is_that_of_the_text(cls, sha256: str, info: ValidationInfo) -> str:
        if "text" in info.data and sha256 != _text_digest(info.data["text"]):
            raise ValueError("the text does not match it: it was damaged or changed")
        return sha256


def _moment(text: str) -> str:
    if datetime.fromisoformat(text).tzinfo is None:
        raise ValueError("a time needs its offset from UTC")
    return text


class Recording(_Part):
    """Results of one question, and how it was asked."""

    format: Literal[1] = _FORMAT
    question: Annotated[str, Field(min_length=1)]
    search: str
    parameters: dict[str, Scalar | list[str]]
    recorded_at: Annotated[str, AfterValidator(_moment)]
    notes: tuple[str, ...]
    results: tuple[RecordedResult, ...]
    adopted: Annotated[str, AfterValidator(_moment)] | None = None

    @property
    def settings(self) -> SearchSettings:
        """How the question was asked."""
        return SearchSettings(search=self.search, parameters=self.parameters)


class _Line(Recording):
    """A recording as it stands in the file."""

    sha256: str


def _text_digest(text: str) -> str:
    """The SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def encoded(recording: Recording) -> bytes:
    """The recording as a line of the file, with its line end."""
    content = _content(recording)
    line = json.dumps(content | {"sha256": _digest(content)}, ensure_ascii=False, allow_nan=False)
    for end, escaped in _LINE_ENDS.items():
        line = line.replace(end, escaped)
    return line.encode() + b"\n"


def decoded(line: bytes, where: str) -> Recording:
    """The recording in a line of the file, which errors call ``where``.

    Raises:
        InputError: It is not a recording, was changed, or has a newer format; names the field.
    """
    try:
        found = _Line.model_validate_json(line)
    except ValidationError as error:
        raise InputError(f"{where}{_fault(line, error)}") from None
    content = _content(found)
    if found.sha256 != _digest(content):
        raise InputError(
            f"{where}, field sha256: the line does not match it: it was damaged or changed"
        )
    return Recording.model_construct(**{name: getattr(found, name) for name in content})


def _content(recording: Recording) -> dict[str, Any]:
    """Content that the hash of a line covers."""
    content = recording.model_dump(exclude={"sha256"})
    if recording.adopted is None:
        del content["adopted"]
    return content


def _digest(content: dict[str, Any]) -> str:
    return _text_digest(
        json.dumps(
            content, ensure_ascii=False, allow_nan=False, sort_keys=True, separators=(",", ":")
        )
    )


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
    named: dict[str, Any] = {
        field: metadata.pop(key) if isinstance(metadata.get(key), str) else None
        for field, key in _TEXTS.items()
    }
    text = encodable(document.page_content)
    return RecordedResult(
        rank=_taken_rank(metadata),
        **named,
        text=text,
        metadata=metadata,
        sha256=_text_digest(text),
    )


def result_document(result: RecordedResult) -> Document:
    """The document that was recorded."""
    named = {key: getattr(result, field) for field, key in _TEXTS.items()} | {"rank": result.rank}
    said = {key: value for key, value in named.items() if value is not None}
    return Document(page_content=result.text, metadata={**result.metadata, **said})


def _taken_rank(metadata: dict[str, Scalar]) -> int | None:
    rank = metadata.get("rank")
    if isinstance(rank, int) and not isinstance(rank, bool) and rank >= 1:
        del metadata["rank"]
        return rank
    return None
