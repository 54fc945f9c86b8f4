"""From a question to documents: a web search, files of your own, or what was recorded.

`open_retrieval` builds a retriever from settings. Every search in `PROVIDERS` is a LangChain
retriever with a number of documents ``k``, and any other LangChain retriever fits in its place.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from conflictscore.retrieval.providers import PROVIDERS

if TYPE_CHECKING:
    from conflictscore.retrieval.base import TopKRetriever as TopKRetriever
    from conflictscore.retrieval.brave import BraveRetriever as BraveRetriever
    from conflictscore.retrieval.chain import ChainRetriever as ChainRetriever
    from conflictscore.retrieval.corpus import CorpusRetriever as CorpusRetriever
    from conflictscore.retrieval.ddgs import DdgsRetriever as DdgsRetriever
    from conflictscore.retrieval.exa import ExaRetriever as ExaRetriever
    from conflictscore.retrieval.google import GoogleRetriever as GoogleRetriever
    from conflictscore.retrieval.json_search import JsonSearchRetriever as JsonSearchRetriever
    from conflictscore.retrieval.opening import open_retrieval as open_retrieval
    from conflictscore.retrieval.pages.page import FetchSettings as FetchSettings
    from conflictscore.retrieval.pages.reader import PageReadingRetriever as PageReadingRetriever
    from conflictscore.retrieval.passages import PassageRetriever as PassageRetriever
    from conflictscore.retrieval.recording.recorder import record_questions as record_questions
    from conflictscore.retrieval.recording.replay import RecordedRetriever as RecordedRetriever
    from conflictscore.retrieval.searxng import SearxngRetriever as SearxngRetriever
    from conflictscore.retrieval.serper import SerperRetriever as SerperRetriever
    from conflictscore.retrieval.tavily import TavilyRetriever as TavilyRetriever
    from conflictscore.retrieval.vertex import VertexRetriever as VertexRetriever
    from conflictscore.retrieval.web_search import Fault as Fault
    from conflictscore.retrieval.web_search import Hit as Hit
    from conflictscore.retrieval.web_search import Page as Page
    from conflictscore.retrieval.web_search import WebSearchRetriever as WebSearchRetriever

_HOMES = {
    **dict(provider.retriever.split(":")[::-1] for provider in PROVIDERS.values()),
    "ChainRetriever": "chain",
    "Fault": "web_search",
    "FetchSettings": "pages.page",
    "Hit": "web_search",
    "JsonSearchRetriever": "json_search",
    "Page": "web_search",
    "PageReadingRetriever": "pages.reader",
    "PassageRetriever": "passages",
    "TopKRetriever": "base",
    "WebSearchRetriever": "web_search",
    "open_retrieval": "opening",
    "record_questions": "recording.recorder",
}

__all__ = ["PROVIDERS", *_HOMES]


def __getattr__(name: str) -> Any:
    """Import on first use: each search needs packages that the others do without."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
