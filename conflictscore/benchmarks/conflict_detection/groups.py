"""Defines the common format of claims and their documents, and reads our own file format."""

import re
import unicodedata
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field

from conflictscore.benchmarks.json_lines import Cleaned, PublishedRow, Text, read_items
from conflictscore.errors import InputError
from conflictscore.records import Document, Label, Record
from conflictscore.scripts import WORD_CHARACTER

# A letter or digit, or an accent that NFC leaves apart because no composed letter exists.
_MARKED_WORD = rf"(?:{WORD_CHARACTER}|[\u0300-\u036f])"
# A word with the signs that belong to it: a minus before a number, or plus and number signs at the
# end, as in "C++", "C#" and "A+". A plus between two words, as in "1+1", belongs to neither.
_SIGNED_WORD = re.compile(
    rf"(?:(?<!{WORD_CHARACTER})[-\u2212](?=\d))?{_MARKED_WORD}++(?:[+#]++(?!{WORD_CHARACTER}))?"
)


class GroupDocument(Record):
    """A document for a claim, and the label that annotators gave this pair."""

    text: str
    title: str = ""
    label: Label | None = None
    """The annotators' label: SUPPORTS, CONTRADICTS or IRRELEVANT; None if they gave no such label.
    """


class ClaimGroup(Record):
    """A claim, the documents against which it is checked, and whether the documents conflict."""

    set: str
    id: str
    """The group's id, which is unique within the set."""
    claim: str
    question: str = ""
    """The question that the claim answers; empty if the source has only the claim."""
    answer: str = ""
    """The answer that the claim gives to the question."""
    documents: Annotated[tuple[GroupDocument, ...], Field(min_length=1)]
    has_conflict: bool
    """Whether the documents conflict according to annotators.

    Documents conflict if one of them supports the claim and another contradicts it.
    """

    @property
    def shown(self) -> list[Document]:
        """The documents as a judge sees them, numbered from 1."""
        return [
            Document(number=number, text=document.text, title=document.title)
            for number, document in enumerate(self.documents, start=1)
        ]

    @property
    def labels(self) -> tuple[Label | None, ...]:
        """The annotators' label for each document, in order."""
        return tuple(document.label for document in self.documents)


class _Labelled(PublishedRow):
    """A document of a published group, and the annotators' label; UNLABELLED means no label."""

    text: Text
    title: Cleaned | None = None
    label: (
        Literal["SUPPORTS", "PARTIAL", "CONTRADICTS", "IRRELEVANT", "MIXED", "UNLABELLED"] | None
    ) = None

    def document(self) -> GroupDocument:
        labels_by_word = {
            "SUPPORTS": Label.SUPPORTS,
            # a document that supports part of a claim counts as supporting (paper, section 3)
            "PARTIAL": Label.SUPPORTS,
            "CONTRADICTS": Label.CONTRADICTS,
            "IRRELEVANT": Label.IRRELEVANT,
        }  # a MIXED document supports and contradicts the claim, so it gets no label
        label = labels_by_word.get(self.label or "")
        return GroupDocument(text=self.text, title=self.title or "", label=label)


class GroupRow(PublishedRow):
    """A line of a file of groups, with a claim and its labelled documents."""

    id: Text
    claim: Text
    docs: Annotated[list[_Labelled], Field(min_length=1)]
    has_conflict: bool | None = None


def read_groups(path: str | Path) -> list[ClaimGroup]:
    """Read claims with their documents, in file order; see :class:`GroupRow` for the format.

    The name of the set is the file name without its extension and without the suffix ``_groups``
    (``healthver`` for "healthver_groups.jsonl").
    """
    name = Path(path).stem.removesuffix("_groups")

    def group(row: GroupRow, where: str) -> ClaimGroup:
        documents = tuple(document.document() for document in row.docs)
        return ClaimGroup(
            set=name,
            id=row.id,
            claim=row.claim,
            documents=documents,
            has_conflict=_conflict(
                row.has_conflict, {document.label for document in documents}, where
            ),
        )

    return list(read_items(path, GroupRow, group, id_field="id").items)


def _conflict(has_conflict: bool | None, labels: set[Label | None], where: str) -> bool:
    """Return whether a row has a conflict, from its field ``has_conflict`` or else from its labels.

    If a document has no label, the field may say that there is a conflict although the labels show
    none. All other contradictions between the field and the labels are errors.
    """
    both = {Label.SUPPORTS, Label.CONTRADICTS} <= labels
    if has_conflict is None and None in labels:
        raise InputError(
            f"{where}, field has_conflict: it is required unless all documents have a label"
        )
    if has_conflict is not None and has_conflict is not both and (both or None not in labels):
        raise InputError(
            f"{where}, field has_conflict: it is {str(has_conflict).lower()}, but the labels of the"
            " documents say otherwise"
        )
    return both if has_conflict is None else has_conflict


def statement(question: str, answer: str) -> str:
    """Write a claim which states, in fixed words, that ``answer`` answers ``question``."""
    question_text = question.replace('"', "'")  # the claim quotes the question
    return f'The answer to "{question_text}" is {answer.rstrip(".")}.'


def folded(text: str) -> str:
    """Return a text in lower case, without punctuation or extra white space, for comparison.

    Accents, vowel signs, the minus of a number, and the signs at the end of "C++" and "C#" are
    kept, since texts that differ in such a sign are different answers.
    """
    # composed after folding, since folding splits some letters, such as "\u01f0"
    composed = unicodedata.normalize("NFC", text.casefold())
    return " ".join(_SIGNED_WORD.findall(composed)).replace("\u2212", "-")
