"""The available searches by name, and what each needs; help and errors are generated from this."""

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One search.

    Attributes:
        retriever: The class, as ``module:class`` with a module of ``conflictscore.retrieval``.
        variables: The environment variables that it needs; an entry with several is met by any of
            them.
        argument: The argument that may follow the name after a colon, in capitals; it sets
            ``option``. It is required unless a variable can replace it.
    """

    summary: str
    retriever: str
    variables: tuple[tuple[str, ...], ...] = ()
    argument: str = ""
    option: str = ""

    def usage(self, name: str) -> str:
        """How the search is written after ``--search``, such as ``"searxng[:URL]"``."""
        if not self.argument:
            return name
        return f"{name}[:{self.argument}]" if self.variables else f"{name}:{self.argument}"

    @property
    def needs(self) -> str:
        """The needed variables in words, such as ``"A and B or C"``; empty if none is needed."""
        return " and ".join(" or ".join(either) for either in self.variables)


PROVIDERS: Mapping[str, Provider] = {
    "serper": Provider(
        "Google's results, by serper.dev", "http_searches:SerperRetriever", (("SERPER_API_KEY",),)
    ),
    "searxng": Provider(
        "a SearXNG server of your own, without a key",
        "http_searches:SearxngRetriever",
        (("SEARXNG_URL",),),
        argument="URL",
        option="endpoint",
    ),
    "vertex": Provider(
        "the sites of a Vertex AI Search engine",
        "http_searches:VertexRetriever",
        (("VERTEX_API_KEY", "GOOGLE_API_KEY"), ("VERTEX_SERVING_CONFIG",)),
    ),
    "google": Provider(
        "Google's Custom Search JSON API, which ends on 2027-01-01",
        "google:GoogleRetriever",
        (("GOOGLE_API_KEY",), ("GOOGLE_CSE_ID",)),
    ),
    "corpus": Provider("your own files, given by --docs", "corpus:CorpusRetriever"),
    "recorded": Provider(
        "what an earlier run found",
        "recording:RecordedRetriever",
        argument="FILE",
        option="path",
    ),
}

DEFAULT_ORDER = ("serper", "searxng", "vertex", "google")
"""The searches used by default: the first whose variables are set."""


def configured_search() -> str | None:
    """The default search, which is the first configured one; None if none is configured."""
    return next(
        (
            name
            for name in DEFAULT_ORDER
            if all(any(os.environ.get(v, "").strip() for v in e) for e in PROVIDERS[name].variables)
        ),
        None,
    )
