"""The available searches by name, and the settings that each one needs."""

import os
from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Provider:
    """One search.

    Attributes:
        summary: What the search finds, for lists of searches.
        retriever: The class, as ``module:class``; the module is in ``conflictscore.retrieval``.
        variables: The environment variables that the search needs. If an entry has several
            variables, one of them is enough.
        argument: The name, in capitals, of the argument that may follow the search's name and a
            colon. The argument sets ``option``, and is required unless a variable can replace it.
    """

    summary: str
    retriever: str
    variables: tuple[tuple[str, ...], ...] = ()
    argument: str = ""
    option: str = ""

    def usage(self, name: str) -> str:
        """Return the search as written after ``--search``, such as ``"searxng[:URL]"``."""
        if not self.argument:
            return name
        return f"{name}[:{self.argument}]" if self.variables else f"{name}:{self.argument}"

    @property
    def needs(self) -> str:
        """Return the required variables in words, such as ``"(A or B) and C"``; empty if none."""
        choices = [" or ".join(either) for either in self.variables]
        if len(choices) < 2:
            return "".join(choices)
        return " and ".join(f"({each})" if " or " in each else each for each in choices)


PROVIDERS: Mapping[str, Provider] = {
    "serper": Provider(
        "Google results through serper.dev", "http_searches:SerperRetriever", (("SERPER_API_KEY",),)
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
        "the recorded results of an earlier run",
        "recording:RecordedRetriever",
        argument="FILE",
        option="path",
    ),
}

DEFAULT_ORDER = ("serper", "searxng", "vertex", "google")
"""The order in which searches are tried by default; the first whose variables are set is used.

``serper`` is first, since it returns Google's results, with which the paper's figures were made.
``searxng`` also searches the whole web, but ``vertex`` only the sites of one engine. ``google`` is
last, since its service ends soon.
"""


def configured_search() -> str | None:
    """Return the first configured search in ``DEFAULT_ORDER``, or None."""
    return next(
        (
            name
            for name in DEFAULT_ORDER
            if all(any(os.environ.get(v, "").strip() for v in e) for e in PROVIDERS[name].variables)
        ),
        None,
    )
