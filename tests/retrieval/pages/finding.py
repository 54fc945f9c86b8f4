"""A search with results set by a test, whose pages are read from loopback."""

from ipaddress import ip_network
from typing import Any

from langchain_core.callbacks import CallbackManagerForRetrieverRun
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.pages.page import FetchSettings
from conflictscore.retrieval.pages.reader import PageReadingRetriever

SETTINGS = FetchSettings(allowed_networks=(ip_network("127.0.0.0/8"),))
PATIENT = FetchSettings(timeout=600, allowed_networks=SETTINGS.allowed_networks)
"""A page timeout far longer than anything that should not wait for the page."""
SNIPPET = "The lamp was first lit ... in 1871."


class Found(TopKRetriever):
    """Finds given results, and remembers how many were requested."""

    documents: list[Document]
    notes: tuple[str, ...] = ()

    _asked: list[int] = PrivateAttr(default_factory=list)

    @property
    def asked(self) -> list[int]:
        return self._asked

    def search(self, query: str, k: int) -> list[Document]:
        self._asked.append(k)
        return self.documents[:k]


class Plain(BaseRetriever):
    """Any other LangChain retriever, which has no ``k``."""

    documents: list[Document]

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun
    ) -> list[Document]:
        return self.documents


def result(url: str, snippet: str = SNIPPET, **metadata: Any) -> Document:
    return Document(page_content=snippet, metadata={"source": url, "rank": 1, **metadata})


def reading(*documents: Document, **options: Any) -> PageReadingRetriever:
    common = {"retriever": Found(documents=list(documents)), "settings": SETTINGS}
    return PageReadingRetriever(**{**common, **options})
