"""The whole way from a question to documents: search, read the pages, cut passages."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import InputError
from conflictscore.retrieval.search import open_search
from conflictscore.storage.cache import ContentCache

if TYPE_CHECKING:  # it loads a library
    from conflictscore.retrieval.ranking import Ranking

__all__ = ["PASSAGE_TOKENS", "open_retrieval"]

PASSAGE_TOKENS = 512
"""The default length of a passage."""


def open_retrieval(
    search: str | None = None,
    *,
    docs: str | Sequence[str] = (),
    top_k: int = 10,
    read_pages: bool = False,
    passage_tokens: int = PASSAGE_TOKENS,
    passages: int = 1,
    ranking: "Ranking" = "bm25",
    cache: bool = True,
) -> BaseRetriever:
    """The retriever that these settings describe, ready to be invoked.

    Args:
        search: Where to search; see ``open_search``.
        docs: A file or folder to search, or several, for ``corpus``.
        top_k: The number of documents a question gets, at least 1.
        read_pages: Whether to fetch the page behind each result, for its text in place of the
            snippet.
        passage_tokens: Tokens of a passage; a longer document is cut to its best. 0 leaves
            documents whole.
        passages: The most passages of a document that are kept, at least 1; they stay one document.
        ranking: How one's own documents and passages are ranked for the question.
        cache: Whether embeddings are kept in the user's cache, for ``dense`` and ``both``.

    Raises:
        ConfigurationError: A key or an extra is missing, or there is nothing to search.
        NoDocumentsError: There is nothing to read in the docs.
        InputError: A setting is out of range, or docs are missing or unreadable.
    """
    if passage_tokens < 0:
        raise InputError(f"the tokens of a passage are 0 or more, not {passage_tokens}")
    if not passage_tokens and passages != 1:
        raise InputError("passages are kept of documents that are cut; passage_tokens is 0")
    kept = ContentCache.default() if cache and ranking != "bm25" else None
    retriever = open_search(
        search,
        docs=[docs] if isinstance(docs, str) else docs,
        top_k=top_k,
        ranking=ranking,
        cache=kept,
    )
    if read_pages:
        from conflictscore.retrieval.pages.reader import PageReadingRetriever

        retriever = PageReadingRetriever(retriever=retriever, k=top_k)
    if passage_tokens:
        from conflictscore.retrieval.passages.retriever import PassageRetriever

        retriever = PassageRetriever(
            retriever=retriever,
            k=top_k,
            tokens=passage_tokens,
            windows=passages,
            ranking=ranking,
            cache=kept,
        )
    return retriever
