"""Hides a search's messages for the operator of a service from its callers.

Such messages may name files or quote other people's questions.
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
"""Replaces a search's own message for callers if the search finds nothing."""
_IN_THE_LOG = "the log of this service contains the search's notes about its documents"
_MOST_LOGGED = 1000
"""Maximum number of messages that are remembered, so that each is logged only once. When the limit
is reached, all of them are forgotten. Memory is limited because every message may quote a different
question."""


def discreet(retriever: BaseRetriever | None) -> "DiscreetRetriever | None":
    """Return the retriever for a service, or None if there is none."""
    return None if retriever is None else DiscreetRetriever(retriever=retriever)


class DiscreetRetriever(BaseRetriever):
    """Searches with another retriever, and logs each note for the operator once."""

    retriever: BaseRetriever

    _logged: set[str] = PrivateAttr(default_factory=set)

    def model_post_init(self, context: Any, /) -> None:
        """Log the notes from opening the retriever."""
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
        """Log the operator's notes, pass on others, and replace the error of an empty search."""
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
