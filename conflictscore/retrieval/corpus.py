"""Searches your own documents without using a network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Self

import numpy as np
from langchain_core.documents import Document as Retrieved
from pydantic import Field, PrivateAttr, model_validator

from conflictscore.errors import NoDocumentsError
from conflictscore.records import Document
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.document_files import read_documents
from conflictscore.retrieval.documents import DocumentLike, as_document, document_list
from conflictscore.retrieval.ranking import BM25Ranker


class CorpusRetriever(TopKRetriever):
    """Returns the documents whose title and text match the question best.

    Documents are ranked by the words that they share with the question (BM25). English stop words
    are ignored. Documents with equal scores keep their original order. If the corpus has at most
    ``k`` documents, all of them are returned. In a larger corpus, only documents that share a word
    with the question are returned. The metadata of each document gains ``title``, ``source``,
    ``rank`` (from 1), ``score`` (0 or more) and ``provider``.

    Attributes:
        k: The number of documents to return, at least 1.
        documents: The documents to search. An empty corpus raises NoDocumentsError.
        notes: Notes for the user about how the documents were read.
    """

    documents: tuple[Document, ...] = Field(repr=False)
    notes: tuple[str, ...] = ()

    _ranker: BM25Ranker = PrivateAttr()

    @classmethod
    def from_paths(cls, paths: Sequence[str | Path], k: int = 10) -> Self:
        """Builds a retriever from files and folders; the errors are those of ``read_documents``."""
        read = read_documents(paths)
        return cls(documents=read.documents, notes=read.notes, k=k)

    @classmethod
    def from_documents(cls, documents: DocumentLike | Sequence[DocumentLike], k: int = 10) -> Self:
        """Builds a retriever from texts, LangChain documents, records or mappings.

        A single document counts as a list of one.
        """
        taken = [
            item if isinstance(item, Document) else as_document(item, number)
            for number, item in enumerate(document_list(documents), start=1)
        ]
        return cls(documents=tuple(taken), k=k)

    @model_validator(mode="after")
    def _build_ranker(self) -> Self:
        if not self.documents:
            raise NoDocumentsError("there are no documents to search")
        texts = [f"{document.title}\n{document.text}" for document in self.documents]
        self._ranker = BM25Ranker(texts)
        return self

    @property
    def at_hand(self) -> int | None:
        """Return the number of documents in the corpus."""
        return len(self.documents)

    def search(self, query: str, k: int) -> list[Retrieved]:
        """Return the documents that match the question best, with their rank and score."""
        scores = self._ranker.scores(query)
        order = np.argsort(-scores, kind="stable")[:k]
        if len(self.documents) > k:
            order = order[scores[order] > 0]
        documents: list[Retrieved] = []
        for rank, place in enumerate(order, 1):
            document = self.documents[place]
            metadata = {**document.metadata, "title": document.title, "source": document.url}
            metadata |= {"rank": rank, "score": float(scores[place]), "provider": "corpus"}
            documents.append(Retrieved(page_content=document.text, metadata=metadata))
        return documents
