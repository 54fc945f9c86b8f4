"""Cuts each long document to the passage that matches a question best."""

from collections.abc import Sequence
from typing import Annotated

import numpy as np
from langchain_core.documents import Document
from pydantic import Field

from conflictscore.retrieval.base import WrappingRetriever
from conflictscore.retrieval.ranking import BM25Ranker
from conflictscore.retrieval.token_windows import LEAST_TOKENS, cut_windows


class PassageRetriever(WrappingRetriever):
    """Cuts the documents found by another retriever to their best passages.

    A document of up to ``tokens`` tokens is kept whole. A longer document is cut into windows of
    that length, each overlapping the next by half. The best window becomes the document's text; see
    ``cut_to_passages``. Asynchronous calls await the other retriever and rank the windows in a
    thread.

    Attributes:
        retriever: The retriever that finds the documents.
        k: The number of documents to return, at least 1.
        tokens: Maximum number of tokens in a passage, at least 16. The default was chosen by hand.
    """

    tokens: Annotated[int, Field(ge=LEAST_TOKENS)] = 512

    def change(self, query: str, found: list[Document]) -> list[Document]:
        """Cut the documents to their best passages."""
        return cut_to_passages(query, found, self.tokens)


def cut_to_passages(query: str, documents: Sequence[Document], tokens: int) -> list[Document]:
    """Reduce each long document to the window that matches the question best.

    The windows of all documents are ranked together, so a word that occurs in all of them counts
    for little. If no window of a document shares a word with the question, the first window is
    kept.

    The metadata of a cut document gains ``passage``, which states the range of characters that was
    kept.
    """
    cuts = [cut_windows(document.page_content, tokens, tokens // 2) for document in documents]
    if all(len(cut) == 1 for cut in cuts):
        return list(documents)
    texts = [
        document.page_content[window.start : window.end]
        for document, cut in zip(documents, cuts, strict=True)
        for window in cut
    ]
    scores = BM25Ranker(texts).scores(query)
    # a blank window must never be chosen as the best
    scores = np.where([bool(text.strip()) for text in texts], scores, -np.inf)
    ends = np.cumsum([len(cut) for cut in cuts])[:-1]
    cut_documents: list[Document] = []
    for document, cut, own in zip(documents, cuts, np.split(scores, ends), strict=True):
        if len(cut) > 1:
            text, (start, end) = document.page_content, cut[int(np.argmax(own))]
            told = {"passage": f"characters {start}–{end} of {len(text)}"}
            document = Document(text[start:end].strip(), metadata={**document.metadata, **told})
        cut_documents.append(document)
    return cut_documents
