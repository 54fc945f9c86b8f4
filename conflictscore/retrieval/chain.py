"""Several searches in a row: when one fails, the next one answers."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Self

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field, PrivateAttr, model_validator

from conflictscore.errors import (
    ConfigurationError,
    ConflictScoreError,
    InputError,
    ProviderError,
    QuotaError,
)
from conflictscore.retrieval.base import TopKRetriever, afound_by, found_by
from conflictscore.retrieval.search_notes import note
from conflictscore.retrieval.web_search import OTHER_WAYS

__all__ = ["ChainRetriever"]

_REST = 3600.0
"""Seconds for which a retriever whose quota is used up is left alone."""

Failures = list[tuple[str, ConflictScoreError]]
"""Retrievers that failed so far, with their errors."""


class ChainRetriever(TopKRetriever):
    """Asks its retrievers in turn until one answers, and leaves a note on those that failed.

    Nothing found is an answer, and ends the search. A retriever whose quota or credit is used up
    is not asked again for an hour. Awaited, it awaits its retrievers. Safe to use from many
    threads at once, as far as its retrievers are.

    Attributes:
        k: The number of documents asked for, at least 1. A retriever that is not a
            ``TopKRetriever`` decides for itself how many it finds; the first ``k`` are kept.
        retrievers: In the order in which they are asked; at least one.
        clock: Tells the seconds by which the hour passes.

    Raises:
        InputError: ``k`` is out of range, the question is empty, or all refuse it.
        ConfigurationError: There is no retriever, or none is set up correctly.
        ProviderError: All failed, and not all for one of these reasons.
    """

    retrievers: tuple[BaseRetriever, ...]
    clock: Callable[[], float] = Field(default=time.monotonic, repr=False)

    _rests: dict[int, tuple[float, QuotaError]] = PrivateAttr(default_factory=dict)
    """Until when a retriever is left alone, and why, by its place."""

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user on the retrievers, in their order."""
        return tuple(
            text for retriever in self.retrievers for text in getattr(retriever, "notes", ())
        )

    def search(self, query: str, k: int) -> list[Document]:
        """See the class."""
        return self.invoke(query, k=k)

    @model_validator(mode="after")
    def _has_retrievers(self) -> Self:
        if not self.retrievers:
            raise ConfigurationError("a chain of searches needs at least one search")
        return self

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self._usable(k)
        failures: Failures = []
        for place, retriever in self._waiting(query, failures):
            with self._failing(place, failures):
                found = found_by(retriever, query, k, run_manager)
                _note_who_failed(failures, retriever)
                return found
        raise _all_failed(failures)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self._usable(k)
        failures: Failures = []
        for place, retriever in self._waiting(query, failures):
            with self._failing(place, failures):
                found = await afound_by(retriever, query, k, run_manager)
                _note_who_failed(failures, retriever)
                return found
        raise _all_failed(failures)

    def _waiting(self, query: str, failures: Failures) -> Iterator[tuple[int, BaseRetriever]]:
        """The retrievers to ask, in turn; the ones left alone are among the failures."""
        if not query.strip():
            raise InputError("the question to search for is empty")
        for place, retriever in enumerate(self.retrievers):
            until, error = self._rests.get(place, (0.0, None))
            if error and self.clock() < until:
                failures.append((_name(retriever), error))
            else:
                yield place, retriever

    @contextmanager
    def _failing(self, place: int, failures: Failures) -> Iterator[None]:
        """Keeps the failure of the retriever in this place for the next one's turn."""
        try:
            yield
        except ConflictScoreError as error:
            if isinstance(error, QuotaError):
                self._rests[place] = (self.clock() + _REST, error.with_traceback(None))
            failures.append((_name(self.retrievers[place]), error))


def _note_who_failed(failures: Failures, answered: BaseRetriever) -> None:
    if failures:
        note(f"{_reasons(failures)}; {_name(answered)} answered")


def _all_failed(failures: Failures) -> ConflictScoreError:
    message = f"no search answered: {_reasons(failures)}"
    for refused in (ConfigurationError, InputError):
        if all(isinstance(error, refused) for _, error in failures):
            return refused(message)
    kind = QuotaError if all(isinstance(e, QuotaError) for _, e in failures) else ProviderError
    return kind(message, provider=", ".join(name for name, _ in failures))


def _reasons(failures: Failures) -> str:
    # Every error of a search says what to use instead; here that is the next search.
    return "; ".join(f"{name}: {str(e).removesuffix(f'; {OTHER_WAYS}')}" for name, e in failures)


def _name(retriever: BaseRetriever) -> str:
    """Its name as in ``--search``; otherwise that of its class."""
    by_class = type(retriever).__name__.removesuffix("Retriever").lower()
    return str(getattr(retriever, "provider", by_class))
