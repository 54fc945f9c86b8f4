"""A claim with its documents: the one record that every set becomes."""

import re
from typing import Annotated, Any

from pydantic import Field

from conflictscore.benchmarks.json_lines import text_of
from conflictscore.errors import InputError
from conflictscore.records import Document, Label, Record
from conflictscore.retrieval.cleaning import clean_text

_LABELS = {
    "SUPPORTS": Label.SUPPORTS,
    "PARTIAL": Label.SUPPORTS,  # part of a claim supported is support (paper, section 3)
    "CONTRADICTS": Label.CONTRADICTS,
    "IRRELEVANT": Label.IRRELEVANT,
    "MIXED": None,  # one document that says both is on neither side alone
    "UNLABELLED": None,
}


class GroupDocument(Record):
    """One document of a claim, with what people say of it."""

    text: str
    title: str = ""
    label: Label | None = None
    """People's label, never UNLABELLED; None where they gave none of the three."""


class ClaimGroup(Record):
    """One claim, the documents it is held against, and whether these are in conflict on it."""

    set: str
    """Names the set that it is of."""
    id: str
    """Names it within its set."""
    split: str | None = None
    claim: str
    question: str = ""
    """The question that the claim answers; empty where the claim itself was given."""
    answer: str = ""
    """Of the question, as the claim has it."""
    documents: Annotated[tuple[GroupDocument, ...], Field(min_length=1)]
    has_conflict: bool
    """People's answer: some document supports the claim, and another contradicts it."""

    @property
    def shown(self) -> list[Document]:
        """The documents as a judge is shown them."""
        return [
            Document(number=number, text=one.text, title=one.title)
            for number, one in enumerate(self.documents, start=1)
        ]

    @property
    def labels(self) -> tuple[Label | None, ...]:
        """People's label of each document, in order."""
        return tuple(document.label for document in self.documents)


def document_of(record: Any, where: str) -> GroupDocument:
    """A labelled document that was read, cleaned.

    Args:
        record: What was read; anything.
        where: File, row and place, for the error.
    """
    text = text_of(record, "text", where)
    title, label = record.get("title"), record.get("label")
    if title is not None and not isinstance(title, str):
        raise InputError(f"{where}, field title: a text is needed, or none")
    if label is not None and (not isinstance(label, str) or label not in _LABELS):
        raise InputError(f"{where}, field label: {label!r} is none of {', '.join(_LABELS)}")
    return GroupDocument(
        text=text,
        title=clean_text(title or ""),
        label=None if label is None else _LABELS[label],
    )


def statement(question: str, answer: str) -> str:
    """The claim that an answer is the right one, in fixed words."""
    quoted = question.replace('"', "'")
    return f'The answer to "{quoted}" is {answer.rstrip(".")}.'


def folded(text: str) -> str:
    """A text without case, punctuation and white space, for comparison."""
    return " ".join(re.findall(r"\w+", text.casefold()))
