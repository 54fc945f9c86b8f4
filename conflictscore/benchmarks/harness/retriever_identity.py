"""Describes in the manifest how a run's documents are found, without keys, paths or addresses."""

import hashlib
import re
from pathlib import Path
from typing import Any

from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.retrieval.opening import described

_PRIVATE = re.compile(r"key|token$|secret|password|credential|url|endpoint|path|folder|file|header")
"""A pattern for names of fields that may contain a key or a location on this machine."""
_OF_LANGCHAIN = frozenset({"name", "tags", "metadata", "callbacks", "verbose"})


def retriever_identity(retriever: BaseRetriever | None) -> dict[str, Any] | None:
    """Describe a retriever and any wrapped retriever by class, kind of search and plain settings.

    Plain settings are fields with a number, a boolean, or a text that is neither a key nor an
    address. Returns None if there is no retriever.
    """
    if retriever is None:
        return None
    fields = type(retriever).model_fields
    settings = {
        name: setting
        for name in fields
        if name not in _OF_LANGCHAIN and not _PRIVATE.search(name.casefold())
        if isinstance(setting := getattr(retriever, name, None), str | int | float | bool)
    }
    inner = getattr(retriever, "retriever", None)
    identity: dict[str, Any] = {
        "class": f"{type(retriever).__module__}.{type(retriever).__qualname__}",
        "searches": described(retriever),
        "settings": settings,
    }
    if isinstance(inner, BaseRetriever):
        identity["retriever"] = retriever_identity(inner)
    return identity


def retrieved_hashes(retriever: Any) -> dict[str, str]:
    """Return the hash of the recording or corpus that a retriever reads, even if others wrap it.

    The hash of a corpus depends on the titles and texts of its documents, in order. Web searches
    have no hash, since their content cannot be hashed.
    """
    while isinstance(inner := getattr(retriever, "retriever", None), BaseRetriever):
        retriever = inner
    path = getattr(retriever, "path", None)
    if isinstance(path, Path) and path.is_file():
        return {"recording": sha256_of_file(path)}
    documents = getattr(retriever, "documents", None)
    if not isinstance(documents, tuple | list):
        return {}
    digest = hashlib.sha256()
    for document in documents:
        title = str(getattr(document, "title", "")).encode("utf-8", "surrogatepass")
        text = getattr(document, "text", None) or getattr(document, "page_content", "")
        content = str(text).encode("utf-8", "surrogatepass")
        digest.update(b"%d %d\n" % (len(title), len(content)) + title + content)
    return {"corpus": digest.hexdigest()}
