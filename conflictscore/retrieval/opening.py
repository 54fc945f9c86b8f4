"""Builds a retriever from the settings for searching, reading pages and cutting passages."""

import difflib
import importlib
from collections.abc import Callable, Mapping, Sequence
from textwrap import shorten

from langchain_core.retrievers import BaseRetriever

from conflictscore.errors import ConfigurationError, InputError
from conflictscore.retrieval.providers import DEFAULT_ORDER, PROVIDERS, configured_search
from conflictscore.retrieval.token_windows import LEAST_TOKENS
from conflictscore.threads import off_loop

# All documents of the CONFLICTS benchmark are shorter than this, so none of them is cut. When
# longer documents are cut to this length, some answers are lost (docs/findings/retrieval.md).
PASSAGE_TOKENS = 512


@off_loop
def open_retrieval(
    search: str | None = None,
    *,
    docs: str | Sequence[str] = (),
    top_k: int = 10,
    read_pages: bool = False,
    passage_tokens: int = PASSAGE_TOKENS,
    references: Mapping[str, tuple[str, ...]] | None = None,
) -> BaseRetriever:
    """Return the retriever that these settings describe, ready to be invoked.

    Args:
        search: The search to use. See ``open_search`` for names and errors.
        docs: Files and folders that the search ``corpus`` reads.
        top_k: Number of documents per question, at least 1.
        read_pages: Whether to fetch the page behind each result and use its text instead of the
            snippet.
        passage_tokens: Maximum number of tokens in a document. Longer documents are cut to their
            best passage. With 0, all documents are kept whole.
        references: A benchmark's questions with their reference answers. Documents that contain
            both a question and one of the question's answers are removed.
    """
    if passage_tokens and passage_tokens < LEAST_TOKENS:
        raise InputError(f"passage_tokens is {passage_tokens}; give {LEAST_TOKENS} or more, or 0")
    docs = [docs] if isinstance(docs, str) else docs
    retriever = open_search(search, docs=docs, top_k=top_k)
    # The order matters: a copy of a benchmark is recognised by its whole page, so pages are read
    # before documents are removed, and passages are cut last.
    if read_pages:
        from conflictscore.retrieval.pages.reader import PageReadingRetriever

        retriever = PageReadingRetriever(retriever=retriever, k=top_k)
    if references:
        from conflictscore.retrieval.excluding import ExcludingRetriever

        retriever = ExcludingRetriever(retriever=retriever, k=top_k, references=references)
    if passage_tokens:
        from conflictscore.retrieval.passages import PassageRetriever

        retriever = PassageRetriever(retriever=retriever, k=top_k, tokens=passage_tokens)
    return retriever


def open_search(
    spec: str | None = None, *, docs: Sequence[str] = (), top_k: int = 10
) -> BaseRetriever:
    """Return the retriever for one search, ready to be invoked.

    ``spec`` is a name in ``PROVIDERS``, ``searxng:URL`` or ``recorded:FILE``. If ``spec`` is None,
    ``corpus`` is used when there are docs, and otherwise the first configured search in
    ``DEFAULT_ORDER``.

    Raises:
        ConfigurationError: There is nothing to search, or the key or address of a search is
            missing.
        NoDocumentsError: The docs contain no readable document.
        InputError: The name is unknown; docs are missing, unreadable or not allowed; a recording
            cannot be read; or ``top_k`` is out of range.
    """
    if spec is None and not docs and not configured_search():
        ways = ", ".join(f"{PROVIDERS[name].needs} ({name})" for name in DEFAULT_ORDER)
        raise ConfigurationError(
            'nothing to search: give docs="PATH" to answer from your own files, or set one of'
            f" {ways}"
        )
    if spec is None:
        spec = "corpus" if docs else str(configured_search())
    name, argument = _split(spec)
    provider = PROVIDERS[name]
    if (name == "corpus") != bool(docs):
        raise InputError(
            'search="corpus" and docs="PATH" must be used together, without another search'
        )
    # Imported here so that a search's libraries are loaded only if that search is used.
    if docs:
        from conflictscore.retrieval.corpus import CorpusRetriever

        return CorpusRetriever.from_paths(docs, top_k)
    module, _, class_name = provider.retriever.partition(":")
    searches = importlib.import_module(f"conflictscore.retrieval.{module}")
    retriever: Callable[..., BaseRetriever] = getattr(searches, class_name)
    return retriever(k=top_k, **({provider.option: argument} if argument else {}))


def _split(spec: str) -> tuple[str, str]:
    """Split a search into its name and argument.

    Raises InputError if the search is incomplete or unknown.
    """
    name, colon, argument = (text.strip() for text in spec.partition(":"))
    if name not in PROVIDERS:
        near = difflib.get_close_matches(name.lower(), PROVIDERS, n=1)
        hint = f"did you mean {near[0]}? " if near else ""
        raise InputError(
            f"there is no search named {name!r}; {hint}choose from {', '.join(PROVIDERS)}"
        )
    provider = PROVIDERS[name]
    lacks_argument = provider.argument and not argument and (colon or not provider.variables)
    if lacks_argument or (colon and not provider.argument):
        raise InputError(f'search="{spec}" is not a valid search: give {provider.usage(name)}')
    return name, argument


def described(retriever: BaseRetriever | None) -> str:
    """Describe in a few words where a retriever searches, without paths, addresses or keys."""
    if retriever is None:
        return ""
    if inner := getattr(retriever, "retriever", None):
        return described(inner)
    documents = getattr(retriever, "documents", None)
    if isinstance(documents, tuple):
        # three short titles fit in one line of output
        titles = [shorten(d.title, 50, placeholder=" …") for d in documents if d.title]
        count = "1 document" if len(documents) == 1 else f"{len(documents):,} documents"
        return ", ".join([count, *(f"“{title}”" for title in titles[:3])])
    return str(getattr(retriever, "title", "") or type(retriever).__name__)
