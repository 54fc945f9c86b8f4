"""Which retriever a run uses."""

import difflib
import importlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.providers import DEFAULT_ORDER, PROVIDERS, configured_search

if TYPE_CHECKING:  # it loads a library
    from conflictscore.retrieval.ranking import Ranking
    from conflictscore.storage.cache import ContentCache

__all__ = ["open_search"]


def open_search(
    spec: str | None = None,
    *,
    docs: Sequence[str] = (),
    top_k: int = 10,
    ranking: "Ranking" = "bm25",
    cache: "ContentCache | None" = None,
) -> BaseRetriever:
    """The retriever for this choice of searches, ready to be invoked.

    Args:
        spec: A name in ``PROVIDERS``, with ``searxng:URL`` and ``recorded:FILE``; or several with
            commas between them, of which the next one answers where one fails. None takes
            ``corpus`` where there are docs, else the first of ``DEFAULT_ORDER`` that is configured.
        docs: Files and folders to search, for ``corpus``.
        top_k: The number of documents a question gets, at least 1.
        ranking: How the docs are ranked.
        cache: Where the docs' embeddings are kept.

    Raises:
        ConfigurationError: There is nothing to search; or a search's key, address or package is
            missing.
        NoDocumentsError: There is nothing to read in the docs.
        InputError: An unknown name; docs that are missing, unreadable or not wanted; a recording
            that cannot be read; or a ``top_k`` out of range.
    """
    chosen = [_parsed(part) for part in (_default(docs) if spec is None else spec).split(",")]
    names = [name for name, _ in chosen]
    if docs and "corpus" not in names:
        raise InputError(
            f"--docs is searched by --search corpus: leave out --docs, or give "
            f"--search {','.join((*names, 'corpus'))}"
        )
    if "corpus" in names and not docs:
        raise InputError("--search corpus needs --docs PATH, a file or folder to search")
    corpus = {"paths": docs, "ranking": ranking, "cache": cache}
    opened = tuple(_opened(name, argument, corpus, top_k) for name, argument in chosen)
    if len(opened) == 1:
        return opened[0]
    from conflictscore.retrieval.chain import ChainRetriever

    return ChainRetriever(retrievers=opened, k=top_k)


def _default(docs: Sequence[str]) -> str:
    name = "corpus" if docs else configured_search()
    if name is None:
        ways = ", ".join(f"{PROVIDERS[name].needs} ({name})" for name in DEFAULT_ORDER)
        raise ConfigurationError(
            "nothing to search: give --docs PATH to answer from your own files, or --search ddgs, "
            f"which needs no key, or set one of {ways}"
        )
    return name


def _parsed(part: str) -> tuple[str, str]:
    """The name of a search and what follows it after a colon."""
    name, colon, argument = (text.strip() for text in part.strip().partition(":"))
    if name not in PROVIDERS:
        near = difflib.get_close_matches(name.lower(), PROVIDERS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"there is no search named {name!r}; {hint}choose from {', '.join(PROVIDERS)}"
        )
    wanted = PROVIDERS[name].argument
    if colon and not wanted:
        raise InputError(f"--search {name} takes nothing after a colon")
    if colon and not argument:
        raise InputError(f"nothing follows the colon: give --search {name}:{wanted}")
    return name, argument


def _opened(name: str, argument: str, corpus: dict[str, Any], top_k: int) -> BaseRetriever:
    module, _, class_name = PROVIDERS[name].retriever.partition(":")
    # Only here, so that a search's libraries load only where that search is used.
    retriever: Any = getattr(
        importlib.import_module(f"conflictscore.retrieval.{module}"), class_name
    )
    opened: BaseRetriever
    match name:
        case "corpus":
            opened = retriever.from_paths(**corpus, k=top_k)
        case "recorded" if not argument:
            raise InputError("--search recorded needs the file of a recording: recorded:FILE")
        case "recorded":
            opened = retriever.from_file(argument, k=top_k)
        case "searxng":
            opened = retriever(endpoint=argument or None, k=top_k)
        case _:
            opened = retriever(k=top_k)
    return opened
