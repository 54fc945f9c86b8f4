"""Any retriever, with its long documents cut to the passages that matter."""

import asyncio
from functools import partial
from typing import Any, Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, model_validator

from conflictscore.errors import InputError
from conflictscore.retrieval.base import TopKRetriever
from conflictscore.retrieval.passages.cutting import cut_to_passages
from conflictscore.retrieval.passages.windows import check_size
from conflictscore.retrieval.ranking import RankingField, open_ranker
from conflictscore.storage.cache import ContentCache

__all__ = ["PassageRetriever"]


class PassageRetriever(TopKRetriever):
    """Cuts the documents that another retriever finds to their best passages.

    A document of up to ``tokens`` tokens stays as it is. A longer one is cut in overlapping
    windows of that length, and the windows that fit the question best become its text; it stays
    one document, however many these are. For what comes back see ``cut_to_passages``. Awaited, it
    awaits the other retriever and ranks in a thread.

    Attributes:
        retriever: Who finds the documents.
        k: The number of documents asked for, at least 1. A retriever that is no
            ``TopKRetriever`` decides itself how many it finds; the first ``k`` are kept.
        tokens: The most tokens of a window, at least 16.
        stride: Tokens from one window to the next, 1 to ``tokens``; None is half of ``tokens``.
        windows: The most windows of a document that are kept, at least 1.
        ranking: How windows are ranked; ``dense`` and ``both`` need the extra ``dense``.
        cache: Where embeddings are kept for ``dense`` and ``both``; None computes them anew.

    Raises:
        InputError: A setting is out of range.
        ConfigurationError: The extra ``dense`` is needed and not installed.
        ProviderError: The embedding model cannot be fetched; or as the other retriever raises.
    """

    retriever: BaseRetriever
    tokens: int = 512
    stride: int | None = None
    windows: int = 1
    ranking: RankingField = "bm25"
    cache: ContentCache | None = Field(default=None, repr=False)

    @property
    def notes(self) -> tuple[str, ...]:
        """What the user should know about the other retriever's documents."""
        return tuple(getattr(self.retriever, "notes", ()))

    def search(self, query: str, k: int) -> list[Document]:
        """See the class."""
        return self.invoke(query, k=k)

    @model_validator(mode="after")
    def _settings_are_in_range(self) -> Self:
        check_size(self.tokens, self._stride)
        if self.windows < 1:
            raise InputError(f"a document keeps at least 1 passage, and windows is {self.windows}")
        return self

    @property
    def _stride(self) -> int:
        return self.tokens // 2 if self.stride is None else self.stride

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self.k if k is None else self._usable(k)
        found = self.retriever.invoke(
            query, {"callbacks": run_manager.get_child()}, **self._options(k)
        )
        return self._cut(query, found[:k])

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self.k if k is None else self._usable(k)
        found = await self.retriever.ainvoke(
            query, {"callbacks": run_manager.get_child()}, **self._options(k)
        )
        return await asyncio.to_thread(self._cut, query, found[:k])

    def _options(self, k: int) -> dict[str, Any]:
        return {"k": k} if isinstance(self.retriever, TopKRetriever) else {}

    def _cut(self, query: str, documents: list[Document]) -> list[Document]:
        return cut_to_passages(
            query,
            documents,
            tokens=self.tokens,
            stride=self._stride,
            windows=self.windows,
            rank=partial(open_ranker, self.ranking, cache=self.cache),
        )
