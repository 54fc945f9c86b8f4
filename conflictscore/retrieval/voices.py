"""Determines which documents speak with one voice, and so are one witness.

A voice is the original of near-copies (:mod:`~conflictscore.retrieval.duplicates`), or a name in
the metadata field ``voice``. We set the same voice for all parts of a joined text and for
everything that a fetch returned, since one author may have written all of it. Callers may set a
voice for documents from the same source. Each document is still labelled and shown separately.
"""

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document as Retrieved

from conflictscore.records import Document

VOICE = "voice"
"""The metadata field that names a document's voice."""


def without_voice(document: Retrieved) -> Retrieved:
    """The document without its voice, since metadata from outside must not choose one."""
    if VOICE not in document.metadata:
        return document
    metadata = {key: value for key, value in document.metadata.items() if key != VOICE}
    return Retrieved(document.page_content, metadata=metadata)


def copies(documents: Sequence[Document]) -> dict[int, int]:
    """Map each near-copy to its original."""
    return {d.number: d.duplicate_of for d in documents if d.duplicate_of}


def one_voice(documents: Sequence[Document], groups: Mapping[int, int]) -> dict[int, int]:
    """Map each document that is not the first of its voice to the first.

    Args:
        documents: Documents with their numbers.
        groups: For each further document of a group, the number of the group's first document, as
            :func:`copies` returns it. Groups that share a named voice are merged.
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
