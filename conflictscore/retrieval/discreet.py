"""Ensures that the callers of a service do not see a search's messages for its operator.

Such messages may name files, or quote other people's questions.
"""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from langchain_core.callbacks import (
    AsyncCallbackManagerForRetrieverRun,
    CallbackManagerForRetrieverRun,
)
from langchain_core.documents import Document
from langchain_core.retrievers import BaseRetriever
from pydantic import PrivateAttr

from conflictscore.errors import NoDocumentsError
from conflictscore.retrieval.search_notes import OperatorNote, collecting, note

_log = logging.getLogger(__name__)

NOTHING_FOUND = "no documents found"
"""The message that callers get if a search finds nothing, in place of the search's own message."""
_IN_THE_LOG = "the search left notes about its documents in the log of this service"
_MOST_LOGGED = 1000
"""Number of messages that are remembered, so that each is logged once. It limits the memory, since
each message may quote another question. After that, all of them are forgotten."""


def discreet(retriever: BaseRetriever | None) -> "DiscreetRetriever | None":
    """Return the retriever for a service, or None if there is none."""
    return None if retriever is None else DiscreetRetriever(retriever=retriever)


class DiscreetRetriever(BaseRetriever):
    """Searches with another retriever, and logs each note for the operator once."""

    retriever: BaseRetriever

    _logged: set[str] = PrivateAttr(default_factory=set)

    def model_post_init(self, context: Any, /) -> None:
        """Log the notes that were made when the retriever was opened."""
        super().model_post_init(context)
        self._log_once(*getattr(self.retriever, "notes", ()))

    @property
    def at_hand(self) -> int | None:
        """Return the number of local documents of the wrapped retriever."""
        return getattr(self.retriever, "at_hand", None)

    @property
    def notes(self) -> tuple[str, ...]:
        """Return a note for callers if the wrapped retriever has notes."""
        return (_IN_THE_LOG,) if getattr(self.retriever, "notes", ()) else ()

    @contextmanager
    def _discreetly(self) -> Iterator[None]:
        """Log notes for the operator, pass on others, and replace the error of an empty search."""
        with collecting() as notes:
            try:
                yield
            except NoDocumentsError as error:
                self._log_once(str(error))
                raise NoDocumentsError(NOTHING_FOUND) from None
        for text in notes:
            if isinstance(text, OperatorNote):
                self._log_once(text)
                note(_IN_THE_LOG)
            else:
                note(text)

    def _log_once(self, *texts: str) -> None:
        for text in texts:
            if text not in self._logged:
                if len(self._logged) >= _MOST_LOGGED:
                    self._logged.clear()
                self._logged.add(text)
                _log.warning("%s", text)

    def _get_relevant_documents(
        self, query: str, *, run_manager: CallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        with self._discreetly():
            return self.retriever.invoke(query, {"callbacks": run_manager.get_child()}, **options)

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        with self._discreetly():
            callbacks = run_manager.get_child()
            return await self.retriever.ainvoke(query, {"callbacks": callbacks}, **options)
