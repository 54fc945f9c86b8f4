"""Base classes for retrievers, including one that wraps another retriever."""

from abc import abstractmethod
from functools import partial
from typing import Any, ClassVar, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, model_validator

from conflictscore.errors import InputError
from conflictscore.retrieval.cleaning import clean_text
from conflictscore.threads import in_thread


class TopKRetriever(BaseRetriever):
    """A retriever that returns at most ``k`` documents, best first.

    ``invoke(question, k=3)`` overrides ``k`` for one call. If a wrapped retriever does not accept
    ``k``, only its first ``k`` documents are kept.

    Attributes:
        k: The number of documents to return, at least 1. The default is one page of results in most
            web searches.
        k_limit: The largest ``k`` that the provider allows; None if there is no limit.

    Raises:
        InputError: ``k`` is out of range (checked on construction and on each call), or the
            question is empty.
    """

    # Unknown options are errors. Error messages never show values, since a value may be an API key.
    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", hide_input_in_errors=True
    )

    k_limit: ClassVar[int | None] = None

    k: int = 10

    @property
    def at_hand(self) -> int | None:
        """Return the number of local documents, which can be searched without cost.

        The result is None if there are no local documents, for example in a web search.
        """
        return None

    def search(self, query: str, k: int) -> list[Document]:
        """Find at most ``k`` documents for this question, best first; must be thread-safe."""
        raise NotImplementedError

    @model_validator(mode="after")
    def _k_is_in_range(self) -> Self:
        self._usable(self.k)
        return self

    def _usable(self, k: int | None, query: str = "?") -> int:
        # the default query stands for any question, for a caller that only checks ``k``
        if not clean_text(query):
            raise InputError("the question to search for is empty")
        if k is None:
            return self.k
        if k < 1:
            raise InputError(f"the number of documents must be at least 1, but k is {k}")
        if self.k_limit is not None and k > self.k_limit:
            name = type(self).__name__
            raise InputError(f"{name} returns at most {self.k_limit} documents, but k is {k}")
        return k

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self.search(query, self._usable(k, query))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await in_thread(partial(self.search, query, self._usable(k, query)))


class WrappingRetriever(TopKRetriever):
    """Base class of retrievers that change the documents found by another retriever."""

    retriever: BaseRetriever

    @abstractmethod
    def change(self, query: str, found: list[Document]) -> list[Document]:
        """Return the changed documents in the same order."""

    async def achange(self, query: str, found: list[Document]) -> list[Document]:
        """Change the documents as ``change`` does, but without blocking the event loop."""
        return await in_thread(partial(self.change, query, found))

    @property
    def at_hand(self) -> int | None:
        """Return the number of local documents of the wrapped retriever."""
        return getattr(self.retriever, "at_hand", None)  # retrievers of other packages lack it

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the wrapped retriever's notes for the user."""
        return tuple(getattr(self.retriever, "notes", ()))

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self._usable(k, query)
        found = self.retriever.invoke(query, {"callbacks": run_manager.get_child()}, **self._k(k))
        return self.change(query, found[:k])

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self._usable(k, query)
        callbacks = run_manager.get_child()
        found = await self.retriever.ainvoke(query, {"callbacks": callbacks}, **self._k(k))
        return await self.achange(query, found[:k])

    def _k(self, k: int) -> dict[str, Any]:
        return {"k": k} if isinstance(self.retriever, TopKRetriever) else {}
