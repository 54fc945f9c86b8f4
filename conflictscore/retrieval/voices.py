"""Which documents speak with one voice, so that all of them are one witness.

A voice is the original of near-copies (:mod:`~conflictscore.retrieval.duplicates`), or a name in
the metadata field ``voice``. We set the same voice for all parts of a joined text and for
everything that a fetch returned, since one author may have written all of it. Callers may set a
voice for documents from the same source. Each document is still labelled and shown by itself.
"""

from collections.abc import Mapping, Sequence

from langchain_core.documents import Document as Retrieved

from conflictscore.records import Document

VOICE = "voice"
"""The field of a document's metadata that names its voice."""


def without_voice(document: Retrieved) -> Retrieved:
    """A document whose metadata came from outside, which must not choose its voice."""
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
        groups: The number of the first document of a group, by the number of each further one,
            such as :func:`copies` gives. Groups that share a named voice become one.
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
