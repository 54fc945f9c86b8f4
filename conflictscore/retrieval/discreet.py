"""Hides a search's messages for the operator of a service from its callers.

Such messages may name files or quote other people's questions. The folders of local documents are
hidden, too.
"""

import logging
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any
from urllib.parse import unquote

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

_FILE_SCHEME = "file://"
_MOST_PARTS = 20
"""Maximum number of a path's last parts that are shown. Paths with the same parts get a number.
Chosen by hand: hardly any path is deeper."""
NOTHING_FOUND = "no documents found"
"""Replaces a search's own message for callers if the search finds nothing."""
_IN_THE_LOG = "the log of this service contains the search's notes about its documents"
_MOST_LOGGED = 1000
"""Maximum number of messages that are remembered, so that each is logged only once. When the limit
is reached, all remembered messages are forgotten. Memory is limited because every message may quote
a different question. Chosen by hand.
"""


def discreet(retriever: BaseRetriever | None) -> "DiscreetRetriever | None":
    """Return the retriever for a service, or None if there is none."""
    return None if retriever is None else DiscreetRetriever(retriever=retriever)


class DiscreetRetriever(BaseRetriever):
    """Searches with another retriever, and logs each note for the operator once.

    The address of a local document is its file name, with as many of its folders as are needed to
    tell it from other documents. Any other field of its metadata that is a path is shortened too.
    Options of a call, such as ``k``, are passed to the other retriever unchanged, so this class has
    no ``k`` of its own.
    """

    retriever: BaseRetriever

    _logged: set[str] = PrivateAttr(default_factory=set)
    _short_paths: Mapping[str, str] = PrivateAttr(default_factory=dict)

    def model_post_init(self, context: Any, /) -> None:
        """Log the notes from opening the retriever."""
        super().model_post_init(context)
        self._log_once(*getattr(self.retriever, "notes", ()))
        documents = getattr(self.retriever, "documents", ())
        self._short_paths = without_folders(str(getattr(each, "url", "")) for each in documents)

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
        """Log notes for the operator, pass on other notes, and replace an empty search's error."""
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
            callbacks = run_manager.get_child()
            return self._shown(self.retriever.invoke(query, {"callbacks": callbacks}, **options))

    async def _aget_relevant_documents(
        self, query: str, *, run_manager: AsyncCallbackManagerForRetrieverRun, **options: Any
    ) -> list[Document]:
        with self._discreetly():
            callbacks = run_manager.get_child()
            documents = await self.retriever.ainvoke(query, {"callbacks": callbacks}, **options)
            return self._shown(documents)

    def _shown(self, documents: list[Document]) -> list[Document]:
        """Return the documents without the folders of local files."""
        paths = (path for document in documents for path in _texts(document).values())
        others = (path for path in paths if path not in self._short_paths)
        short_paths = {**self._short_paths, **without_folders(others)}
        return [
            document.model_copy(update={"metadata": {**document.metadata, **shortened}})
            if (shortened := _shortened(document, short_paths))
            else document
            for document in documents
        ]


def _texts(document: Document) -> dict[str, str]:
    """Return the fields of a document's metadata that are strings; any of them may be a path."""
    fields = document.metadata.items()
    return {name: text for name, text in fields if isinstance(text, str)}


def _shortened(document: Document, short_paths: Mapping[str, str]) -> dict[str, str]:
    texts = _texts(document).items()
    return {name: short_paths[text] for name, text in texts if text in short_paths}


def without_folders(addresses: Iterable[str]) -> dict[str, str]:
    """Return a short name for each absolute path among the addresses.

    The name consists of the last parts of the path, as few as distinguish the path from all other
    paths.
    """
    parts = {address: _parts(address) for address in dict.fromkeys(addresses)}
    waiting = [address for address, its_parts in parts.items() if its_parts]
    names: dict[str, str] = {}
    for length in range(1, _MOST_PARTS + 1):
        by_name: dict[str, list[str]] = defaultdict(list)
        for address in waiting:
            by_name["/".join(parts[address][-length:])].append(address)
        names |= {same[0]: name for name, same in by_name.items() if len(same) == 1}
        waiting = [address for address in waiting if address not in names]
    return names | {address: f"{parts[address][-1]} ({n})" for n, address in enumerate(waiting, 1)}


def _parts(address: str) -> tuple[str, ...]:
    """Return the parts of an absolute path below its root; empty for any other address."""
    path = address.replace("\\", "/")
    if path.startswith(_FILE_SCHEME):
        path = unquote(path.removeprefix(_FILE_SCHEME))
    is_absolute = PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()
    return PurePosixPath(path).parts[1:] if is_absolute else ()
