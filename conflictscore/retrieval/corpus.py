"""Search in one's own documents by BM25, without a network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Self

import bm25s
import numpy as np
from langchain_core.documents import Document as Retrieved
from pydantic import Field, PrivateAttr, model_validator

from conflictscore.errors import InputError, NoDocumentsError
from conflictscore.records import Document
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.reading import read_documents

__all__ = ["CorpusRetriever"]


class CorpusRetriever(TopKRetriever):
    """The documents that share the question's words, by BM25 over title and text.

    English stop words and words of one letter do not count. Documents with the same score keep
    their order. A corpus of no more than ``k`` documents is returned whole, those without a
    shared word last; of a larger one, only documents with a shared word. A document's metadata
    is its own, with ``title``, ``source``, ``rank`` from 1, ``score`` (from 0) and ``provider``.

    Attributes:
        k: The number of documents asked for, at least 1.
        documents: What is searched, at least one document.
        notes: What the user should know about how the documents were read.

    Raises:
        NoDocumentsError: There are no documents.
        InputError: ``k`` is out of range.
    """

    documents: tuple[Document, ...] = Field(repr=False)
    notes: tuple[str, ...] = ()

    _index: bm25s.BM25 | None = PrivateAttr(default=None)

    @classmethod
    def from_paths(cls, paths: Sequence[str | Path], k: int = 10) -> Self:
        """Reads files and folders; for what is read and raised see ``read_documents``."""
        read = read_documents(paths)
        return cls(documents=read.documents, notes=read.notes, k=k)

    @classmethod
    def from_documents(cls, documents: Sequence[Document], k: int = 10) -> Self:
        """Searches these documents."""
        return cls(documents=tuple(documents), k=k)

    @model_validator(mode="after")
    def _build_index(self) -> Self:
        if not self.documents:
            raise NoDocumentsError("there are no documents to search")
        words = _words([f"{document.title}\n{document.text}" for document in self.documents])
        if any(words):  # bm25s fails on a corpus without a single word
            self._index = bm25s.BM25()
            self._index.index(words, show_progress=False)
        return self

    def search(self, query: str, k: int) -> list[Retrieved]:
        """See the class."""
        if not query.strip():
            raise InputError("the question to search for is empty")
        scores = self._scores(query)
        order = np.argsort(-scores, kind="stable")[:k]
        if len(self.documents) > k:
            order = order[scores[order] > 0]
        return [
            _retrieved(self.documents[place], rank, float(scores[place]))
            for rank, place in enumerate(order, 1)
        ]

    def _scores(self, query: str) -> Any:
        """The score of each document, from 0, in the documents' order."""
        words = _words([query])[0]
        if self._index is None or not words:
            return np.zeros(len(self.documents))
        return self._index.get_scores(words)


def _words(texts: list[str]) -> list[list[str]]:
    words: list[list[str]] = bm25s.tokenize(
        texts, stopwords="en", return_ids=False, show_progress=False
    )
    return words


def _retrieved(document: Document, rank: int, score: float) -> Retrieved:
    found = {"rank": rank, "score": score, "provider": "corpus"}
    named = {"title": document.title, "source": document.url}
    return Retrieved(page_content=document.text, metadata={**document.metadata, **named, **found})
