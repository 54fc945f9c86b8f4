"""What every retriever of this room shares: the number of documents, and async as a thread."""

import asyncio
from abc import abstractmethod
from typing import ClassVar, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import ConfigDict, model_validator

from conflictscore.errors import InputError

__all__ = ["TopKRetriever"]


class TopKRetriever(BaseRetriever):
    """A retriever that returns at most ``k`` documents, best first.

    ``invoke(question, k=3)`` overrides ``k`` for one call.

    Attributes:
        k: The number of documents asked for, at least 1.
        k_limit: The most that this provider can return; None where it sets no limit.

    Raises:
        InputError: ``k`` is out of range, when built or when invoked.
    """

    # An unknown option is an error, and an error never shows what was given: it may be a key.
    model_config = ConfigDict(
        arbitrary_types_allowed=True, extra="forbid", hide_input_in_errors=True
    )

    k_limit: ClassVar[int | None] = None

    k: int = 10

    @abstractmethod
    def search(self, query: str, k: int) -> list[Document]:
        """At most ``k`` documents for this question, best first; thread-safe."""

    @model_validator(mode="after")
    def _k_is_in_range(self) -> Self:
        self._usable(self.k)
        return self

    def _usable(self, k: int) -> int:
        if k < 1:
            raise InputError(f"the number of documents must be at least 1, and k is {k}")
        if self.k_limit is not None and k > self.k_limit:
            name = type(self).__name__
            raise InputError(f"{name} returns at most {self.k_limit} documents, and k is {k}")
        return k

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return self.search(query, self.k if k is None else self._usable(k))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        return await asyncio.to_thread(self.search, query, self.k if k is None else self._usable(k))
