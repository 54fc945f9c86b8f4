"""The inputs of a second look, which is a new examination of one disputed claim."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from conflictscore.labelers.protocol import Labeler
from conflictscore.loop.state import Reader
from conflictscore.records import Document
from conflictscore.storage.cache import ContentCache


@dataclass(frozen=True)
class Looking:
    """The models, documents and settings that a second look uses, and the answer that it examines.

    Attributes:
        question: The user's question, rewritten to stand alone.
        documents: All documents of the run.
        duplicates: Maps each near-copy to the first document of its group. If each domain counts
            only once, the pages of one domain form a group too.
        weights: Weight of each document; empty if all documents have the same weight.
        unsettled: What to do with an unsettled dispute: ``hedge`` or ``keep``.
        reader: The model that reads documents.
        judge: The model that compares statements and weighs sides.
        labeler: The labeler that labels statements against documents.
        cache: The store of verdicts.
        seconds: Maximum time to label rivals, in seconds; None if there is no limit.
        only_claim: Whether the answer's only claim is assumed to answer the user's question.
        answer: The whole answer, as context for a claim.
        is_question_clear: Whether the question can be put to the documents: the user asked one, and
            it is clear without a conversation.
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
    is_question_clear: bool = True

    @property
    def is_labelled_by_embedded(self) -> bool:
        """Whether the labeler is embedded, so that its calls cost nothing."""
        return bool(getattr(self.labeler, "embedded", False))

    @property
    def is_read_by_embedded(self) -> bool:
        """Whether both the reader and the labeler are embedded, so that both are small models."""
        return self.reader.model.is_local and self.is_labelled_by_embedded

    @property
    def is_judged_by_embedded(self) -> bool:
        """Whether both the judge and the labeler are embedded, so that both are small models."""
        return self.judge.model.is_local and self.is_labelled_by_embedded

    @property
    def documents_by_number(self) -> dict[int, Document]:
        """The documents, by number."""
        return {document.number: document for document in self.documents}
