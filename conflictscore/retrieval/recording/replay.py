"""Search results of an earlier run, without a network."""

import difflib
from collections.abc import Sequence
from pathlib import Path
from typing import ClassVar, Self

from langchain_core.documents import Document
from pydantic import PrivateAttr, model_validator

from conflictscore.errors import InputError, NoDocumentsError
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.recording.file import RecordingIndex
from conflictscore.retrieval.recording.format import result_document
from conflictscore.retrieval.recording.questions import question_key
from conflictscore.retrieval.search_notes import note

__all__ = ["RecordedRetriever"]


class RecordedRetriever(TopKRetriever):
    """Results of a search when it was recorded, document by document.

    Questions are found again if they differ by no more than white space or the Unicode form.
    The file is read and checked when it is opened; its format is described in ``recording.format``.
    Safe to use from many threads at once.

    Attributes:
        k: The number of documents asked for, at least 1; if fewer were asked for when the
            question was recorded, there are no more, and a note says so.
        path: The file.

    Raises:
        NoDocumentsError: The question was not recorded.
        InputError: ``k`` is out of range, the question is empty, or the file cannot be read, is
            damaged or empty.
    """

    provider: ClassVar[str] = "recorded"

    path: Path

    _index: RecordingIndex = PrivateAttr()

    @classmethod
    def from_file(cls, path: str | Path, k: int = 10) -> Self:
        """Opens a recording."""
        return cls(path=Path(path), k=k)

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user on the file."""
        if not self._index.half:
            return ()
        shown = self.path.as_posix()
        return (f"{shown}: left out half a line at its end; was the recording interrupted?",)

    def questions(self) -> tuple[str, ...]:
        """The questions that were recorded, each once, as they were asked."""
        return self._index.questions

    def missing(self, questions: Sequence[str]) -> tuple[str, ...]:
        """Those of the questions that were not recorded, in order, each once."""
        return tuple(dict.fromkeys(text for text in questions if text not in self._index))

    def search(self, query: str, k: int) -> list[Document]:
        """See the class."""
        recording = self._index.get(query)
        if recording is None:
            raise self._not_recorded(query)
        for text in recording.notes:
            note(text)
        asked_for = recording.parameters.get("top_k")
        if isinstance(asked_for, int) and k > asked_for:
            note(
                f"{self.path.as_posix()}: the first {asked_for} results were recorded for this"
                f" question, and {k} are asked for"
            )
        return [result_document(result) for result in recording.results[:k]]

    @model_validator(mode="after")
    def _open(self) -> Self:
        self._index = RecordingIndex.of(self.path)
        if not self._index.questions:
            raise InputError(f"{self.path.as_posix()}: nothing is recorded in it")
        return self

    def _not_recorded(self, question: str) -> NoDocumentsError:
        recorded = {question_key(text).casefold(): text for text in self.questions()}
        near = difflib.get_close_matches(question_key(question).casefold(), recorded, n=1)
        nearest = f"; the nearest one is {recorded[near[0]]!r}" if near else ""
        half = "".join(f"; {text}" for text in self.notes)
        return NoDocumentsError(
            f"{self.path.as_posix()}: there is no recording for the question {question!r};"
            f" questions recorded: {len(self.questions())}{nearest}{half}"
        )
