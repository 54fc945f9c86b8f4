"""Several searches in a row: when one fails, the next one answers."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import Field

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

Failures = list[tuple[str, ConflictScoreError]]


class ChainRetriever(TopKRetriever):
    """Asks its retrievers in turn until one answers, and leaves a note on those that failed.

    Nothing found is an answer, and ends the search. Safe to use from many threads at once, as far
    as its retrievers are.

    Attributes:
        k: See the base.
        retrievers: In the order in which they are asked; at least one.

    Raises:
        InputError: ``k`` is out of range, the question is empty, or all refuse it.
        ConfigurationError: None is set up correctly.
        ProviderError: All failed, and not all for one of these reasons.
    """

    retrievers: Annotated[tuple[BaseRetriever, ...], Field(min_length=1)]

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes for the user on the retrievers, in their order."""
        return tuple(
            text for retriever in self.retrievers for text in getattr(retriever, "notes", ())
        )

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self._usable(k, query)
        failures: Failures = []
        for retriever in self.retrievers:
            with _collecting_failures(retriever, failures):
                return found_by(retriever, query, k, run_manager)
        raise _all_failed(failures)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, k: int | None = None
    ) -> list[Document]:
        k = self._usable(k, query)
        failures: Failures = []
        for retriever in self.retrievers:
            with _collecting_failures(retriever, failures):
                return await afound_by(retriever, query, k, run_manager)
        raise _all_failed(failures)


@contextmanager
def _collecting_failures(retriever: BaseRetriever, failures: Failures) -> Iterator[None]:
    try:
        yield
    except ConflictScoreError as error:
        failures.append((_name(retriever), error))
    else:
        if failures:
            note(f"{_reasons(failures)}; {_name(retriever)} answered")


def _all_failed(failures: Failures) -> ConflictScoreError:
    message = f"no search answered: {_reasons(failures)}"
    for refused in (ConfigurationError, InputError):
        if all(isinstance(error, refused) for _, error in failures):
            return refused(message)
    kind = QuotaError if all(isinstance(e, QuotaError) for _, e in failures) else ProviderError
    return kind(message, provider=", ".join(name for name, _ in failures))


def _reasons(failures: Failures) -> str:
    # an error of a search says what to use instead; here that is the next search
    return "; ".join(f"{name}: {str(e).removesuffix(f'; {OTHER_WAYS}')}" for name, e in failures)


def _name(retriever: BaseRetriever) -> str:
    by_class = type(retriever).__name__.removesuffix("Retriever").lower()
    return str(getattr(retriever, "provider", by_class))
