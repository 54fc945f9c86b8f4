"""The collaborators of a second look."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conflictscore.labelers.protocol import Labeler
from conflictscore.loop.state import Reader
from conflictscore.records import Document
from conflictscore.storage.cache import ContentCache


@dataclass(frozen=True)
class Looking:
    """Collaborators of a second look, and the answer that it looks at.

    Attributes:
        question: The user's question, rewritten to stand alone.
        documents: All of the run's.
        duplicates: Maps each near-copy to the first of its group; if domains count once, pages of a
            domain too.
        weights: By document; empty where all count alike.
        unsettled: What to do with an unsettled dispute: ``hedge`` or ``keep``.
        reader: Reads documents.
        judge: Compares statements and weighs sides.
        labeler: Labels statements against documents.
        cache: Store of verdicts.
        seconds: The most time for labelling rivals; None for no limit.
        only_claim: Whether the answer makes only one claim, which then answers the user's question.
        answer: The whole answer, as context for a claim.
    """

    question: str
    documents: Sequence[Document]
    duplicates: Mapping[int, int]
    weights: Mapping[int, float]
    unsettled: str
    reader: Reader
    judge: Reader
    labeler: Labeler
    cache: ContentCache | None = None
    seconds: float | None = None
    only_claim: bool = False
    answer: str = ""

    @property
    def is_labelled_by_embedded(self) -> bool:
        """Whether the labeler is an embedded one, whose calls cost nothing."""
        return bool(getattr(self.labeler, "embedded", False))

    @property
    def documents_by_number(self) -> dict[int, Document]:
        """The documents, by number."""
        return {document.number: document for document in self.documents}
