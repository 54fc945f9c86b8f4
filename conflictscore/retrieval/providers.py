"""Which searches there are, by name, and what each one needs: help and errors come from here."""

import importlib.util
import os
from collections.abc import Mapping
from dataclasses import dataclass

__all__ = ["DEFAULT_ORDER", "PROVIDERS", "Provider", "configured_search"]


@dataclass(frozen=True, slots=True)
class Provider:
    """One search.

    Attributes:
        summary: What it searches, in a few words.
        retriever: Its class, as ``module:class`` with the module in ``conflictscore.retrieval``.
        variables: The environment variables that it needs, any one of them.
        package: The optional package that it needs, as it is imported; empty where it needs none.
        argument: What follows its name after a colon, in capitals; empty where nothing does. It
            is required unless a variable can take its place.
        option: The constructor's argument that it sets.
    """

    summary: str
    retriever: str
    variables: tuple[str, ...] = ()
    package: str = ""
    argument: str = ""
    option: str = ""

    def usage(self, name: str) -> str:
        """How ``--search`` takes it under this name, such as ``"searxng[:URL]"``."""
        if not self.argument:
            return name
        return f"{name}[:{self.argument}]" if self.variables else f"{name}:{self.argument}"

    @property
    def needs(self) -> str:
        """Its variables in words, such as ``"A or B"``; empty where it needs none."""
        return " or ".join(self.variables)

    @property
    def configured(self) -> bool:
        """Whether its variables are set and its package is installed."""
        known = not self.variables or any(os.environ.get(v, "").strip() for v in self.variables)
        return known and (not self.package or importlib.util.find_spec(self.package) is not None)


PROVIDERS: Mapping[str, Provider] = {
    "serper": Provider(
        "Google's results, by serper.dev", "serper:SerperRetriever", ("SERPER_API_KEY",)
    ),
    "brave": Provider(
        "the Brave Search API",
        "brave:BraveRetriever",
        ("BRAVE_API_KEY", "BRAVE_SEARCH_API_KEY"),
    ),
    "tavily": Provider("the Tavily search API", "tavily:TavilyRetriever", ("TAVILY_API_KEY",)),
    "exa": Provider("the Exa search API", "exa:ExaRetriever", ("EXA_API_KEY",)),
    "searxng": Provider(
        "a SearXNG server of your own, without a key",
        "searxng:SearxngRetriever",
        ("SEARXNG_URL",),
        argument="URL",
        option="endpoint",
    ),
    "ddgs": Provider(
        "public search pages, without a key and without a guarantee",
        "ddgs:DdgsRetriever",
        package="ddgs",
    ),
    "corpus": Provider("your own files, given by --docs", "corpus:CorpusRetriever"),
    "recorded": Provider(
        "what an earlier run found",
        "recording.replay:RecordedRetriever",
        argument="FILE",
        option="path",
    ),
}

DEFAULT_ORDER = ("serper", "brave", "tavily", "exa", "searxng")
"""The searches that are taken without being asked for, the first that is configured."""


def configured_search() -> str | None:
    """The default search: the first that is configured; None if none is."""
    return next((name for name in DEFAULT_ORDER if PROVIDERS[name].configured), None)
