"""Determines which documents come from the same source and therefore count as one witness.

A voice is a source that counts only once. Documents have the same voice if they are near-copies of
the same original (:mod:`~conflictscore.retrieval.duplicates`), or if their metadata field ``voice``
is the same. All parts of a joined text get the same voice, since one author may have written all of
it. Everything that a fetch returned gets the same voice for the same reason. Callers may also set a
voice for documents from the same source. Each document is still labelled and shown separately.
"""

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document as Retrieved

from conflictscore.records import Document

VOICE = "voice"
"""The metadata field that names a document's voice."""


def without_voice(document: Retrieved) -> Retrieved:
    """Return the document without its voice, which metadata from outside must not set."""
    if VOICE not in document.metadata:
        return document
    metadata = {key: value for key, value in document.metadata.items() if key != VOICE}
    return Retrieved(document.page_content, metadata=metadata)


def copies(documents: Sequence[Document]) -> dict[int, int]:
    """Map each near-copy to its original."""
    return {d.number: d.duplicate_of for d in documents if d.duplicate_of}


def one_voice(documents: Sequence[Document], groups: Mapping[int, int]) -> dict[int, int]:
    """Map each later document of a voice to the first document of that voice.

    Args:
        documents: The numbered documents.
        groups: Maps each later document of a group to the group's first document, as :func:`copies`
            returns it. Groups that share a named voice are merged.
    """
    first_of = {
        document.number: groups.get(document.number, document.number) for document in documents
    }

    def root(number: int) -> int:
        while first_of.get(number, number) != number:
            number = first_of[number]
        return number

    first_by_voice: dict[str, int] = {}
    for document in documents:
        if voice := document.metadata.get(VOICE):
            first = root(first_by_voice.setdefault(str(voice), document.number))
            own = root(document.number)
            first_of[max(first, own)] = min(first, own)
    roots = {document.number: root(document.number) for document in documents}
    return {number: first for number, first in roots.items() if number != first}
