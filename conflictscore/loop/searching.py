"""Runs one search with the retriever, numbers the documents and marks near-duplicates."""

import asyncio
from collections.abc import Sequence
from typing import Any

from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import (
    NoDocumentsError,
)
from conflictscore.loop.state import (
    RagState,
    documents_of,
    searches_of,
)
from conflictscore.models.calls import call
from conflictscore.records import Document, FurtherSearch
from conflictscore.retrieval.documents import to_documents
from conflictscore.retrieval.duplicates import mark_in_thread
from conflictscore.retrieval.search_notes import collecting
from conflictscore.threads import in_time


async def find_documents(
    retriever: BaseRetriever, question: str
) -> tuple[tuple[Document, ...], list[str]]:
    """Run a search, number the documents and mark near-duplicates.

    Returns:
        The documents, and the retriever's notes.

    Raises:
        NoDocumentsError: The search found nothing.
    """
    with collecting() as remarks:
        async with in_time("the search"):
            hits = await call(retriever, question)
        documents = await asyncio.to_thread(to_documents, hits)
    # a corpus has notes on how it was read, which are given with each search
    notes = [*getattr(retriever, "notes", ()), *remarks]
    if not documents:
        why = f" ({'; '.join(remarks)})" if remarks else ""
        raise NoDocumentsError(f"no documents found for: {question}{why}")
    return await mark_in_thread(documents), notes


def rollback(state: RagState, documents: Sequence[Document], reason: str) -> dict[str, Any]:
    """Undo the searches of this round by removing the documents that they found."""
    names, searches = {d.number: source_name(d) for d in documents}, list[FurtherSearch]()
    for search in searches_of(state):
        if names.keys() & {*search.found, *search.known}:
            update = {
                "found": (),
                "known": tuple(number for number in search.known if number not in names),
                "left_out": (*map(names.__getitem__, search.found), *search.left_out),
                "note": search.note or reason,
            }
            search = search.model_copy(update=update)
        searches.append(search)
    note = f"documents found by further searches were removed again: {reason}"
    return {
        "documents": [d.to_json() for d in documents_of(state) if d.number not in names],
        "searches": [search.to_json() for search in searches],
        "notes": [*state["notes"], note],
    }


def source_name(document: Document) -> str:
    """Return a name for a document: its title, its address or the beginning of its text.

    A note lists several names, so a text without a title is cut to 60 characters, about a line.
    """
    return document.title or document.url or document.text[:60]
