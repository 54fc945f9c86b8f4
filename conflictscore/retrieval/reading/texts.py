"""The results of a reader: documents, and typed notes on what the reader did not read."""

from collections import Counter
from collections.abc import Mapping
from enum import StrEnum
from typing import NamedTuple, Self

from conflictscore.retrieval.cleaning import Scalar


class NoteKind(StrEnum):
    """Kinds of notes on a file; code compares the kinds instead of the sentences."""

    FILE_LEFT_OUT = "file left out"
    FILES_PASSED_OVER = "files passed over"
    ROW_LEFT_OUT = "row left out"
    ROW_MENDED = "row mended"
    FIELD_LEFT_OUT = "field left out"
    ENCODING = "encoding"
    PAGES_WITHOUT_TEXT = "pages without text"
    NOT_IN_WORDS = "not in words"
    """A picture, chart or symbol that is visible but has no words."""
    UNSEEN = "unseen"
    """Text in the file that is not visible on its page."""


class Note(str):
    """A note for the user: a sentence about how a file was read, with a kind.

    Since a note is a ``str``, it can be shown, joined and stored like other notes.
    """

    __slots__ = ("kind",)

    kind: NoteKind

    def __new__(cls, kind: NoteKind, sentence: str) -> Self:
        """Create a note of this kind."""
        note = super().__new__(cls, sentence)
        note.kind = kind
        return note

    def __reduce__(self) -> tuple[type[Self], tuple[NoteKind, str]]:
        """Return how copies and pickles create the note again."""
        return type(self), (self.kind, str(self))

    def about(self, file: str) -> Self:
        """Return the note with the file's name before it."""
        return type(self)(self.kind, f"{file}: {self}")


Notes = list[Note]

_LONGEST_DESCRIPTION = 300
"""Maximum number of characters of a description, since programs may store whole texts there. Chosen
by hand."""


def mark(kind: str, words: str = "") -> str:
    """Return the placeholder for visible content without words, with the author's description."""
    shown = described(words)
    return f"[{kind}: {shown}]" if shown else f"[{kind}]"


def described(words: str) -> str:
    """Return the author's description of a picture or other object, shortened and on one line."""
    return " ".join(words.split())[:_LONGEST_DESCRIPTION]


def pictures_note(pictures: int) -> Note:
    """Return the note on how many pictures a text contains only as placeholders."""
    count = "a picture" if pictures == 1 else f"{pictures} pictures"
    return Note(NoteKind.NOT_IN_WORDS, f"{count} not read; only a placeholder is in the text")


def damage_note(characters: int) -> Note:
    """Return the note on how many characters of a text are damaged."""
    count = "a character is" if characters == 1 else f"{characters} characters are"
    verb = "was" if characters == 1 else "were"
    return Note(NoteKind.ENCODING, f"{count} damaged and {verb} read as \ufffd")


def left_out_notes(names: Counter[str]) -> tuple[Note, ...]:
    """Return a note that counts the visible objects without words by name; empty if none."""
    counts = (
        f"{'an' if name[0] in 'aeiou' else 'a'} {name}{f' ({count} times)' * (count > 1)}"
        for name, count in names.items()
        if count  # a reader may have added 0 to a count
    )
    left_out = ", ".join(counts)
    return (Note(NoteKind.NOT_IN_WORDS, f"left out {left_out}"),) if left_out else ()


class RichText(NamedTuple):
    """The text of a formatted file, and notes on its unread parts (without the file's name)."""

    text: str
    title: str
    notes: tuple[Note, ...] = ()


class FileDocument(NamedTuple):
    """A document in a file, with the fields of :class:`~conflictscore.records.Document`."""

    text: str
    title: str
    url: str
    metadata: Mapping[str, Scalar] = {}
