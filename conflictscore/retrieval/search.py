"""Which retriever a run uses."""

import os
from collections.abc import Sequence

from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.google_faults import ENGINE_VARIABLE, KEY_VARIABLE

__all__ = ["PROVIDERS", "open_search"]

PROVIDERS = ("corpus", "google")
"""The names that ``open_search`` knows."""


def open_search(
    name: str | None = None, *, docs: Sequence[str] = (), top_k: int = 10
) -> BaseRetriever:
    """The retriever of this name, ready to be invoked.

    Args:
        name: One of ``PROVIDERS``. None takes ``corpus`` where there are docs, else ``google``
            where its two environment variables are set.
        docs: Files and folders to search, for ``corpus``.
        top_k: The number of documents a question gets, at least 1.

    Raises:
        ConfigurationError: No name, no docs and no keys; or a key of ``google`` is missing.
        NoDocumentsError: There is nothing to read in the docs.
        InputError: An unknown name, docs that are missing, unreadable or not wanted, or a
            ``top_k`` out of range.
    """
    if name not in (None, *PROVIDERS):
        raise InputError(f"there is no search named {name!r}; choose from {', '.join(PROVIDERS)}")
    if name == "google" and docs:
        raise InputError("--docs is searched by --search corpus: leave out --docs or --search")
    if name == "corpus" and not docs:
        raise InputError("--search corpus needs --docs PATH, a file or folder to search")
    if docs:
        from conflictscore.retrieval.corpus import CorpusRetriever

        return CorpusRetriever.from_paths(docs, k=top_k)
    if name is None and not (os.environ.get(KEY_VARIABLE) and os.environ.get(ENGINE_VARIABLE)):
        raise ConfigurationError(
            "nothing to search: give --docs PATH to answer from your own files, or "
            f"--search google with {KEY_VARIABLE} and {ENGINE_VARIABLE} set"
        )
    from conflictscore.retrieval.google import GoogleRetriever

    return GoogleRetriever(k=top_k)
