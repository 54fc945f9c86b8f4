"""Describes in the manifest how a run's documents are found, without keys, paths or addresses."""

import hashlib
import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from langchain_core.retrievers import BaseRetriever

from conflictscore.benchmarks.harness.manifest import sha256_of_file
from conflictscore.retrieval.opening import described
from conflictscore.storage.cache import content_key

_PRIVATE = re.compile(r"key|token$|secret|password|credential|url|endpoint|path|folder|file|header")
"""A pattern for names of fields that may contain a key or a location on this machine.

"token" counts only at the end of a name, since "max_tokens" and "tokens" are numbers.
"""
_OF_LANGCHAIN = frozenset({"name", "tags", "metadata", "callbacks", "verbose"})
"""LangChain's tracing fields, which do not affect the documents found."""
_CORPORA = ("documents", "docs", "texts")
"""The fields in which our retrievers and those of LangChain keep a corpus."""
_OURS = "conflictscore."
"""The module-name prefix of this library's own retrievers."""
_DEEPEST = 4
"""Settings are recorded down to this level of nested lists and objects, which may be circular.

The level was chosen by hand. Deeper settings are left out, so a run can be resumed although they
changed.
"""
_MOST = 50
"""The maximum number of members of a recorded list or object; larger ones are hashed.

The number was chosen by hand. A hash notices a change too, but does not say what changed.
"""


def retriever_identity(retriever: BaseRetriever | None) -> dict[str, Any] | None:
    """Describe a retriever and any wrapped retriever by class, kind of search and settings.

    Settings are fields that contain a number, a boolean, a string, another retriever, or a list or
    object of these. Fields whose names suggest a key or an address are left out. A string inside a
    list or object is replaced by its hash, since no field name shows whether it is private. Lists
    and objects in this library's own retrievers are left out: they can be derived from other
    settings, or count past events. Returns None if there is no retriever.
    """
    return None if retriever is None else _identity(retriever, _DEEPEST)


def _identity(retriever: BaseRetriever, levels: int) -> dict[str, Any]:
    if type(retriever).__module__.startswith(_OURS):
        levels = 0
    inner = getattr(retriever, "retriever", None)
    is_wrapper = isinstance(inner, BaseRetriever)
    fields = {
        name: getattr(retriever, name, None)
        for name in type(retriever).model_fields
        if name not in _OF_LANGCHAIN and not (is_wrapper and name == "retriever")
    }
    identity: dict[str, Any] = {
        "class": f"{type(retriever).__module__}.{type(retriever).__qualname__}",
        "searches": described(retriever),
        "settings": {
            name: setting if isinstance(setting, str) else _recorded(setting, levels)
            for name, setting in _public(fields).items()
            if _is_recorded(setting, levels) and not _is_corpus(name, setting)
        },
    }
    if isinstance(inner, BaseRetriever):
        identity["retriever"] = _identity(inner, _DEEPEST)
    return identity


def _public(fields: Mapping[str, Any]) -> dict[str, Any]:
    return {name: field for name, field in fields.items() if not _PRIVATE.search(name.casefold())}


def _is_recorded(setting: Any, levels: int) -> bool:
    """Return whether a setting is recorded; a list is recorded if all its members are."""
    if isinstance(setting, str | int | float | bool):
        return True
    if isinstance(setting, BaseRetriever):
        return levels > 0
    if isinstance(setting, Mapping):
        return levels > 0 and all(isinstance(name, str) for name in setting)
    if isinstance(setting, list | tuple):
        return levels > 0 and all(_is_recorded(member, levels - 1) for member in setting)
    return False


def _recorded(setting: Any, levels: int) -> Any:
    """Return a setting as plain JSON; a list of strings becomes a single hash."""
    if isinstance(setting, str):
        return _hash([setting])
    if isinstance(setting, BaseRetriever):
        return _identity(setting, levels - 1) | retrieved_hashes(setting)
    if isinstance(setting, Mapping):
        members = {
            name: _recorded(member, levels - 1)
            for name, member in _public(setting).items()
            if _is_recorded(member, levels - 1)
        }
        return members if len(members) <= _MOST else _hash([json.dumps(members)])
    if isinstance(setting, list | tuple):
        if setting and all(isinstance(member, str) for member in setting):
            return _hash(setting)
        recorded = [_recorded(member, levels - 1) for member in setting]
        return recorded if len(recorded) <= _MOST else _hash([json.dumps(recorded)])
    return setting


def _hash(texts: Iterable[str]) -> str:
    """Return the first 64 bits of a hash of texts, enough to recognise a retriever."""
    return f"sha256:{content_key({'texts': [*texts]})[:16]}"


def retrieved_hashes(retriever: Any) -> dict[str, str]:
    """Return the hash of the recording or corpus that the innermost wrapped retriever reads.

    The hash of a corpus depends on the titles and texts of its documents, in order. Web searches
    and databases have no hash, since their content cannot be hashed.
    """
    while isinstance(inner := getattr(retriever, "retriever", None), BaseRetriever):
        retriever = inner
    path = getattr(retriever, "path", None)
    if isinstance(path, Path) and path.is_file():
        return {"recording": sha256_of_file(path)}
    documents = _corpus(retriever)
    if documents is None:
        return {}
    digest = hashlib.sha256()
    for document in documents:
        # a string has no title, but it has a method named ``title``
        name = "" if isinstance(document, str) else str(getattr(document, "title", ""))
        title = name.encode("utf-8", "surrogatepass")
        content = _text(document).encode("utf-8", "surrogatepass")
        # with both lengths, so that text moved between title and content changes the hash
        digest.update(b"%d %d\n" % (len(title), len(content)) + title + content)
    return {"corpus": digest.hexdigest()}


def _corpus(retriever: Any) -> Iterable[Any] | None:
    """Return the documents that a retriever holds in memory, or None if it holds none."""
    for name in _CORPORA:
        documents = getattr(retriever, name, None)
        if _is_corpus(name, documents):
            return documents
    store = getattr(getattr(retriever, "vectorstore", None), "store", None)
    return [*store.values()] if isinstance(store, dict) else None  # LangChain's InMemoryVectorStore


def _is_corpus(name: str, field: Any) -> bool:
    return name in _CORPORA and isinstance(field, list | tuple)


def _text(document: Any) -> str:
    if isinstance(document, str):
        return document
    if isinstance(document, Mapping):
        return str(document.get("text", ""))
    return str(getattr(document, "text", None) or getattr(document, "page_content", ""))
