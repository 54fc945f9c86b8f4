"""The results of a reader: documents, and typed notes on what it did not read."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, Self

from conflictscore.retrieval.cleaning import Scalar


class NoteKind(StrEnum):
    """Reasons for a note on a file; code checks these instead of the sentence."""

    FILE_LEFT_OUT = "file left out"
    FILES_PASSED_OVER = "files passed over"
    ROW_LEFT_OUT = "row left out"
    ROW_MENDED = "row mended"
    FIELD_LEFT_OUT = "field left out"
    ENCODING = "encoding"
    PAGES_WITHOUT_TEXT = "pages without text"
    NOT_IN_WORDS = "not in words"
    """A picture, chart or sign that a person sees and that has no words."""
    UNSEEN = "unseen"
    """Text in the file that its page does not show."""


class Note(str):
    """A sentence for the user about something that a reader did, with its kind.

    It is a ``str``, so it can be shown, joined and stored like other notes.
    """

    __slots__ = ("kind",)

    kind: NoteKind

    def __new__(cls, kind: NoteKind, sentence: str) -> Self:
        """Create a note of this kind."""
        note = super().__new__(cls, sentence)
        note.kind = kind
        return note

    def about(self, file: str) -> Self:
        """The same note with the file's name before it."""
        return type(self)(self.kind, f"{file}: {self}")


Notes = list[Note]

_LONGEST_DESCRIPTION = 300


def mark(kind: str, words: str = "") -> str:
    """The mark of something that is seen and has no words, with its author's words for it."""
    shown = described(words)
    return f"[{kind}: {shown}]" if shown else f"[{kind}]"


def described(words: str) -> str:
    """An author's words for a picture or the like, on one line and of limited length."""
    return " ".join(words.split())[:_LONGEST_DESCRIPTION]


def pictures_note(pictures: int) -> Note:
    """The note on the number of pictures marked in a text."""
    count = "a picture" if pictures == 1 else f"{pictures} pictures"
    return Note(NoteKind.NOT_IN_WORDS, f"{count} marked, whose contents are not read")


def left_out_notes(names: Counter[str]) -> tuple[Note, ...]:
    """The note on visible things without words, by their names; empty if there are none."""
    counts = (
        f"{'an' if name[0] in 'aeiou' else 'a'} {name}{f' ({count} times)' * (count > 1)}"
        for name, count in names.items()
        if count
    )
    left_out = ", ".join(counts)
    return (Note(NoteKind.NOT_IN_WORDS, f"left out {left_out}"),) if left_out else ()


class RichText(NamedTuple):
    """The text of a file with a layout, and notes on unread parts that do not name the file."""

    text: str
    title: str
    notes: tuple[Note, ...] = ()


class FileDocument(NamedTuple):
    """A document of a file, with fields of :class:`~conflictscore.records.Document`."""

    text: str
    title: str
    url: str
    metadata: Mapping[str, Scalar] = {}
